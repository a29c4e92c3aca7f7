#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""A lease may stay on a host that no longer has what the lease requires.

A plan for several reservations moved the lease to another host for the first
of them. For the second one, the lease could not move back, and the request
was refused with a proof although there was room for it.
"""

from tests import leasing
from tests.inprocess.engine import timelines

_GOLD, _SILVER = map(leasing.of_class, ('gold', 'silver'))


class TestMovedBackHome(timelines.TestCase):

    def setUp(self):
        super().setUp()
        (self.other,) = self.leasing.hosts(resource_class='gold')
        self.anywhere = self.leasing.create(2, 5)
        (self.home,) = self.leasing.hosts(resource_class='silver')
        self.silver = self.leasing.create(
            5, 8, leasing.wish(properties=_SILVER))
        self.leasing.change_host(self.home, resource_class='gold')
        (self.spare,) = self.leasing.hosts(resource_class='silver')

    def test_lease_stays_for_the_second_reservation(self):
        """The lease for any host makes room on the first host instead."""
        made = self.leasing.create(
            3, 6, leasing.wish(properties=_GOLD),
            leasing.wish(properties=_SILVER))
        self.assertEqual({self.other, self.spare}, self.leasing.nodes(made))
        self.assertEqual({self.home}, self.leasing.nodes(self.anywhere))
        self.assertEqual({self.home}, self.leasing.nodes(self.silver))

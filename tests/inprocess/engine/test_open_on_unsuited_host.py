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


"""A lease with open dates that is on a host that no longer suits it.

Another lease did not get other dates for a request, because the first one
has no other host. It was said to be proved that there is no room.
"""

from tests import leasing
from tests.inprocess.engine import open_dates

_GOLD, _SILVER = map(leasing.of_class, ('gold', 'silver'))


class TestOpenOnUnsuitedHost(open_dates.TestCase):

    def test_another_lease_slides(self):
        """The lease on the host that does not suit it keeps its dates."""
        (home,) = self.leasing.hosts(resource_class='gold')
        stays = self.flexible(2, 5, 2, leasing.wish(properties=_GOLD))
        self.leasing.hosts(2, resource_class='silver')
        slides = self.flexible(2, 8, 2, leasing.wish(2))
        self.leasing.change_host(home, resource_class='silver')
        self.leasing.create(2, 4, leasing.wish(properties=_SILVER))
        self.assert_hours((stays, 2, 4), (slides, 4, 6))
        self.assertEqual({home}, self.leasing.nodes(stays))

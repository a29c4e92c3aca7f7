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

"""A lease lets go of a host that somebody else has been promised as well.

The reservation of a leased host was drawn as far as the lease left it. In the
plan of a change that gives the host back nothing stood there any more, and
what had to make room for the lease was moved to it.
"""

from ironic_reservations import errors
from ironic_reservations.model import leases
from tests import leasing
from tests.inprocess.engine import timelines


class _TestCase(timelines.TestCase):

    def assert_sound(self, there):
        """Assert that nothing is outdated; a host is promised twice."""
        self.assertEqual({}, there.stale())

    def nodes(self, lease):
        return {each.node_uuid for each in self.leasing.reload(lease).bookings}


class TestGivenBack(_TestCase):

    def setUp(self):
        super().setUp()
        self.gold = self.leasing.hosts(2, resource_class='gold')
        self.silver = self.leasing.hosts(2, resource_class='silver')
        self.lease = self.leasing.create(0, 5, *(
            leasing.wish(count, properties=leasing.of_class(name))
            for count, name in ((2, 'gold'), (1, 'silver'))))
        self.leasing.bind()
        self.other = self.leasing.create(3, 4)

    def grow(self):
        """Ask for another silver host, and give a gold one back."""
        gold, silver = self.lease.reservations
        return self.leasing.change(self.lease, reservations=(
            leases.LeaseReservationChange(gold.id, give_back=(self.gold[0],)),
            leases.LeaseReservationChange(silver.id, 2, 2)))

    def test_nobody_is_moved_to_it(self):
        """As long as it is reserved, there is no room for the other lease."""
        self.leasing.overlap(self.gold[0], 6)
        self.assertRaises(errors.LeaseRefused, self.grow)
        self.assertNotIn(self.gold[0], self.nodes(self.other))

    def test_what_others_leave_of_it_is_for_everybody(self):
        """From the end of the reservation on."""
        self.leasing.overlap(self.gold[0], 2)
        self.grow()
        self.assertEqual({self.gold[0]}, self.nodes(self.other))


class TestMoved(_TestCase):
    """The same of a lease that has not started: it lets go of all it has.

    It never covers another one, who is drawn whole.
    """

    def setUp(self):
        super().setUp()
        self.gold, = self.leasing.hosts(1, resource_class='gold')
        self.silver, = self.leasing.hosts(1, resource_class='silver')
        self.lease = self.leasing.create(2, 6, leasing.wish_of('gold', 1))
        self.other = self.leasing.create(3, 4)

    def move(self):
        """Ask for the host that the other lease has."""
        return self.leasing.resize(self.lease,
                                   properties=leasing.of_class('silver'))

    def test_nobody_is_moved_to_what_it_had(self):
        self.leasing.overlap(self.gold, 4)
        self.assertRaises(errors.LeaseRefused, self.move)
        self.assertEqual([{self.gold}, {self.silver}],
                         [self.nodes(self.lease), self.nodes(self.other)])

    def test_what_others_leave_of_it_is_for_everybody(self):
        self.leasing.overlap(self.gold, 3)
        self.move()
        self.assertEqual([{self.silver}, {self.gold}],
                         [self.nodes(self.lease), self.nodes(self.other)])

    def test_it_does_not_begin_earlier_beside_somebody_else(self):
        self.leasing.overlap(self.gold, 4)
        self.refuse(self.lease, start=1)

    def test_it_leaves_for_a_host_that_nobody_else_has(self):
        """Where it is planned anew, and there is one."""
        self.leasing.overlap(self.gold, 4)
        another, = self.leasing.hosts(1, resource_class='gold')
        self.leasing.change(self.lease, end=7)
        self.assertEqual({another}, self.nodes(self.lease))

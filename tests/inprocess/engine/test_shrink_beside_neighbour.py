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

"""A lease of instances that is made smaller shortly before its end.

What is given back counts as late for a while, past the end of the lease; and
what was planned to start there at that end had no room beside it any more.
The change was answered with an error of the server.
"""

from tests import leasing
from tests.inprocess.engine import compute_leases

_MINUTE = 1 / 60


class TestShrinkBesideNeighbour(compute_leases.ComputeTestCase):

    def _shrunk(self, minutes, start=1.0):
        """Make a lease smaller so many minutes before its end.

        :param start: of the neighbour, which needs all of the host.
        """
        self.leasing = leasing.Leasing(self.useFixture(
            leasing.world.World()))
        self.leasing.compute_hosts()
        lease = self.leasing.create(0, 1, leasing.instances(4, 2))
        neighbour = self.leasing.create(start, 2, leasing.instances(4, 2))
        self.leasing.clock_passes(1 - minutes * _MINUTE)
        changed = self.leasing.resize_instances(lease, 1)
        return lease, neighbour, changed

    def test_neighbour_that_starts_at_the_end_stays_where_it_is(self):
        for minutes in (0.1, 0.5, 1, 1.5, 2, 5):
            lease, neighbour, _ = self._shrunk(minutes)
            there = self.leasing.reload(lease).bookings
            self.assertEqual(3, sum(row.state is leasing.ENDING
                                    for row in there), minutes)
            self.assertEqual(1, sum(row.state is leasing.BOUND
                                    for row in there), minutes)
            self.assertEqual(
                neighbour.end, self.leasing.reload(neighbour).end)
            self.assertEqual(4, len(self.leasing.reload(neighbour).bookings))
            self.assertEqual([], self.leasing.overfull())
            self.assertEqual({}, self.leasing.stale())

    def test_neighbour_that_starts_soon_after_it_likewise(self):
        for minutes in (0.1, 1):
            _, neighbour, _ = self._shrunk(minutes, 1 + 0.5 * _MINUTE)
            self.assertEqual(4, len(self.leasing.reload(neighbour).bookings))
            self.assertEqual([], self.leasing.overfull())

    def test_what_is_given_back_is_not_promised_before_it_is_back(self):
        lease, _, _ = self._shrunk(5)
        self.leasing.refused(None, 1, leasing.instances(1, 2))
        self.leasing.clean_up()
        self.leasing.create(None, 1, leasing.instances(3, 2))
        self.assertEqual([], self.leasing.overfull())
        self.assertEqual(1, len(self.leasing.reload(lease).bookings))

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
"""What is looked at to keep what others have of a host.

A node may be promised for years to come; to change a lease of it takes longer
with each promise, and not with the square of them.
"""

from ironic_reservations.engine.leases import placeholders
from ironic_reservations.model import instants
from tests import leasing
from tests import world


class _Counted(int):
    """An instant that counts how often it is compared."""

    compared = 0

    def __lt__(self, other):
        _Counted.compared += 1
        return int(self) < other

    def __le__(self, other):
        _Counted.compared += 1
        return int(self) <= other

    def __gt__(self, other):
        _Counted.compared += 1
        return int(self) > other

    def __ge__(self, other):
        _Counted.compared += 1
        return int(self) >= other


class TestPlaceholders(world.TestCase):

    def setUp(self):
        super().setUp()
        self.world = self.new_world()
        self.leasing = leasing.Leasing(self.world)
        self.leasing.hosts(1)

    def of_host(self, kept):
        """Return what others have beside every ``kept``-th booking."""
        engine = self.world.engine
        snapshot = engine.snapshots.snapshot(engine.database,
                                             self.world.clock())
        taken = [(_Counted(each.start), _Counted(each.end))
                 for each in snapshot.timeline.rows[0][::kept]]
        _Counted.compared = 0
        return placeholders.of_host(snapshot, 0, (), taken)

    def test_promise_is_not_compared_with_all_others(self):
        compared = []
        for places in (range(15), range(15, 60)):
            for place in places:
                self.leasing.create(10 + 2 * place, 11 + 2 * place)
            self.of_host(2)
            compared.append(_Counted.compared)
        self.assertLess(compared[1], 4 * 2 * compared[0])

    def test_what_the_timeline_does_not_show(self):
        for place in range(4):
            self.leasing.create(10 + 2 * place, 11 + 2 * place)
        self.assertEqual(
            [(instants.instant(leasing.at(10 + 2 * place)),
              instants.instant(leasing.at(11 + 2 * place)))
             for place in (1, 3)],
            [(each.start, each.end) for each in self.of_host(2)])

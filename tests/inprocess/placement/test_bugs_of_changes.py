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

"""What holds in Placement cost others since they follow changes."""

from ironic_reservations.engine import announce
from ironic_reservations.engine import mirror
from ironic_reservations.engine.reservations import release
from tests import world
from tests.inprocess.placement import faults
from tests.inprocess.placement import held_reservations


class TestPlacementBeforeOthers(held_reservations.TestCase):

    def test_end_is_told_though_the_process_dies_in_placement(self) -> None:
        """Whoever listens need not wait for Placement, nor lose the end."""
        made = self.reserve(self.enrol())
        told: list[str] = []
        world.hear(self.engine, notify=lambda event, *_: told.append(event))

        def die(*sent: object) -> None:
            raise faults.Died
        self.network.before = die
        self.assertRaises(faults.Died, release.release, self.engine, made.uuid)
        self.assertEqual(1, len(told))

    def test_mirror_does_not_wait_for_placement_for_each_node(self) -> None:
        """One time-out tells that it does not answer."""
        self.world.conf.set_override('on_deploy', 'move', 'placement')
        made = [self.reserve(self.enrol()) for _ in range(3)]
        for each in made:
            self.world.ironic.deploy(each.node_uuid, each.instance_uuid)
        self.network.calls.clear()
        self.network.down = True
        mirror.refresh_all(self.engine)
        self.assertEqual({'in_use'}, {
            row['state'] for row in self.world.reservations().values()})
        self.assertLess(len(self.network.calls), 3)


class TestOrderOfNotifications(held_reservations.TestCase):

    def test_reservation_that_is_made_again_is_not_told_to_be_over(
            self) -> None:
        """Whoever listens takes the last word about a uuid for true."""
        node, uuid = self.enrol(), world.new_uuid()
        told: list[str] = []
        world.hear(self.engine, notify=lambda event, *_: told.append(event))
        self.reserve(node, uuid=uuid, ttl=600)
        self.world.clock.advance(601)
        self.reserve(node, uuid=uuid, ttl=600)
        self.assertEqual([announce.CREATE, announce.DELETE, announce.CREATE],
                         told)

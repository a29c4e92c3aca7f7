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

"""Reservations that are held in Placement."""

from typing import Any

from ironic_reservations import engine as engine_module
from ironic_reservations import errors
from ironic_reservations.engine import earlier
from ironic_reservations.engine.reservations import reserve
from ironic_reservations.features.placement.holds import values
from ironic_reservations.model import node_reservation
from ironic_reservations.planner import pick
from tests import world
from tests.inprocess.placement import faults
from tests.inprocess.placement import ground


class TestCase(ground.TestCase):
    """With the calls of the API."""

    def reserve(self, *node_uuids: str,
                engine: engine_module.Engine | None = None,
                key: str | None = None,
                **ask: Any) -> node_reservation.Reservation:
        """Reserve as an administrator; no nodes: any of the class gold."""
        if not node_uuids:
            ask.setdefault('resource_class', 'gold')
        ask.setdefault('instance_uuid', world.new_uuid())
        asked = pick.NodeRequest(node_uuids=node_uuids or None,
                                 project_id='ours',
                                 user_id='me',
                                 **ask)
        return reserve.reserve(
            engine or self.engine, asked, world.ALL_NODES,
            key=None if key is None else earlier.of_request(
                'reservation', asked.project_id, key, asked))

    def refused(self, *node_uuids: str, **ask: Any) -> list[dict[str, Any]]:
        """Ask for what cannot be had, and return the reasons."""
        refused = self.assertRaises(errors.NoNodeAvailable, self.reserve,
                                    *node_uuids, **ask)
        given: list[dict[str, Any]] = refused.details['reasons']
        return given

    def die(self, *nodes: str, **ask: Any) -> None:
        """Have a process die once it has asked Placement for a node."""
        with faults.Steps(2) as steps:
            self.reserve(*nodes, engine=faults.mortal(
                self.world.engine, self.there.sender(), steps), **ask)
        self.assertTrue(steps.died)

    def assert_nothing_left(self) -> None:
        """There is neither a reservation nor a hold that stands."""
        self.assertEqual({}, self.world.reservations())
        self.assertEqual([], [row for row in self.rows() if row.state
                              is not values.HoldState.RELEASING])

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

"""The database asks the table of node conditions, as all others do."""

import datetime

from ironic_reservations.db import candidates as db_candidates
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition
from ironic_reservations.model import node_reservation
from tests import world
from tests.unit.model import nodes_of_all_conditions


class TestDatabaseAgrees(world.TestCase):

    def test_the_database_finds_what_is_usable_and_nothing_else(self):
        around = self.new_world()
        there = [mirrored_node.Node(
            world.new_uuid(), provision_state=node.provision_state,
            maintenance=node.maintenance, retired=node.retired,
            instance_uuid=node.instance_uuid, parent_node=node.parent_node)
            for node in nodes_of_all_conditions.nodes()]
        around.write_mirror(there)
        with around.engine.database.read() as connection:
            found = db_candidates.read_candidates(
                connection, db_candidates.NodeRequirements(), world.ALL_NODES,
                world.NOON, '', len(there) + 1, world.new_uuid()).nodes
        self.assertEqual(
            {node.uuid for node in there
             if node_condition.of(node) is node_condition.Condition.USABLE},
            set(found))

    def test_the_database_says_why_a_reservation_is_suspended(self):
        """As the table does, for each reservation that waits to be used."""
        around = self.new_world()
        there = [mirrored_node.Node(world.new_uuid(), maintenance=maintenance,
                                    retired=retired, parent_node=parent)
                 for parent in (None, 'whole')
                 for maintenance in (False, True)
                 for retired in (False, True)]
        around.write_mirror(there)
        for node in there:
            for state in node_reservation.State:
                held = node_reservation.Reservation(
                    world.new_uuid(), node.uuid, world.new_uuid(),
                    world.NOON, None,
                    world.NOON + datetime.timedelta(hours=1), state=state)
                with around.engine.database.write() as connection:
                    db_reservations.insert(connection, held)
                with around.engine.database.read() as connection:
                    read = db_reservations.read_by_uuid(connection, held.uuid)
                self.assertEqual(node_condition.suspends(node),
                                 read.unusable)
                self.assertEqual(
                    state is node_reservation.State.RESERVED
                    and node_condition.broken(node) is not None,
                    read.suspended is not None)
                with around.engine.database.write() as connection:
                    db_reservations.delete(connection, read)

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

"""A pick by class reads a few nodes, and whether anything else is there."""

import datetime
from typing import Any
import uuid

from ironic_reservations.db import candidates as db_candidates
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_reservation
from tests import world
from tests.inprocess.db import base

_ALL = db_candidates.NodeRequirements()
_NODES = sorted(world.new_uuid() for _ in range(5))
_INSTANCE = str(uuid.uuid4())
_MINUTE = datetime.timedelta(minutes=1)


class _Candidates:

    def setUp(self) -> None:
        super().setUp()
        self.database = self.enterContext(self.opened())
        with self.database.write() as writing:
            for node in _NODES:
                db_nodes.insert_node(writing, mirrored_node.Node(
                    node, name=node, resource_class='gold', owner='red',
                    lessee='blue', properties=(('cpus', '8'),)),
                    world.NOON)

    def _read(self, limit: int = 2, start_at: str = '',
              **asked: Any) -> db_candidates.Candidates:
        asked.setdefault('instance_uuid', _INSTANCE)
        with self.database.read() as connection:
            return db_candidates.read_candidates(
                connection, _ALL, world.ALL_NODES, world.NOON, start_at,
                limit, **asked)

    def _reserve(self, node: str, until: datetime.datetime,
                 **given: str) -> node_reservation.Reservation:
        given = {'uuid': world.new_uuid(), 'instance_uuid': world.new_uuid(),
                 **given}
        made = node_reservation.Reservation(
            node_uuid=node, created_at=world.NOON, updated_at=None,
            expires_at=until, **given)
        with self.database.write() as writing:
            db_reservations.insert(writing, made)
        return made

    def test_what_a_pick_needs_is_as_in_the_row(self) -> None:
        """Its generation above all, since the commit names it."""
        with self.database.read() as connection:
            rows = db_nodes.read_nodes(connection)
        found = self._read(9).nodes
        self.assertEqual(_NODES, list(found))
        for node, there in found.items():
            for name in ('uuid', 'generation', 'resource_class', 'owner',
                         'lessee'):
                self.assertEqual(getattr(rows[node], name),
                                 getattr(there, name))

    def test_wraps_round(self) -> None:
        """So that all begin somewhere else, and none finds too few."""
        self.assertEqual([*_NODES[3:], *_NODES[:2]],
                         list(self._read(4, _NODES[3]).nodes))

    def test_nothing_else_is_there(self) -> None:
        """Then no other statement is needed; others' are no obstacle."""
        self._reserve(_NODES[0], world.NOON + _MINUTE)
        found = self._read(4, uuid=world.new_uuid())
        self.assertEqual(_NODES[1:], list(found.nodes))
        self.assertFalse(found.related)

    def test_row_of_an_ended_reservation_is_told(self) -> None:
        """Its node is free, and a new row would collide with it."""
        self._reserve(_NODES[1], world.NOON - _MINUTE)
        self.assertIn(_NODES[1], self._read().nodes)
        self.assertTrue(self._read().related)
        # NOTE: that of a node that is not among them does not matter.
        self.assertFalse(self._read(start_at=_NODES[2]).related)

    def test_reservation_of_the_instance_is_told(self) -> None:
        """Wherever it is: the request may have been served before."""
        self._reserve(_NODES[4], world.NOON + _MINUTE,
                      instance_uuid=_INSTANCE)
        self.assertTrue(self._read().related)
        self.assertFalse(self._read(instance_uuid=world.new_uuid()).related)

    def test_reservation_with_the_uuid_is_told(self) -> None:
        """Likewise."""
        made = self._reserve(_NODES[4], world.NOON + _MINUTE)
        self.assertTrue(self._read(uuid=made.uuid).related)
        self.assertFalse(self._read(uuid=world.new_uuid()).related)

    def test_where_no_node_is_free_nothing_is_ruled_out(self) -> None:
        """A copy of a request that took the last one has to find it."""
        for node in _NODES:
            self._reserve(node, world.NOON + _MINUTE)
        found = self._read()
        self.assertEqual(({}, True), (found.nodes, found.related))


class TestOnSqlite(_Candidates, base.DatabaseTestCase):
    """In a file."""

    kind = 'sqlite'


class TestOnMySQL(_Candidates, base.DatabaseTestCase):
    """With MariaDB."""

    kind = 'mysql'


class TestOnPostgreSQL(_Candidates, base.DatabaseTestCase):
    """With PostgreSQL."""

    kind = 'postgresql'

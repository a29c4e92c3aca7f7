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

"""What a row was known by is never what another one is known by.

A process that stood still acts on what it read before.  SQLite used to give
the id of a deleted row to the next one, so that such a process deleted the
booking or closed the request of somebody else; and a node that was enrolled
again began with the generations that old plans name.
"""

import datetime

import sqlalchemy as sa

from ironic_reservations.db import node_sums
from ironic_reservations.db import nodes
from ironic_reservations.db import tables
from ironic_reservations.model import mirrored_node
from tests.inprocess.schema import each_database
from tests.real import databases

_NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
_ROWS = {
    'nodes': {'uuid': 'x', 'generation': 1, 'maintenance': False,
              'retired': False, 'reservable': True, 'observed_at': _NOW},
    'reservations': {'uuid': 'x', 'node_uuid': 'n', 'created_at': _NOW,
                     'expires_at': _NOW, 'state': 'planned'},
    'in_flight_requests': {'node_uuid': 'n', 'expires_at': _NOW,
                           'token': 't', 'state': 'sent'},
    'hosts': {'node_uuid': 'n', 'reservable': True, 'created_at': _NOW},
    'holds': {'generation': 1, 'consumer_uuid': 'x', 'node_uuid': 'n',
              'owner': 'o', 'resources': '{}', 'exclusive': True,
              'project_id': 'p', 'user_id': 'u', 'state': 'active',
              'confirmed': True, 'created_at': _NOW, 'deadline': _NOW,
              'live': 'node'},
    'usage_periods': {'reservation_id': 'r', 'lease_id': 'l',
                      'resource_class': '', 'kind': 'x', 'starts_at': _NOW,
                      'hosts': 1}}


@each_database.on(databases.KINDS)
class _NeverAgainOn:

    def setUp(self) -> None:
        super().setUp()
        self.database = self.migrated()

    def enroll(self) -> mirrored_node.Node:
        with self.database.write() as connection:
            nodes.insert_node(connection, mirrored_node.Node('n'), _NOW)
        with self.database.read() as connection:
            return nodes.read_nodes(connection, ['n'])['n']

    def test_id_of_a_deleted_row_is_never_given_again(self) -> None:
        """The last row is deleted, and the next one has a higher number."""
        self.enroll()
        numbered = {table.name for table in tables.metadata.sorted_tables
                    if 'id' in table.c and table.c.id.autoincrement
                    and isinstance(table.c.id.type, sa.Integer)}
        self.assertEqual(numbered, _ROWS.keys())
        for name, values in _ROWS.items():
            table, given = tables.metadata.tables[name], []
            for _ in range(3):
                with self.database.write() as connection:
                    given.append(connection.execute(
                        sa.insert(table).values(values)
                    ).inserted_primary_key[0])
                with self.database.write() as connection:
                    connection.execute(
                        sa.delete(table).where(table.c.id == given[-1]))
            self.assertEqual(sorted(set(given)), given, name)

    def test_node_enrolled_again_is_another_one_to_an_old_plan(self) -> None:
        """A plan on the deleted node is never carried out on the new one."""
        before = self.enroll()
        with self.database.write() as connection:
            planned = [before.generation]
            for step in (3, 2, 1):
                now = nodes.read_generations(connection, ['n'])
                self.assertTrue(nodes.advance_all(connection, now, step))
                planned.append(now['n'] + step)
        with self.database.write() as connection:
            nodes.delete_node(connection, 'n', planned[-1])
        for _ in range(5):
            after = self.enroll()
            self.assertNotIn(after.generation, planned)
            with self.database.write() as connection:
                for generation in planned:
                    self.assertFalse(nodes.advance_all(
                        connection, {'n': generation}, 1))
                nodes.delete_node(connection, 'n', after.generation)
            planned.append(after.generation)

    def test_sums_of_generations_do_not_overflow(self) -> None:
        """Of a whole bucket of nodes, after millions of changes of each."""
        with self.database.write() as connection:
            connection.execute(sa.insert(tables.nodes), [
                {**_ROWS['nodes'], 'uuid': str(number), 'id': 2 ** 20 + number,
                 'generation': 2 ** 56 + number, 'revision': 2 ** 55}
                for number in range(64)])
        with self.database.read() as connection:
            (count, _, generations), = node_sums.read_sums(
                connection).buckets.values()
        self.assertEqual((64, sum(2 ** 56 + number + 2 ** 55
                                  for number in range(64))),
                         (count, generations))

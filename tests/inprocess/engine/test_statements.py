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

"""The number of SQL statements is a constant, whatever the number of nodes."""

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.reservations import find
from ironic_reservations.engine.reservations import release
from ironic_reservations.engine.reservations import renew
from ironic_reservations.features.maintenance import find as maintenance
from ironic_reservations.model import mirrored_node
from tests import servers
from tests import world
from tests.inprocess.engine import timelines
from tests.inprocess.timeline import windows

MOST = 8


@servers.also
class TestStatements(timelines.TestCase):

    def _statements(self, call, *args, **kwargs):
        with self.statements() as sent:
            call(*args, **kwargs)
        return len(sent)

    def test_reserving_costs_the_same_for_1_10_and_1000_nodes(self):
        nodes = self.world.enrol(1010)
        seen = {length: self._statements(self.world.reserve, *listed)
                for length, listed in ((1, nodes[:1]), (10, nodes[:10]),
                                       (1000, nodes[:1000]))}
        self.assertEqual(1, len(set(seen.values())), seen)
        self.assertLessEqual(seen[1], MOST)

    def test_reserving_costs_the_same_with_10000_nodes_in_the_table(self):
        few = self.world.enrol(10, resource_class='gold')
        by_list = self._statements(self.world.reserve, *few)
        by_class = self._statements(self.world.reserve, resource_class='gold')
        with self.engine.database.write() as connection:
            for _ in range(10000):
                node = mirrored_node.Node(world.new_uuid(),
                                          resource_class='gold')
                self.world.ironic.there[node.uuid] = node
            connection.execute(_INSERT, [
                _row(node) for node in list(
                    self.world.ironic.there.values())[10:]])
        self.assertEqual(by_list, self._statements(self.world.reserve, *few))
        again = self._statements(self.world.reserve, resource_class='gold')
        # NOTE: one more if the search wraps round the end of the table.
        self.assertLessEqual(abs(by_class - again), 1)
        self.assertLessEqual(max(by_list, by_class, again), MOST)

    def test_ending_a_window_costs_the_same_for_1_and_10_nodes(self):
        """Each node had a statement of its own."""
        nodes, seen = self.world.enrol(11), []
        for listed in (nodes[:1], nodes[1:]):
            window = windows.book(self.engine, 1, 2, listed).window
            seen.append(self._statements(maintenance.end, self.engine,
                                         window.id))
        self.assertEqual(seen[0], seen[1])
        self.assertLessEqual(seen[0], MOST)

    def test_worst_cases_stay_below_the_bound(self):
        old = [*self.world.enrol(3), *self.world.enrol(
            1, mirrored=False, resource_class='gold',
            traits=frozenset({'CUSTOM_A'}))]
        uuid, instance = world.new_uuid(), world.new_uuid()
        self.world.reserve(old[0], uuid=uuid, ttl=10)
        self.world.reserve(old[1], instance_uuid=instance, ttl=10)
        self.world.clock.advance(10)
        self.assertLessEqual(self._statements(
            self.world.reserve, old[3], uuid=uuid, instance_uuid=instance,
            resource_class='gold', traits=frozenset({'CUSTOM_A'})),
            # NOTE: a new node is given a generation by the id of its row.
            MOST + 1)

    def test_refusals_stay_below_the_bound(self):
        listed = self.world.enrol(1000, maintenance=True)
        for nodes, ask in ((listed, {}), ((), {'resource_class': 'gold'}),
                           ((), {'traits': frozenset({'CUSTOM_A'})})):
            # NOTE: a search that finds nothing wraps round.
            self.assertLessEqual(self._statements(
                self.assertRaises, errors.NoNodeAvailable,
                self.world.reserve, *nodes, **ask), MOST + (not nodes))

    def test_every_other_use_case_stays_below_the_bound(self):
        (node,) = self.world.enrol()
        held = self.world.reserve(node)
        engine = self.engine
        opened = []
        for call in (
                lambda: renew.renew(engine, held.uuid, ttl=60),
                lambda: find.get(engine, held.uuid),
                lambda: find.page(engine, find.Query(marker=held.uuid)),
                lambda: find.reserved_node_uuids(engine),
                lambda: opened.append(admission.admit(engine, node,
                                                    held.uuid)),
                lambda: admission.close(engine, opened[0], True),
                lambda: release.release(engine, held.uuid)):
            self.assertLessEqual(self._statements(call), MOST)


_INSERT = sa.text(
    'INSERT INTO nodes (uuid, generation, resource_class, provision_state,'
    ' maintenance, retired, reservable, observed_at) VALUES (:uuid, 1,'
    ' :resource_class, \'available\', :no, :no, :yes,'
    ' \'2026-03-01 12:00:00.000000\')')


def _row(node):
    return {'uuid': node.uuid, 'resource_class': node.resource_class,
            'no': False, 'yes': True}

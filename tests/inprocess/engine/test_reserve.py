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

"""Reserving from a list of nodes, asserted on the rows as reloaded."""

import dataclasses
import datetime
import itertools

from ironic_reservations import errors
from ironic_reservations.model import reasons
from ironic_reservations.model import visibility
from tests import servers
from tests import world
from tests.inprocess.engine import timelines

_OF_LEASES = dict.fromkeys(('starts_at', 'lease_reservation_id', 'place',
                            'lessee', 'lessee_before', 'bound_at',
                            'warned_at', 'window_id'))
OURS = visibility.Visibility(project_id='ours')


@servers.also
class TestReserve(timelines.TestCase):

    def _refused(self, *node_uuids, **ask):
        return [(reason.get('node_uuid'), reason['code'])
                for reason in self.unavailable(*node_uuids, **ask)]

    def test_row_holds_what_was_asked_for(self):
        (node,) = self.world.enrol()
        uuid, instance = world.new_uuid(), world.new_uuid()
        given = self.world.reserve(
            node, uuid=uuid, instance_uuid=instance, ttl=90,
            project_id='ours', user_id='me')
        row = self.world.reservations()[uuid]
        self.assertEqual(
            {'id': given.id, 'uuid': uuid, 'node_uuid': node,
             'instance_uuid': instance, 'created_at': world.NOON,
             'acted': False,
             'updated_at': None, 'state': 'reserved', 'immediate': 1,
             'expires_at': world.NOON + datetime.timedelta(seconds=90),
             'project_id': 'ours', 'user_id': 'me', **_OF_LEASES}, row)
        for key in ('immediate', *_OF_LEASES):
            del row[key]
        self.assertEqual({**row, 'unusable': None},
                         dataclasses.asdict(given))

    def test_without_a_time_the_default_is_taken(self):
        (node,) = self.world.enrol()
        self.assertEqual(world.NOON + datetime.timedelta(seconds=600),
                         self.world.reserve(node).expires_at)

    def test_first_of_the_list_is_taken_in_every_order(self):
        nodes = self.world.enrol(3)
        for order in itertools.permutations(nodes):
            given = self.world.reserve(*order, ttl=10)
            self.assertEqual(order[0], given.node_uuid)
            self.world.clock.advance(10)

    def test_list_is_used_up_in_its_order(self):
        nodes = self.world.enrol(4)
        self.assertEqual(nodes, [self.world.reserve(*nodes).node_uuid
                                 for _ in nodes])
        self.assertEqual([(node, reasons.RESERVED) for node in nodes],
                         self._refused(*nodes))

    def test_refusal_changes_nothing(self):
        (node,) = self.world.enrol(maintenance=True)
        before = self.world.mirrored()
        self._refused(node)
        self.assertEqual({}, self.world.reservations())
        self.assertEqual(before, self.world.mirrored())

    def test_each_node_of_a_refused_list_has_its_reason(self):
        causes = {
            reasons.WRONG_STATE: {'provision_state': 'active'},
            reasons.INSTANCE_BOUND: {'instance_uuid': world.new_uuid()},
            reasons.MAINTENANCE: {'maintenance': True},
            reasons.RETIRED: {'retired': True},
            reasons.PART_OF_NODE: {'parent_node': world.new_uuid()},
            reasons.NOT_RESERVABLE: {'reservable': False},
            reasons.RESOURCE_CLASS_MISMATCH: {'resource_class': 'silver'},
            reasons.TRAIT_MISSING: {'traits': frozenset({'CUSTOM_B'})}}
        wanted = {'resource_class': 'gold',
                  'traits': frozenset({'CUSTOM_A'})}
        expected = []
        for code, changed in causes.items():
            (node,) = self.world.enrol(**{**wanted, **changed})
            expected.append((node, code))
        expected.append((world.new_uuid(), reasons.NODE_NOT_FOUND))
        self.assertEqual(expected, self._refused(
            *(node for node, _ in expected), **wanted))

    def test_long_refusal_tells_some_and_counts_the_rest(self):
        nodes = self.world.enrol(25, maintenance=True)
        refused = self.assertRaises(errors.NoNodeAvailable,
                                    self.world.reserve, *nodes)
        self.assertIn('and 5 more', str(refused))
        self.assertEqual(25, len(refused.details['reasons']))

    def test_class_and_traits_filter_the_list(self):
        silver, gold = (*self.world.enrol(resource_class='silver'),
                        *self.world.enrol(resource_class='gold',
                                          traits=frozenset({'CUSTOM_A'})))
        self.assertEqual(gold, self.world.reserve(
            silver, gold, resource_class='gold',
            traits=frozenset({'CUSTOM_A'})).node_uuid)

    def test_project_reserves_only_what_it_may_see(self):
        (theirs,), (owned,), (leased,) = (
            self.world.enrol(owner='theirs'), self.world.enrol(owner='ours'),
            self.world.enrol(lessee='ours'))
        gone = world.new_uuid()
        self.assertEqual(
            [(theirs, reasons.NODE_NOT_FOUND), (gone, reasons.NODE_NOT_FOUND)],
            self._refused(theirs, gone, sees=OURS))
        self.assertEqual([owned, leased], [self.world.reserve(
            theirs, owned, leased, sees=OURS).node_uuid for _ in 'ab'])

    def test_reasons_for_another_projects_node_are_those_of_no_node(self):
        (theirs,) = self.world.enrol(owner='theirs')
        self.world.reserve(theirs)
        texts = set()
        for node in (theirs, world.new_uuid()):
            refused = self.assertRaises(
                errors.NoNodeAvailable, self.world.reserve, node, sees=OURS)
            texts.add(str(refused).replace(node, 'NODE'))
        self.assertEqual(1, len(texts))

    def test_database_without_tables_says_what_to_run(self):
        empty = self.new_world()
        nodes = empty.enrol()
        rename = 'ALTER TABLE {} RENAME TO {}'.format
        with empty.engine.database.write() as connection:
            connection.exec_driver_sql(rename('reservations', 'gone'))
        refused = self.assertRaises(errors.DatabaseUnavailable,
                                    empty.reserve, *nodes)
        # The check of the timeline after the test reads it.
        with empty.engine.database.write() as connection:
            connection.exec_driver_sql(rename('gone', 'reservations'))
        self.assertIn('ironic-reservations-dbsync upgrade', str(refused))


@servers.also
class TestAgain(timelines.TestCase):
    """The same request once more, and what only looks like it."""

    def setUp(self):
        super().setUp()
        self.nodes = self.world.enrol(3)
        self.instance = world.new_uuid()

    def _reserve(self, *nodes, **ask):
        return self.world.reserve(*(nodes or self.nodes), **{
            'instance_uuid': self.instance, 'project_id': 'ours', **ask})

    def test_same_instance_gets_the_same_reservation(self):
        first = self._reserve()
        self.assertEqual(first, self._reserve())
        self.assertEqual(first, self._reserve(self.nodes[2]))
        self.assertEqual([first.uuid], list(self.world.reservations()))

    def test_same_uuid_gets_the_same_reservation(self):
        uuid = world.new_uuid()
        first = self._reserve(uuid=uuid)
        self.assertEqual(first, self._reserve(uuid=uuid))
        self.assertEqual([uuid], list(self.world.reservations()))

    def test_retry_does_not_renew(self):
        first = self._reserve(ttl=60)
        self.world.clock.advance(30)
        self.assertEqual(first.expires_at,
                         self._reserve(ttl=60).expires_at)

    def test_retry_while_in_use_gets_the_same(self):
        first = self._reserve()
        self.world.use(first)
        self.world.clock.advance(100000)
        self.assertEqual(first.uuid, self._reserve().uuid)

    def test_retry_works_while_ironic_is_down(self):
        first = self._reserve()
        self.world.ironic.down = True
        self.assertEqual(first, self._reserve())

    def test_uuid_of_another_instance_is_refused(self):
        first = self._reserve(uuid=world.new_uuid())
        self.assertRaises(errors.UuidInUse, self._reserve, uuid=first.uuid,
                          instance_uuid=world.new_uuid())
        self.assertEqual([first.uuid], list(self.world.reservations()))

    def test_other_uuid_for_the_same_instance_is_refused(self):
        first = self._reserve(uuid=world.new_uuid())
        refused = self.assertRaises(errors.UuidInUse, self._reserve,
                                    uuid=world.new_uuid())
        self.assertIn(first.uuid, str(refused))

    def test_other_project_is_refused_without_the_proof(self):
        first = self._reserve()
        refused = self.assertRaises(errors.InstanceReserved, self._reserve,
                                    project_id='theirs')
        self.assertNotIn(first.uuid, str(refused))
        self.assertNotIn(first.uuid, str(refused.details))
        self.assertNotIn('ours', str(refused).replace('yours', ''))

    def test_other_project_with_the_uuid_learns_nothing(self):
        first = self._reserve(uuid=world.new_uuid())
        refused = self.assertRaises(errors.UuidInUse, self._reserve,
                                    uuid=first.uuid, project_id='theirs')
        self.assertNotIn(first.instance_uuid, str(refused))
        self.assertNotIn(first.node_uuid, str(refused))

    def test_expired_one_is_replaced_unswept(self):
        first = self._reserve(uuid=world.new_uuid(), ttl=10)
        self.world.clock.advance(10)
        second = self._reserve(ttl=10)
        self.assertNotEqual(first.uuid, second.uuid)
        self.assertEqual([second.uuid], list(self.world.reservations()))

    def test_expired_uuid_can_be_used_for_another_instance(self):
        uuid = world.new_uuid()
        self._reserve(uuid=uuid, ttl=10)
        self.world.clock.advance(10)
        again = self._reserve(self.nodes[1], uuid=uuid, project_id='theirs',
                              instance_uuid=world.new_uuid())
        self.assertEqual(again.instance_uuid,
                         self.world.reservations()[uuid]['instance_uuid'])

    def test_three_expired_rows_in_the_way_are_replaced_at_once(self):
        of_uuid = self._reserve(self.nodes[0], uuid=world.new_uuid(), ttl=10,
                                instance_uuid=world.new_uuid())
        self._reserve(self.nodes[1], ttl=10)
        self._reserve(self.nodes[2], ttl=10, instance_uuid=world.new_uuid())
        self.world.clock.advance(10)
        given = self._reserve(self.nodes[2], uuid=of_uuid.uuid)
        self.assertEqual([(given.uuid, self.nodes[2], self.instance)],
                         [(row['uuid'], row['node_uuid'],
                           row['instance_uuid']) for row in
                          self.world.reservations().values()])

    def test_expired_rows_of_others_stay_for_the_sweep(self):
        other = self._reserve(self.nodes[2], ttl=10,
                              instance_uuid=world.new_uuid())
        self.world.clock.advance(10)
        given = self._reserve(*self.nodes)
        self.assertEqual({other.uuid, given.uuid},
                         set(self.world.reservations()))

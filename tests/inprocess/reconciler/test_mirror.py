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

"""The mirror follows Ironic, and reservations follow the mirror."""

import datetime

from ironic_reservations import errors
from ironic_reservations.db import tables
from ironic_reservations.engine import hosts
from ironic_reservations.engine import mirror
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.reservations import release
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_reservation
from tests import leasing
from tests import servers
from tests import world


class MirrorTestCase(world.TestCase):

    def setUp(self):
        super().setUp()
        self.world = self.new_world()
        self.engine = self.world.engine
        self.ironic = self.world.ironic

    def goes(self, node):
        """Have a node be deleted, and the mirror be read."""
        self.ironic.remove(node)
        self.world.refresh()


class TestNotShown(MirrorTestCase):
    """Ironic answers 500 where it is asked for one of the nodes."""

    def test_others_are_settled_whose_process_has_died(self):
        """None of them was, and nobody checked the leases any more."""
        nodes = self.world.enrol(3)
        for uuid in nodes:
            held = self.world.reserve(uuid)
            ticket = admission.admit(self.engine, uuid, held.uuid)
            self.ironic.deploy(uuid, held.instance_uuid)
            admission.mark_uncertain(self.engine, ticket)
        with self.engine.database.write() as connection:
            connection.execute(tables.in_flight_requests.delete())
        failing = nodes[0]
        self.ironic.fails.add(failing)
        mirror.settle_starting(self.engine)
        self.assertEqual(
            {uuid: 'starting' if uuid == failing else 'in_use'
             for uuid in nodes},
            {row['node_uuid']: row['state']
             for row in self.world.reservations().values()})

    def test_others_are_forgotten_that_are_gone(self):
        """Not where Ironic answers so for all of them."""
        nodes = self.world.enrol(3)
        for uuid in nodes:
            self.ironic.remove(uuid)
        self.world.enrol()
        self.ironic.fails.update(nodes)
        self.assertRaises(errors.IronicUnavailable, self.world.refresh)
        self.ironic.fails.difference_update(nodes[1:])
        self.world.refresh()
        self.assertEqual({nodes[0]}, {*nodes} & {*self.world.mirrored()})


@servers.also
class TestFacts(MirrorTestCase):

    def test_everything_is_mirrored(self):
        (node,) = self.world.enrol(
            mirrored=False, name='n', resource_class='gold', owner='o',
            lessee='l', maintenance=True, retired=True, reservable=False,
            parent_node=world.new_uuid(), instance_uuid=world.new_uuid(),
            provision_state='active',
            traits=frozenset({'CUSTOM_A', 'CUSTOM_B'}))
        self.world.refresh()
        shown = self.ironic.there[node]
        row = self.world.mirrored()[node]
        ours = ('id', 'generation', 'revision', 'observed_at', 'properties',
                'let_through')
        self.assertEqual(
            {key: getattr(shown, key) for key in row if key not in ours},
            {key: value for key, value in row.items() if key not in ours})
        self.assertEqual({'CUSTOM_A', 'CUSTOM_B'}, self.world.traits(node))

    def test_changes_are_mirrored_and_the_generation_is_not(self):
        (node,) = self.world.enrol(traits=frozenset({'CUSTOM_A'}))
        before = self.world.mirrored()[node]['generation']
        self.world.change(node, resource_class='gold', name='new',
                          traits=frozenset({'CUSTOM_B'}))
        row = self.world.mirrored()[node]
        self.assertEqual(('gold', 'new', before), (
            row['resource_class'], row['name'], row['generation']))
        self.assertEqual({'CUSTOM_B'}, self.world.traits(node))

    def test_traits_that_are_gone_are_gone(self):
        (node,) = self.world.enrol(traits=frozenset({'CUSTOM_A'}))
        self.ironic.change(node, traits=frozenset())
        mirror.refresh_node(self.engine, node)
        self.assertEqual(set(), self.world.traits(node))

    def test_node_without_changes_is_not_written(self):
        (node,) = self.world.enrol()
        self.world.clock.advance(60)
        self.world.refresh()
        self.assertEqual(world.NOON,
                         self.world.mirrored()[node]['observed_at'])

    def test_older_facts_do_not_replace_newer_ones(self):
        (node,) = self.world.enrol(provision_state='deploying')
        self.ironic.change(node, provision_state='available')
        before = self.ironic.there[node]

        def reserved_by_somebody():
            self.world.clock.advance(1)
            self.world.reserve(node)
            self.ironic.there[node] = mirrored_node.Node(
                node, provision_state='deploying')
        self.ironic.interrupt('nodes', reserved_by_somebody)
        self.world.refresh()
        self.assertEqual('available', before.provision_state)
        self.assertEqual('available', self.world.mirrored()[node][
            'provision_state'])

    def test_older_traits_do_not_replace_newer_ones(self):
        for late in (lambda node: self.world.refresh(),
                     lambda node: hosts.add(self.engine, node, {})):
            (node,) = self.world.enrol(traits=frozenset({'CUSTOM_FIRST'}))

            def newer_answer_is_mirrored(node=node):
                self.world.clock.advance(1)
                self.ironic.change(node, traits=frozenset({'CUSTOM_NEW'}))
                mirror.refresh_node(self.engine, node)
            self.ironic.change(node, traits=frozenset({'CUSTOM_OLD'}))
            self.world.before_next_write(newer_answer_is_mirrored)
            late(node)
            self.assertEqual({'CUSTOM_NEW'}, self.world.traits(node))

    def test_change_poll_reads_what_changed(self):
        nodes = self.world.enrol(7)
        for node in nodes[::2]:
            self.ironic.change(node, resource_class='gold')
        mirror.refresh_changed(self.engine)
        rows = self.world.mirrored()
        self.assertEqual(['gold', None] * 3 + ['gold'], [
            rows[node]['resource_class'] for node in nodes])

    def test_change_poll_stops_where_nothing_is_new(self):
        self.world.enrol(100)
        pages = []
        lately_changed = self.ironic.lately_changed

        def counted():
            for page in lately_changed():
                pages.append(page)
                yield page
        self.ironic.lately_changed = counted
        mirror.refresh_changed(self.engine)
        self.assertEqual(1, len(pages))

    def test_change_poll_mirrors_new_nodes(self):
        (node,) = self.world.enrol(mirrored=False)
        mirror.refresh_changed(self.engine)
        self.assertIn(node, self.world.mirrored())

    def test_node_mirrored_twice_at_once_has_one_row(self):
        (node,) = self.world.enrol(mirrored=False)
        self.ironic.interrupt('nodes', lambda: self.world.reserve(node))
        self.world.refresh()
        self.assertEqual([node], list(self.world.mirrored()))

    def test_one_node_is_read_by_itself(self):
        first, second = self.world.enrol(2, mirrored=False)
        mirror.refresh_node(self.engine, first)
        self.assertEqual([first], list(self.world.mirrored()))
        mirror.refresh_node(self.engine, world.new_uuid())
        self.assertEqual([first], list(self.world.mirrored()))
        self.assertIn(second, self.ironic.there)


@servers.also
class TestDeleted(MirrorTestCase):

    def setUp(self):
        super().setUp()
        self.node, self.other = self.world.enrol(2)

    def test_node_that_is_gone_is_forgotten_with_its_reservation(self):
        self.world.reserve(self.node)
        kept = self.world.reserve(self.other)
        self.goes(self.node)
        self.assertEqual([self.other], list(self.world.mirrored()))
        self.assertEqual([kept.uuid], list(self.world.reservations()))

    def test_single_read_forgets_as_well(self):
        self.world.use(self.world.reserve(self.node))
        self.ironic.remove(self.node)
        mirror.refresh_node(self.engine, self.node)
        self.assertEqual(({}, [self.other]), (self.world.reservations(),
                                              list(self.world.mirrored())))

    def test_node_that_a_list_left_out_is_asked_for_before(self):
        """A node can be missed while the pages of a list are read."""
        held = self.world.reserve(self.node)
        nodes = self.ironic.nodes
        self.ironic.nodes = lambda: (
            node for node in nodes() if node.uuid != self.node)
        self.world.refresh()
        self.assertIn(self.node, self.world.mirrored())
        self.assertIn(held.uuid, self.world.reservations())

    def test_empty_list_forgets_nothing(self):
        held = self.world.reserve(self.node)
        self.ironic.answers_nothing = True
        self.ironic.there.clear()
        self.world.refresh()
        self.assertEqual({self.node, self.other}, set(self.world.mirrored()))
        self.assertIn(held.uuid, self.world.reservations())

    def test_failing_ironic_forgets_nothing(self):
        (another,) = self.world.enrol()
        for node in (self.node, another):
            self.ironic.remove(node)
        self.ironic.interrupt(
            'node', lambda: setattr(self.ironic, 'down', True))
        self.assertRaises(errors.IronicUnavailable, self.world.refresh)
        self.assertLessEqual({self.node, another}, set(self.world.mirrored()))

    def test_node_with_a_request_under_way_is_not_forgotten(self):
        admission.admit(self.engine, self.node)
        self.goes(self.node)
        self.assertIn(self.node, self.world.mirrored())
        self.world.find_out()
        self.world.refresh()
        self.assertNotIn(self.node, self.world.mirrored())

    def test_node_booked_while_it_is_forgotten_stays_for_the_next_pass(self):
        self.ironic.remove(self.node)
        self.ironic.interrupt('node', lambda: admission.close(
            self.engine, admission.admit(self.engine, self.node), False))
        self.world.refresh()
        self.assertIn(self.node, self.world.mirrored())
        self.world.refresh()
        self.assertNotIn(self.node, self.world.mirrored())

    def test_node_enrolled_again_can_be_reserved_again(self):
        first = self.world.reserve(self.node)
        shown = self.ironic.there[self.node]
        self.goes(self.node)
        self.ironic.put(shown)
        second = self.world.reserve(self.node)
        self.assertNotEqual(first.uuid, second.uuid)
        self.assertEqual([second.uuid], list(self.world.reservations()))


@servers.also
class TestEnds(MirrorTestCase):

    def setUp(self):
        super().setUp()
        (self.node,) = self.world.enrol()
        self.held = self.world.reserve(self.node, ttl=60)

    def _after(self, **changed):
        self.world.change(self.node, **changed)
        return self.world.state_of(self.held)

    def test_quiet_node_keeps_its_reservation(self):
        self.assertEqual('reserved', self._after())

    def test_freed_node_ends_its_reservation(self):
        """It is free for the next."""
        self.world.use(self.held)
        self.assertEqual('in_use', self._after())
        self.ironic.undeploy(self.node)
        self.assertIsNone(self._after())
        self.assertEqual(self.node, self.world.reserve(self.node).node_uuid)

    def test_node_on_its_way_to_being_freed_keeps_it(self):
        self.world.use(self.held)
        for state in ('deleting', 'cleaning', 'clean wait'):
            self.assertEqual('in_use', self._after(
                provision_state=state, instance_uuid=None))

    def test_broken_node_ends_it(self):
        self.world.use(self.held)
        self.assertIsNone(self._after(provision_state='clean failed',
                                      instance_uuid=None))

    def test_maintenance_on_off(self):
        """It took the node from whoever had reserved it.

        Whoever may set maintenance did that by setting it on and off, and so
        did Ironic after a power fault.
        """
        for trouble in ({'maintenance': True}, {'retired': True}):
            self.assertEqual('reserved', self._after(**trouble))
            self.assertRaises(errors.NoNodeAvailable, self.world.reserve,
                              self.node)
            self.ironic.change(self.node, **dict.fromkeys(trouble, False))
        self.assertEqual('reserved', self._after())

    def test_operator_may_have_maintenance_end_it(self):
        self.engine.conf.set_override('end_on_maintenance', True,
                                      'reservations')
        self.assertIsNone(self._after(maintenance=True))

    def test_maintenance_keeps_a_deployed_node_for_its_user(self):
        """And so does time: what is used lasts beyond its end."""
        self.world.use(self.held)
        self.assertEqual('in_use', self._after(maintenance=True))
        self.world.clock.advance(100000)
        self.assertEqual('in_use', self._after())

    def test_node_taken_past_the_guard_ends_a_promise(self):
        """It does once the guard has had time to take the node back."""
        taken = {'provision_state': 'deploying',
                 'instance_uuid': world.new_uuid()}
        self.assertEqual('reserved', self._after(**taken))
        self.world.clock.advance(mirror.TAKEN_FOR - 1)
        self.assertEqual('reserved', self._after())
        self.world.clock.advance(1)
        self.assertIsNone(self._after())

    def test_node_taken_past_the_guard_and_given_back_in_time(self):
        for state in ('active', 'available'):
            self.assertEqual('reserved', self._after(provision_state=state))
            self.world.clock.advance(mirror.TAKEN_FOR)
        self.assertEqual('reserved', self._after(provision_state='active'))

    def test_own_instance_on_the_node_puts_it_in_use(self):
        self.assertEqual('in_use', self._after(
            instance_uuid=self.held.instance_uuid))

    def test_change_poll_settles_as_well(self):
        self.world.use(self.held)
        self.ironic.undeploy(self.node)
        mirror.refresh_changed(self.engine)
        self.assertEqual({}, self.world.reservations())


@servers.also
class TestRaces(MirrorTestCase):
    """Facts that were read before a booking do not judge it."""

    def setUp(self):
        super().setUp()
        (self.node,) = self.world.enrol()

    def test_reservation_made_during_a_pass_is_left_alone(self):
        for call, refresh, *what in (
                ('nodes', mirror.refresh_all),
                ('node', mirror.refresh_node, self.node)):
            made = []
            self.ironic.interrupt(call, lambda made=made: made.append(
                self.world.reserve(self.node)))
            refresh(self.engine, *what)
            self.assertEqual('reserved', self.world.state_of(made[0]))
            release.release(self.engine, made[0].uuid)

    def test_deploy_during_a_pass_is_not_taken_for_a_freed_node(self):
        """The list was read before the deploy, the verdict comes after."""
        held = self.world.reserve(self.node)
        nodes = self.ironic.nodes

        def then_deployed():
            answer = list(nodes())
            self.world.use(held)
            return iter(answer)
        self.ironic.nodes = then_deployed
        self.world.refresh()
        self.assertEqual('in_use', self.world.state_of(held))

    def test_change_poll_asks_again_before_it_judges(self):
        """What changed was read before the reservation was."""
        self.ironic.change(self.node, provision_state='deploying')
        stale = list(self.ironic.lately_changed())
        self.ironic.change(self.node, provision_state='available')
        held = self.world.reserve(self.node)
        self.ironic.lately_changed = lambda: iter(stale)
        mirror.refresh_changed(self.engine)
        self.assertEqual('reserved', self.world.state_of(held))

    def test_release_during_a_pass_is_no_error(self):
        held = self.world.reserve(self.node)
        self.ironic.change(self.node, provision_state='manageable')
        self.ironic.interrupt(
            'nodes', lambda: release.release(self.engine, held.uuid))
        self.world.refresh()
        self.assertEqual({}, self.world.reservations())


@servers.also
class TestHosts(MirrorTestCase):
    """Nodes that an operator has opened to leases, and Ironic has lost."""

    def setUp(self):
        super().setUp()
        self.leasing = leasing.Leasing(self.world)
        self.node, _ = self.leasing.hosts(2)

    def _state(self):
        row = self.world.mirrored().get(self.node)
        return None if row is None else row['provision_state']

    def test_host_is_kept_as_one_that_is_gone(self):
        self.leasing.create(1, 4, leasing.wish(2))
        self.goes(self.node)
        self.assertEqual('gone', self._state())
        self.assertEqual({}, self.leasing.stale())

    def test_host_that_one_node_is_read_of_is_kept_too(self):
        self.ironic.remove(self.node)
        mirror.refresh_node(self.world.engine, self.node)
        self.assertEqual('gone', self._state())

    def test_reservation_of_a_host_that_is_gone_is_over(self):
        held = self.world.reserve(self.node)
        self.goes(self.node)
        self.assertIsNone(self.world.state_of(held))
        self.assertEqual('gone', self._state())

    def test_host_that_is_back_is_as_ironic_says(self):
        node = self.ironic.there[self.node]
        self.goes(self.node)
        self.ironic.put(node)
        self.world.clock.advance(1)
        self.world.refresh()
        self.assertEqual('available', self._state())

    def test_node_is_forgotten_once_it_is_no_host_any_more(self):
        self.goes(self.node)
        hosts.remove(self.world.engine, self.leasing.host_id(self.node))
        self.world.refresh()
        self.assertIsNone(self._state())


@servers.also
class TestReadsBetween(world.TestCase):
    """A reservation of a node that is newer than the list of rows."""

    def test_pass_leaves_it_for_the_next(self):
        rows = mirror._Rows(
            at=world.NOON, nodes={},
            reservations={'node': node_reservation.Reservation(
                'reservation', 'node', 'instance', world.NOON, None,
                world.NOON + datetime.timedelta(minutes=1))},
            busy={}, awaited=frozenset())
        fixture = self.new_world()
        node = mirrored_node.Node('node', maintenance=True)
        fixture.write_mirror([node])
        mirror._apply(fixture.engine, rows, [node])
        self.assertEqual(['node'], list(fixture.mirrored()))

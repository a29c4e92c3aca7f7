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

"""The mirror may be stale: what is picked is confirmed with Ironic."""

import itertools

from ironic_reservations import errors
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.model import reasons
from ironic_reservations.model import visibility
from tests import servers
from tests import world
from tests.inprocess.engine import timelines


@servers.also
class TestConfirm(timelines.TestCase):

    def test_node_free_now_is_taken_although_the_mirror_says_deploying(self):
        (node,) = self.world.enrol(provision_state='deploying')
        self.world.ironic.change(node, provision_state='available')
        self.assertEqual(node, self.world.reserve(node).node_uuid)
        self.assertEqual('available',
                         self.world.mirrored()[node]['provision_state'])

    def test_node_taken_now_is_skipped_although_the_mirror_says_free(self):
        taken, free = self.world.enrol(2)
        self.world.ironic.change(taken, provision_state='active')
        self.assertEqual(free, self.world.reserve(taken, free).node_uuid)

    def test_every_stale_fact_is_noticed(self):
        changes = {
            reasons.WRONG_STATE: {'provision_state': 'manageable'},
            reasons.INSTANCE_BOUND: {'instance_uuid': world.new_uuid()},
            reasons.MAINTENANCE: {'maintenance': True},
            reasons.RETIRED: {'retired': True},
            reasons.PART_OF_NODE: {'parent_node': world.new_uuid()},
            reasons.NOT_RESERVABLE: {'reservable': False},
            reasons.RESOURCE_CLASS_MISMATCH: {'resource_class': 'silver'}}
        for code, changed in changes.items():
            (node,) = self.world.enrol(resource_class='gold')
            self.world.ironic.change(node, **changed)
            self.assertEqual([code], self.codes(node, resource_class='gold'))

    def test_stale_facts_are_seen_through_in_every_order(self):
        free_now, = self.world.enrol(provision_state='deploying')
        taken_now, unmirrored = (*self.world.enrol(),
                                 *self.world.enrol(mirrored=False))
        self.world.ironic.change(free_now, provision_state='available')
        self.world.ironic.change(taken_now, provision_state='active')
        for order in itertools.permutations(
                [free_now, taken_now, unmirrored]):
            given = self.world.reserve(*order, ttl=10)
            self.assertEqual(
                next(node for node in order if node != taken_now),
                given.node_uuid)
            self.world.clock.advance(10)

    def test_unknown_node_is_mirrored_when_it_is_reserved(self):
        (node,) = self.world.enrol(mirrored=False, resource_class='gold',
                                   name='n', traits=frozenset({'CUSTOM_A'}))
        self.world.reserve(node)
        row = self.world.mirrored()[node]
        self.assertEqual(('gold', 'n', 'available'),
                         (row['resource_class'], row['name'],
                          row['provision_state']))
        self.assertEqual({'CUSTOM_A'}, self.world.traits(node))

    def test_deleted_node_is_not_found_although_it_is_mirrored(self):
        (node,) = self.world.enrol()
        self.world.ironic.remove(node)
        self.assertEqual([reasons.NODE_NOT_FOUND], self.codes(node))

    def test_lately_added_trait_counts(self):
        (node,) = self.world.enrol()
        wanted = frozenset({'CUSTOM_A'})
        self.world.ironic.change(node, traits=wanted)
        self.assertEqual(node,
                         self.world.reserve(node, traits=wanted).node_uuid)

    def test_ironic_down_promises_nothing(self):
        (node,) = self.world.enrol()
        self.world.ironic.down = True
        self.assertRaises(errors.IronicUnavailable, self.world.reserve, node)
        self.assertEqual({}, self.world.reservations())

    def test_node_that_ironic_never_shows_keeps_no_other(self):
        """No request was served as long as such a node came first."""
        failing, *free = self.world.enrol(3)
        self.world.ironic.fails.add(failing)
        self.assertEqual(free[0],
                         self.world.reserve(failing, *free).node_uuid)
        self.assertEqual(free[1], self.world.reserve(
            free[0], failing, free[1]).node_uuid)
        self.assertRaises(errors.IronicUnavailable, self.world.reserve,
                          failing, free[0])

    def test_two_nodes_that_ironic_does_not_show_mean_that_it_is_down(self):
        nodes = self.world.enrol(5)
        self.world.ironic.down = True
        self.world.ironic.asked.clear()
        self.assertRaises(errors.IronicUnavailable, self.world.reserve, *nodes)
        self.assertEqual(['node', 'node'], self.world.ironic.asked)

    def test_class_with_a_node_that_ironic_never_shows(self):
        failing, *free = self.world.enrol(5, resource_class='gold')
        self.world.ironic.fails.add(failing)
        self.assertEqual({*free}, {self.world.reserve(
            resource_class='gold').node_uuid for _ in free})

    def test_reserved_nodes_are_refused_without_asking_ironic(self):
        (node,) = self.world.enrol()
        self.world.reserve(node)
        self.world.ironic.down = True
        self.assertEqual([reasons.RESERVED], self.codes(node))

    def test_free_node_costs_one_question(self):
        nodes = self.world.enrol(1000)
        self.world.ironic.asked.clear()
        self.world.reserve(*nodes)
        self.assertEqual(['node'], self.world.ironic.asked)

    def test_thousand_stale_nodes_cost_few_questions(self):
        nodes = self.world.enrol(1000)
        for node in nodes[:-1]:
            self.world.ironic.change(node, provision_state='active')
        self._assert_few_questions(nodes)

    def test_thousand_unknown_nodes_cost_few_questions(self):
        nodes = self.world.enrol(1000, mirrored=False, maintenance=True)
        self.world.ironic.change(nodes[-1], maintenance=False)
        self._assert_few_questions(nodes)

    def _assert_few_questions(self, nodes):
        """Assert that the last of a list is found with few questions."""
        self.world.ironic.asked.clear()
        self.assertEqual(nodes[-1], self.world.reserve(*nodes).node_uuid)
        self.assertLessEqual(len(self.world.ironic.asked), 12)

    def test_callers_eyes_are_used_where_they_are_given(self):
        (node,) = self.world.enrol(owner='ours')
        blind = world.StandInIronic()
        self.assertEqual([reasons.NODE_NOT_FOUND],
                         self.codes(node, observer=blind))


@servers.also
class TestMirrorOnly(timelines.TestCase):

    options = {'ironic__confirm': 'mirror'}

    def test_ironic_is_not_asked(self):
        (node,) = self.world.enrol()
        self.world.ironic.down = True
        self.assertEqual(node, self.world.reserve(node).node_uuid)
        self.assertEqual([], self.world.ironic.asked)

    def test_facts_of_a_later_poll_survive_a_commit(self):
        """A commit on the mirror's facts writes no fact back.

        They were read before the poll wrote newer ones.
        """
        (node,) = self.world.enrol()
        newer = self.world.ironic.there[node]

        def poll():
            self.world.change(node, resource_class='gold')
        self.world.before_next_write(poll)
        self.world.reserve(node)
        self.assertIsNone(newer.resource_class)
        self.assertEqual('gold', self.world.mirrored()[node]['resource_class'])


    def test_node_deployed_unseen_is_not_taken_before_the_next_poll(self):
        """Ironic accepted a deploy and could not be read afterwards."""
        (node,) = self.world.enrol()
        opened = admission.admit(self.engine, node)
        self.world.ironic.deploy(node)
        admission.close(self.engine, opened, succeeded=True)
        self.assertRaises(errors.NoNodeAvailable, self.world.reserve, node)
        self.world.ironic.undeploy(node)
        self.world.refresh()
        self.assertEqual(node, self.world.reserve(node).node_uuid)


@servers.also
class TestByClass(timelines.TestCase):

    def _gold(self):
        return self.world.reserve(resource_class='gold').node_uuid

    def _counts(self, **ask):
        return {reason['code']: reason['nodes']
                for reason in self.unavailable(**ask)}

    def test_node_of_the_class_is_taken(self):
        """A class in other letters is another one."""
        self.world.enrol(5, resource_class='silver')
        self.world.enrol(40, resource_class='GOLD')
        (gold,) = self.world.enrol(resource_class='gold')
        self.assertEqual(gold, self._gold())
        self.assertEqual({'reserved': 1}, self._counts(resource_class='gold'))

    def test_all_traits_are_wanted(self):
        self.world.enrol(traits=frozenset({'CUSTOM_A'}))
        (both,) = self.world.enrol(traits=frozenset(
            {'CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C'}))
        self.assertEqual(both, self.world.reserve(
            traits=frozenset({'CUSTOM_A', 'CUSTOM_B'})).node_uuid)

    def test_class_is_used_up_to_the_last_node(self):
        nodes = self.world.enrol(40, resource_class='gold')
        self.assertEqual(set(nodes), {self._gold() for _ in nodes})
        self.assertEqual({'reserved': 40}, self._counts(resource_class='gold'))

    def test_refusal_counts_each_cause(self):
        gold = {'resource_class': 'gold'}
        (held,) = self.world.enrol(**gold)
        self.world.reserve(held)
        self.world.enrol(2, **gold, maintenance=True)
        self.world.enrol(**gold, retired=True, maintenance=True)
        self.world.enrol(**gold, provision_state='active')
        self.world.enrol(**gold, provision_state=None)
        self.world.enrol(**gold, provision_state='active',
                         instance_uuid=world.new_uuid())
        self.world.enrol(**gold, reservable=False)
        self.world.enrol(3)
        self.assertEqual(
            {'reserved': 1, 'maintenance': 2, 'retired': 1, 'wrong_state': 2,
             'instance_bound': 1, 'not_reservable': 1}, self._counts(**gold))

    def test_refusal_counts_only_what_the_caller_may_see(self):
        self.world.enrol(3, resource_class='gold', owner='theirs')
        self.world.enrol(resource_class='gold', owner='ours', maintenance=True)
        self.assertEqual({'maintenance': 1}, self._counts(
            resource_class='gold',
            sees=visibility.Visibility(project_id='ours')))

    def test_node_that_is_not_mirrored_yet_is_found(self):
        (node,) = self.world.enrol(mirrored=False, resource_class='gold')
        self.assertEqual(node, self._gold())

    def test_node_freed_since_the_last_poll_is_found(self):
        (node,) = self.world.enrol(resource_class='gold',
                                   provision_state='active')
        self.world.ironic.change(node, provision_state='available')
        self.assertEqual(node, self._gold())

    def test_reserved_node_is_not_taken_from_ironics_list(self):
        (node,) = self.world.enrol(resource_class='gold')
        self.world.reserve(node)
        self.assertEqual({'reserved': 1}, self._counts(resource_class='gold'))

    def test_stale_sample_costs_few_questions(self):
        nodes = self.world.enrol(100, resource_class='gold')
        for node in nodes[:-1]:
            self.world.ironic.change(node, provision_state='active')
        self.world.ironic.asked.clear()
        self.assertEqual(nodes[-1], self._gold())
        self.assertLessEqual(len(self.world.ironic.asked), 12)

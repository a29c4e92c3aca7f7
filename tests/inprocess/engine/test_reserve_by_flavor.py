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

"""Reserving by the class in Placement, as a flavor of Nova names it."""

from ironic_reservations import errors
from ironic_reservations.model import visibility
from tests import servers
from tests.inprocess.engine import timelines

MOST = 9
GOLD = 'CUSTOM_BM_GOLD'
OLD = frozenset({'CUSTOM_OLD'})


@servers.also
class TestByClassName(timelines.TestCase):

    def reserve(self, *nodes, **ask):
        return self.world.reserve(*nodes, class_name=GOLD, **ask).node_uuid

    def refused(self, *nodes, **ask):
        """Return the code and the number, or the node, of each reason."""
        refused = self.assertRaises(errors.NoNodeAvailable, self.reserve,
                                    *nodes, **ask)
        return {(reason['code'], reason.get('nodes', reason.get('node_uuid')))
                for reason in refused.details['reasons']}

    def test_every_spelling_of_the_class_will_do(self):
        spelt = {uuid for name in ('bm-gold', 'BM Gold', 'bm_gold')
                 for uuid in self.world.enrol(resource_class=name)}
        self.world.enrol(resource_class='gold')
        self.world.enrol(resource_class=None)
        self.assertEqual(spelt, {self.reserve() for _ in spelt})
        self.assertEqual({('reserved', 3)}, self.refused())

    def test_node_with_a_forbidden_trait_is_passed_over(self):
        old, = self.world.enrol(resource_class='bm-gold', traits=OLD)
        new, = self.world.enrol(resource_class='bm-gold')
        self.assertEqual({('trait_forbidden', old)},
                         self.refused(old, forbidden=OLD))
        self.assertEqual(new, self.reserve(old, new, forbidden=OLD))
        self.assertEqual({('reserved', 1)}, self.refused(forbidden=OLD))

    def test_required_traits_count_as_well(self):
        self.world.enrol(resource_class='bm-gold')
        old, = self.world.enrol(resource_class='bm-gold', traits=OLD)
        self.assertEqual(old, self.reserve(traits=OLD))

    def test_node_that_is_not_mirrored_is_found(self):
        self.world.enrol(mirrored=False, resource_class='iron')
        self.world.enrol(mirrored=False, resource_class='bm-gold', traits=OLD)
        new, = self.world.enrol(mirrored=False, resource_class='bm-gold')
        self.assertEqual(new, self.reserve(forbidden=OLD))

    def test_mirror_that_lags_behind_does_not_mislead(self):
        node, = self.world.enrol(resource_class='bm-gold')
        self.world.ironic.change(node, traits=OLD)
        self.assertRaises(errors.NoNodeAvailable, self.reserve, forbidden=OLD)
        self.world.ironic.change(node, traits=frozenset(),
                                 resource_class='iron')
        self.assertRaises(errors.NoNodeAvailable, self.reserve)
        self.assertEqual({}, self.world.reservations())

    def test_nodes_of_others_are_not_told_of(self):
        self.world.enrol(resource_class='bm-gold', owner='theirs')
        self.assertEqual(set(), self.refused(
            sees=visibility.Visibility(project_id='ours')))

    def test_statements_do_not_grow_with_the_nodes(self):
        counts = []
        for more in (1, 50):
            self.world.enrol(more, resource_class='bm-gold')
            self.world.enrol(more, resource_class=f'bm-{more}')
            with self.statements() as sent:
                self.reserve(forbidden=OLD)
            counts.append(len(sent))
        # NOTE: one more if the search wraps round the end of the table.
        self.assertLessEqual(max(counts) - min(counts), 1, counts)
        self.assertLessEqual(max(counts), MOST)

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

"""A lost history leaves an unknown request for each node of a large fleet.

Each of them cost two calls to Ironic, one after the other, so that a fleet of
10,000 nodes could not be used for minutes.
"""

import collections
from unittest import mock

from ironic_reservations import errors
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import conductors
from ironic_reservations.engine.in_flight import listed
from ironic_reservations.engine.in_flight import uncertain
from tests import servers
from tests import world
from tests.inprocess.engine import timelines

_FLEET = 12


@servers.also
class TestLostRequestsListed(timelines.TestCase):
    """All nodes are read page by page."""

    def setUp(self):
        super().setUp()
        self.patch(listed, 'MANY', _FLEET // 2)
        self.patch(listed, '_BATCH', 3)
        self.patch(world, 'LISTED', 5)
        self.nodes = self.leasing.hosts(_FLEET)
        self.ironic = self.world.ironic
        self.requests = uncertain.Uncertain(self.engine, self.ironic)
        self.world.restored()
        self.world.clock.advance(self.engine.conf.guard.in_flight_timeout
                                 + self.engine.conf.guard.rpc_timeout)

    def look_twice(self):
        """Have two passes, of which the second shows what is settled."""
        for _ in range(2):
            self.look()

    def look(self):
        """Return the calls of one pass."""
        self.ironic.asked.clear()
        self.requests.settle_overdue()
        self.world.clock.advance(conductors.BETWEEN_CHECKS)
        return collections.Counter(self.ironic.asked)

    def kept(self):
        return {row['node_uuid'] for row in self.world.in_flight()}

    def assert_kept(self, *nodes):
        self.assertEqual({*nodes}, self.kept())
        for node in self.nodes:
            if node in nodes:
                self.assertRaises(errors.NoNodeAvailable, self.world.reserve,
                                  node)
            elif node in self.ironic.there:
                self.world.reserve(node)

    def test_calls_are_as_many_as_pages(self):
        pages = -(-_FLEET // world.LISTED)
        # One of these is the answer's, in this test.
        asks = {'ask_conductor': 1, 'conductor_of': 2}
        self.assertEqual({'conductors_of_all': pages, 'all_settled': pages,
                          **asks}, self.look())
        self.assertEqual({*self.nodes}, self.kept())
        self.assertEqual({'all_settled': pages, **asks}, self.look())
        self.assert_kept()

    def test_few_nodes_are_read_one_by_one(self):
        with mock.patch.object(listed, 'MANY', _FLEET + 1):
            self.assertEqual(_FLEET, self.look()['settled'])
            self.look()
        self.assert_kept()

    def test_nodes_that_are_not_listed_are_read_one_by_one(self):
        for _ in range(2):
            self.ironic.interrupt('all_settled', self.fail)
            self.look()
        self.assert_kept()

    def fail(self):
        raise errors.IronicUnavailable('Ironic answered 500')

    def test_node_of_a_dead_conductor_is_kept(self):
        dead = self.nodes[:4]
        for node in dead:
            self.ironic.conductors[node] = 'dead'
        self.ironic.silent = {'dead'}
        self.assertEqual(2, self.look()['ask_conductor'])
        self.look()
        self.assert_kept(*dead)

    def test_conductor_that_falls_silent_has_not_shown_anything(self):
        self.look()
        self.ironic.silent = {'conductor'}
        self.look()
        self.ironic.silent.clear()
        self.look()
        self.assertEqual({*self.nodes}, self.kept())
        self.look()
        self.assert_kept()

    def test_node_at_work_is_kept(self):
        node = self.nodes[3]
        self.ironic.change(node, provision_state='deploying')
        self.look_twice()
        self.assert_kept(node)
        self.ironic.change(node, provision_state='active')
        self.look()
        self.assertEqual({node}, self.kept())
        self.look()
        self.assertEqual(set(), self.kept())

    def test_locked_node_is_kept(self):
        node = self.nodes[3]
        self.ironic.refuses.add(node)
        self.look_twice()
        self.assert_kept(node)

    def test_node_that_a_lost_deploy_reaches_between_is_not_promised(self):
        node = self.nodes[3]
        self.look()
        self.ironic.deploy(node)
        self.look()
        self.assertEqual({node}, self.kept())
        self.look()
        self.assertEqual(set(), self.kept())
        self.assertRaises(errors.NoNodeAvailable, self.world.reserve, node)

    def test_node_that_is_gone(self):
        node = self.nodes[3]
        self.look()
        self.ironic.remove(node)
        self.look()
        self.assert_kept()

    def test_node_that_another_conductor_has_taken_over_is_asked_for(self):
        """Its new conductor was not asked before the list was read."""
        node = self.nodes[7]
        self.ironic.interrupt('all_settled', lambda: (
            self.ironic.conductors.update({node: 'another'})))
        calls = self.look()
        self.assertEqual((2, 1), (calls['ask_conductor'], calls['settled']))
        self.look()
        self.assert_kept()

    def test_answer_of_a_conductor_that_took_over_is_not_the_former_ones(self):
        """The former one is alive, and has an older call for another node."""
        self.look()
        first = min(self.nodes)
        self.ironic.conductors[first] = 'another'
        self.ironic.silent = {'conductor'}
        self.look_twice()
        self.assertLessEqual({*self.nodes} - {first}, self.kept())
        self.ironic.silent.clear()
        self.look_twice()
        self.assert_kept()

    def test_silent_conductors_nodes_are_not_listed(self):
        self.ironic.silent = {'conductor'}
        self.assertEqual(0, self.look()['all_settled'])
        self.assertEqual({*self.nodes}, self.kept())

    def test_wait_that_begins_again_is_not_cut_short(self):
        self.look()
        self.ironic.interrupt('all_settled', self.world.restored)
        self.look()
        self.assertEqual({*self.nodes}, self.kept())
        self.world.find_out()
        self.assert_kept()

    def test_wait_that_begins_again_before_the_commit_is_not_cut_short(self):
        self.look()
        self.world.before_next_write(self.world.restored)
        self.look()
        self.assertEqual({*self.nodes}, self.kept())

    def test_node_that_another_process_has_settled(self):
        self.look()
        other = uncertain.Uncertain(self.engine, self.ironic)
        self.ironic.interrupt('all_settled', other.settle_overdue)
        self.look()
        self.assert_kept()

    def test_node_is_not_used_before_all_of_a_batch_are_written(self):
        """A deploy of one of them comes between the plan and the commit."""
        node = self.nodes[1]
        self.look()
        self.world.before_next_write(lambda: self.assertRaises(
            errors.Contention, admission.admit, self.engine, node))
        self.look()
        self.assert_kept()

    def test_lost_commit_is_found(self):
        self.look()
        self.world.lose_next_write()
        self.look()
        self.assert_kept()

    def test_nodes_that_others_keep_changing_keep_no_others(self):
        self.look()
        whole, refused = admission.settle_lost, []

        def settle(engine, found, asked_at):
            if not refused:
                refused.extend(row.node_uuid for row, _ in found)
                raise errors.Contention('others change it')
            whole(engine, found, asked_at)
        with mock.patch.object(admission, 'settle_lost', settle):
            self.look()
        self.assert_kept(*refused)

    def test_node_that_others_keep_changing_keeps_no_others(self):
        """Likewise of few nodes, which are read one by one."""
        self.patch(listed, 'MANY', _FLEET + 1)
        self.look()
        whole, refused = admission.settle, []

        def settle(engine, row, *seen):
            if not refused:
                refused.append(row.node_uuid)
                raise errors.Contention('others change it')
            return whole(engine, row, *seen)
        with mock.patch.object(admission, 'settle', settle):
            self.look()
        self.assert_kept(*refused)

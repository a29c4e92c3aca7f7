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

"""Any use case, cut between any two statements, and others in between.

One process stands still while another goes on, which may be cut by a third in
the same way.  Afterwards no node is promised twice, what was acknowledged is
there, and nothing that belongs to anybody else has been deleted or moved.
"""

from unittest import mock

from ironic_reservations.db import nodes as db_nodes
from tests.inprocess.engine import cut_use_cases


class TestCutUseCases(cut_use_cases.CutTestCase):

    test_nothing_comes_in_between = cut_use_cases.nothing_comes_in_between(
        cut_use_cases.EXAMPLES)

    def test_it_is_seen_where_a_generation_is_not_compared(self):
        """A test of the test: the product is broken on purpose."""
        advance_all = db_nodes.advance_all

        def whatever(opened, generations, *more):
            return advance_all(opened, db_nodes.read_generations(
                opened, generations.keys()), *more)
        with mock.patch.object(db_nodes, 'advance_all', whatever):
            self.assertRaises(AssertionError, self._until_it_is_seen)

    def _until_it_is_seen(self):
        for number in range(1, 30):
            self.check([], ('create', 0.5, 1, 2),
                       {number: [('create', 0.5, 1, 2)]}, {})

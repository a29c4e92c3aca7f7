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

"""Sets of nodes, and the walk over the nodes to which moves can lead."""

import testtools

from ironic_reservations.planner import host_sets


class TestWalk(testtools.TestCase):

    def _walked(self, start, leads):
        walk = host_sets.Walk(start)
        met = []
        for node in walk:
            met.append(node)
            for eligible in leads.get(node, ()):
                walk.leads_to(eligible)
        return met, walk.nodes

    def test_nothing_is_walked_over_from_nowhere(self):
        self.assertEqual(([], 0), self._walked(0, {}))

    def test_each_node_is_come_to_once_though_they_lead_in_a_circle(self):
        leads = {0: [0b010], 1: [0b100, 0b011], 2: [0b001]}
        self.assertEqual(([0, 1, 2], 0b111), self._walked(0b001, leads))

    def test_what_is_not_led_to_is_not_reached(self):
        self.assertEqual(([0, 3], 0b1001), self._walked(
            0b0001, {0: [0b1000], 2: [0b0100]}))

    def test_the_same_set_told_of_twice_is_reached_all_the_same(self):
        both = 0b110
        leads = {0: [both], 1: [both, 0b1000], 3: [both]}
        self.assertEqual(([0, 1, 2, 3], 0b1111), self._walked(1, leads))

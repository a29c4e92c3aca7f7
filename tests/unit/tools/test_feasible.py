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

"""Packings in which some dates are open: each demand has a place."""

import testtools

from benchmarks import feasible


class TestOpenDates(testtools.TestCase):

    def test_windows_have_the_starts_of_the_packing(self):
        for draw in (feasible.open_nodes, feasible.open_compute_hosts):
            case = draw(4, 0.9, 1)
            self.assertNotEqual({}, case.windows)
            for each in case.requests:
                first, last = case.windows.get(each.id, (each.start,) * 2)
                self.assertTrue(0 <= first <= each.start <= last)

    def test_nothing_is_falsely_proved(self):
        """No booking is on a host where it may not be."""
        # Seeds with many refusals; the search for some of the others costs ten
        # times as much.
        for draw, count, seeds in (
                (feasible.open_nodes, 5, range(2)),
                (feasible.open_compute_hosts, 2, range(1, 5))):
            for seed in seeds:
                case, outcome = draw(count, 0.8, seed), feasible.Outcome()
                asker = feasible.play(case, outcome)
                self.assertEqual([], [each for each in outcome.refused
                                      if each.cause.proved])
                self.assertLess(len(outcome.refused),
                                len(case.requests) / 3)
                there = {each.id.partition('/')[0]: each
                         for row in asker.now.rows for each in row}
                refused = {each.demand.id for each in outcome.refused}
                for each in case.requests:
                    if each.id in refused:
                        self.assertNotIn(each.id, there)
                        continue
                    first, last = case.windows.get(each.id,
                                                   (each.start,) * 2)
                    got = there[each.id]
                    self.assertTrue(first <= got.start <= last)
                    self.assertEqual(each.end - each.start,
                                     got.end - got.start)

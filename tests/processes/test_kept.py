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


"""What a storm looks for has tests of the gate, and faults to be found by it.
"""

from __future__ import annotations

import pathlib
import re
import unittest

from tests.processes import mutations
from tests.processes.checker import kept
from tools import tiers

_PAGE = (pathlib.Path(__file__).parents[2]
         / 'doc/source/contributor/storm.rst')


class KeptTestCase(unittest.TestCase):
    """The rules of the checker, and what is broken on purpose."""

    def test_page_and_table_have_the_same_rules(self) -> None:
        rules = _PAGE.read_text().partition('   * - Finding\n')[2].partition(
            '\n\n')[0]
        self.assertEqual(list(kept.KEPT_BY), re.findall(
            r'^   \* - ``([a-z ]+)``$', rules, re.MULTILINE))

    def test_each_rule_has_a_fault_that_breaks_it(self) -> None:
        self.assertEqual(set(kept.KEPT_BY), {
            each.found_as for each in mutations.every().values()})

    def test_each_has_a_test_that_exists(self) -> None:
        by = {**kept.KEPT_BY, **{name: each.kept_by for name, each
                                 in mutations.every().items()}}
        self.assertEqual([], [name for name, tests in by.items() if not tests])
        loaded = unittest.TestLoader()
        loaded.loadTestsFromNames(sorted({
            test for tests in by.values() for test in tests}))
        self.assertEqual([], loaded.errors)

    def test_each_of_these_is_in_the_gate(self) -> None:
        gate = tiers.Gate.of_this_tree()
        self.assertEqual([], [
            test for tests in (*kept.KEPT_BY.values(), *(
                each.kept_by for each in mutations.every().values()))
            for test in tests if not gate.has(test)])

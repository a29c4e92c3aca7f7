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

"""Workers of stestr that take the classes of tests one by one."""

import configparser
import pathlib

import fixtures
import testtools

from tools import durations
from tools import worker

_ROOT = pathlib.Path(__file__).parents[3]


class TestShared(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def shared(self, **times):
        return worker.Shared(self.folder, {
            f'tests.test_m.{name}': seconds
            for name, seconds in times.items()})

    def add(self, shared, name, *classes):
        shared.add(name, [f'tests.test_m.{each}.test_{number}'
                          for each in classes for number in (1, 2)])

    def names(self, taken):
        return [group.rpartition('.')[2] for group, _tests in taken]

    def test_longest_class_is_taken_first(self):
        shared = self.shared(B=3, C=9, D=5)
        self.add(shared, 'one', 'A', 'B', 'C')
        self.add(shared, 'two', 'D')
        self.assertEqual(['C', 'D', 'B', 'A'], self.names(shared.take()))

    def test_each_class_is_taken_once_with_all_of_its_tests(self):
        first, second = self.shared(A=1), self.shared(A=1)
        self.add(first, 'one', 'A', 'B')
        self.add(second, 'two', 'C')
        taking, other = first.take(), second.take()
        found = [next(taking), next(other), next(taking)]
        self.assertEqual([], [*taking, *other])
        self.assertEqual(['A', 'B', 'C'], sorted(self.names(found)))
        self.assertEqual({2}, {len(tests) for _group, tests in found})

    def test_lists_of_a_run_before_take_nothing_from_this_one(self):
        shared = self.shared()
        self.add(shared, 'one', 'A')
        self.assertEqual(['A'], self.names(shared.take()))
        self.add(shared, 'two', 'A')
        self.assertEqual(['A'], self.names(shared.take()))

    def test_stestr_keeps_together_what_a_worker_takes_at_once(self):
        parser = configparser.RawConfigParser()
        parser.read(_ROOT / '.stestr.conf')
        self.assertEqual(durations.GROUP.pattern,
                         parser['DEFAULT']['group_regex'])
        for test, group in (
                ('tests.unit.test_a.TestB.test_c', 'tests.unit.test_a.TestB.'),
                ('tests.unit.test_a.TestB.test_c(1.2, d)',
                 'tests.unit.test_a.TestB.'),
                ('tests.inprocess.api.test_stories.version-1.2_e.test_request',
                 'tests.inprocess.api.test_stories.')):
            self.assertEqual(group, durations.GROUP.match(test)[0])

    def test_test_of_no_module_is_told_before_any_runs(self):
        with testtools.ExpectedException(LookupError, '.*stateful.Capacity.*'):
            self.shared().add('one', [
                'tests.unit.test_a.TestB.test_c',
                'hypothesis.stateful.Capacity.TestCase.runTest'])
        self.assertEqual([], list(self.folder.iterdir()))

    def test_test_that_is_not_there_is_told(self):
        with testtools.ExpectedException(LookupError, '.*test_nothing.*'):
            worker.load('tests.unit.tools.test_worker.TestShared', frozenset({
                'tests.unit.tools.test_worker.TestShared.test_nothing'}))

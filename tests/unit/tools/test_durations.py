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

"""Durations that stestr is told before its first run."""

from dbm import dumb
import pathlib

import fixtures
from stestr import scheduler
from stestr.repository import file as repository
import testtools

from tools import durations

LONG = {'tests.a.A.test_1': 90.0, 'tests.b.B.test_1': 80.0}
SHORT = [f'tests.{name}.test_{number}' for name in ('a.A', 'b.B', 'c.C', 'd.D')
         for number in range(1, 4)]


class TestDurations(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.file = self.folder / 'durations'

    def read(self):
        self.assertEqual(0, durations.main([str(self.file),
                                            str(self.folder)]))
        return repository.RepositoryFactory().open(str(self.folder))

    def run_before(self, times):
        (self.folder / '.stestr').mkdir()
        with dumb.open(str(self.folder / '.stestr' / 'times.dbm'),
                       'c') as made:
            for test, seconds in times.items():
                made[test] = str(seconds)

    def test_longest_classes_get_workers_of_their_own(self):
        self.file.write_text(''.join(
            f'{seconds} {test}\n' for test, seconds in LONG.items()))
        first, second = scheduler.partition_tests(
            SHORT, 2, self.read(), lambda test: test.rpartition('.')[0])
        for part, has, has_not in ((first, 'tests.a.A', 'tests.b.B'),
                                   (second, 'tests.b.B', 'tests.a.A')):
            classes = {test.rpartition('.')[0] for test in part}
            self.assertIn(has, classes)
            self.assertNotIn(has_not, classes)
        self.assertEqual(sorted(SHORT), sorted(first + second))

    def test_what_stestr_has_seen_itself_counts(self):
        self.run_before({'tests.a.A.test_1': 3})
        self.file.write_text('90 tests.a.A.test_1\n')
        (self.folder / '.stestr' / 'format').write_text('1\n')
        self.assertEqual({'tests.a.A.test_1': 3.0},
                         self.read().get_test_times(SHORT)['known'])

    def test_whole_classes_are_written_the_longest_first(self):
        self.run_before({'tests.a.A.test_1': 3, 'tests.a.A.test_2': 4,
                         'tests.b.B.test_1': 1, 'tests.c.C.test_9': 60.4})
        self.assertEqual(0, durations.main(
            ['--write', str(self.file), str(self.folder)]))
        self.assertEqual('60 tests.c.C.test_9\n7 tests.a.A.test_1\n',
                         self.file.read_text())

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

"""Durations that stestr gets before its first run."""

from dbm import dumb
import pathlib

import fixtures
import testtools

from tools import durations


class TestDurations(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.file = self.folder / 'durations'

    def test_whole_classes_are_written_the_longest_first(self):
        (self.folder / '.stestr').mkdir()
        with dumb.open(str(self.folder / '.stestr' / 'times.dbm'),
                       'c') as made:
            made.update({
                'tests.test_a.A.test_1': '3', 'tests.test_a.A.test_2': '4',
                'tests.test_b.B.test_1': '1', 'tests.test_c.C.test_9': '60.4',
                'tests.test_d.story_one': '2', 'tests.test_d.story_two': '4'})
        self.assertEqual(0, durations.main(
            [str(self.file), str(self.folder)]))
        self.assertEqual('60 tests.test_c.C\n7 tests.test_a.A\n'
                         '6 tests.test_d\n', self.file.read_text())
        self.assertEqual({'tests.test_c.C': 60, 'tests.test_a.A': 7,
                          'tests.test_d': 6}, durations.known(self.file))

    def test_no_file_knows_nothing(self):
        self.assertEqual({}, durations.known(self.file))

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

"""What one process writes, another reads in whole records."""

from __future__ import annotations

import pathlib

import fixtures
import testtools

from tests.processes import journal


class TestRead(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.path = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'journal')

    def test_half_a_record_is_left_until_it_is_whole(self):
        first = '{"kind": "asked", "number": 1}\n'
        second = '{"kind": "asked", "number": 2}\n'
        for written in range(len(second)):
            self.path.write_text(first + second[:written])
            self.assertEqual([{'kind': 'asked', 'number': 1}],
                             list(journal.read(self.path)))
        self.path.write_text(first + second)
        self.assertEqual([1, 2], [record['number'] for record
                                  in journal.read(self.path)])

    def test_nothing_written_is_nothing_read(self):
        self.path.touch()
        self.assertEqual([], list(journal.read(self.path)))

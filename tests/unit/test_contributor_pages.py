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

"""The contributor's pages name existing tables and files."""

from __future__ import annotations

import pathlib
import re

import testtools

from ironic_reservations.db import tables

ROOT = pathlib.Path(__file__).parents[2]
PAGES = ROOT / 'doc' / 'source' / 'contributor'


class TablesTest(testtools.TestCase):
    """The page and the schema have the same tables."""

    def test_each_table_has_an_entry(self):
        """A new table without an explanation fails here."""
        page = (PAGES / 'tables.rst').read_text()
        told = [name for line in re.findall(r'^(``.+``)$', page, re.MULTILINE)
                for name in re.findall(r'``(\w+)``', line)]
        self.assertEqual(sorted(tables.metadata.tables), sorted(told))


class FilesTest(testtools.TestCase):
    """The files that pages name are where they say."""

    def test_each_file_is_there(self):
        """A moved file makes this test fail until the pages are changed."""
        for page, fewest in (('walk.rst', 20), ('changes.rst', 40)):
            named = re.findall(r'``((?:[\w-]+/)+(?:[\w.-]+\.\w+)?)``',
                               (PAGES / page).read_text())
            self.assertGreater(len(named), fewest, page)
            self.assertEqual([], [
                name for name in named if not any(
                    (folder / name).exists()
                    for folder in (ROOT, ROOT / 'ironic_reservations'))],
                page)

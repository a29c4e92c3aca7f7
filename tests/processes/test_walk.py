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


import collections
import pathlib
import re

import testtools

from tests.processes import walk

_PAGE = (pathlib.Path(__file__).parents[2] / 'doc' / 'source' / 'contributor'
         / 'walk.rst')


class WalkTestCase(testtools.TestCase):
    """The contributor's page has the true numbers of files."""

    def test_requests_walk_through_as_many_files_as_the_page_says(self):
        names, *rows = (re.findall(r'- *(.*)', row) for row in re.findall(
            r'   \* (- .*\n(?:     - .*\n){3})', _PAGE.read_text()))
        found = walk.walks()
        self.assertEqual([f'``{name}``' for name in found], names[1:])
        for number, (name, walked) in enumerate(found.items(), 1):
            with self.subTest(name):
                rooms = collections.Counter(
                    f'``{path.partition("/")[0]}/``' for path in walked)
                self.assertEqual(
                    {**rooms, 'all': len(walked)},
                    {room: int(counts[number - 1]) for room, *counts in rows
                     if counts[number - 1] != '0'},
                    'Shorten the walk, or write the smaller numbers: '
                    + ' '.join(walked))

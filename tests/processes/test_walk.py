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


import pathlib
import re

import testtools

from tests.processes import walk

_PAGE = (pathlib.Path(__file__).parents[2] / 'doc' / 'source' / 'contributor'
         / 'walk.rst')


class WalkTestCase(testtools.TestCase):
    """The contributor's page has the true numbers of files."""

    def test_requests_walk_through_as_many_files_as_the_page_says(self):
        written = {name: int(count) for name, count in re.findall(
            r'\* - ``(.+)``\n +- (\d+)\n', _PAGE.read_text())}
        found = walk.walks()
        self.assertEqual(written.keys(), found.keys())
        for name, walked in found.items():
            with self.subTest(name):
                self.assertEqual(
                    written[name], len(walked),
                    'Shorten the walk, or write the smaller number: '
                    + ' '.join(walked))

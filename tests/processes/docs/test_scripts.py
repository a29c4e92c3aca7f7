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

"""Each page shows all of the script that is run for it, and nothing else."""

from __future__ import annotations

import re

import testscenarios
import testtools

from tests.inprocess.client import base

#: Where the page of each script is.
PAGES = {'flexible': 'user', 'leases': 'user', 'maintenance': 'admin',
         'queue': 'user', 'walkthrough': 'user'}
#: The pages that show the parts in another order than they are run in.
_IN_ANOTHER_ORDER = ('leases',)


class ScriptsTest(testscenarios.WithScenarios, testtools.TestCase):

    scenarios = [(name, {'name': name}) for name in PAGES]

    def test_the_page_shows_all_of_the_script(self):
        """Each part is on the page, and each part of the page is there."""
        script = base.EXAMPLES / f'{self.name}.sh'
        page = (base.ROOT / 'doc' / 'source' / PAGES[self.name]
                / f'{self.name}.rst')
        order = sorted if self.name in _IN_ANOTHER_ORDER else list
        self.assertEqual(*map(order, (
            re.findall(r'^# begin (\w+)$', script.read_text(), re.MULTILINE),
            re.findall(rf'{self.name}\.sh\n   :language: sh\n'
                       r'   :start-after: begin (\w+)$', page.read_text(),
                       re.MULTILINE))))

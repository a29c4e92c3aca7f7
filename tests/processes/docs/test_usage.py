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


"""The page about usage: the commands do what it says."""

from __future__ import annotations

import csv
import datetime
import io

from tests.inprocess.client import base

PAGE = base.ROOT / 'doc' / 'source' / 'user' / 'usage.rst'
SCRIPT = base.EXAMPLES / 'usage.sh'
_USAGE = ('baremetal', 'reservation', 'usage')


class UsageTest(base.ClientTestCase):
    """The example is run as a reader would run it."""

    def test_hours_of_a_lease(self):
        """Two hosts for a day, from tomorrow on; as a table and as data."""
        for node in self.ironic.enroll(2, prefix='gold',
                                       resource_class='gold'):
            self.command('baremetal', 'reservation', 'host', 'import',
                         node.name)
        self.command(SCRIPT)
        tomorrow = (datetime.datetime.now(datetime.UTC).date()
                    + datetime.timedelta(days=2))
        days = ('--first-day', f'{tomorrow}', '--last-day',
                f'{tomorrow + datetime.timedelta(days=1)}')
        names = ['promised', 'bound', 'deployed', 'unused']
        self.assertEqual([['day', *names]], self._rows(
            *days, '--by', 'day'))
        self.command('baremetal', 'reservation', 'lease', 'create', 'two',
                     '--hosts', '2', '--start-date', f'{tomorrow} 00:00',
                     '--duration', '1d', '--resource-class', 'gold')
        self.assertEqual(
            [['day', *names], [f'{tomorrow}', '48.0', '0.0', '0.0', '0.0']],
            self._rows(*days, '--by', 'day'))
        self.assertEqual(
            [['resource_class', *names],
             ['gold', '48.0', '0.0', '0.0', '0.0']],
            self._rows(*days, '--by', 'class'))
        table = self.command(*_USAGE, *days).stdout
        self.assertIn(' Promised host hours ', table)
        self.assertIn(' gold ', table)
        self.assertIn(' 48.00 ', table)
        refused = self.command(*_USAGE, '--first-day', 'tomorrow', status=1)
        self.assertEqual('', refused.stdout)
        self.assertIn('[request.invalid_value]', refused.stderr)

    def _rows(self, *words: str) -> list[list[str]]:
        """Return what a program reads of the command."""
        done = self.command(*_USAGE, *words, '-f', 'csv')
        self.assertEqual('', done.stderr)
        return list(csv.reader(io.StringIO(done.stdout)))

    def test_the_page_shows_the_script(self):
        """And nothing that is not run."""
        page = PAGE.read_text()
        self.assertIn('usage.sh\n   :language: sh\n   :start-after: begin '
                      'usage\n   :end-before: end usage\n', page)
        self.assertNotIn('$ baremetal', page)

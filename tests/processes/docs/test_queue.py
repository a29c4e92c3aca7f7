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

"""The page about the queue: the commands do what it says."""

from __future__ import annotations

from tests import waiting
from tests.inprocess.client import base

SCRIPT = base.EXAMPLES / 'queue.sh'


class QueueTest(base.ClientTestCase):
    """The example is run as a reader would run it."""

    def test_one_waits_and_starts_earlier(self):
        """Of one host; the service looks every few seconds."""
        node, = self.ironic.enroll(1, prefix='gold', resource_class='gold')
        self.command('baremetal', 'reservation', 'host', 'import', node.name)
        done = self.command(SCRIPT)
        self.assertIn('Queued: starts earlier', done.stdout)
        self.assertRegex(done.stdout, '"promised_start": "20')
        lease = ('baremetal', 'reservation', 'lease')
        self.command(*lease, 'create', 'one', '--start-date', '+1d',
                     '--duration', '8h')
        other = self.json_of(*lease, 'create', 'other', '--start-date',
                             '+1d', '--duration', '2h', '--queue')
        self.assertTrue(other['queued'])
        self.command(*lease, 'delete', 'one')
        shown = waiting.until(lambda: (
            not (found := self.json_of(*lease, 'show', 'other'))['queued']
            and found), within=base.TIMEOUT)
        self.assertLess(shown['promised_start'], other['promised_start'])
        self.assertEqual(shown['promised_start'], shown['start_date'])
        self.command(*lease, 'delete', 'other')

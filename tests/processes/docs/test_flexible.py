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

"""The page about open dates: the commands do what it says."""

from __future__ import annotations

import re

from tests.inprocess.client import base

SCRIPT = base.EXAMPLES / 'flexible.sh'


class FlexibleTest(base.ClientTestCase):
    """The example is run as a reader would run it."""

    def test_one_makes_room_and_is_fixed(self):
        """Of one host."""
        node, = self.ironic.enroll(1, prefix='gold', resource_class='gold')
        self.command('baremetal', 'reservation', 'host', 'import', node.name)
        done = self.command(SCRIPT)
        starts = re.findall('^Not fixed: may be moved between ', done.stdout,
                            flags=re.MULTILINE)
        self.assertEqual(3, len(starts))
        windows = re.findall(r'^(\S+ \S+) UTC until .* \(3d\); starts in',
                             done.stdout, flags=re.MULTILINE)
        self.assertEqual(2, len(set(windows)), done.stdout)
        self.assertEqual(1, len(re.findall(
            r' \(4d\); starts in', done.stdout)), done.stdout)
        self.assertRegex(done.stdout, '"between": null')
        self.assertRegex(done.stdout, '"fixed": true')

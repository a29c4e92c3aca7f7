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

"""Two kilobytes of brackets ended the API, and the conductor with it.

Ironic runs its threads with 128 KiB of stack.  ``json.loads`` of 980 nested
brackets, in the body of an unknown sender or in the properties of a lease,
needed more: a segmentation fault.
"""

import subprocess
import sys

import testtools


class TestDeepJson(testtools.TestCase):

    def test_no_depth_takes_the_stack(self):
        """Each request gets a 4xx, with a stack as small as Ironic's."""
        done = subprocess.run(
            [sys.executable, '-m', 'tests.inprocess.api.small_stack'],
            capture_output=True, text=True, timeout=300)
        lines = done.stdout.splitlines()
        self.assertEqual(0, done.returncode, (lines[-1:], done.stderr[-999:]))
        self.assertEqual('done 131072', lines[-1], done.stderr[-2000:])
        statuses = {line.split()[-1] for line in lines
                    if line.startswith(('GET', 'POST', 'guard'))}
        # The guard: a patch of nested lists changes no instance. There is no
        # host, so a lease with few levels is refused for that.
        self.assertEqual(set(),
                         statuses - {'200', '400', '403', '409', '413'},
                         lines)
        deep = [line for line in lines[:-1] if ' 980 ' in line]
        self.assertTrue(deep)
        self.assertEqual([], [line for line in deep if line.endswith(' 200')])
        self.assertIn('deepest 409', lines)

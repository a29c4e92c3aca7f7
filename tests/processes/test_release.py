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

"""A release is built by one command, and installed from its files alone.

It needs the package index, so only the long run has it.
"""

from __future__ import annotations

import os
import pathlib
import subprocess

import fixtures
import testtools

from tools import build

_TOX = build.ROOT / '.venv' / 'bin' / 'tox'
_ENDS_WITHIN = 1800


class ReleaseTest(testtools.TestCase):

    def test_one_command_makes_all_that_is_published(self):
        if not _TOX.exists() and 'CI' not in os.environ:
            self.skipTest('.venv is not there; ./tools/test.sh makes it.')
        out = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'dist')
        done = subprocess.run(
            [_TOX, 'run', '-e', 'build', '--', out], cwd=build.ROOT,
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=_ENDS_WITHIN, check=False)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        version = build.setup_of('.')['metadata']['version']
        self.assertEqual(
            {'SHA256SUMS', f'collection/ironic-reservations-{version}.tar.gz',
             *(f'{name.replace("-", "_")}-{version}{kind}'
               for name in ('ironic-reservations', 'ironic-reservations-cli',
                            'ironic-reservations-client',
                            'ironic-reservations-nova')
               for kind in ('.tar.gz', '-py3-none-any.whl')),
             *(f'{name}-{version}.cdx.json'
               for name in ('ironic-reservations', 'ironic-reservations-cli',
                            'ironic-reservations-client'))},
            {path.relative_to(out).as_posix() for path in out.rglob('*')
             if path.is_file()})

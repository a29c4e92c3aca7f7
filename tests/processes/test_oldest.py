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

"""The lower bounds of both distributions are true.

With python-ironicclient 6.0.0, which the release of Ironic 35 has, all
commands vanished without a word; nothing was ever tried with it.
"""

from __future__ import annotations

import os
import pathlib
import subprocess

import testtools

_ROOT = pathlib.Path(__file__).parents[2]
_PYTHON = _ROOT / '.tox' / 'oldest' / 'bin' / 'python'
_ENDS_WITHIN = 900


class _OldestTestCase(testtools.TestCase):

    def check(self, *arguments):
        if not _PYTHON.exists() and 'CI' not in os.environ:
            self.skipTest('.tox/oldest is not there; "tox run -e oldest '
                          '--notest" makes it.')
        done = subprocess.run(
            [_PYTHON, '-W', 'ignore', '-m', 'tools.oldest', *arguments],
            cwd=_ROOT, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=_ENDS_WITHIN, check=False,
            env={**os.environ, 'PYTHONPATH': str(_ROOT)})
        self.assertEqual((0, 'The oldest dependencies work.\n'),
                         (done.returncode, done.stdout), done.stderr)


class ImportsTest(_OldestTestCase):

    def test_exact_bounds_have_all_modules_and_commands(self):
        self.check()


class StoryTest(_OldestTestCase):

    def test_first_story_of_the_demonstration_works(self):
        self.check('--story')

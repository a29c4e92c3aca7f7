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

"""Other versions of Python are found if they are installed."""

from __future__ import annotations

import os
import pathlib
import sys

import fixtures
import testtools

from tools import interpreters


class InterpretersTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.useFixture(fixtures.EnvironmentVariable(
            'PATH', f'{self.folder}{os.pathsep}/bin'))
        self.useFixture(fixtures.EnvironmentVariable(
            'PYENV_ROOT', str(self.folder / 'pyenv')))

    def write(self, path, status):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/bin/sh\nexit {status}\n')
        path.chmod(0o755)
        return path

    def test_there_is_none(self):
        self.assertIsNone(interpreters.find('3.99'))
        self.assertEqual(dict(os.environ), interpreters.environment('3.99'))

    def test_script_of_pyenv_that_fails_is_passed_over(self):
        self.write(self.folder / 'python3.99', 127)
        kept = self.write(self.folder / 'pyenv' / 'versions' / '3.99.1'
                          / 'bin' / 'python3.99', 0)
        self.assertEqual(kept, interpreters.find('3.99'))
        self.assertEqual(
            f'{os.environ["PATH"]}{os.pathsep}{kept.parent}',
            interpreters.environment('3.99')['PATH'])

    def test_one_in_the_path_is_taken(self):
        version = '{}.{}'.format(*sys.version_info)
        (self.folder / f'python{version}').symlink_to(sys.executable)
        self.assertEqual(self.folder / f'python{version}',
                         interpreters.find(version))

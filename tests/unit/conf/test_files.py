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

"""The place of the file of options."""

from __future__ import annotations

import pathlib

import fixtures
import testtools

from ironic_reservations import conf as project_conf


class FilesTest(testtools.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.useFixture(fixtures.EnvironmentVariable('HOME', str(self.home)))
        self.useFixture(fixtures.EnvironmentVariable(
            project_conf.FILE_VARIABLE))
        self.beside = self.home / 'beside.conf'
        self.useFixture(fixtures.MonkeyPatch(
            'ironic_reservations.conf.BESIDE_IRONIC', str(self.beside)))

    def test_file_beside_that_of_ironic_is_read_if_there_is_no_other(
            self) -> None:
        self.assertEqual([], project_conf.load().config_file)
        self.beside.write_text('[api]\nport = 1\n')
        self.assertEqual(1, project_conf.load().api.port)
        (self.home / 'ironic-reservations.conf').write_text(
            '[api]\nport = 2\n')
        self.assertEqual(2, project_conf.load().api.port)
        self.useFixture(fixtures.EnvironmentVariable(
            project_conf.FILE_VARIABLE, str(self.beside)))
        self.assertEqual(1, project_conf.load().api.port)

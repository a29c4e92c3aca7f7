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

"""Tests of the configuration: a file of options, and variables."""

from __future__ import annotations

import pathlib

import fixtures
from oslo_config import cfg
import testtools

from ironic_reservations import conf as project_conf


class EnvironmentTestCase(testtools.TestCase):
    """A file of options, and variables."""

    def setUp(self):
        super().setUp()
        self.file = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'ours.conf')
        self.warnings: list[str] = []

    def set(self, **variables):
        for name, value in variables.items():
            self.useFixture(fixtures.EnvironmentVariable(name, value))

    def load(self, text='', *arguments):
        self.file.write_text(text)
        return project_conf.load(
            arguments, config_files=[str(self.file)],
            warn=self.warnings.append)

    def refused(self, text=''):
        return str(self.assertRaises(cfg.Error, self.load, text))

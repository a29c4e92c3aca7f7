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


"""The configuration of an all-in-one Ironic."""

from __future__ import annotations

import configparser
import pathlib

import fixtures
import testtools

from tools import all_in_one


class WriteOptionsTestCase(testtools.TestCase):

    def test_later_layer_wins_and_adds(self) -> None:
        """An option of the caller replaces ours; its other options are added.
        """
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'c')

        all_in_one.write_options(
            path, {'DEFAULT': {'host': 'a', 'debug': False}},
            {'DEFAULT': {'host': 'b'}, 'api': {'port': 1}})

        read = configparser.RawConfigParser(default_section='')
        read.read(path)
        self.assertEqual({'host': 'b', 'debug': 'False'},
                         dict(read['DEFAULT']))
        self.assertEqual({'port': '1'}, dict(read['api']))


class AllInOneTestCase(testtools.TestCase):

    def test_failure_to_start_shows_the_log(self) -> None:
        """The error names an option that Ironic does not accept."""
        service = all_in_one.AllInOne(
            self.useFixture(fixtures.TempDir()).path, middleware=False,
            options={'DEFAULT': {'auth_strategy': 'nonsense'}})
        self.addCleanup(service.kill)

        failure = self.assertRaises(all_in_one.NotStarted, service.start)

        self.assertIn('nonsense', str(failure))
        self.assertIsNone(service.process)

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
"""Which projects Keystone does not have, and when nothing is said of any."""

import pathlib

import fixtures
import testtools

from ironic_reservations import conf as project_conf
from ironic_reservations import errors
from ironic_reservations.clouds import keystone_projects
from tests.inprocess.api.calendar import small_keystone


class TestGone(testtools.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.keystone = self.useFixture(small_keystone.SmallKeystone())
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'conf')
        path.write_text(
            '[ironic]\nauth_type = password\n'
            f'auth_url = {self.keystone.url}/\nusername = anna\n'
            'user_domain_name = Default\npassword = secret\n'
            'project_name = red\nproject_domain_name = Default\n')
        self.projects = keystone_projects.KeystoneProjects(
            project_conf.load(config_files=[str(path)]))

    def gone(self, *ids: str) -> frozenset[str]:
        """Ask Keystone."""
        return self.projects.gone(ids)

    def test_those_that_are_there_are_not_gone(self) -> None:
        self.keystone.projects = {'ours', 'theirs'}
        self.assertEqual(frozenset(), self.gone('ours', 'theirs'))
        self.assertEqual({'former', '../x'},
                         self.gone('ours', 'former', '../x'))

    def test_nothing_is_said_where_it_cannot_be_known(self) -> None:
        """An outage, a missing right, what stands in front, no project."""
        self.keystone.projects = {'ours'}
        for status in (403, 404, 500, 503):
            self.keystone.fails = status, []
            self.assertRaises(errors.KeystoneUnavailable, self.gone, 'former')
        self.keystone.fails = None
        self.keystone.projects = set()
        self.assertRaises(errors.KeystoneUnavailable, self.gone, 'former')
        self.keystone.projects = {'ours'}
        self.assertEqual({'former'}, self.gone('former'))

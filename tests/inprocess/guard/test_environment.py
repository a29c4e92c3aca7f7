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

"""In one process, variables of Ironic do not configure this service.

With OS_DATABASE__CONNECTION set for Ironic, its API ended in a loop, "Can't
locate revision", or our tables were made in Ironic's database.
"""

import contextlib
import os
import pathlib
import sqlite3
from unittest import mock
import uuid

from tests.inprocess.guard import base
from tools import all_in_one


class EnvironmentTestCase(base.GuardTestCase):

    @classmethod
    def make(cls, folder: str) -> all_in_one.AllInOne:
        """Return the service that is started, configured as Metal3 does."""
        cls.enterClassContext(mock.patch.dict(os.environ, {
            'OS_DATABASE__CONNECTION': f'sqlite:///{folder}/ironic.sqlite',
            'OS_GUARD__REQUIRE': 'always',
            'IRONIC_RESERVATIONS_RESERVATIONS__MAX_TTL': '77',
            'IRONIC_RESERVATIONS_RESERVATIONS__DEFAULT_TTL': '70',
            'IRONIC_RESERVATIONS_GUARD_REQUIRE': 'always'}))
        return super().make(folder)

    def _tables(self, file: str) -> set[str]:
        with contextlib.closing(
                sqlite3.connect(self.ironic.folder / file)) as database:
            return {name for name, in database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'")}

    def test_each_has_its_own_database(self) -> None:
        node, = self.enroll()
        reply = self.send('POST', '/v1/reservations', {
            'instance_uuid': str(uuid.uuid4()), 'node_uuid': [node.uuid]})
        self.assertEqual(201, reply.status, reply)
        self.assertIn('reservations', self._tables('reservations.sqlite'))
        self.assertNotIn('reservations', self._tables('ironic.sqlite'))
        self.assertIn('nodes', self._tables('ironic.sqlite'))

    def test_ours_are_read_and_no_others(self) -> None:
        node, = self.enroll()
        reply = self.send('POST', '/v1/reservations', {
            'instance_uuid': str(uuid.uuid4()), 'node_uuid': [node.uuid],
            'ttl': 78}, headers={
                'OpenStack-API-Version': 'baremetal-reservation latest'})
        self.assertEqual(400, reply.status, reply)
        self.assertIn('77', str(reply.document))
        # With [guard] require = always the deploy would be refused.
        free, = self.enroll()
        self.assertEqual(202, self.deploy(free.uuid).status)

    def test_log_names_the_variable_that_is_ignored(self) -> None:
        log = pathlib.Path(self.ironic.log_file).read_text()
        self.assertIn(
            'The environment variable IRONIC_RESERVATIONS_GUARD_REQUIRE is '
            'ignored, since it names no option. Is '
            'IRONIC_RESERVATIONS_GUARD__REQUIRE meant?', log)

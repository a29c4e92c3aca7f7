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

"""An Ironic that is newer than what was reviewed."""

import contextlib
import io
import queue
from typing import Any
from unittest import mock

import fixtures

from ironic_reservations import build
from ironic_reservations.clouds import ironic
from ironic_reservations.clouds import ironic_versions
from ironic_reservations.cmd import status
from ironic_reservations.db import migrate
from ironic_reservations.reconciler import loops
from tests.inprocess.api import world
from tests.inprocess.guard import base

#: Of the Ironic that is installed here, which may be an older one.
_SERVED = ironic_versions.installed()
assert _SERVED is not None
_OLDER = ironic_versions.minor(_SERVED) - 1


class NewerIronicTestCase(base.GuardTestCase):

    def setUp(self) -> None:
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.useFixture(fixtures.MockPatch(
            'ironic_reservations.clouds.ironic_versions.installed',
            lambda: None))

    def config(self, more: str = '') -> Any:
        """Return the options of a service that is not in this Ironic."""
        return world.configuration(
            self.useFixture(fixtures.TempDir()).path,
            f'[ironic]\nauth_type = none\nendpoint = {self.ironic.url}\n'
            + more)

    def newer(self) -> contextlib.AbstractContextManager[Any]:
        """Let this Ironic be newer than what was reviewed."""
        return mock.patch.object(ironic_versions, 'REVIEWED_MINOR', _OLDER)

    def checked(self) -> str:
        """Run the status check."""
        conf = self.config()
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            status.main(['--config-file', conf.config_file[0],
                         'upgrade', 'check'])
        return ' '.join(said.getvalue().replace('|', ' ').split())

    def test_ironic_tells_its_version(self) -> None:
        client = ironic.Ironic.over_http(self.config())
        self.assertEqual(_SERVED, client.newest_version())

    def test_reconciler_says_it_once(self) -> None:
        conf = self.config()
        made = build.engine(conf, ironic.Ironic.over_http(conf))
        migrate.at_start(made.database)
        nodes = loops.nodes(made, queue.SimpleQueue())
        with self.newer():
            nodes.one_pass()
            nodes.one_pass()
        self.assertEqual(_SERVED, made.ironic_api.newest)
        self.assertEqual(1, self.log.output.count(
            f'Ironic serves version {_SERVED}'))

    def test_status_check_warns(self) -> None:
        self.assertIn('Ironic API Result: Success', self.checked())
        with self.newer():
            said = self.checked()
        self.assertIn('Ironic API Result: Warning', said)
        self.assertIn(f'serves version {_SERVED}', said)

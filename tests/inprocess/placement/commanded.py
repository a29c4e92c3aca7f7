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

"""Commands of an operator, on the rows and the Placement of a test."""

import contextlib
import io
import pathlib

import fixtures

from ironic_reservations import clock
from ironic_reservations.cmd import manage


class Commanded:
    """Of a test case with a Placement in memory.

    :cvar action: of ``ironic-reservations-manage placement``.
    """

    action: str

    def setUp(self) -> None:
        super().setUp()
        # NOTE: the command has the clock of the machine.
        self.world.clock.now = clock.utc_now()
        self.config = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'our.conf')
        self.configure(self.there.endpoint)

    def configure(self, endpoint: str, *more: str,
                  enabled: str = 'true') -> None:
        """Write the file that the command reads."""
        self.config.write_text('\n'.join((
            '[database]', f'connection = {self.world.url}',
            '[placement]', f'enabled = {enabled}',
            f'endpoint_override = {endpoint}', *more, '')))

    def command(self, *words: str) -> tuple[int, str, str]:
        """Run it, and return its status and both outputs."""
        said, complained = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), (
                contextlib.redirect_stderr(complained)):
            status = manage.main(['--config-file', str(self.config),
                                  'placement', self.action, *words])
        return status, said.getvalue(), complained.getvalue()

    def assert_fails(self, word: str, *words: str, said: str = '') -> None:
        """Check that it fails, with one sentence, which has a word."""
        status, told, complained = self.command(*words)
        self.assertEqual((manage.FAILED, 1),
                         (status, len(complained.splitlines())), complained)
        self.assertIn(word, complained)
        self.assertIn(said, told)

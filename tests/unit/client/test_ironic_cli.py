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


"""The old ``ironic`` command of plugins/ironic-cli."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import pathlib
import sys

import fixtures

from tests.unit.client import base

PLUGIN = pathlib.Path(__file__).parents[3] / 'plugins' / 'ironic-cli'


class IronicCommandTest(base.ClientTestCase):
    """Cases that no real service shows; tests.inprocess has the others."""

    def setUp(self) -> None:
        """Make the plugin importable, and clear this shell's settings."""
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch(
            'sys.path', [str(PLUGIN), *sys.path]))
        for name in list(os.environ):
            if name.startswith(('OS_', 'IRONIC_')):
                self.useFixture(fixtures.EnvironmentVariable(name))
        self.main = importlib.import_module('ironic_reservations_cli.main')

    def ironic(self, *args: str, endpoint: bool = True,
               ) -> tuple[int, str, str]:
        """Run the command, and return its status and its output."""
        out, err = io.StringIO(), io.StringIO()
        argv = ['--os-endpoint', self.service.url] if endpoint else []
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = self.main.main([*argv, *args])
        return status, out.getvalue(), err.getvalue()

    def test_list_shows_all_pages(self):
        """The old command had no pages here."""
        self.service.page = 1
        self.ironic('reservation-create', self.one, base.INSTANCE)
        self.ironic('reservation-create', self.two, base.OTHER_INSTANCE)
        _, out, _ = self.ironic('--json', 'reservation-list')
        self.assertEqual(2, len(json.loads(out)))

    def test_the_endpoint_from_the_environment(self):
        """Both former names are accepted."""
        for name in ('OS_ENDPOINT', 'IRONIC_URL'):
            with fixtures.EnvironmentVariable(name, self.service.url):
                status, _, err = self.ironic('reservation-list',
                                             endpoint=False)
            self.assertEqual((0, ''), (status, err))
        status, _, err = self.ironic('reservation-list', endpoint=False)
        self.assertEqual(1, status)
        self.assertIn('--os-endpoint', err)

    def test_credentials(self):
        """A token is sent as it is; a password is checked at the endpoint."""
        self.ironic('--os-auth-token', 'secret', 'reservation-list')
        self.assertEqual('secret', self.service.requests[-1]['token'])
        self.ironic('--os-username', 'me', '--os-password', 'word',
                    'reservation-list')
        self.assertEqual('Basic bWU6d29yZA==',
                         self.service.requests[-1]['authorization'])

    def test_no_service_at_the_endpoint(self):
        """The message was the inner text of a library."""
        status, _, err = self.ironic('--os-endpoint', self.nobody(),
                                     'reservation-list', endpoint=False)
        self.assertEqual(1, status)
        self.assertRegex(
            err, f'^No answer from {self.nobody()}/v1/reservations: '
            'Connection refused[.] Check the endpoint [(]OS_ENDPOINT')

    def test_the_page_of_a_proxy(self):
        """It was a traceback."""
        self.service.foreign = (200, {'Content-Type': 'text/html'}, b'<html>')
        for command in (['reservation-list'],
                        ['reservation-create', self.one, base.INSTANCE]):
            status, out, err = self.ironic(*command)
            self.assertEqual((1, ''), (status, out))
            self.assertRegex(err, f'^The answer of {self.service.url}/v1/'
                             'reservations is not one of .* endpoint[.]\n$')

    def test_an_empty_id(self):
        """A variable of a script may be empty."""
        for command in ('reservation-show', 'reservation-delete'):
            self.assertEqual(
                (1, '', 'The id of the reservation is missing.\n'),
                self.ironic(command, ''))

    def test_wrong_use(self):
        """The message and the status are the parser's."""
        self.assertRaises(SystemExit, self.ironic, 'reservation-create',
                          self.one)
        self.assertEqual(0, self.ironic('help')[0])
        status, out, _ = self.ironic('help', 'reservation-create')
        self.assertEqual(0, status)
        self.assertIn('<instance uuid>', out)

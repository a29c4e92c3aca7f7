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

"""The application in the servers that operators run it in."""

import contextlib
import json
import pathlib
import signal
import socket
import sqlite3
import time
from typing import Any
import urllib.error
import urllib.request

import fixtures
import testtools

from tests import forked_child
from tools import child

#: A call that takes longer than this hangs, also on a busy machine.
_WITHIN = 120


class ServerCase(testtools.TestCase):
    """A server process, and its output."""

    def setUp(self) -> None:
        super().setUp()
        self.path = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.conf = self.path / 'ironic-reservations.conf'
        self.conf.write_text(
            '[DEFAULT]\n'
            'auth_strategy = noauth\n'
            f'state_path = {self.path}\n'
            '[api]\n'
            'host = 127.0.0.1\n'
            'port = 0\n'
            '[ironic]\n'
            'auth_type = none\n'
            # No server listens there.
            'endpoint_override = http://127.0.0.1:9\n')

    def _start(self, module: str, *arguments: str, **environment: str
               ) -> child.Child:
        """Run a module as ``python -m`` does."""
        started = forked_child.ForkedChild(
            module, 'import runpy\n'
            f'runpy.run_module({module!r}, run_name="__main__")\n',
            arguments, self.path, self.path / 'log', environment)
        self.addCleanup(started.kill)
        return started

    def _said(self) -> str:
        return (self.path / 'log').read_text()

    def _get(self, url: str, data: Any = None) -> tuple[int, Any]:
        request = urllib.request.Request(
            url, None if data is None else json.dumps(data).encode(),
            {'Content-Type': 'application/json'})
        try:
            with urllib.request.urlopen(request, timeout=_WITHIN) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as exc:
            with exc:
                return exc.code, json.load(exc)


class TestOwnServer(ServerCase):
    """ironic-reservations-api."""

    def test_serves_until_sigterm(self) -> None:
        """It prints its address, creates its database, and ends by itself."""
        process = self._serve('--port', '0')
        process.wait_until(lambda: ' serves http' in self._said(), _WITHIN)
        # oslo.log may write there, too.
        line = next(each for each in self._said().splitlines()
                    if ' serves http' in each)
        self.assertIn('serves http://127.0.0.1:', line)
        url = line.rpartition(' ')[2]
        self.assertEqual((200, {'reservations': []}),
                         self._get(f'{url}/v1/reservations'))
        uuid = '11111111-0000-0000-0000-000000000001'
        status, body = self._get(f'{url}/v1/reservations', {
            'instance_uuid': uuid, 'node_uuid': [uuid]})
        self.assertEqual((503, 'service.ironic_unavailable'),
                         (status, body['errors'][0]['code']))
        process.process.send_signal(signal.SIGHUP)
        process.wait_until(
            lambda: 'SIGHUP has no effect' in self._said(), _WITHIN)
        self.assertEqual((200, {'reservations': []}),
                         self._get(f'{url}/v1/reservations'))
        process.process.terminate()
        self.assertEqual(0, process.process.wait(_WITHIN), self._said())

    def _serve(self, *options: str) -> child.Child:
        return self._start('ironic_reservations.cmd.api', '--config-file',
                           str(self.conf), *options)

    def _assert_ends_with(self, sentence: str, *options: str) -> None:
        """Check that it ends with a sentence, not with a traceback."""
        self.assertEqual(1, self._serve(*options).process.wait(_WITHIN))
        self.assertIn(sentence, self._said())
        self.assertNotIn('Traceback', self._said())

    def test_port_that_is_taken(self) -> None:
        with socket.create_server(('127.0.0.1', 0)) as taken:
            port = str(taken.getsockname()[1])
            self._assert_ends_with(
                f'cannot listen on 127.0.0.1, port {port}: ', '--port', port)

    def test_port_to_share_that_is_not_named(self) -> None:
        with self.conf.open('a') as file:
            file.write('[api]\nreuse_port = true\n')
        self._assert_ends_with('reuse_port')

    def test_option_that_is_wrong(self) -> None:
        self.conf.write_text('[DEFAULT]\nauth_strategy = trust\n')
        self._assert_ends_with('auth_strategy')

    def test_files_of_the_log_that_cannot_be_written(self) -> None:
        """It ended with a traceback of oslo.log."""
        for option in ('log-dir', 'log-config-append'):
            self._assert_ends_with(
                'The log cannot be written: ', f'--{option}',
                '/nowhere/at/all')

    def test_level_of_the_log_that_does_not_exist(self) -> None:
        """It ended with a traceback of oslo.log."""
        with self.conf.open('a') as file:
            file.write('[DEFAULT]\ndefault_log_levels = loud\n')
        self._assert_ends_with("Unknown level: ''. Check log_dir")

    def test_users_that_cannot_be_read(self) -> None:
        """The last line was "Invalid configuration file. %(error_msg)s"."""
        file = self.path / 'htpasswd'
        text = self.conf.read_text().replace(
            'noauth', f'http_basic\nhttp_basic_auth_user_file = {file}')
        self.conf.write_text(text)
        self._assert_ends_with('http_basic_auth_user_file cannot be used: '
                               '[Errno 2] No such file')
        file.write_text('ours:$apr1$abcdefgh$ijklmnopqrstuvwxyz0123\n')
        self._assert_ends_with('Only bcrypt digested passwords are supported')

    def test_bus_that_does_not_exist(self) -> None:
        text = self.conf.read_text()
        for url, sentence in (
                ('rabit://u:s3cret@h/', 'Failed to load transport driver'),
                ('rabbit://u:s3cret@h:port/', 'is no URL of a message bus'),
                ('u:s3cret', 'is no URL of a message bus')):
            self.conf.write_text(text.replace(
                '[DEFAULT]', f'[DEFAULT]\ntransport_url = {url}'))
            self._assert_ends_with(
                'ironic-reservations-api: [DEFAULT] transport_url ')
            self.assertIn(sentence, self._said())
            self.assertNotIn('s3cret', self._said())

    def test_database_of_another_version(self) -> None:
        with contextlib.closing(sqlite3.connect(
                self.path / 'reservations.sqlite')) as file, file:
            file.execute('CREATE TABLE alembic_version '
                         '(version_num VARCHAR(32) NOT NULL)')
            file.execute("INSERT INTO alembic_version VALUES ('0032')")
        self._assert_ends_with('0032, which this release does not know')


class TestGunicorn(ServerCase):
    """ironic_reservations.wsgi:application under a server with arguments."""

    def test_arguments_are_the_servers_own(self) -> None:
        """The service ignores them; the environment names its file."""
        path = self.path / 'socket'
        self._start(
            'gunicorn', '-b', f'unix:{path}', '--workers', '2',
            'ironic_reservations.wsgi:application',
            OS_IRONIC_RESERVATIONS_CONFIG_FILE=str(self.conf))
        deadline = time.monotonic() + _WITHIN
        while True:
            with contextlib.suppress(OSError), socket.socket(
                    socket.AF_UNIX) as client:
                client.settimeout(_WITHIN)
                client.connect(str(path))
                client.sendall(b'GET /v1/reservations HTTP/1.0\r\n\r\n')
                with client.makefile('rb') as stream:
                    answer = stream.read()
                break
            self.assertLess(time.monotonic(), deadline, self._said())
            time.sleep(0.1)
        self.assertIn(b'200 OK', answer, self._said())
        self.assertTrue(answer.endswith(b'{"reservations":[]}'), answer)

    def test_value_that_is_wrong_stops_the_start(self) -> None:
        """Each request was answered 500, and the server seemed to run."""
        self.conf.write_text('[api]\nthreads = 0\n')
        server = self._start(
            'gunicorn', '-b', f'unix:{self.path / "socket"}',
            'ironic_reservations.wsgi:application',
            OS_IRONIC_RESERVATIONS_CONFIG_FILE=str(self.conf))
        self.assertNotEqual(0, server.process.wait(_WITHIN))
        self.assertIn(f'[api] threads ({self.conf}, line 2) is not valid',
                      self._said())

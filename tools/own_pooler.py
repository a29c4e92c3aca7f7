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


"""A PgBouncer of the tests' own, in front of a PostgreSQL server."""

from __future__ import annotations

import os
import pathlib
import pwd
import shutil
import signal
import socket
import tempfile

import fixtures
import sqlalchemy as sa

from tools import child
from tools import free_ports
from tools import own_server

#: How long it may take on a machine that has other things to do, in seconds.
_PATIENCE = 60.0
PROGRAM = 'pgbouncer'
_USER = 'postgres'
_SETTINGS = """\
[databases]
* = {server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
server_login_retry = 1
default_pool_size = {sessions}
max_client_conn = 400
logfile = {folder}/pgbouncer.log
pidfile = {folder}/pid
"""


class OwnPooler(fixtures.Fixture):
    """A PgBouncer on a port of its own.

    :param url: of a database on the server.
    :param sessions: how many sessions of the server it has for each database.
    :param mode: which of its ``pool_mode``.
    :ivar url: of the database, by this way.
    """

    def __init__(self, url: str, sessions: int = 2,
                 mode: str = 'transaction') -> None:
        super().__init__()
        self._server = sa.make_url(url)
        self._sessions = sessions
        self._mode = mode
        self._child: child.Child | None = None
        self.url = ''

    def _setUp(self) -> None:
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix='test-pooler-'))
        self.addCleanup(shutil.rmtree, self._folder, ignore_errors=True)
        self._port = free_ports.free_port()
        self._settings = self._folder / 'pgbouncer.ini'
        self._settings.write_text(_SETTINGS.format(
            server=self._place(), port=self._port, mode=self._mode,
            sessions=self._sessions, folder=self._folder))
        # NOTE: it refuses to run as root.
        self._user, self._group = '', os.getegid()
        if os.geteuid() == 0:
            who = pwd.getpwnam(_USER)
            self._user, self._group = _USER, who.pw_gid
            os.chown(self._folder, who.pw_uid, who.pw_gid)
        self.addCleanup(self.kill)
        self.start()
        self.url = self._server.set(
            host='127.0.0.1', port=self._port).render_as_string(
                hide_password=False)

    def start(self) -> None:
        """Start it once it was killed, and wait until it answers."""
        self._child = child.Child.python(
            'pooler', own_server.RUN,
            [self._user, str(self._group), own_server.program(PROGRAM),
             str(self._settings)], self._folder, self._folder / 'log')
        self._child.wait_until(self._answers, _PATIENCE)

    def kill(self) -> None:
        """Kill it, with all connections."""
        if self._child is not None:
            self._child.kill()
            self._child = None
            (self._folder / 'pid').unlink(missing_ok=True)

    def stop(self) -> None:
        """Stop it; its connections stay open."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it go on once it was stopped."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        for pid in own_server.running_in(self._folder):
            os.kill(pid, number)

    def _place(self) -> str:
        server = self._server
        words = {'host': server.host, 'port': server.port or 5432,
                 'user': server.username, 'password': server.password}
        return ' '.join(f"{name}='{value}'" for name, value in words.items()
                        if value is not None)

    def _answers(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            return not probe.connect_ex(('127.0.0.1', self._port))

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

"""An HAProxy of the tests' own, in front of servers of which one is used."""

from __future__ import annotations

from collections.abc import Sequence
import pathlib
import shutil
import socket
import tempfile

import fixtures

from tools import child
from tools import free_ports
from tools import own_server

#: How long it may take on a machine that has other things to do, in seconds.
_PATIENCE = 60.0
PROGRAM = 'haproxy'
_SETTINGS = """\
defaults
    mode tcp
    timeout connect 3s
    timeout client 120s
    timeout server 120s
    timeout check 2s
    default-server inter 1s fall 3 rise 2 on-marked-down shutdown-sessions
listen servers
    bind 127.0.0.1:{port}
    option httpchk GET /
"""
_SERVER = ('    server node{number} 127.0.0.1:{port} check port {checked}'
           '{backup}\n')


class OwnHaproxy(fixtures.Fixture):
    """An HAProxy on a port of its own.

    It uses the first server that its check, a request of HTTP, finds usable.

    :param servers: the ports of the servers and of their checks.
    :param log_file: of HAProxy.
    :ivar port: where it listens.
    """

    def __init__(self, servers: Sequence[tuple[int, int]],
                 log_file: pathlib.Path) -> None:
        super().__init__()
        self._servers = servers
        self._log_file = log_file
        self._child: child.Child | None = None
        self.port = 0

    def _setUp(self) -> None:
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix='test-haproxy-'))
        self.addCleanup(shutil.rmtree, self._folder, ignore_errors=True)
        self.port = free_ports.free_port()
        (self._folder / 'haproxy.cfg').write_text(
            _SETTINGS.format(port=self.port) + ''.join(
                _SERVER.format(number=number, port=port, checked=checked,
                               backup=' backup' if number else '')
                for number, (port, checked) in enumerate(self._servers)))
        self.addCleanup(self.kill)
        self.start()

    def start(self) -> None:
        """Start it once it was killed, and wait until it answers."""
        self._child = child.Child.python(
            'haproxy', own_server.RUN,
            ['', '0', own_server.program(PROGRAM), '-db', '-f',
             str(self._folder / 'haproxy.cfg')], self._folder,
            self._log_file)
        self._child.wait_until(self._answers, _PATIENCE)

    def kill(self) -> None:
        """Kill it, with all connections."""
        if self._child is not None:
            self._child.kill()
            self._child = None

    def _answers(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            return not probe.connect_ex(('127.0.0.1', self.port))

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

"""A RabbitMQ of the tests' own."""

from __future__ import annotations

import os
import pathlib
import secrets
import shutil
import socket
import tempfile

import fixtures

from tools import child
from tools import free_ports
from tools import own_server

_PATIENCE = 240.0
# NOTE: Debian's script in the PATH starts the server of the machine only.
_DEBIAN = '/usr/lib/rabbitmq/bin'
#: Runs the broker; it ends with the process that started it.
_RUN = """
import subprocess, sys
sys.exit(subprocess.run(sys.argv[1:]).returncode)
"""


class OwnBroker(fixtures.Fixture):
    """A broker on a port and a folder of its own.

    :ivar url: as oslo.messaging takes it.
    """

    url: str

    def _setUp(self) -> None:
        folder = pathlib.Path(tempfile.mkdtemp(prefix='test-broker-'))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        port = free_ports.free_port()
        self._folder, self._port = folder, port
        # NOTE: of the files that are named, none exists: nothing of the
        # machine's settings is read.
        self._settings = {
            'HOME': str(folder),
            'RABBITMQ_NODENAME':
                f'test-{secrets.token_hex(4)}@localhost',
            'RABBITMQ_NODE_IP_ADDRESS': '127.0.0.1',
            'RABBITMQ_NODE_PORT': str(port),
            'RABBITMQ_DIST_PORT': str(free_ports.free_port()),
            'RABBITMQ_MNESIA_BASE': str(folder / 'data'),
            'RABBITMQ_LOG_BASE': str(folder),
            'RABBITMQ_LOGS': '-',
            'RABBITMQ_PID_FILE': str(folder / 'pid'),
            'RABBITMQ_GENERATED_CONFIG_DIR': str(folder / 'generated'),
            **{f'RABBITMQ_{name}_FILE': str(folder / name.lower())
               for name in ('CONF_ENV', 'CONFIG', 'ADVANCED_CONFIG',
                            'ENABLED_PLUGINS')}}
        self.start()
        self.url = f'rabbit://guest:guest@127.0.0.1:{port}/'

    def start(self) -> None:
        """Start it, also again after it was killed, and wait until it serves.

        :raises NotStarted: it does not.
        """
        self._broker = child.Child.python(
            'RabbitMQ', _RUN, [_program()], self._folder,
            self._folder / 'log', self._settings)
        self.addCleanup(self._broker.kill)
        self._broker.wait_until(lambda: _answers(self._port), _PATIENCE)

    def kill(self) -> None:
        """Kill it; what it keeps on its disk is kept."""
        self._broker.kill()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return not probe.connect_ex(('127.0.0.1', port))


def _program() -> str:
    found = shutil.which('rabbitmq-server', path=os.pathsep.join(
        (_DEBIAN, os.environ.get('PATH', ''))))
    if found is None:
        raise own_server.NotInstalled(
            'rabbitmq-server is not installed, which tests with a broker '
            'need: bindep.txt lists such packages.')
    return found

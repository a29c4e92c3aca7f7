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


"""What every service of the cloud stands on: ports, folders, processes."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import pathlib
import subprocess
import sys

import requests

from tools import all_in_one
from tools import child
from tools import free_ports
from tools import placement as real_placement

#: How long one service may take until it answers, in seconds. On two cores,
#: where all of them start at once, the slowest takes about twenty.
START_TIMEOUT = 300
#: How long a command that makes tables may take, in seconds.
COMMAND_TIMEOUT = 300

#: Where the packages have put the files that they serve with.
DATA = pathlib.Path(sys.prefix, 'etc')
#: Where the modules of tools are found.
SOURCE = pathlib.Path(__file__).parents[2]

# NOTE: nova and others read sys.argv as soon as they are imported. A request
# that is sent while its idle connection is being closed fails: none is closed
# so soon.
_SERVE = """
import importlib
name, port = sys.argv[1], int(sys.argv[2])
sys.argv[1:] = []
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
application = importlib.import_module(name).application
from cheroot import wsgi
wsgi.Server(('127.0.0.1', port), application, numthreads=8,
            timeout=600).safe_start()
"""


class Ground:
    """A folder for the cloud, and the processes in it.

    :ivar ports: by the name of the service.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.logs = folder / 'logs'
        self.logs.mkdir()
        self.ports: dict[str, int] = {}
        self.children: dict[str, child.Child] = {}

    def url(self, name: str) -> str:
        """Return the root of a service, with a port of its own."""
        while name not in self.ports:
            port = free_ports.free_port()
            if port not in self.ports.values():
                self.ports[name] = port
        return f'http://127.0.0.1:{self.ports[name]}'

    def folder_of(self, name: str) -> pathlib.Path:
        """Return the folder of a service."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        return folder

    def configure(self, name: str, file_name: str,
                  *layers: all_in_one.Options) -> pathlib.Path:
        """Write a configuration file of a service."""
        path = self.folder_of(name) / file_name
        all_in_one.write_options(path, *layers)
        return path

    def serve(self, name: str, application: str,
              environment: Mapping[str, str]) -> None:
        """Start a WSGI application.

        :param application: the module that has it.
        """
        self.url(name)
        self.children[name] = child.Child.python(
            name, _SERVE, [application, str(self.ports[name])],
            self.folder_of(name), self.logs / f'{name}.log', environment)

    def spawn(self, name: str, code: str, arguments: Sequence[str] = (),
              environment: Mapping[str, str] | None = None) -> None:
        """Start a process that has no port."""
        self.children[name] = child.Child.python(
            name, code, arguments, self.folder_of(name),
            self.logs / f'{name}.log', environment)

    def wait_for(self, name: str) -> None:
        """Wait until a service answers, whatever it says.

        :raises NotStarted: it does not; then it is killed, so that it has
            its port when it is started again.
        """
        with requests.Session() as asking:
            asking.trust_env = False
            try:
                self.children[name].wait_until(
                    lambda: real_placement.answers(asking, self.url(name)),
                    START_TIMEOUT)
            except child.NotStarted:
                self.kill(name)
                raise

    def run(self, name: str, code: str, *arguments: str,
            environment: Mapping[str, str] | None = None) -> None:
        """Run a command of a service until its end.

        :raises NotStarted: it failed.
        """
        log_file = self.logs / f'{name}.log'
        running = child.Child.python(
            f'{name} {" ".join(arguments)}', code, arguments,
            self.folder_of(name), log_file, environment)
        try:
            status = running.process.wait(COMMAND_TIMEOUT)
        except subprocess.TimeoutExpired:
            status = -1
        finally:
            running.kill()
        if status:
            raise child.NotStarted(f'{running.name} ended with {status}:\n'
                                   f'{running.log_tail()}')

    def kill(self, name: str) -> None:
        """Kill a process on the spot, as a power cut would."""
        self.children.pop(name).kill()

    def end(self) -> None:
        """Kill all of them."""
        for name in list(self.children):
            self.kill(name)

    def log_tails(self, lines: int = 30) -> str:
        """The last lines of every log."""
        return '\n'.join(
            f'---- {path.name}\n{child.tail(path, lines)}'
            for path in sorted(self.logs.glob('*.log')))

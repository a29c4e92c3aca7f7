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


"""A real Ironic in one process: fake hardware, in a folder of its own.

The demonstration, the tests and the benchmarks all start Ironic
from here.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import configparser
import os
from pathlib import Path

import bcrypt
import requests

from tools import child
from tools import free_ports

Options = Mapping[str, Mapping[str, object]]

#: How long the service may take until it answers, in seconds. It takes
#: about three on an idle machine.
START_TIMEOUT = 90

NotStarted = child.NotStarted

_ROOT = Path(__file__).parents[1]
# NOTE: not the console scripts, since the name ``ironic`` may also belong
# to a command line client in the same environment.
_SERVICE = (f'sys.path.insert(0, {str(_ROOT)!r}); import importlib; '
            'importlib.import_module({module!r}).main()')
_DBSYNC = ('import sys; from ironic.command import dbsync as p; '
           'sys.argv[0] = "ironic-dbsync"; sys.exit(p.main())')

_INTERFACES = {
    'bios': 'no-bios', 'boot': 'fake', 'console': 'no-console',
    'deploy': 'fake', 'firmware': 'no-firmware', 'inspect': 'no-inspect',
    'management': 'fake', 'network': 'noop', 'power': 'fake',
    'raid': 'no-raid', 'rescue': 'no-rescue', 'storage': 'noop',
    'vendor': 'no-vendor',
}


_FILE = 'ironic.sqlite'
#: A file of SQLite with Ironic's tables, once one has been made: to make them
#: takes seconds, and they are the same for each Ironic of a process.
_empty: list[bytes] = []


class AllInOne:
    """An Ironic service with API and conductor in one process.

    :param folder: where everything it writes goes.
    :param database: SQLAlchemy URL; by default SQLite in the folder.
    :param users: names and passwords for http_basic; by default noauth.
    :param middleware: whether our middleware is in its API.
    :param options: options of Ironic by section, above the defaults here.
    :param reservations: options of ours by section, likewise.
    :cvar python: starts a Python with some code.
    :cvar module: the module whose ``main`` serves.
    """

    module = 'tools.ironic_service'

    python: Callable[..., child.Child] = child.Child.python

    def __init__(self, folder: str | os.PathLike[str], *,
                 database: str | None = None,
                 users: Mapping[str, str] | None = None,
                 middleware: bool = True,
                 options: Options | None = None,
                 reservations: Options | None = None) -> None:
        self.folder = Path(folder)
        self.database = database or f'sqlite:///{self.folder / _FILE}'
        self.users = dict(users or {})
        self.middleware = middleware
        self.options = options or {}
        self.reservations = reservations or {}
        self.config_file = self.folder / 'ironic.conf'
        self.reservations_config_file = (
            self.folder / 'ironic-reservations.conf')
        self.log_file = self.folder / 'ironic.log'
        self.port = 0
        self.process: child.Child | None = None

    def __enter__(self) -> AllInOne:
        try:
            self.create_schema()
            self.start()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *failure: object) -> None:
        # NOTE: to end as an operator would takes seconds, and nothing of it is
        # needed any more.
        self.kill()

    @property
    def url(self) -> str:
        """The root of the API, without a version or a trailing slash."""
        return f'http://127.0.0.1:{self.port}'

    @property
    def pid(self) -> int:
        """The process id of the service."""
        if self.process is None:
            raise RuntimeError('Ironic is not running: call start() first.')
        return self.process.process.pid

    def session(self) -> requests.Session:
        """A session of HTTP as the first of the users, if there are any."""
        session = requests.Session()
        # A proxy in the environment has no business with 127.0.0.1.
        session.trust_env = False
        if self.users:
            session.auth = next(iter(self.users.items()))
        return session

    def create_schema(self) -> None:
        """Make Ironic's tables in an empty database.

        :raises NotStarted: ironic-dbsync failed.
        """
        self._write_config()
        file = self.folder / _FILE
        ours = self.database == f'sqlite:///{file}'
        if ours and _empty:
            file.write_bytes(_empty[0])
            return
        running = self.python(
            'ironic-dbsync', _DBSYNC, ['--config-file', str(self.config_file),
                                       'create_schema'],
            self.folder, self.folder / 'ironic-dbsync.log')
        status = running.process.wait()
        # NOTE: it has ended, but its pipe has not.
        running.kill()
        if status:
            raise NotStarted(
                f'ironic-dbsync create_schema ended with {status} '
                f'on {self.database}:\n{running.log_tail()}')
        # NOTE: what is still beside the file is not in it.
        if ours and not file.with_name(f'{_FILE}-wal').exists():
            _empty.append(file.read_bytes())

    def start(self, timeout: float = START_TIMEOUT) -> None:
        """Start the service and wait until it answers and has its driver.

        A port that was chosen stays the same when the service starts again.

        :raises NotStarted: it ended, or did not answer in time.
        """
        fixed = self.port != 0
        for attempt in range(3):
            if not fixed:
                self.port = free_ports.free_port()
            self._write_config()
            self._spawn()
            try:
                self._wait_until_serving(timeout)
                return
            except BaseException as failure:
                self.kill()
                # Between our look and its bind, somebody took the port.
                taken = 'Address already in use' in self.log_tail(400)
                if (fixed or not taken or attempt == 2
                        or not isinstance(failure, NotStarted)):
                    raise

    def wait(self) -> int:
        """Wait until the service ends by itself; give how it ended."""
        if self.process is None:
            raise RuntimeError('Ironic is not running: call start() first.')
        return self.process.process.wait()

    def stop(self) -> None:
        """End the service as an operator would, else kill it."""
        if self.process is None:
            return
        self.process.stop()
        self.process = None

    def kill(self) -> None:
        """Kill the service and its workers on the spot (SIGKILL)."""
        if self.process is None:
            return
        self.process.kill()
        self.process = None

    def log_tail(self, lines: int = 40) -> str:
        """The last lines that the service logged."""
        return child.tail(self.log_file, lines)

    def _spawn(self) -> None:
        self.process = self.python(
            'Ironic', _SERVICE.format(module=self.module),
            ['--config-file', str(self.config_file)],
            self.folder, self.log_file, {
                'OS_IRONIC_RESERVATIONS_CONFIG_FILE': str(
                    self.reservations_config_file)})

    def _wait_until_serving(self, timeout: float) -> None:
        assert self.process is not None
        with self.session() as session:
            self.process.wait_until(lambda: self._serves(session), timeout)

    def _serves(self, session: requests.Session) -> bool:
        # It answers before the conductor has registered itself, and takes no
        # node until then.
        try:
            answer = session.get(f'{self.url}/v1/drivers', timeout=5)
            return bool(answer.ok and answer.json()['drivers'])
        except (requests.RequestException, ValueError, KeyError):
            return False

    def _write_config(self) -> None:
        ironic: dict[str, dict[str, object]] = {
            'DEFAULT': {
                'auth_strategy': 'noauth',
                'enabled_hardware_types': 'fake-hardware',
                'rpc_transport': 'none',
                'host': 'all-in-one',
                'state_path': self.folder,
            },
            'database': {'connection': self.database},
            'api': {'host_ip': '127.0.0.1', 'port': self.port},
            # NOTE: a conductor that starts fails what it deployed when it
            # died, up to 8 nodes; the others stay deploying for good.
            'conductor': {'automated_clean': False,
                          'periodic_max_workers': 100},
            'oslo_concurrency': {'lock_path': self.folder},
        }
        for kind, implementation in _INTERFACES.items():
            ironic['DEFAULT'][f'enabled_{kind}_interfaces'] = implementation
        if self.users:
            ironic['DEFAULT']['auth_strategy'] = 'http_basic'
            ironic['DEFAULT']['http_basic_auth_user_file'] = (
                self._write_passwords())
        if self.middleware:
            ironic['api']['middleware'] = 'reservations'
        write_options(self.config_file, ironic, self.options)
        write_options(self.reservations_config_file,
                      {'DEFAULT': {'state_path': self.folder}},
                      self.reservations)

    def _write_passwords(self) -> Path:
        path = self.folder / 'htpasswd'
        if not path.exists():
            path.write_text(''.join(
                f'{user}:'
                # The cheapest hash there is: it is computed each request.
                f'{bcrypt.hashpw(word.encode(), bcrypt.gensalt(4)).decode()}'
                '\n' for user, word in self.users.items()))
        return path


def write_options(path: Path, *layers: Options) -> None:
    """Write a configuration file; a later layer wins over an earlier one."""
    parser = configparser.RawConfigParser(default_section='')
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    for layer in layers:
        for section, options in layer.items():
            if not parser.has_section(section):
                parser.add_section(section)
            for name, value in options.items():
                parser.set(section, name, str(value))
    with path.open('w') as file:
        parser.write(file)

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


"""Database servers of the tests' own, which can be restarted."""

from __future__ import annotations

import contextlib
import glob
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import fixtures
import sqlalchemy as sa

from tools import child
from tools import free_ports

#: The variable of the environment that names a server which runs already.
NAMED_BY = {'mysql': 'IRONIC_RESERVATIONS_TEST_MYSQL',
            'postgresql': 'IRONIC_RESERVATIONS_TEST_POSTGRESQL'}
#: How long it may take on a machine that has other things to do, in seconds.
_PATIENCE = 240.0
#: Runs the server as the user that its name says, until either of us ends.
# NOTE: signals are for the server, which ends in its own way.
RUN = """
import signal, subprocess, sys
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda *_: None)
who = {'user': sys.argv[1], 'group': int(sys.argv[2]), 'extra_groups': []}
sys.exit(subprocess.run(sys.argv[3:], **(who if sys.argv[1] else {})
                        ).returncode)
"""
_DEBIAN = '/usr/lib/postgresql/*/bin'
#: The user of a server that does not run as root.
_USERS = {'postgresql': 'postgres', 'mysql': 'mysql'}
#: Which signal ends a server as an operator would: at once, and in order.
_END = {'postgresql': signal.SIGINT, 'mysql': signal.SIGTERM}
#: Settings of a server that need not survive the machine, which then waits
#: for no disk. A server that is killed still keeps each commit.
_FORGETFUL = {
    'mysql': ['--innodb-flush-log-at-trx-commit=2', '--innodb-doublewrite=0',
              '--innodb-buffer-pool-size=256M', '--innodb-log-file-size=64M'],
    'postgresql': ['-c', 'fsync=off', '-c', 'full_page_writes=off']}
_RAM_DISK = pathlib.Path('/dev/shm')


class NotInstalled(RuntimeError):
    """A program of the server is not on this machine."""


class OwnServer(fixtures.Fixture):
    """A server on a port and a folder of its own.

    :param kind: ``mysql`` or ``postgresql``.
    :param log_file: of the server; by default one beside its data.
    :param forgetful: whether its data are on a RAM disk, where there is one,
        and it waits for no disk.
    :param copy_of: a PostgreSQL server that it becomes a replica of.
    """

    def __init__(self, kind: str, log_file: pathlib.Path | None = None,
                 forgetful: bool = False,
                 copy_of: OwnServer | None = None) -> None:
        super().__init__()
        self._copy_of = copy_of
        self._kind = kind
        self._log_file = log_file
        self._forgetful = forgetful
        self._child: child.Child | None = None

    def _setUp(self) -> None:
        # NOTE: the user of the server cannot read folders of this one.
        self._folder = pathlib.Path(tempfile.mkdtemp(
            prefix='test-server-', dir=_RAM_DISK if self._forgetful
            and os.access(_RAM_DISK, os.W_OK) else None))
        self.addCleanup(shutil.rmtree, self._folder, ignore_errors=True)
        self._port = free_ports.free_port()
        self._user = _USERS[self._kind] if os.geteuid() == 0 else ''
        self._group = os.getegid()
        if self._user:
            who = pwd.getpwnam(self._user)
            self._group = who.pw_gid
            os.chown(self._folder, who.pw_uid, who.pw_gid)
        self._run(self._make)
        self.addCleanup(self.kill)
        self.start()

    def restart(self, crash: bool) -> None:
        """Restart it, and wait until it answers.

        :param crash: whether it is killed, and not asked to end.
        :raises NotStarted: it did not come back.
        """
        assert self._child is not None
        if not crash:
            os.killpg(self._child.process.pid, _END[self._kind])
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.process.wait(_PATIENCE)
        self.kill()
        self.start()

    def stop(self) -> None:
        """Stop it; its connections stay open."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it go on once it was stopped."""
        self._signal(signal.SIGCONT)

    def promote(self) -> None:
        """Have a replica be a primary, with what it has of the other one."""
        self._run([program('pg_ctl'), 'promote', '--wait', '-D', self._data])

    def _signal(self, number: int) -> None:
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    @property
    def url(self) -> str:
        """Where it is, and who asks."""
        where = f'127.0.0.1:{self._port}'
        return (f'mysql+pymysql://root@{where}?ssl_disabled=true'
                if self._kind == 'mysql' else
                f'postgresql+psycopg2://postgres@{where}/postgres')

    @property
    def _data(self) -> str:
        return str(self._folder / 'data')

    @property
    def _make(self) -> list[str]:
        if self._kind == 'mysql':
            return [program('mariadb-install-db'), '--no-defaults',
                    f'--datadir={self._data}', '--skip-test-db',
                    '--auth-root-authentication-method=normal']
        if self._copy_of is not None:
            return [program('pg_basebackup'), '-R', '-D', self._data,
                    '--checkpoint=fast', '--no-sync', '-d',
                    self._copy_of.url.replace('+psycopg2', '')]
        return [program('initdb'), '-D', self._data, '-U', 'postgres',
                '--auth=trust', '--encoding=UTF8', '--no-locale']

    @property
    def _serve(self) -> list[str]:
        if self._kind == 'mysql':
            return [program('mariadbd'), '--no-defaults',
                    f'--datadir={self._data}', f'--port={self._port}',
                    '--bind-address=127.0.0.1',
                    f'--socket={self._folder / "socket"}',
                    f'--pid-file={self._folder / "pid"}',
                    # NOTE: a server that starts deletes what it finds there
                    # of temporary tables, those of others as well.
                    f'--tmpdir={self._folder}',
                    '--max-connections=400',
                    *(_FORGETFUL['mysql'] if self._forgetful else ())]
        return [program('postgres'), '-D', self._data, '-p',
                str(self._port), '-h', '127.0.0.1', '-k', str(self._folder),
                '-c', 'max_connections=400',
                # NOTE: else one that is killed leaves its memory behind.
                '-c', 'dynamic_shared_memory_type=mmap',
                *(_FORGETFUL['postgresql'] if self._forgetful else ())]

    def _run(self, command: list[str]) -> None:
        done = subprocess.run(
            command, cwd=self._folder, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            **({'user': self._user, 'group': self._group, 'extra_groups': []}
               if self._user else {}))  # type: ignore[call-overload]
        if done.returncode:
            raise RuntimeError(f'{command[0]}: {done.stdout[-3000:]}')

    def start(self) -> None:
        """Start it once it was killed, and wait until it answers."""
        self._child = child.Child.python(
            'server', RUN, [self._user, str(self._group), *self._serve],
            self._folder, self._log_file or self._folder / 'log')
        self._child.wait_until(self._answers, _PATIENCE)

    def _answers(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(('127.0.0.1', self._port)):
                return False
        engine = sa.create_engine(self.url, poolclass=sa.NullPool)
        try:
            with engine.connect():
                return True
        except sa.exc.DBAPIError:
            return False

    def kill(self) -> None:
        """Kill it with all its processes."""
        if self._child is None:
            return
        # NOTE: PostgreSQL's children lead groups of their own, and as long as
        # one of them is there no other server can start. The first of all is
        # left to who started it: a zombie still holds its locks.
        deadline = time.monotonic() + _PATIENCE
        while self.processes() or self._child.process.poll() is None:
            if time.monotonic() > deadline:
                raise RuntimeError(f'The {self._kind} server that was killed '
                                   f'is still there: {self.processes()}')
            for pid in self.processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
        self._child.kill()
        self._child = None

    def processes(self) -> list[int]:
        """Return the processes of the server, all of which run in its data."""
        return running_in(pathlib.Path(self._data))


def running_in(folder: pathlib.Path) -> list[int]:
    """Return the processes that run in a folder."""
    found = []
    for place in pathlib.Path('/proc').glob('[0-9]*/cwd'):
        with contextlib.suppress(OSError):
            if place.readlink() == folder:
                found.append(int(place.parent.name))
    return found


def program(name: str) -> str:
    """Return where a program of a server is.

    :param name: of the program.
    :raises NotInstalled: it is not there.
    """
    path = os.pathsep.join((*sorted(glob.glob(_DEBIAN), reverse=True),
                            os.environ.get('PATH', ''), '/usr/sbin'))
    found = shutil.which(name, path=path)
    if found is None:
        raise NotInstalled(
            f'{name} is not installed, which tests with a database server '
            'of their own need: bindep.txt lists such packages.')
    return found

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


"""A Galera cluster of the tests' own, all of whose nodes can be written to."""

from __future__ import annotations

import dataclasses
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

from tools import all_in_one
from tools import child
from tools import own_server

#: How long a node may take on a machine that has other things to do.
_PATIENCE = 240.0
_LIBRARY = pathlib.Path('/usr/lib/galera/libgalera_smm.so')
_USER = 'mysql'
#: The programs by which a node copies the data of another one.
_COPIES_WITH = ('rsync', 'lsof')


@dataclasses.dataclass
class _Node:
    """A node, and its ports: for SQL, for the others, and for copies."""

    number: int
    sql: int
    group: int
    updates: int
    copies: int
    running: child.Child | None = None


class OwnCluster(fixtures.Fixture):
    """Nodes of MariaDB with Galera, each on ports of its own.

    :param size: how many nodes.
    """

    def __init__(self, size: int = 2) -> None:
        super().__init__()
        self._size = size

    def _setUp(self) -> None:
        check_installed()
        shared = pathlib.Path('/dev/shm')
        self._folder = pathlib.Path(tempfile.mkdtemp(
            prefix='test-cluster-',
            dir=shared if os.access(shared, os.W_OK) else None))
        self.addCleanup(shutil.rmtree, self._folder, ignore_errors=True)
        self._user, self._group = '', os.getegid()
        if os.geteuid() == 0:
            who = pwd.getpwnam(_USER)
            self._user, self._group = _USER, who.pw_gid
            os.chown(self._folder, who.pw_uid, who.pw_gid)
        self.nodes = [_Node(number, *(all_in_one.free_port()
                                      for _ in range(4)))
                      for number in range(self._size)]
        self.addCleanup(self._kill_all)
        for node in self.nodes:
            self._make(node)
            self._start(node)

    def url(self, number: int, database: str = '') -> str:
        """Return the URL of a node, or of a database there."""
        return ('mysql+pymysql://root@127.0.0.1:'
                f'{self.nodes[number].sql}/{database}?ssl_disabled=true')

    def kill(self, number: int) -> None:
        """Kill a node."""
        node = self.nodes[number]
        if node.running is not None:
            self._signal(node, signal.SIGKILL)
            node.running.kill()
            node.running = None

    def stop(self, number: int) -> None:
        """Stop a node, whose connections stay open."""
        self._signal(self.nodes[number], signal.SIGSTOP)

    def go_on(self, number: int) -> None:
        """Let a stopped node go on."""
        self._signal(self.nodes[number], signal.SIGCONT)

    def start(self, number: int) -> None:
        """Start a node that was killed; it joins the others."""
        self._start(self.nodes[number])

    def _data(self, node: _Node) -> pathlib.Path:
        return self._folder / f'data{node.number}'

    def _make(self, node: _Node) -> None:
        made = subprocess.run(
            [own_server.program('mariadb-install-db'), '--no-defaults',
             f'--datadir={self._data(node)}', '--skip-test-db',
             '--auth-root-authentication-method=normal'],
            cwd=self._folder, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            **({'user': self._user, 'group': self._group, 'extra_groups': []}
               if self._user else {}))  # type: ignore[call-overload]
        if made.returncode:
            raise RuntimeError(made.stdout[-3000:])
        temporary = pathlib.Path(f'{self._data(node)}.tmp')
        temporary.mkdir()
        shutil.chown(temporary, self._user or None, self._group)

    def _start(self, node: _Node) -> None:
        others = ','.join(f'127.0.0.1:{each.group}' for each in self.nodes
                          if each.running is not None and each is not node)
        log = self._folder / f'log{node.number}'
        node.running = child.Child.python(
            f'node {node.number}', own_server.RUN,
            [self._user, str(self._group), own_server.program('mariadbd'),
             '--no-defaults', f'--datadir={self._data(node)}',
             f'--port={node.sql}', '--bind-address=127.0.0.1',
             f'--socket={self._folder / f"socket{node.number}"}',
             f'--pid-file={self._folder / f"pid{node.number}"}',
             # NOTE: else each that starts deletes tables of the others.
             f'--tmpdir={self._data(node)}.tmp',
             '--max-connections=400', '--innodb-flush-log-at-trx-commit=2',
             '--innodb-doublewrite=0', '--innodb-buffer-pool-size=128M',
             '--innodb-log-file-size=32M', '--binlog-format=ROW',
             '--innodb-autoinc-lock-mode=2', '--wsrep-on=ON',
             f'--wsrep-provider={_LIBRARY}', '--wsrep-cluster-name=tests',
             f'--wsrep-cluster-address=gcomm://{others}',
             f'--wsrep-node-name=node{node.number}',
             '--wsrep-node-address=127.0.0.1', '--wsrep-sst-method=rsync',
             f'--wsrep-sst-receive-address=127.0.0.1:{node.copies}',
             '--wsrep-provider-options='
             f'base_port={node.group};gcache.size=32M;pc.recovery=false;'
             f'gmcast.listen_addr=tcp://127.0.0.1:{node.group};'
             f'ist.recv_addr=127.0.0.1:{node.updates}',
             *(() if others else ('--wsrep-new-cluster',))],
            self._folder, log)
        node.running.wait_until(lambda: self._is_ready(node), _PATIENCE)

    def _is_ready(self, node: _Node) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(('127.0.0.1', node.sql)):
                return False
        engine = sa.create_engine(self.url(node.number),
                                  poolclass=sa.NullPool)
        try:
            with engine.connect() as connection:
                found = connection.exec_driver_sql(
                    "SHOW STATUS LIKE 'wsrep_ready'").one()
        except sa.exc.DBAPIError:
            return False
        return bool(found[1] == 'ON')

    def _processes(self, node: _Node) -> list[int]:
        """Return the processes of a node, all of which run in its data."""
        return own_server.running_in(self._data(node))

    def _signal(self, node: _Node, number: int) -> None:
        for pid in self._processes(node):
            os.kill(pid, number)

    def _kill_all(self) -> None:
        for node in self.nodes:
            self.kill(node.number)
        deadline = time.monotonic() + _PATIENCE
        while any(map(self._processes, self.nodes)):
            if time.monotonic() > deadline:
                raise RuntimeError('A node that was killed is still there.')
            time.sleep(0.02)


def check_installed() -> None:
    """Check that all programs of a cluster are there.

    :raises NotInstalled: one is not.
    """
    if not _LIBRARY.exists():
        raise own_server.NotInstalled(
            f'{_LIBRARY} is not there, which tests with a Galera cluster '
            'need: bindep.txt lists such packages.')
    for name in ('mariadbd', *_COPIES_WITH):
        own_server.program(name)

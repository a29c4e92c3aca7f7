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

from collections.abc import Sequence
import contextlib
import dataclasses
import functools
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from typing import Any

import fixtures
import pymysql

from tools import child
from tools import free_ports
from tools import own_server

#: How long a node may take on a machine that has other things to do.
_PATIENCE = 240.0
#: How long its answer to a statement may take, in seconds.
_ANSWERS = 30
#: The same where a balancer asks, which does not wait for long.
_CHECKED = 2
_LIBRARY = pathlib.Path('/usr/lib/galera/libgalera_smm.so')
_USER = 'mysql'
#: The programs by which a node copies the data of another one.
_COPIES_WITH = ('rsync', 'lsof')
#: After how many seconds without a primary component an operator acts: by
#: then, nodes that had lost each other have found each other.
_WITHOUT_PRIMARY = 20.0
#: When nodes give each other up: late, since a busy machine may not run a node
#: for some seconds. If two of three give each other up while the third one is
#: dead, the cluster has no primary component any more. And for how long a node
#: that starts waits for one.
_GROUP = ('evs.suspect_timeout=PT8S;evs.inactive_timeout=PT20S;'
          'evs.inactive_check_period=PT1S;evs.install_timeout=PT15S;'
          f'pc.wait_prim_timeout=PT{_PATIENCE:.0f}S')
#: The number of the last commit of a node that has none, in its status.
_NO_COMMIT = 1 << 63
#: What a node says that it has, in the log of its recovery.
_POSITION = re.compile(r'Recovered position: [\w-]+:(-?\d+)')


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
    :param logs: where their logs are written; by default beside their data.
    """

    def __init__(self, size: int = 2,
                 logs: pathlib.Path | None = None) -> None:
        super().__init__()
        self._size = size
        self._logs = logs

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
        self.nodes = [_Node(number, *(free_ports.free_port()
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

    def has_primary(self) -> bool:
        """Return whether any node is in a primary component."""
        return 'Primary' in map(self._component, self.nodes)

    def isolate(self, number: int, whether: bool) -> None:
        """Cut a node off from the others, or no longer.

        Its clients still reach it.
        """
        self._ask(self.nodes[number], "SET GLOBAL wsrep_provider_options = "
                  f"'gmcast.isolate={int(whether)}'")

    def empty(self, number: int) -> None:
        """Delete the data of a node that was killed."""
        node = self.nodes[number]
        self._wait_for_end(node)
        shutil.rmtree(self._data(node))
        self._data(node).mkdir()
        shutil.chown(self._data(node), self._user or None, self._group)

    def crash(self) -> None:
        """Kill all nodes at once; start the one that has most, and others.

        See "Fail-over, step by step" in the administrator's documentation.
        """
        for node in self.nodes:
            self.kill(node.number)
        self._start_from_the_last_commit()

    def _start_from_the_last_commit(self) -> None:
        first, *others = sorted(self.nodes, key=self._committed, reverse=True)
        state = self._data(first) / 'grastate.dat'
        state.write_text(state.read_text().replace(
            'safe_to_bootstrap: 0', 'safe_to_bootstrap: 1'))
        for node in (first, *others):
            self._start(node)

    def wait(self) -> None:
        """Wait until all nodes have joined each other, and can be used."""
        deadline = time.monotonic() + _PATIENCE
        lost = _Lost(self)
        while not self._are_joined():
            if lost.for_long():
                self._bootstrap()
            if time.monotonic() > deadline:
                raise RuntimeError('The nodes have not joined each other: '
                                   f'{[*map(self._joined, self.nodes)]}')
            time.sleep(0.2)

    def _bootstrap(self, starting: _Node | None = None) -> None:
        """Have a primary component again, on the node that has most.

        :param starting: a dead node that is started then.
        """
        first = max(self.nodes, key=lambda node: (
            self._has(node), node.running is not None))
        if first.running is None:
            # No node that runs can make another one catch up.
            for node in self.nodes:
                self.kill(node.number)
            self._start_from_the_last_commit()
            return
        self.bootstrap(first.number)
        for node in self.nodes:
            if node.running is None and node is not starting:
                self._start(node)

    def bootstrap(self, number: int) -> None:
        """Have the component of a node be primary."""
        node = self.nodes[number]
        assert node.running is not None
        # NOTE: while a node finds out which others there are, it refuses or
        # forgets that.
        deadline = time.monotonic() + _PATIENCE
        while self._component(node) != 'Primary':
            if time.monotonic() > deadline:
                raise RuntimeError(f'Node {number} cannot be bootstrapped: '
                                   f'{node.running.log_tail()}')
            with contextlib.suppress(pymysql.Error):
                self._ask(node, "SET GLOBAL wsrep_provider_options = "
                          "'pc.bootstrap=YES'")
            time.sleep(1)

    def _has(self, node: _Node) -> int:
        """Return the number of the last commit that a node has.

        A node that does not answer is killed.
        """
        if node.running is not None:
            with contextlib.suppress(pymysql.Error):
                number = int(self._status(node)['wsrep_last_committed'])
                return number if number < _NO_COMMIT else -1
            self.kill(node.number)
        return self._committed(node)

    def _component(self, node: _Node) -> str | None:
        """Return the kind of component that a node is in, if it answers."""
        if node.running is None:
            return None
        try:
            return self._status(node, _CHECKED)['wsrep_cluster_status']
        except pymysql.Error:
            return None

    def is_synced(self, number: int) -> bool:
        """Return whether a node can be used, as a balancer asks."""
        try:
            said = self._status(self.nodes[number], _CHECKED)
        except pymysql.Error:
            return False
        return (said['wsrep_cluster_status'] == 'Primary'
                and said['wsrep_local_state_comment'] == 'Synced'
                and said['wsrep_ready'] == 'ON')

    def _status(self, node: _Node,
                seconds: int = _ANSWERS) -> dict[str, str]:
        return dict(self._ask(node, 'SHOW STATUS LIKE "wsrep%"', seconds))

    def _are_joined(self) -> bool:
        # NOTE: a node that was stopped believes for a moment that it is still
        # one of the others, who have another number of their membership.
        found = [self._joined(node) for node in self.nodes]
        return found[0] is not None and len(set(found)) == 1

    def _joined(self, node: _Node) -> str | None:
        """Return which membership a node is in, if all nodes are."""
        try:
            said = self._status(node)
        except pymysql.Error:
            return None
        whole = (said['wsrep_cluster_size'] == str(self._size)
                 and self.is_synced(node.number))
        return said['wsrep_cluster_conf_id'] if whole else None

    def _committed(self, node: _Node) -> int:
        """Return the number of the last commit that a killed node has."""
        self._wait_for_end(node)
        if not (self._data(node) / 'grastate.dat').exists():
            # It was emptied.
            return -1
        said = self._run(*self._server(node), '--wsrep-recover',
                         '--wsrep-cluster-address=gcomm://')
        return int(_POSITION.findall(said)[-1])

    def _run(self, *command: str) -> str:
        """Run a program that ends; return what it prints."""
        done = subprocess.run(
            command, cwd=self._folder, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            **self._as_user)
        if done.returncode:
            raise RuntimeError(f'{command[0]}: {done.stdout[-3000:]}')
        return done.stdout

    def _ask(self, node: _Node, statement: str,
             seconds: int = _ANSWERS) -> Sequence[tuple[Any, ...]]:
        # NOTE: the driver itself, since a node that is cut off refuses even
        # the ROLLBACK of SQLAlchemy.
        with pymysql.connect(
                host='127.0.0.1', port=node.sql, user='root',
                autocommit=True, connect_timeout=1, read_timeout=seconds,
                ) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall()

    def _wait_for_end(self, node: _Node) -> None:
        deadline = time.monotonic() + _PATIENCE
        while self._processes(node):
            if time.monotonic() > deadline:
                raise RuntimeError('A node that was killed is still there.')
            time.sleep(0.02)

    @property
    def _as_user(self) -> dict[str, Any]:
        return ({'user': self._user, 'group': self._group, 'extra_groups': []}
                if self._user else {})

    def _data(self, node: _Node) -> pathlib.Path:
        return self._folder / f'data{node.number}'

    def _make(self, node: _Node) -> None:
        self._run(own_server.program('mariadb-install-db'), '--no-defaults',
                  f'--datadir={self._data(node)}', '--skip-test-db',
                  '--auth-root-authentication-method=normal')
        temporary = pathlib.Path(f'{self._data(node)}.tmp')
        temporary.mkdir()
        shutil.chown(temporary, self._user or None, self._group)

    def _server(self, node: _Node) -> tuple[str, ...]:
        return (
            own_server.program('mariadbd'), '--no-defaults',
            f'--datadir={self._data(node)}', f'--port={node.sql}',
            '--bind-address=127.0.0.1',
            f'--socket={self._folder / f"socket{node.number}"}',
            f'--pid-file={self._folder / f"pid{node.number}"}',
            # NOTE: else each that starts deletes tables of the others.
            f'--tmpdir={self._data(node)}.tmp',
            '--innodb-flush-log-at-trx-commit=2', '--innodb-doublewrite=0',
            '--innodb-buffer-pool-size=128M', '--innodb-log-file-size=32M',
            '--innodb-autoinc-lock-mode=2', '--binlog-format=ROW',
            '--wsrep-on=ON', f'--wsrep-provider={_LIBRARY}')

    def _start(self, node: _Node) -> None:
        """Start a node, and have it join a primary component."""
        while node.running is None:
            self._launch(node)
            assert node.running is not None
            lost = _Lost(self)
            node.running.wait_until(functools.partial(
                self._is_ready_or, lost, node), _PATIENCE)
            if lost.for_long():
                # What it has is read before the others go on without that.
                self.kill(node.number)
                self._bootstrap(node)

    def _launch(self, node: _Node) -> None:
        others = ','.join(f'127.0.0.1:{each.group}' for each in self.nodes
                          if each.running is not None and each is not node)
        # NOTE: its files belong to it alone.
        self._wait_for_end(node)
        log = (self._logs or self._folder) / f'node-{node.number}.log'
        node.running = child.Child.python(
            f'node {node.number}', own_server.RUN,
            [self._user, str(self._group), *self._server(node),
             '--max-connections=400', '--wsrep-cluster-name=tests',
             f'--wsrep-cluster-address=gcomm://{others}',
             f'--wsrep-node-name=node{node.number}',
             '--wsrep-node-address=127.0.0.1', '--wsrep-sst-method=rsync',
             f'--wsrep-sst-receive-address=127.0.0.1:{node.copies}',
             '--wsrep-provider-options='
             f'base_port={node.group};gcache.size=32M;pc.recovery=false;'
             f'{_GROUP};'
             f'gmcast.listen_addr=tcp://127.0.0.1:{node.group};'
             f'ist.recv_addr=127.0.0.1:{node.updates}',
             *(() if others else ('--wsrep-new-cluster',))],
            self._folder, log)

    def _is_ready_or(self, lost: _Lost, node: _Node) -> bool:
        return lost.for_long() or self._is_ready(node)

    def _is_ready(self, node: _Node) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(('127.0.0.1', node.sql)):
                return False
        try:
            found = self._ask(node, "SHOW STATUS LIKE 'wsrep_ready'")
        except pymysql.Error:
            return False
        return [value for _, value in found] == ['ON']

    def _processes(self, node: _Node) -> list[int]:
        """Return the processes of a node, all of which run in its data."""
        return own_server.running_in(self._data(node))

    def _signal(self, node: _Node, number: int) -> None:
        for pid in self._processes(node):
            os.kill(pid, number)

    def _kill_all(self) -> None:
        for node in self.nodes:
            self.kill(node.number)
        for node in self.nodes:
            self._wait_for_end(node)


class _Lost:
    """Watches for a primary component that no node is in any more."""

    def __init__(self, cluster: OwnCluster) -> None:
        self._cluster = cluster
        self._since: float | None = None

    def for_long(self) -> bool:
        """Return whether there has been none for long."""
        found = [*map(self._cluster._component, self._cluster.nodes)]
        if 'Primary' in found or not any(found):
            self._since = None
            return False
        now = time.monotonic()
        if self._since is None:
            self._since = now
        return now - self._since > _WITHOUT_PRIMARY


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

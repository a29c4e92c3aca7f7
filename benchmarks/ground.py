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

"""What the measurements stand on: a real Ironic with many nodes."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple
import uuid

import requests
import sqlalchemy as sa

from ironic_reservations.cmd import dbsync
from tools import all_in_one
from tools import enrolment
from tools import free_ports

RESOURCE_CLASS = 'gold'
_SERVE = ('import sys; from ironic_reservations.cmd import api; '
          'sys.exit(api.main())')


@contextlib.contextmanager
def database(server: str) -> Iterator[str]:
    """Make a database, and drop it in the end; gives its URL.

    :param server: SQLAlchemy URL of the server, without a database.
    """
    name = f'ir_bench_{uuid.uuid4().hex[:12]}'
    engine = sa.create_engine(server, isolation_level='AUTOCOMMIT',
                              poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql(f'CREATE DATABASE {name}')
    try:
        yield server.rstrip('/') + '/' + name
    finally:
        with engine.connect() as connection:
            # NOTE: who was stopped may be connected for a moment still.
            force = (' WITH (FORCE)' if engine.dialect.name == 'postgresql'
                     else '')
            connection.exec_driver_sql(f'DROP DATABASE {name}{force}')


class Ground:
    """One Ironic with many nodes, with our middleware or without it."""

    def __init__(self, service: all_in_one.AllInOne, ours: str,
                 nodes: int) -> None:
        self.service = service
        self._ours = ours
        self._nodes = nodes

    @property
    def url(self) -> str:
        """The root of Ironic's API."""
        return self.service.url

    def restart(self, middleware: bool, confirm: str = 'always') -> None:
        """Start it anew, the same nodes and all.

        :param middleware: whether ours is in its API.
        :param confirm: [ironic] confirm.
        """
        self.service.stop()
        self.service.middleware = middleware
        self.service.reservations = {'database': {'connection': self._ours},
                                     'ironic': {'confirm': confirm}}
        self.service.start()
        if middleware:
            with self.service.session() as session:
                # NOTE: the mirror begins with the first request.
                node_uuids(session, self.url)
            wait_for_mirror(self._ours, self._nodes)


@contextlib.contextmanager
def ironic(server: str, nodes: int) -> Iterator[Ground]:
    """Make an Ironic with many available nodes, not started yet."""
    with (database(server) as theirs, database(server) as ours,
          tempfile.TemporaryDirectory() as folder):
        with all_in_one.AllInOne(
                folder, database=theirs, middleware=False,
                reservations={'database': {'connection': ours}}) as service:
            with service.session() as session:
                enrolment.enroll(session, service.url, 1,
                                 resource_class=RESOURCE_CLASS)
            multiply_nodes(theirs, nodes)
            upgrade(service.reservations_config_file)
            yield Ground(service, ours, nodes)


def upgrade(config_file: pathlib.Path) -> None:
    """Make our tables, as an operator does."""
    with contextlib.redirect_stdout(io.StringIO()):
        if dbsync.main(['--config-file', str(config_file), 'upgrade']):
            raise RuntimeError('ironic-reservations-dbsync upgrade failed')


def multiply_nodes(url: str, count: int) -> None:
    """Copy the one node that is there, row by row: enrolling takes long."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    metadata = sa.MetaData()
    table = sa.Table('nodes', metadata, autoload_with=engine)
    with engine.begin() as connection:
        # NOTE: Ironic allocates no node whose power state it has not read.
        connection.execute(sa.update(table).values(power_state='power off'))
        row = dict(connection.execute(sa.select(table)).mappings().one())
        del row['id']
        copies = [{**row, 'uuid': str(uuid.uuid4()), 'name': f'copy-{number}'}
                  for number in range(count - 1)]
        # NOTE: without rows, SQLAlchemy inserts one of defaults.
        if copies:
            connection.execute(sa.insert(table), copies)


def wait_for_mirror(url: str, count: int, timeout: float = 180) -> None:
    """Wait until our mirror knows all nodes."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        with engine.connect() as connection:
            if connection.exec_driver_sql(
                    'SELECT COUNT(*) FROM nodes').scalar() == count:
                return
        time.sleep(0.5)
    raise RuntimeError(f'{count} nodes were not mirrored in {timeout:.0f} s')


def node_uuids(session: requests.Session, url: str) -> list[str]:
    """Read the uuids of all nodes."""
    uuids: list[str] = []
    path = f'{url}/v1/nodes?fields=uuid&limit=1000'
    while path:
        page = session.get(
            path, headers={'X-OpenStack-Ironic-API-Version': '1.81'}).json()
        uuids.extend(node['uuid'] for node in page['nodes'])
        path = page.get('next')
    return uuids


class Serving(NamedTuple):
    """The standalone application, started.

    :ivar url: its root.
    :ivar database: the URL of its database.
    """

    url: str
    database: str
    pid: int

    @property
    def megabytes(self) -> float:
        """Return the memory of its process, in megabytes."""
        status = pathlib.Path(f'/proc/{self.pid}/status').read_text()
        return int(status.partition('VmRSS:')[2].split()[0]) / 1024


@contextlib.contextmanager
def started(server: str, ironic_url: str | None = None,
            options: all_in_one.Options | None = None
            ) -> Iterator[Serving]:
    """Start the standalone application.

    :param ironic_url: the Ironic behind it; by default there is none, and
        nothing is asked of it.
    :param options: of ours by section, besides.
    :returns: the service.
    """
    port = free_ports.free_port()
    with (database(server) as ours,
          tempfile.TemporaryDirectory() as folder):
        config = pathlib.Path(folder) / 'ironic-reservations.conf'
        all_in_one.write_options(config, {
            'DEFAULT': {'state_path': folder, 'auth_strategy': 'noauth'},
            'database': {'connection': ours},
            'ironic': {'endpoint_override': ironic_url} if ironic_url else {
                'confirm': 'mirror', 'full_poll_interval': 86400,
                'poll_interval': 86400,
                'endpoint_override': 'http://127.0.0.1:1'},
            'api': {'host': '127.0.0.1', 'port': port}}, options or {})
        upgrade(config)
        process = subprocess.Popen(
            [sys.executable, '-c', _SERVE, '--config-file', str(config)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for_answer(f'http://127.0.0.1:{port}/v1/reservations')
            yield Serving(f'http://127.0.0.1:{port}', ours, process.pid)
        finally:
            process.terminate()
            process.wait(15)


@contextlib.contextmanager
def serving(server: str, ironic_url: str | None = None,
            options: all_in_one.Options | None = None
            ) -> Iterator[tuple[str, str]]:
    """Start the standalone application; gives its URL, and its database's."""
    with started(server, ironic_url, options) as there:
        yield there.url, there.database


def wait_for_answer(url: str, timeout: float = 240) -> None:
    """Wait until something answers 200."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        try:
            if requests.get(url, timeout=5).ok:
                return
        except requests.RequestException:
            pass
        time.sleep(0.1)
    raise RuntimeError(f'{url} did not answer in {timeout:.0f} s')

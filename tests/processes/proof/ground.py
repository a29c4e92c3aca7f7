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

"""The ground of the proofs: databases, an Ironic, processes of the API."""

from __future__ import annotations

import contextlib
import io
import pathlib
from typing import Any

import sqlalchemy as sa

from ironic_reservations.cmd import dbsync
from ironic_reservations.db import tables
from tests.inprocess.guard import base
from tests.processes.proof import servers
from tests.real import databases
from tests.real import forked_ironic
from tools import all_in_one
from tools import enrolment

NODES = 50
#: So that what a killed process leaves behind is gone before long; in half of
#: it, a busy machine has to have a request admitted.
_IN_FLIGHT_TIMEOUT = 20
RESOURCE_CLASS = 'gold'


class GroundTestCase(base.GuardTestCase):
    """An Ironic with our middleware, and the API beside it.

    All tests of a class stand on the same; each leaves the nodes available
    and no reservation behind.

    :cvar kind: of the databases.
    :cvar processes: of the API.
    :cvar threads: of each of them.
    """

    kind: str
    processes = 8
    threads = 4

    nodes: list[str]
    api: servers.Servers
    database: sa.Engine

    @classmethod
    def setUpClass(cls) -> None:
        """Start everything."""
        super().setUpClass()
        with cls.ironic.session() as session:
            cls.nodes = [node.uuid for node in enrolment.enroll(
                session, cls.ironic.url, NODES,
                resource_class=RESOURCE_CLASS,
                workers=1 if cls.kind == 'sqlite' else 4)]
        config = cls.ironic.folder / 'standalone' / 'api.conf'
        config.parent.mkdir()
        all_in_one.write_options(config, cls.reservations, {
            'DEFAULT': {'auth_strategy': 'noauth'},
            'ironic': {'endpoint_override': cls.ironic.url},
            'api': {'host': '127.0.0.1', 'reuse_port': True,
                    'threads': cls.threads}})
        cls.api = cls.enterClassContext(
            servers.Servers(config, cls.processes))

    @classmethod
    def make(cls, folder: str) -> all_in_one.AllInOne:
        """Make the databases, and give the Ironic to start."""
        ours = cls.enterClassContext(databases.Database(cls.kind))
        theirs = cls.enterClassContext(databases.Database(cls.kind))
        cls.database = sa.create_engine(ours.url, poolclass=sa.NullPool)
        cls.reservations = {
            'DEFAULT': {'state_path': folder},
            'database': {'connection': ours.url},
            'reservations': {'min_ttl': 1, 'sweep_interval': 1},
            'guard': {'in_flight_timeout': _IN_FLIGHT_TIMEOUT,
                      'rpc_timeout': 1, 'claim_ttl': 5},
            'ironic': {'poll_interval': 1, 'claim_ttl': 5}}
        config = pathlib.Path(folder, 'dbsync.conf')
        all_in_one.write_options(config, cls.reservations)
        with contextlib.redirect_stdout(io.StringIO()):
            if dbsync.main(['--config-file', str(config), 'upgrade']):
                raise RuntimeError('ironic-reservations-dbsync failed')
        return forked_ironic.ForkedIronic(
            folder, database=theirs.url, reservations=cls.reservations)

    def setUp(self) -> None:
        """Take back in the end what a test that fails leaves reserved.

        NOTE: one failure is to be told as one.
        """
        super().setUp()
        self.addCleanup(self._give_back_all)

    def _give_back_all(self) -> None:
        for row in self.rows(tables.reservations):
            self.send('DELETE', f'/v1/reservations/{row["uuid"]}')

    def rows(self, table: sa.Table) -> list[dict[str, Any]]:
        """Read a table."""
        with self.database.connect() as connection:
            return [dict(row) for row in
                    connection.execute(sa.select(table)).mappings()]

    def assert_all_free(self) -> None:
        """Assert that nothing is left: each node can be had, at once."""
        self.wait_for(lambda: not self.rows(tables.in_flight_requests))
        self._give_back_all()
        given = {node: self.reserve(node)['uuid'] for node in self.nodes}
        for uuid in given.values():
            self.assertEqual(204, self.send(
                'DELETE', f'/v1/reservations/{uuid}').status)
        self.assertEqual([], self.rows(tables.reservations))

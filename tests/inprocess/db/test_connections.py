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

"""No connection is to be had: the server has no more, or the pool has not."""

import contextlib
import secrets

import fixtures
import sqlalchemy as sa
from sqlalchemy import pool

from ironic_reservations.api import identity
from tests import waiting
from tests.inprocess.api import world
from tests.inprocess.db import base

_MOST = 3


class _Connections:
    """To be run on each database of a server."""

    #: What makes a user who may open so many connections, and ends it.
    made: tuple[str, ...]
    ended: tuple[str, ...]

    def serve(self, url, **options):
        return self.useFixture(world.World(
            identity.administrator, 'noauth', database__connection=url,
            **options))

    def user(self):
        """Return the URL of a user who may open so many connections."""
        admin = sa.create_engine(self.url, poolclass=pool.NullPool,
                                 isolation_level='AUTOCOMMIT')
        name, password = (f'few_{secrets.token_hex(6)}',
                          secrets.token_hex(16))

        def run(statements):
            with admin.connect() as connection:
                for each in statements:
                    connection.exec_driver_sql(each.format(
                        name=name, password=password, most=_MOST,
                        database=sa.make_url(self.url).database))
        run(self.made)
        self.addCleanup(run, self.ended)
        return sa.make_url(self.url).set(
            username=name, password=password).render_as_string(False)

    def asked(self, served):
        """Read and write, and return the answers."""
        return [
            world.request(served, 'GET', '/v1/reservations'),
            world.request(served, 'POST', '/v1/reservations', {
                'instance_uuid': '11111111-0000-0000-0000-000000000001',
                'node_uuid': ['22222222-0000-0000-0000-000000000002']})]

    def assert_unavailable(self, served):
        for answer in self.asked(served):
            self.assertEqual((503, 'service.database_unavailable'),
                             (answer.status, answer.code))

    def assert_well(self, served):
        self.assertEqual([200, 409], [
            answer.status for answer in self.asked(served)])

    def assert_well_at_last(self, served):
        """A server counts a connection that was closed for a moment still."""
        waiting.until(lambda: all(answer.status != 503
                                  for answer in self.asked(served)))
        self.assert_well(served)

    def test_server_has_no_more_connections(self):
        """Which is no error of ours, and goes by."""
        url = self.user()
        served = self.serve(url)
        with contextlib.ExitStack() as others:
            engine = sa.create_engine(url, poolclass=pool.NullPool)
            for _ in range(_MOST):
                others.enter_context(engine.connect())
            self.assert_unavailable(served)
        self.assert_well_at_last(served)

    def test_pool_has_no_more_connections(self):
        """Whoever waits is answered after pool_timeout."""
        log = self.useFixture(fixtures.FakeLogger())
        served = self.serve(self.url, database__max_pool_size=1,
                            database__max_overflow=0,
                            database__pool_timeout=1)
        with served.engine.database.read():
            self.assert_unavailable(served)
        self.assertIn('connection timed out, timeout 1.00', log.output)
        self.assert_well(served)


class TestOnMariaDB(_Connections, base.DatabaseTestCase):
    kind = 'mysql'
    made = ("CREATE USER '{name}'@'%%' IDENTIFIED BY '{password}' "
            'WITH MAX_USER_CONNECTIONS {most}',
            "CREATE USER '{name}'@'localhost' IDENTIFIED BY '{password}' "
            'WITH MAX_USER_CONNECTIONS {most}',
            "GRANT ALL ON `{database}`.* TO '{name}'@'%%'",
            "GRANT ALL ON `{database}`.* TO '{name}'@'localhost'")
    ended = ("DROP USER '{name}'@'%%'", "DROP USER '{name}'@'localhost'")


class TestOnPostgreSQL(_Connections, base.DatabaseTestCase):
    kind = 'postgresql'
    made = ("CREATE ROLE {name} LOGIN PASSWORD '{password}' "
            'CONNECTION LIMIT {most}',
            'GRANT ALL ON ALL TABLES IN SCHEMA public TO {name}',
            'GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {name}')
    ended = ('DROP OWNED BY {name}', 'DROP ROLE {name}')

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

"""PostgreSQL may refuse its identity to the user of the service."""

import secrets
from unittest import mock

import fixtures
import sqlalchemy as sa
import testtools

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import histories
from ironic_reservations.db import migrate
from ironic_reservations.db import server_identity
from tests import world
from tests.real import databases


class RefusedTestCase(testtools.TestCase):
    """No commit succeeded where a provider has revoked the functions."""

    def setUp(self) -> None:
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        url = self.useFixture(databases.Database('postgresql')).url
        self.owner = db_connection.Database(world.configured(url))
        self.addCleanup(self.owner.close)
        migrate.upgrade(self.owner)
        self.user = f'plain_{secrets.token_hex(6)}'
        self.run_as_owner(
            f'CREATE ROLE {self.user} LOGIN',
            f'GRANT ALL ON ALL TABLES IN SCHEMA public TO {self.user}')
        self.addCleanup(self.run_as_owner, f'DROP OWNED BY {self.user}',
                        f'DROP ROLE {self.user}')
        self.url = sa.make_url(url).set(username=self.user)

    def run_as_owner(self, *statements: str) -> None:
        with self.owner.write() as connection:
            for statement in statements:
                connection.execute(sa.text(statement))

    def plain(self) -> db_connection.Database:
        made = db_connection.Database(world.configured(
            self.url.render_as_string(hide_password=False)))
        self.addCleanup(made.close)
        return made

    def identity(self, database: db_connection.Database) -> str | None:
        with database.read() as connection:
            found: str | None = connection.scalar(
                sa.select(server_identity.Server()))
            return found

    def test_plain_user_sees_the_identity(self) -> None:
        self.assertEqual(self.identity(self.owner),
                         self.identity(self.plain()))
        self.assertNotIn('which server it is', self.log.output)

    def test_user_who_may_not_call_the_functions(self) -> None:
        self.run_as_owner('REVOKE EXECUTE ON FUNCTION pg_control_system() '
                          'FROM PUBLIC')
        plain = self.plain()
        with plain.write() as connection:
            histories.note(connection)
        self.assertIsNone(self.identity(plain))
        self.assertIn('PostgreSQL does not say which server it is: permission '
                      'denied', self.log.output)
        for database in (plain, self.owner):
            with database.read() as connection:
                self.assertFalse(histories.is_elsewhere(connection))
                self.assertTrue(connection.scalar(
                    sa.select(histories.SAME)))

    def test_failure_of_the_first_connection_is_no_refusal(self) -> None:
        """One cancelled statement switched the comparison off for good."""
        plain = self.plain()
        with mock.patch.object(
                server_identity, '_POSTGRESQL',
                "(DO 'BEGIN RAISE EXCEPTION USING ERRCODE = ''57014''; END')"):
            self.assertRaises(errors.DatabaseUnavailable, self.identity, plain)
        self.assertEqual(self.identity(self.owner), self.identity(plain))

    def test_row_of_another_user_is_no_other_server(self) -> None:
        with self.owner.write() as connection:
            histories.note(connection)
        self.run_as_owner('REVOKE EXECUTE ON FUNCTION pg_control_system() '
                          'FROM PUBLIC')
        with self.plain().read() as connection:
            self.assertFalse(histories.is_elsewhere(connection))

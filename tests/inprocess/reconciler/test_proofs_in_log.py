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

"""No proof is in the log, which has more readers than the API."""

import logging
import traceback
from unittest import mock

import fixtures
import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.clouds import ironic
from ironic_reservations.db import connection as db_connection
from ironic_reservations.engine import retry
from tests import servers
from tests import world
from tests.inprocess.reconciler import leases


class TestWaiting(leases.TestCase):

    def test_what_a_lease_waits_for_is_logged_without_its_proofs(self):
        """The ids of its reservations; its owner is told them."""
        node, = self.leasing.hosts()
        made = self.leasing.create(1, 4)
        proof = made.reservations[0].id
        kind = 'CUSTOM_RESERVATION_' + proof.replace('-', '_').upper()
        log = self.useFixture(fixtures.FakeLogger(level=logging.INFO))
        self.at(1)
        with mock.patch.object(
                self.ironic, 'write_lessee', side_effect=ironic.Refused(
                    409, f'the servers of {proof} use {kind} of {node}')):
            self.work()
        self.assertIn(proof, self.lease(made).waiting)
        self.assertIn(f'The lease {made.id} waits: ', log.output)
        self.assertIn(f'the servers of (id left out) use CUSTOM_RESERVATION_'
                      f'(id left out) of {node}', log.output)


@servers.also
class TestDatabase(world.TestCase):

    def setUp(self):
        super().setUp()
        self.proof = world.new_uuid()
        self.log = self.useFixture(fixtures.FakeLogger(level=logging.DEBUG))
        self.database = self.new_world().engine.database

    def ask(self, text, times=1):
        """Have a statement with the proof fail, or so many of them."""
        with self.database.write() as connection:
            for _ in range(times):
                connection.execute(sa.text(text), {'proof': self.proof})

    def duplicate(self, name, owner):
        """Write a row twice whose key there may be once."""
        self.ask('INSERT INTO claims (name, owner, expires_at) VALUES'
                 f" ({name}, {owner}, '2026-01-01 00:00:00')", 2)

    def assert_not_told(self, refused=None):
        """Check that the proof is neither in the log nor in a refusal."""
        self.assertNotIn(self.proof, self.log.output)
        if refused is not None:
            self.assertNotIn(self.proof, ''.join(
                traceback.format_exception(refused)))

    def test_statement_that_failed_is_logged_without_what_it_asked_for(self):
        self.assertRaises(errors.DatabaseUnavailable, self.ask,
                          'SELECT :proof\nFROM a FROM b')
        self.assertIn('FROM a FROM b', self.log.output)
        self.assert_not_told()

    def test_statement_in_the_way_is_told_without_what_it_wrote(self):
        """Whoever gives up logs what was in the way."""
        refused = self.assertRaises(db_connection.Locked, self.duplicate,
                                    "'one'", ':proof')
        self.assertNotIn(self.proof, str(refused))

    def test_key_in_the_way_is_told_without_its_value(self):
        """Which MariaDB and PostgreSQL put in their words."""
        with mock.patch.object(retry, '_OUTRUN', 0), (
                mock.patch.object(retry, '_LOCKED', 0)):
            self.assertRaises(
                errors.Contention, retry.until_committed,
                lambda: self.duplicate(':proof', "'one'"))
        self.assertIn('Gave up after 1 attempts', self.log.output)
        self.assert_not_told(self.assertRaises(
            db_connection.Locked, self.duplicate, ':proof', "'one'"))

    def test_value_that_the_database_complains_of_is_not_logged(self):
        """Neither by this service nor by the libraries that it uses."""
        # NOTE: SQLite takes it, and does not know the function.
        refused = self.assertRaises(
            errors.DatabaseUnavailable, self.ask,
            'UPDATE reservations SET id = :proof'
            ' WHERE expires_at < unknown(:proof)'
            if self.database.engine.dialect.name == 'sqlite' else
            'INSERT INTO nodes (uuid, generation) '
            'VALUES (:proof, CAST(:proof AS DECIMAL))')
        self.assertIn('The database of the reservations failed',
                      self.log.output)
        self.assert_not_told(refused)

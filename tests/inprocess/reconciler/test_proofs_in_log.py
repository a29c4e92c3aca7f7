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
from unittest import mock

import fixtures
import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.clouds import ironic
from ironic_reservations.db import connection as db_connection
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

    def test_statement_that_failed_is_logged_without_what_it_asked_for(self):
        proof = world.new_uuid()
        log = self.useFixture(fixtures.FakeLogger(level=logging.INFO))
        database = self.new_world().engine.database

        def ask():
            with database.read() as connection:
                connection.execute(sa.text('SELECT :proof\nFROM a FROM b'),
                                   {'proof': proof})
        self.assertRaises(errors.DatabaseUnavailable, ask)
        self.assertIn('FROM a FROM b', log.output)
        self.assertNotIn(proof, log.output)

    def test_statement_in_the_way_is_told_without_what_it_wrote(self):
        """Whoever gives up logs what was in the way."""
        database = self.new_world().engine.database
        proof = world.new_uuid()

        def write():
            with database.write() as connection:
                for _ in range(2):
                    connection.execute(sa.text(
                        'INSERT INTO claims (name, owner, expires_at) VALUES'
                        " ('one', :proof, '2026-01-01 00:00:00')"),
                        {'proof': proof})
        refused = self.assertRaises(db_connection.Locked, write)
        self.assertNotIn(proof, str(refused))

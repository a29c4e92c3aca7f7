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

"""A COMMIT that is carried out, and not answered, on SQLite as well."""

import sqlite3
from unittest import mock

from ironic_reservations import errors
from tests import world


class TestUnansweredCommit(world.TestCase):

    def setUp(self):
        super().setUp()
        self.world = self.new_world()
        self.node, = self.world.enrol(1)

    def lose(self):
        """Have the next COMMIT fail once it is done."""
        dialect = self.world.engine.database.engine.dialect
        commit = dialect.do_commit

        def lost(connection):
            losing.stop()
            commit(connection)
            raise sqlite3.OperationalError('disk I/O error')
        losing = mock.patch.object(dialect, 'do_commit', lost)
        losing.start()
        self.addCleanup(mock.patch.stopall)

    def test_nobody_says_that_nothing_was_done(self):
        self.lose()

        def write():
            with self.world.engine.database.write():
                pass
        told = self.assertRaises(errors.ReservationError, write)
        self.assertEqual('service.outcome_unknown', told.code)

    def test_what_was_done_is_found_again(self):
        self.lose()
        made = self.world.reserve(self.node)
        self.assertEqual([made.uuid], list(self.world.reservations()))

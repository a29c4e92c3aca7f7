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

"""What an idempotency key costs beside a request without one."""

import sqlalchemy as sa

from tests import servers
from tests.inprocess.engine import timelines
from tests.inprocess.timeline import windows

#: Statements and transactions: the row of the key is read in the transaction
#: that reads everything else, and written in the one that writes.
_READ_WITH_THE_REST = (2, 0)
#: A lease is planned on what the process has read before.
_READ_ALONE = (2, 1)


@servers.also
class TestKeyStatements(timelines.TestCase):

    def setUp(self):
        super().setUp()
        self.nodes = self.leasing.hosts(4)
        self.statements = self.transactions = 0
        engine = self.engine.database.engine
        sa.event.listen(engine, 'before_cursor_execute', self._stated)
        sa.event.listen(engine, 'begin', self._begun)

    def _stated(self, connection, cursor, statement, *rest):
        # NOTE: SQLite alone is told in so many words that a transaction
        # begins.
        self.statements += not statement.startswith('BEGIN')

    def _begun(self, connection):
        self.transactions += 1

    def _cost(self, call, *args, **more):
        self.statements = self.transactions = 0
        call(*args, **more)
        return self.statements, self.transactions

    def _more(self, without, with_key):
        return tuple(one - other for one, other
                     in zip(with_key, without, strict=True))

    def test_of_a_reservation(self):
        self.assertEqual(_READ_WITH_THE_REST, self._more(
            self._cost(self.world.reserve, self.nodes[0]),
            self._cost(self.world.reserve, self.nodes[1], key='k')))

    def test_of_a_maintenance_window(self):
        self.assertEqual(_READ_WITH_THE_REST, self._more(*(
            self._cost(windows.book, self.engine, 1, 2, [node],
                       key=key)
            for node, key in zip(self.nodes, (None, 'k'), strict=False))))

    def test_of_a_change_of_a_lease(self):
        made = self.leasing.create(1, 2)
        self.assertEqual(_READ_WITH_THE_REST, self._more(
            self._cost(self.leasing.change, made, name='one'),
            self._cost(self.leasing.change, made, name='two', key='k')))

    def test_of_a_lease(self):
        self.leasing.create(1, 2)
        self.assertEqual(_READ_ALONE, self._more(
            self._cost(self.leasing.create, 1, 2),
            self._cost(self.leasing.create, 1, 2, key='k')))

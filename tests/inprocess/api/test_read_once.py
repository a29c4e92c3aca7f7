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

"""A request that changes a lease reads it once."""

from typing import Any

import sqlalchemy as sa

from tests.inprocess.api import asking


class TestReadOnce(asking.AskingCase):

    nodes = {name: {} for name in ('one', 'two')}

    def setUp(self) -> None:
        super().setUp()
        self.lease = self.book('02 09', '02 18')
        self.read = 0
        engine = self.served.engine.database.engine

        def count(connection: Any, cursor: Any, statement: str,
                  *rest: Any) -> None:
            self.read += (statement.startswith('SELECT')
                          and 'WHERE leases.id IN' in statement)
        sa.event.listen(engine, 'before_cursor_execute', count)
        self.addCleanup(sa.event.remove, engine, 'before_cursor_execute',
                        count)

    def put(self, status: int, query: str = '', **change: Any) -> int:
        self.read = 0
        self.ask('PUT', f'/v1/leases/{self.lease["id"]}{query}', status,
                 change)
        return self.read

    def test_change_that_is_planned(self) -> None:
        self.assertEqual(1, self.put(200, end_date='2050-01-02 20:00'))

    def test_refused_change_with_offers(self) -> None:
        """No commit shows that the lease has changed, so it is read again."""
        self.book('02 18', '02 22', 2)
        self.assertEqual(2, self.put(409, end_date='2050-01-02 23:00'))
        self.assertEqual(2, self.put(409, '?dry_run=true',
                                     end_date='2050-01-02 23:00'))

    def test_new_name(self) -> None:
        self.assertEqual(1, self.put(200, name='another'))

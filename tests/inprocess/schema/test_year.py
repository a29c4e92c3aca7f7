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

"""Nothing that is asked again and again grows with leases that are over.

The databases themselves say how many rows they have looked at.
"""

import datetime
import json
import os
from typing import Any

import sqlalchemy as sa

from benchmarks import booked
from benchmarks import over
from benchmarks import periodic
from ironic_reservations.db import candidates as db_candidates
from ironic_reservations.db import claims
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import leases
from ironic_reservations.db import tables
from ironic_reservations.features.history import rows as lease_history
from ironic_reservations.model import period_kind
from ironic_reservations.model import visibility
from tests.inprocess.schema import each_database
from tests.real import databases

_OVER = int(os.environ.get('IRONIC_RESERVATIONS_TEST_OVER', 20_000))
_NODES = 20
_NOW = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
#: Of live rows, each of which may be looked at a few times.
_MOST = 2000


class _Examined:
    """Counts the rows that the database looks at for a query."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def mysql(self, query: periodic.Query) -> int:
        """Return what MariaDB has counted."""
        self._connection.exec_driver_sql('FLUSH STATUS')
        query(self._connection)
        return sum(int(row[1]) for row in self._connection.exec_driver_sql(
            "SHOW SESSION STATUS LIKE 'Handler_read%%'"))

    def postgresql(self, query: periodic.Query) -> int:
        """Return what PostgreSQL explains of each statement, done again."""
        run: list[tuple[str, Any]] = []

        def note(_conn: Any, _cursor: Any, statement: str, parameters: Any,
                 *args: Any) -> None:
            run.append((statement, parameters))
        sa.event.listen(self._connection, 'before_cursor_execute', note)
        try:
            query(self._connection)
        finally:
            sa.event.remove(self._connection, 'before_cursor_execute', note)
        examined = 0
        cursor = self._connection.connection.cursor()
        for statement, parameters in run:
            cursor.execute('EXPLAIN (ANALYZE, FORMAT JSON) ' + statement,
                           parameters)
            plan = cursor.fetchone()[0]
            examined += _scanned((plan if isinstance(plan, list)
                                  else json.loads(plan))[0]['Plan'])
        cursor.close()
        return examined


def _examined(database: db_connection.Database,
              query: periodic.Query) -> int:
    """Return how many rows are looked at for a query."""
    with database.engine.connect() as connection:
        return int(getattr(_Examined(connection),
                           database.engine.dialect.name)(query))


def _scanned(plan: dict[str, Any]) -> int:
    here = 0
    if 'Scan' in plan['Node Type']:
        here = plan['Actual Loops'] * sum(
            plan.get(key, 0) for key in (
                'Actual Rows', 'Rows Removed by Filter',
                'Rows Removed by Index Recheck'))
    return here + sum(map(_scanned, plan.get('Plans', ())))


@each_database.on(databases.SERVERS)
class _YearOn:

    def test_rows_examined_do_not_grow_with_leases_that_are_over(
            self) -> None:
        """Twenty thousand are over; each query looks at the live alone."""
        database = self.migrated()
        booked.fill(self.url, _NODES, _NODES * 2, 1,
                    _NOW + datetime.timedelta(days=1))
        # NOTE: not by an engine of ours, whose statements have a limit.
        writes = sa.create_engine(self.url)
        self.addCleanup(writes.dispose)
        over.fill(writes, _OVER, _NOW - datetime.timedelta(days=1))
        grown = {}
        for what, query in periodic.queries(_NOW).items():
            examined = _examined(database, query)
            if examined > _MOST:
                grown[what] = examined
        self.assertEqual({}, grown)


@each_database.on(databases.SERVERS)
class _PickOn:

    def test_pick_by_class_does_not_look_at_all_promises(self) -> None:
        """Each of 20 nodes is promised to 200 leases for later."""
        database = self.migrated()
        booked.fill(self.url, _NODES, _NODES * 200, _NODES,
                    _NOW + datetime.timedelta(days=1))
        over.count_rows(database.engine)
        wanted, sees = db_candidates.NodeRequirements(
            ('gold',)), visibility.Visibility(True)
        for query in (
                lambda c: db_candidates.read_candidates(
                    c, wanted, sees, _NOW, '', 9, 'instance'),
                lambda c: db_candidates.count_obstacles(
                    c, wanted, sees, _NOW)):
            examined = _examined(database, query)
            self.assertLess(examined, _NODES * 100)


@each_database.on(databases.SERVERS)
class _HistoryOn:

    def test_history_does_not_look_at_all_of_a_project(self) -> None:
        """Which has had other leases since that one was made."""
        database = self.migrated()
        with database.write() as connection:
            connection.execute(sa.insert(tables.usage_periods), [
                {'lease_id': f'lease-{number % 1000}', 'project_id': 'red',
                 'reservation_id': 'reservation', 'resource_class': 'gold',
                 'kind': period_kind.BOUND, 'starts_at': _NOW,
                 'ended_at': _NOW, 'hosts': 1} for number in range(5000)])
        over.count_rows(database.engine)
        found: list[lease_history.Period] = []
        examined = _examined(database, lambda c: found.extend(
            lease_history.read_periods(c, 'lease-7')))
        self.assertEqual(5, len(found))
        self.assertLess(examined, 50)


@each_database.on(databases.SERVERS)
class _ListOn:

    def test_list_does_not_look_at_all_live_leases(self) -> None:
        """Nobody is shown more than a page of them."""
        database = self.migrated()
        booked.fill(self.url, _NODES, _NODES * 1000, 1,
                    _NOW + datetime.timedelta(days=1))
        with database.write() as connection:
            connection.execute(sa.update(tables.leases).values(
                project_id='red'))
        over.count_rows(database.engine)
        for project in (None, 'red'):
            examined = _examined(
                database, lambda c, project=project: leases.read_page(
                    c, project, None, 20, _NOW))
            self.assertLess(examined, _MOST, project)


@each_database.on(databases.SERVERS)
class _KeysOn:

    def test_keys_that_are_kept_are_not_looked_at(self) -> None:
        """Keys of a day's requests are kept while the sweep looks often."""
        database = self.migrated()
        minute = datetime.timedelta(minutes=1)
        with database.write() as connection:
            connection.execute(sa.insert(tables.claims), [
                {'name': f'request {number}', 'owner': 'somebody',
                 'expires_at': _NOW + (number - 2) * minute}
                for number in range(10000)])
        over.count_rows(database.engine)
        found: list[str] = []
        examined = _examined(database, lambda c: found.extend(
            claims.read_over(c, _NOW, 1000)))
        self.assertEqual(['request 0', 'request 1', 'request 2'], found)
        self.assertLess(examined, 50)

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

"""Pages of the leases that are shown, on each database."""

from collections.abc import Iterator
import datetime
import itertools
import random

import sqlalchemy as sa

from ironic_reservations.db import leases as db_leases
from ironic_reservations.db import tables
from ironic_reservations.model import leases
from tests.inprocess.db import base

_SINCE = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
_MINUTE = datetime.timedelta(minutes=1)


class _Pages:

    def setUp(self) -> None:
        """Write leases in all statuses, many of them made at one moment."""
        super().setUp()
        chance = random.Random(5)
        self.rows = [
            {'id': f'{chance.getrandbits(64):016x}', 'generation': 1,
             'name': status.value, 'project_id': project, 'starts_at': _SINCE,
             'ends_at': _SINCE, 'status': status.value, 'degraded': False,
             'attempts': 0,
             'created_at': _SINCE - chance.randrange(9) * _MINUTE,
             'updated_at': _SINCE + chance.randrange(-2, 3) * _MINUTE}
            for status, project, _ in itertools.product(
                leases.LeaseStatus, ('red', 'blue', None), range(4))]
        with self.opened() as database, database.write() as writing:
            writing.execute(sa.insert(tables.leases), self.rows)

    def _shown(self, project: str | None) -> list[str]:
        """Return the ids of the leases that a list has."""
        return [row['id'] for row in sorted(
            self.rows, key=lambda row: (row['created_at'], row['id']))
            if project in (None, row['project_id'])
            and (row['status'] != leases.LeaseStatus.TERMINATED
                 or row['updated_at'] >= _SINCE)]

    def _walked(self, connection: sa.Connection, project: str | None,
                limit: int | None) -> Iterator[str]:
        marker = None
        while True:
            page = db_leases.read_page(connection, project, marker, limit,
                                       _SINCE)
            yield from (lease.id for lease in page)
            if limit is None or len(page) < limit:
                return
            marker = page[-1]

    def test_pages_have_each_live_lease_once_in_its_place(self) -> None:
        """However long they are, and for all projects or one."""
        with self.opened() as database, database.snapshot() as connection:
            for project, limit in itertools.product(
                    (None, 'red'), (1, 2, 5, 1000, None)):
                self.assertEqual(
                    self._shown(project),
                    list(self._walked(connection, project, limit)),
                    (project, limit))


class TestSQLite(_Pages, base.DatabaseTestCase):
    """On SQLite."""

    kind = 'sqlite'


class TestMariaDB(_Pages, base.DatabaseTestCase):
    """On MariaDB."""

    kind = 'mysql'


class TestPostgreSQL(_Pages, base.DatabaseTestCase):
    """On PostgreSQL."""

    kind = 'postgresql'

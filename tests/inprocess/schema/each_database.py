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

"""The same tests on databases of several kinds."""

from collections.abc import Callable
from collections.abc import Iterable
import sys

import testtools

from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import migrate
from tests import world
from tests.real import databases


class TestCase(testtools.TestCase):
    """On a database without any table.

    :cvar kind: of it.
    :ivar url: where it is.
    """

    kind: str

    def setUp(self) -> None:
        super().setUp()
        self.url = self.useFixture(databases.Database(self.kind)).url

    def opened(self, url: str | None = None) -> db_connection.Database:
        """Open a database for as long as the test lasts."""
        database = db_connection.Database(world.configured(url or self.url))
        self.addCleanup(database.close)
        return database

    def migrated(self) -> db_connection.Database:
        """Return the database with all tables."""
        database = self.opened()
        migrate.upgrade(database)
        return database


def on(kinds: Iterable[str]) -> Callable[[type], type]:
    """Add a test case for each kind of database to a module."""
    def decorate(case: type) -> type:
        for kind in kinds:
            name = f'Test{case.__name__.strip("_")}{kind.title()}'
            setattr(sys.modules[case.__module__], name, type(
                name, (case, TestCase),
                {'kind': kind, '__module__': case.__module__}))
        return case
    return decorate

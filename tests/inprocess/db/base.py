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

"""A database of a server for the tests of a class, emptied before each."""

import contextlib

import testtools

from ironic_reservations.db import connection
from ironic_reservations.db import tables
from tests import world
from tests.real import migrated


class DatabaseTestCase(testtools.TestCase):
    """To be run on each database.

    :cvar kind: of it.
    :ivar url: where it is.
    """

    kind: str
    url: str

    @classmethod
    def setUpClass(cls) -> None:
        """Take one that has the tables."""
        super().setUpClass()
        made = migrated.Database(cls.kind)
        made.setUp()
        cls.addClassCleanup(made.cleanUp)
        cls.url = made.url

    def setUp(self) -> None:
        """Begin with no rows."""
        super().setUp()
        with self.opened() as database, database.write() as writing:
            for table in reversed(tables.metadata.sorted_tables):
                writing.execute(table.delete())

    @classmethod
    def opened(cls) -> contextlib.closing[connection.Database]:
        """Open the database."""
        return contextlib.closing(
            connection.Database(world.configured(cls.url)))

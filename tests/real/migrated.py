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

"""Scratch databases that have our tables."""

from __future__ import annotations

from ironic_reservations.db import connection
from ironic_reservations.db import migrate
from tests import world
from tests.real import databases


class Database(databases.Database):
    """A database of the newest schema, without rows."""

    def _setUp(self) -> None:
        super()._setUp()
        database = connection.Database(world.configured(self.url))
        migrate.upgrade(database)
        database.close()

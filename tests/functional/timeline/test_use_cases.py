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

"""The use cases again, on the databases that several hosts share."""

from __future__ import annotations

import contextlib
from typing import Any
import unittest

import testtools

from ironic_reservations.db import connection
from ironic_reservations.db import tables
from tests import world
from tests.real import databases
from tests.unit.db import test_holds
from tests.unit.db import test_instance_reservations
from tests.unit.db import test_migrations
from tests.unit.engine import test_allocation
from tests.unit.engine import test_confirm
from tests.unit.engine import test_find
from tests.unit.engine import test_interleavings
from tests.unit.engine import test_lease_instances
from tests.unit.engine import test_passage
from tests.unit.engine import test_renew_stale
from tests.unit.engine import test_reserve
from tests.unit.engine import test_statements
from tests.unit.engine import test_terms
from tests.unit.guard import test_stands_still
from tests.unit.reconciler import test_late_requests
from tests.unit.reconciler import test_lease_finish
from tests.unit.reconciler import test_lease_start
from tests.unit.reconciler import test_lease_workers
from tests.unit.reconciler import test_loop
from tests.unit.reconciler import test_mirror
from tests.unit.reconciler import test_purge
from tests.unit.reconciler import test_reused_booking_id
from tests.unit.reconciler import test_sweep

_MODULES = (test_allocation, test_confirm, test_find, test_interleavings,
            test_passage, test_reserve, test_statements, test_terms,
            test_lease_workers, test_lease_finish, test_lease_start,
            test_mirror, test_purge, test_sweep, test_holds,
            test_instance_reservations, test_lease_instances, test_renew_stale,
            test_reused_booking_id, test_stands_still, test_late_requests)
_CLASSES = [case for module in _MODULES
            for name, case in sorted(vars(module).items())
            if name.startswith('Test')] + [test_loop.TestClaims,
                                           test_loop.TestLoop]
_SERVERS = ('mysql', 'postgresql')


class _Shared(world.TestCase):
    """One database for the tests of a class, emptied before each."""

    kind: str
    url: str

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        database = databases.Database(cls.kind)
        database.setUp()
        cls.addClassCleanup(database.cleanUp)
        cls.url = database.url

    def setUp(self) -> None:
        database = connection.Database(world.configured(self.url))
        with contextlib.closing(database):
            # NOTE: all of them, for there are tests that drop one.
            tables.metadata.create_all(database.engine)
            with database.write() as opened:
                for table in reversed(tables.metadata.sorted_tables):
                    opened.execute(table.delete())
        super().setUp()

    def new_world(self, **options: Any) -> world.World:
        return self.useFixture(world.World(self.url, **options))


def _tests(case: type, kind: str) -> type:
    return type(f'{case.__name__}On{kind.title()}', (_Shared, case),
                {'kind': kind, '__module__': __name__,
                 '__doc__': case.__doc__})


for _kind in _SERVERS:
    for _case in _CLASSES:
        _made = _tests(_case, _kind)
        globals()[_made.__name__] = _made


class _Empty(testtools.TestCase):
    """An empty database for each test."""

    kind: str

    def empty_database(self) -> str:
        return self.useFixture(databases.Database(self.kind)).url


for _kind in _SERVERS:
    for _case in (test_migrations.TestMigrations, test_migrations.TestDbsync,
                  test_migrations.TestStatus):
        _made = type(f'{_case.__name__}On{_kind.title()}', (_Empty, _case),
                     {'kind': _kind, '__module__': __name__})
        globals()[_made.__name__] = _made
del _case, _made


class TestSelection(unittest.TestCase):

    def test_every_use_case_is_run_on_each_server(self):
        self.assertGreater(len(_CLASSES), 20)
        for case in _CLASSES:
            for kind in _SERVERS:
                self.assertIn(f'{case.__name__}On{kind.title()}', globals())

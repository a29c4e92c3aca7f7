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

"""The tests of a class once more, on MariaDB and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
import functools
import sys
from typing import Any

import testtools

from tests import world
from tests.real import databases
from tests.real import migrated

_shared = functools.cache(migrated.Kept)


class _Emptied(world.TestCase):
    """The database of this process, emptied before each test."""

    kind: str
    url: str

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.url = _shared(cls.kind).url

    def setUp(self) -> None:
        _shared(self.kind).empty()
        super().setUp()

    def new_world(self, **options: Any) -> world.World:
        return self.useFixture(world.World(self.url, **options))


class _Empty(testtools.TestCase):
    """A database without any table for each test."""

    kind: str

    def empty_database(self) -> str:
        return self.useFixture(databases.Database(self.kind)).url


class _Named(testtools.TestCase):
    """A test case that takes a database of the kind itself."""

    kind: str


def _also(first: type, kinds: Iterable[str] = databases.SERVERS
          ) -> Callable[[type], type]:
    def decorate(case: type) -> type:
        module = sys.modules[case.__module__]
        for kind in kinds:
            name = f'{case.__name__}On{kind.title()}'
            setattr(module, name, type(name, (first, case), {
                'kind': kind, '__module__': case.__module__,
                '__doc__': case.__doc__}))
        return case
    return decorate


#: Adds the like of a test case on each server to its module.
also = _also(_Emptied)
#: The like on one of them. For tests of what is decided, not of how it is
#: written: each statement that they send is sent to the other server as well,
#: by the tests beside them.
also_mysql = _also(_Emptied, ('mysql',))
also_postgresql = _also(_Emptied, ('postgresql',))
#: The same for tests that begin without any table.
also_empty = _also(_Empty)
#: And for those that say themselves where they begin.
also_of_kind = _also(_Named)

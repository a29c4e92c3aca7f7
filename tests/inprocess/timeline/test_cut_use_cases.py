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

"""Use cases that are cut, on the databases that several hosts share.

There each SELECT of a process that stands still sees another moment.
"""

from typing import Any

from tests import examples
from tests import world
from tests.inprocess.engine import cut_use_cases
from tests.real import migrated

EXAMPLES = examples.drawn(8)


class _Shared(cut_use_cases.CutTestCase):
    """One database for all examples, emptied before each."""

    kind: str

    def setUp(self) -> None:
        super().setUp()
        self._url = self.useFixture(migrated.Database(self.kind)).url

    def new_world(self, **options: Any) -> world.World:
        return self.useFixture(world.World(self._url, **options))


class TestOnMariaDB(_Shared):
    kind = 'mysql'

    test_nothing_comes_in_between = cut_use_cases.nothing_comes_in_between(
        EXAMPLES)


class TestOnPostgreSQL(_Shared):
    kind = 'postgresql'

    test_nothing_comes_in_between = cut_use_cases.nothing_comes_in_between(
        EXAMPLES)

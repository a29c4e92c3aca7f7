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

"""Compares what snapshots were told of commits with what is written.

After a commit, a process puts into its snapshot what follows from the leases
before and after it.  At the end of each test, the hosts that were put in like
this are read anew, and compared as far as nobody has changed them since.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
import weakref

import fixtures

from ironic_reservations import engine as engine_module
from ironic_reservations.engine import seen as seen_module
from ironic_reservations.engine.snapshots import cache
from ironic_reservations.engine.snapshots import rows
from ironic_reservations.planner import host_states


class Watch(fixtures.Fixture):
    """Compares at the end of a test.

    :param engine: returns an engine with the database of the test.
    """

    def __init__(self, engine: Callable[[], engine_module.Engine]) -> None:
        self._engine = engine
        self._put_in: weakref.WeakKeyDictionary[
            cache.SnapshotCache, set[str]] = weakref.WeakKeyDictionary()

    def _setUp(self) -> None:
        commit = cache.SnapshotCache.commit

        def watched(snapshots: cache.SnapshotCache, seen: seen_module.Seen,
                    *told: Any, **more: Any) -> None:
            commit(snapshots, seen, *told, **more)
            self._put_in.setdefault(snapshots, set()).update(seen.generations)
        self.useFixture(fixtures.MonkeyPatch(
            'ironic_reservations.engine.snapshots.cache.SnapshotCache.commit',
            watched))
        self.addCleanup(self._compare)

    def _compare(self) -> None:
        engine = self._engine()
        for snapshots, uuids in self._put_in.items():
            known = snapshots._copy.states(uuids)
            with engine.database.snapshot() as connection:
                there = rows.read(connection, engine.clock(), set(known), {})
            wrong = [f'{uuid}: {_bookings(here)} instead of '
                     f'{_bookings(there[uuid])}'
                     for uuid, here in known.items() if uuid in there
                     and _generation(here) == _generation(there[uuid])
                     and _bookings(here) != _bookings(there[uuid])]
            if wrong:
                raise AssertionError('A snapshot differs from the rows: '
                                     + '; '.join(wrong))


def _generation(here: host_states.HostState) -> int:
    return here.host.node.generation


def _bookings(here: host_states.HostState) -> Any:
    return (sorted(((booking, wanted) for booking, wanted in here.promised),
                   key=lambda each: each[0].uuid), dict(here.instances))

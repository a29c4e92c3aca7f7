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

"""The result of a dry run: a lease, and the leases that make room for it."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
from typing import Any

from ironic_reservations.db import lease_names
from ironic_reservations.engine import change
from ironic_reservations.engine import Engine
from ironic_reservations.model import leases

_UNMOVED = datetime.timedelta()


@dataclasses.dataclass(frozen=True)
class Moved:
    """A lease that makes room.

    :ivar start: its start after it has moved; ``end`` likewise.
    :ivar shift: the time by which its dates move.
    :ivar nodes: pairs of a node that it loses and the node that replaces it.
    """

    id: str
    name: str
    project_id: str | None
    start: datetime.datetime
    end: datetime.datetime
    shift: datetime.timedelta
    nodes: tuple[tuple[str, str], ...]


@dataclasses.dataclass(frozen=True)
class Rehearsal:
    """The result of a dry run.

    :ivar lease: the lease as it would be.
    :ivar moved: the leases that would make room.
    """

    lease: leases.Lease
    moved: Sequence[Moved]


def rehearsal(engine: Engine, lease: leases.Lease,
              planned: change.Change | None) -> Rehearsal:
    """Return the result of a dry run, with the names of leases that move.

    :param planned: the change that was not made; ``None``: nothing changes.
    """
    return Rehearsal(lease, [] if planned is None else [
        *slid(planned.writes), *_elsewhere(engine, planned.homes)])


def slid(writes: Iterable[change.Write[Any]]) -> list[Moved]:
    """Return the leases whose dates change."""
    return [_moved(after, after.start - before.start, after.start, after.end,
                   _pairs(before, after))
            for before, after in change.slid(writes)]


def _pairs(*pair: leases.Lease) -> list[tuple[str, str]]:
    before, after = (collections.Counter(
        row.node_uuid for row in lease.bookings) for lease in pair)
    return list(zip((before - after).elements(), (after - before).elements(),
                    strict=False))


def _elsewhere(engine: Engine, homes: Mapping[leases.NodeBooking, str]
               ) -> list[Moved]:
    """Return the leases that get other nodes and keep their dates."""
    if not homes:
        return []
    with engine.database.read() as connection:
        named = lease_names.read(connection,
                                 {row.node_uuid for row in homes})
    found: dict[str, list[leases.NodeBooking]] = {}
    for row in homes:
        # Skip a lease that has been moved or ended meanwhile.
        if row.reservation_id in named:
            found.setdefault(named[row.reservation_id].id, []).append(row)
    return [_moved(named[rows[0].reservation_id], _UNMOVED,
                   rows[0].starts_at, rows[0].ends_at,
                   [(row.node_uuid, homes[row]) for row in rows])
            for rows in found.values()]


def _moved(lease: leases.Lease | leases.NamedLease,
           by: datetime.timedelta, start: datetime.datetime,
           end: datetime.datetime, nodes: Iterable[tuple[str, str]]) -> Moved:
    return Moved(lease.id, lease.name, lease.project_id, start, end, by,
                 tuple(sorted(nodes)))

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

"""Notify lessees that the owner of a node has leased it after them.

The lease of the owner starts after all bookings of others.  It takes nothing
from them, but they cannot extend their leases on the node.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime

from ironic_reservations.db import lease_names
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import change as change_module
from ironic_reservations.engine import Engine
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import ladder
from ironic_reservations.model import leases
from ironic_reservations.model import notices
from ironic_reservations.model import time_text

#: The maximum number of nodes in a notice.
_NAMED = 100
#: The maximum number of notices to a lessee in a day.
_A_DAY = 5


@dataclasses.dataclass(frozen=True)
class Lessee:
    """A lease with nodes that their owner has leased after it.

    :ivar nodes: the uuids of these nodes.
    :ivar since: the start of the lease of the owner on the first of them.
    :ivar owner: the id of the owner's lease.
    """

    lease: leases.Lease
    nodes: Sequence[str]
    since: datetime.datetime
    owner: str


def find(engine: Engine, change: change_module.Change) -> list[Lessee]:
    """Return the leases on whose nodes an owner gets the next lease."""
    snapshot, homes = change.snapshot, change.homes
    if snapshot is None:
        return []
    gone = {*homes, *ladder.replaced(change.of_leases)}
    moved = _before(engine, snapshot, (
        dataclasses.replace(row, node_uuid=uuid)
        for row, uuid in homes.items()), gone)
    found = _of_moved(engine, moved) if moved else []
    for write in change.of_leases:
        lease = write.after
        if lease is None:
            continue
        had = set() if write.before is None else {
            (row.node_uuid, row.starts_at) for row in write.before.bookings}
        new = _before(engine, snapshot, (
            dataclasses.replace(row, project_id=lease.project_id)
            for row in lease.bookings
            if (row.node_uuid, row.starts_at) not in had), gone)
        found.extend(_lessees(engine, new, dict.fromkeys(new, lease.id)))
    return found


def _of_moved(engine: Engine,
              found: Mapping[leases.NodeBooking, str]) -> list[Lessee]:
    with engine.database.snapshot() as connection:
        named = lease_names.read_by_reservation(
            connection, {row.reservation_id for row in found})
    return _lessees(engine, found, {
        row: named[row.reservation_id].id for row in found
        if row.reservation_id in named})


def _before(engine: Engine, snapshot: snapshots.Snapshot,
            rows: Iterable[leases.NodeBooking],
            gone: Collection[leases.NodeBooking]
            ) -> dict[leases.NodeBooking, str]:
    """Return the lease reservation of another project before each booking."""
    if not engine.conf.leases.owner_notice:
        return {}
    found = {}
    for row in rows:
        here = snapshot.host_state(snapshot.host_set.number(row.node_uuid))
        if row.project_id is None or here.host.node.owner != row.project_id:
            continue
        # Earlier ones are limited by the last one in any case.
        last = max((other for other, _ in here.promised
                    if other not in gone and not other.over(snapshot.now)
                    and other.ends_at <= row.starts_at),
                   key=lambda other: other.ends_at, default=None)
        if last is not None and last.project_id != row.project_id:
            found[row] = last.reservation_id
    return found


def _lessees(engine: Engine, found: Mapping[leases.NodeBooking, str],
             owners: Mapping[leases.NodeBooking, str]) -> list[Lessee]:
    """Return the lessees, one for each pair of leases."""
    if not found:
        return []
    with engine.database.snapshot() as connection:
        named = lease_names.read_by_reservation(connection,
                                                set(found.values()))
        there = {each.id: each for each in db_leases.read(
            connection, sorted({each.id for each in named.values()}))}
    nodes: dict[tuple[str, str], dict[str, datetime.datetime]] = {}
    for row, reservation in found.items():
        if reservation in named and row in owners:
            nodes.setdefault(
                (named[reservation].id, owners[row]), {})[
                    row.node_uuid] = row.starts_at
    return [Lessee(there[lessee], sorted(of_it), min(of_it.values()), owner)
            for (lessee, owner), of_it in nodes.items() if lessee in there]


def concerns(engine: Engine, lessees: Iterable[Lessee],
             now: datetime.datetime) -> list[change_module.Concern]:
    """Return the notices to the lessees.

    An owner may change its lease often, so the notices of a lessee in a day
    are limited.
    """
    cleaning = datetime.timedelta(seconds=engine.conf.leases.cleaning_time)
    found = []
    for each in lessees:
        until, count = each.since - cleaning, len(each.nodes)
        found.append(change_module.Concern(
            each.lease, notices.Kind.ASKED_BACK,
            (_of_started if each.lease.start <= now else _of_planned)(
                count, time_text.moment(each.since),
                time_text.moment(until)),
            f'asked back by {each.owner} for {each.since.isoformat()}',
            {'nodes': count, 'node_uuids': list(each.nodes[:_NAMED]),
             'back_at': each.since.isoformat(),
             'extend_until': until.isoformat()}, most_a_day=_A_DAY))
    return found


def _of_started(count: int, since: str, until: str) -> str:
    hosts, them = (('one of its hosts', 'it') if count == 1
                   else (f'{count} of its hosts', 'them'))
    return (f'The project that owns {hosts} has leased {them} from {since} '
            'on: the lease keeps what it was promised, and can be extended '
            f'on {them} until {until} at the latest.')


def _of_planned(count: int, since: str, until: str) -> str:
    """Return the sentence for a lease whose hosts may still change."""
    hosts, them = (('a host that is planned', 'it') if count == 1
                   else (f'{count} hosts that are planned', 'them'))
    return (f'The project that owns {hosts} for the lease has leased {them} '
            f'from {since} on: the lease keeps what it was promised, and can '
            f'be extended beyond {until} only if there are other hosts for '
            'it.')

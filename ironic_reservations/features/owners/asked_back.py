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

import collections
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations.db import lease_names
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import announce
from ironic_reservations.engine import Engine
from ironic_reservations.engine import snapshots
from ironic_reservations.features.notices import outbox_rows as db_outbox
from ironic_reservations.features.notices import writing as notices
from ironic_reservations.features.open_dates import slides
from ironic_reservations.features.owners import notice_quota
from ironic_reservations.model import leases
from ironic_reservations.model import time_text

#: The maximum number of nodes in a notice.
_NAMED = 100


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


def find(engine: Engine, snapshot: snapshots.Snapshot,
         homes: Mapping[leases.NodeBooking, str],
         slid: Sequence[slides.Change] = (),
         written: leases.Lease | None = None,
         before: leases.Lease | None = None) -> list[Lessee]:
    """Return the leases that owners' leases follow after a commit.

    :param homes: the new node of each booking that moves.
    :param slid: the leases that get other dates.
    :param written: the lease that is made or changed.
    :param before: the lease as it was; ``None``: the lease is new.
    """
    gone = {*homes, *slides.removed(slid)}
    moved = _before(engine, snapshot, (
        dataclasses.replace(row, node_uuid=uuid)
        for row, uuid in homes.items()), gone)
    found = _of_moved(engine, moved) if moved else []
    changed = [(each.before, each.after) for each in slid]
    for was, lease in (changed if written is None
                       else [(before, written), *changed]):
        had = set() if was is None else {
            (row.node_uuid, row.starts_at) for row in was.bookings}
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
        row: named[row.reservation_id].lease_id for row in found
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
            connection, sorted({each.lease_id for each in named.values()}))}
    nodes: dict[tuple[str, str], dict[str, datetime.datetime]] = {}
    for row, reservation in found.items():
        if reservation in named and row in owners:
            nodes.setdefault(
                (named[reservation].lease_id, owners[row]), {})[
                    row.node_uuid] = row.starts_at
    return [Lessee(there[lessee], sorted(of_it), min(of_it.values()), owner)
            for (lessee, owner), of_it in nodes.items() if lessee in there]


def write(engine: Engine, connection: sa.Connection,
          lessees: Sequence[Lessee],
          now: datetime.datetime) -> Sequence[Lessee]:
    """Write the notices, in the transaction of the owner's lease.

    An owner may change its lease often, so the notices of a lessee in a day
    are limited.

    :returns: the lessees to notify after the transaction.
    """
    if not lessees or not notices.wanted(engine.conf):
        return lessees
    written = collections.Counter(db_outbox.count_written(
        connection, notices.Kind.ASKED_BACK,
        {each.lease.id for each in lessees}, now - notice_quota.DAY))
    cleaning = datetime.timedelta(seconds=engine.conf.leases.cleaning_time)
    notified = []
    for each in lessees:
        if written[each.lease.id] >= notice_quota.A_DAY:
            continue
        written[each.lease.id] += 1
        notified.append(each)
        until = each.since - cleaning
        count = len(each.nodes)
        notices.write(
            engine.conf, connection, notices.Kind.ASKED_BACK, each.lease, now,
            (_of_started if each.lease.start <= now else _of_planned)(
                count, time_text.moment(each.since),
                time_text.moment(until)),
            f'asked back by {each.owner} for {each.since.isoformat()}',
            nodes=count, node_uuids=list(each.nodes[:_NAMED]),
            back_at=each.since.isoformat(), extend_until=until.isoformat())
    return notified


def notify(engine: Engine, quota: notice_quota.NoticeQuota,
           lessees: Iterable[Lessee], now: datetime.datetime) -> None:
    """Send the notifications, after the transaction.

    :param quota: limits the notifications of this process.
    :param lessees: the result of :func:`write`.
    """
    for each in lessees:
        if quota.may_notify(each.lease.id, now):
            engine.announcer.notify_lease(announce.LEASE_UPDATE, each.lease,
                                          announce.ASKED_BACK)


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

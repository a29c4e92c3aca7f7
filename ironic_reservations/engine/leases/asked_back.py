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

"""Who has a node of another project is told that its owner wants it back.

The owner asks with a lease of its own, which starts after all that others have
been promised.  It takes nothing from them, but they cannot keep the node.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations.db import lease_names
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import announce
from ironic_reservations.engine import Engine
from ironic_reservations.engine import notices
from ironic_reservations.engine import snapshots
from ironic_reservations.model import leases

#: So many nodes are named.
_NAMED = 100


@dataclasses.dataclass(frozen=True)
class Lessee:
    """A lease that has nodes which their owner will have after it.

    :ivar nodes: their uuids.
    :ivar since: from when on the owner has the first of them.
    :ivar owner: the lease of the owner.
    """

    lease: leases.Lease
    nodes: Sequence[str]
    since: datetime.datetime
    owner: leases.Lease


def find(engine: Engine, snapshot: snapshots.Snapshot, lease: leases.Lease,
         rows: Iterable[leases.NodeBooking]) -> list[Lessee]:
    """Return whom a lease of the owner of nodes concerns.

    :param lease: as it is about to be promised.
    :param rows: what is new of it.
    """
    if not engine.conf.leases.owner_notice or lease.project_id is None:
        return []
    found: dict[str, dict[str, datetime.datetime]] = {}
    for row in rows:
        here = snapshot.standing(snapshot.fleet.number(row.node_uuid))
        if here.host.node.owner != lease.project_id:
            continue
        # NOTE: those before the last one end before it in any case.
        last = max((other for other, _ in here.promised
                    if not other.over(snapshot.now)
                    and other.ends_at <= row.starts_at),
                   key=lambda other: other.ends_at, default=None)
        if last is not None and last.project_id != lease.project_id:
            found.setdefault(last.reservation_id, {})[
                row.node_uuid] = row.starts_at
    if not found:
        return []
    nodes = {uuid for there in found.values() for uuid in there}
    with engine.database.snapshot() as connection:
        named = lease_names.read(connection, nodes)
        there = {each.id: each for each in db_leases.read(
            connection, sorted({named[key].id for key in found
                                if key in named}))}
    return [Lessee(one, sorted(of_it), min(of_it.values()), lease)
            for one in there.values()
            for of_it in [{uuid: at for each in one.reservations
                           for uuid, at in found.get(each.id, {}).items()}]
            if of_it]


def write(engine: Engine, connection: sa.Connection,
          lessees: Iterable[Lessee], now: datetime.datetime) -> None:
    """Write the notices, in the transaction that promises the lease."""
    cleaning = datetime.timedelta(seconds=engine.conf.leases.cleaning_time)
    for each in lessees:
        until = each.since - cleaning
        count = len(each.nodes)
        hosts = (f'{count} of its hosts' if count > 1 else
                 'one of its hosts')
        notices.write(
            engine.conf, connection, notices.Kind.ASKED_BACK, each.lease, now,
            f'The project that owns {hosts} has leased '
            f'{"them" if count > 1 else "it"} from '
            f'{_shown(each.since)} on: the lease keeps what it was promised, '
            f'and can be extended on {"them" if count > 1 else "it"} until '
            f'{_shown(until)} at the latest.',
            f'asked back by {each.owner.id} for {each.since.isoformat()}',
            nodes=count, node_uuids=list(each.nodes[:_NAMED]),
            back_at=each.since.isoformat(), extend_until=until.isoformat())


def tell(engine: Engine, lessees: Iterable[Lessee]) -> None:
    """Send the notifications, after the transaction."""
    for each in lessees:
        engine.announcer.tell_lease(announce.LEASE_UPDATE, each.lease,
                                    announce.ASKED_BACK)


def _shown(moment: datetime.datetime) -> str:
    return moment.isoformat(sep=' ', timespec='minutes').replace(
        '+00:00', ' UTC')

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

"""End a lease (``DELETE /v1/leases/{id}``)."""

from __future__ import annotations

import dataclasses

import sqlalchemy as sa

from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import lease_work as db_lease_work
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import announce
from ironic_reservations.engine import commit
from ironic_reservations.engine import enforced
from ironic_reservations.engine import enforcement_commits
from ironic_reservations.engine import Engine
from ironic_reservations.engine import notices
from ironic_reservations.engine import retry
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import find as lease_find
from ironic_reservations.model import leases


def end(engine: Engine, lease_id: str, project_id: str | None = None,
        permitted: lease_find.Found | None = None) -> None:
    """Take a lease back.

    One that has not started is gone at once; of one that has, the nodes, and
    what its instances have in Placement and Nova, are taken back by the
    reconciler, and then it is gone.

    :param project_id: whose it has to be; ``None``: anybody's.
    :param permitted: the lease, as it was when the caller was allowed to end
        it; if it still is so, it is not read again.
    :raises LeaseNotFound: there is none.
    :raises Contention: others changed it each time.
    :raises OutcomeUnknown: it may or may not have been ended.
    """
    at_once = was_over = under_way = False
    tried: list[leases.Lease] = []

    def look() -> leases.Lease | None:
        with engine.database.read() as connection:
            there = db_leases.read(connection, (lease_id,))
        ended = not there or there[0].status is leases.LeaseStatus.DELETING
        return tried[-1] if ended else None

    def attempt() -> leases.Lease:
        nonlocal at_once, was_over, permitted, under_way
        # NOTE: however old it is: the generations of the nodes and of the
        # lease, and the bookings, are compared in the transaction that writes.
        # Whoever has been outrun reads all of it again.
        found = permitted or lease_find.get_with_nodes(engine, lease_id,
                                                       project_id)
        permitted, lease = None, found.lease
        was_over = lease.status is leases.LeaseStatus.TERMINATED
        if lease.status is leases.LeaseStatus.DELETING:
            # NOTE: written again and again, it would outrun the reconciler,
            # and its owner could keep the nodes.
            under_way = not tried
            return lease
        now = engine.clock()
        untouched = [booking for booking in lease.bookings
                     if not booking.begun]
        started = [booking for booking in lease.bookings if booking.begun]
        deleting = dataclasses.replace(
            lease, status=leases.LeaseStatus.DELETING, updated_at=now)
        tried.append(deleting)
        nodes = found.nodes.only({booking.node_uuid
                                  for booking in lease.bookings})
        with engine.database.write() as connection:
            commit.commit(connection, nodes, now)
            db_bookings.delete_planned(connection, untouched)
            db_bookings.end(connection, started, now)
            at_once = not started and not _may_be_offered(engine, connection,
                                                          lease)
            done = (db_leases.delete(connection, lease) if at_once
                    else db_leases.update(connection, lease, deleting, now))
            if not done:
                raise db_connection.Conflict('the lease has changed')
            if at_once and not was_over:
                notices.write(engine.conf, connection, notices.Kind.ENDED,
                              deleting, now)
            enforcement_commits.write(engine.conf, connection, [lease_id],
                                      now)
        engine.snapshots.commit(
            nodes, lease.bookings,
            snapshots.promised(lease, [dataclasses.replace(
                booking, state=leases.BookingState.ENDING,
                ends_at=min(booking.ends_at, now)) for booking in started]))
        return deleting
    ended = retry.until_committed(attempt, look)
    if under_way:
        return
    engine.announcer.tell_lease(announce.LEASE_DELETE, ended)
    if not was_over and at_once:
        # NOTE: for all others the reconciler does it, when it has finished.
        enforced.on_end(engine, ended)


def _may_be_offered(engine: Engine, connection: sa.Connection,
                    lease: leases.Lease) -> bool:
    """Return whether servers may be offered what no booking tells of.

    NOTE: whoever starts a lease offers it first, and writes that it has
    started afterwards.  The row is locked until it is gone, so that nobody
    begins with that meanwhile.
    """
    if (engine.placement is None
            or lease.status is leases.LeaseStatus.TERMINATED
            or engine.nova is None and not any(
                each.instances for each in lease.reservations)):
        return False
    taken = db_lease_work.lock(connection, lease.id, engine.clock())
    return taken or lease.start <= engine.clock()

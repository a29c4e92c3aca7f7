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

"""Write a changed lease, in one transaction."""

from __future__ import annotations

import datetime

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import commit as engine_commit
from ironic_reservations.engine import enforcement_commits
from ironic_reservations.engine import Engine
from ironic_reservations.engine import limits
from ironic_reservations.engine import notices
from ironic_reservations.engine import request_keys
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import asked_back as lease_asked_back
from ironic_reservations.engine.leases import dates as lease_dates
from ironic_reservations.engine.leases import limit_checks
from ironic_reservations.engine.leases import replan as lease_replan
from ironic_reservations.engine.leases import request_checks
from ironic_reservations.engine.leases import slides as lease_slides
from ironic_reservations.model import leases


def commit(engine: Engine, before: leases.Lease, after: leases.Lease,
           replanned: lease_replan.Replanned | None,
           now: datetime.datetime, allowed: limits.Limits,
           notice: notices.Kind | None = None,
           ahead: bool = False,
           known: request_keys.Known | None = None) -> None:
    """Write a lease with its new terms and its new bookings.

    :param before: the lease as it was read.
    :param replanned: its new bookings, and what moves to make room; ``None``:
        all bookings stay.
    :param now: when that was planned.
    :param notice: a notice to its owner, written in the same transaction.
    :param ahead: whether the start must still be ahead when this is written.
    :param known: the key of the request, if it has one.
    :raises Conflict: something that was read has changed, or a date has
        passed since.
    """
    slid = () if replanned is None else replanned.slid
    lessees = [] if replanned is None else lease_asked_back.find(
        engine, replanned.snapshot, replanned.difference.homes, slid,
        replanned.lease, before)
    with engine.database.write() as connection:
        if replanned is not None:
            counted = lease_slides.projects(engine.conf, slid)
            if allowed.counted:
                counted.add(after.project_id)
            limit_checks.queue_up(connection, counted, now)
            engine_commit.commit(connection, replanned.difference.seen,
                          replanned.snapshot.now, replanned.difference)
            lease_slides.write(connection, slid, now)
            limit_checks.check_again(allowed, connection, after, now, before)
            _write(connection, before, replanned, now)
        generation = db_leases.update(connection, before, after,
                                      request_checks.due(after, now))
        if not generation:
            raise db_connection.Conflict('the lease has changed meanwhile')
        if known is not None:
            request_keys.keep(connection, known, after.id, 0, engine.clock())
        if notice is not None:
            notices.write(engine.conf, connection, notice, after, now,
                          occurrence=str(generation))
        lease_slides.check(engine, connection, slid, now)
        told = lease_asked_back.write(engine, connection, lessees, now)
        enforcement_commits.write(
            engine.conf, connection,
            [after.id, *(change.after.id for change in slid)], now)
        moment = engine.clock()
        lease_dates.check_unpassed(before, after, now, moment)
        if replanned is not None:
            lease_dates.check_movable(replanned.difference.homes, now, moment)
        if after.extensions != before.extensions:
            _check_extended(allowed, before, moment)
        if ahead:
            lease_dates.check_ahead(after, moment)
        elif after.start != before.start:
            lease_dates.check_begun(after, now, moment)
    # NOTE: when a booking ends that is taken back, the statement decides.
    if replanned is not None and not replanned.ended:
        engine.snapshots.commit(
            replanned.difference.seen,
            [*before.bookings, *lease_slides.removed(slid)],
            [*snapshots.promised(after, after.bookings),
             *lease_slides.added(slid)],
            replanned.difference.homes)
    lease_asked_back.tell(engine, told, now)


def _check_extended(allowed: limits.Limits, lease: leases.Lease,
                    moment: datetime.datetime) -> None:
    """Check that a lease may be extended when that is written."""
    try:
        request_checks.check_extension(allowed, lease, moment)
    except errors.LeaseLimit as exc:
        # NOTE: planned anew, it is found out before, and said.
        raise db_connection.Conflict(str(exc)) from exc


def _write(connection: sa.Connection, before: leases.Lease,
           replanned: lease_replan.Replanned,
           now: datetime.datetime) -> None:
    db_bookings.delete_planned(connection, replanned.dropped)
    db_bookings.update_end(connection, replanned.kept,
                           replanned.lease.end, now)
    db_bookings.end(connection, replanned.ended, now)
    db_bookings.insert_many(connection, replanned.added, before.user_id, now)

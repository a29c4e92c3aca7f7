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

"""Warns about unused nodes of leases, and releases them later.

The guard raises the generation of a node before it passes a deploy to Ironic.
A release reads the generations first, then the rows of the nodes, then the
nodes in Ironic, and names the generations in its commit.  So if a deploy and a
release happen at the same moment, the second one fails.

The time counts as long as the node can be deployed without a break. Each pass
over the mirror records its time, and the nodes that can be deployed. If a pass
is missed, since Ironic, the database or the reconciler is down, this is a
break for all nodes.
"""

from __future__ import annotations

from collections.abc import Collection
import dataclasses
import datetime
import functools
from typing import Any

from oslo_config import cfg
from oslo_log import log
import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import lease_work as db_lease_work
from ironic_reservations.db import observations as db_observations
from ironic_reservations.db import outbox as db_outbox
from ironic_reservations.engine import change
from ironic_reservations.engine import Engine
from ironic_reservations.engine import mirror
from ironic_reservations.engine import retry
from ironic_reservations.engine import seen
from ironic_reservations.engine.lease_cycle import context as lease_context
from ironic_reservations.engine.outbox import notice_ids
from ironic_reservations.features.no_show import decisions as no_show
from ironic_reservations.features.no_show import rows as db_no_shows
from ironic_reservations.model import count_text
from ironic_reservations.model import leases
from ironic_reservations.model import node_condition
from ironic_reservations.model import notices
from ironic_reservations.model import time_text

LOG = log.getLogger(__name__)

_ENDING = leases.BookingState.ENDING
#: The name of the passes in the table of observations.
_PASSES = 'no_show'
#: The notification that nodes will be released unless they are deployed.
_WARNING = 'lease.no_show_warning'
#: The maximum number of nodes in a notice: MariaDB stores 64 KiB of it.
_NAMED = 100


def terms(conf: cfg.ConfigOpts) -> no_show.Terms:
    """Return the options of the operator."""
    return no_show.Terms(conf.leases.no_show_after,
                         conf.leases.no_show_warn_before,
                         conf.leases.no_show_release == 'lease')


def gap(conf: cfg.ConfigOpts) -> datetime.timedelta:
    """Return the longest time between two passes that is not a break.

    A poll of all nodes takes place between two passes.
    """
    return datetime.timedelta(seconds=max(
        6 * conf.ironic.poll_interval, 2 * conf.ironic.full_poll_interval))


def wake(engine: Engine) -> None:
    """Write the nodes that can be deployed, and wake the leases concerned.

    Call it right after an update of the mirror.

    :raises Conflict: another transaction was in the way.
    """
    allowed, now = terms(engine.conf), engine.clock()
    unbroken = _record_pass(engine, now)
    with engine.database.read() as connection:
        due = db_no_shows.read_due(connection, allowed, now, unbroken)
        found = (_read(engine, connection, due, unbroken) if due else {})
    # Skip leases that keep all nodes because of a used one.
    nodes = {each.node_uuid for seats in found.values() for each in seats
             if no_show.judge(seats, allowed, now) != no_show.NOTHING}
    if nodes:
        with engine.database.write() as connection:
            db_lease_work.wake(connection, nodes, now)


def _record_pass(engine: Engine, now: datetime.datetime) -> datetime.datetime:
    """Write the nodes that can be deployed now, and the time of the pass.

    :returns: the time since which there has been no break.
    """
    with engine.database.read() as connection:
        before = db_observations.read(connection, _PASSES)
        begun = db_no_shows.read_begun(connection, now)
        over = db_no_shows.read_over(connection)
    unbroken = None if before is None else before.unbroken(
        now, gap(engine.conf))
    after = db_observations.Observation(unbroken or now, now)

    def record(connection: sa.Connection) -> None:
        db_observations.write(connection, _PASSES, before, after)
        db_no_shows.finish(connection, over)
        db_no_shows.begin(connection, begun, now)
    # A release reads the row again, so the pass of another process is as good.
    retry.write_once(engine, record)
    return after.since


def _read(engine: Engine, connection: sa.Connection,
          lease_ids: Collection[str], unbroken: datetime.datetime
          ) -> dict[str, list[no_show.Seat]]:
    """Read the nodes of leases, and the delivery times of warnings.

    :returns: the nodes by the id of the lease.
    """
    found = db_no_shows.read(connection, lease_ids, unbroken)
    ids = {(lease_id, each.warned_at): notice_ids.of_notice(
        lease_id, notices.Kind.NO_SHOW, _occurrence(each.warned_at))
        for lease_id, seats in found.items() for each in seats
        if each.warned_at is not None}
    arrived = db_outbox.read_arrived(connection, ids.values()) if ids else {}
    longest = datetime.timedelta(days=engine.conf.notices.give_up_after)
    now = engine.clock()

    def with_arrival(lease_id: str, seat: no_show.Seat) -> no_show.Seat:
        if seat.warned_at is None:
            return seat
        ident = ids[lease_id, seat.warned_at]
        if ident not in arrived:
            return seat
        latest = seat.warned_at + longest
        at = arrived[ident] or (latest if latest <= now else None)
        return dataclasses.replace(
            seat, arrived_at=None if at is None else min(at, latest))
    return {lease_id: [with_arrival(lease_id, each) for each in seats]
            for lease_id, seats in found.items()}


def _occurrence(warned_at: datetime.datetime) -> str:
    """Return a text that distinguishes the warnings about a lease."""
    return f'warned {warned_at.isoformat()}'


def watch(context: lease_context.Context,
          lease: leases.Lease) -> lease_context.Outcome:
    """Warn of nodes that are not deployed, or release them.

    :raises Conflict: a node was deployed, or the lease was changed.
    :raises Lost: another worker has the lease.
    """
    engine, allowed = context.engine, terms(context.engine.conf)
    now = engine.clock()
    if lease.status is not leases.LeaseStatus.ACTIVE or lease.end <= now:
        return lease_context.Outcome()
    there = {booking.uuid: booking for booking in lease.bookings
             if booking.state is not _ENDING}
    with engine.database.read() as connection:
        known = seen.read(connection, {booking.node_uuid for booking
                                       in there.values()})
        last = db_observations.read(connection, _PASSES)
        unbroken = None if last is None else last.unbroken(
            now, gap(engine.conf))
        if unbroken is None:
            # Passes were missed; the next one records the break.
            return lease_context.Outcome()
        seats = _read(engine, connection, (lease.id,), unbroken).get(
            lease.id, [])
    if {each.booking_uuid for each in seats} != there.keys():
        return lease_context.Outcome(changed=True)
    verdict = no_show.judge(seats, allowed, now)
    if verdict == no_show.NOTHING:
        return lease_context.Outcome()
    try:
        deployable = _deployable(context, [
            there[uuid] for uuid in verdict.warn | verdict.release])
    except errors.IronicUnavailable:
        # If this lasts, passes are missed, which is a break.
        return lease_context.Outcome()
    verdict = no_show.judge([
        each if each.booking_uuid not in verdict.warn | verdict.release
        else dataclasses.replace(each, deployable=(
            each.booking_uuid in deployable)) for each in seats], allowed, now)
    if verdict.warn:
        _warn(context, lease, known,
              [there[uuid] for uuid in verdict.warn], now,
              _released_at(seats, verdict.warn, allowed, now))
        return lease_context.Outcome(changed=True)
    if verdict.release:
        _release(context, lease, known,
                 [there[uuid] for uuid in verdict.release], now)
        return lease_context.Outcome(changed=True)
    return lease_context.Outcome()


def _deployable(context: lease_context.Context,
                bookings: Collection[leases.NodeBooking]) -> set[str]:
    """Return the bookings with a node that Ironic could deploy."""
    found = set()
    for booking in bookings:
        node = context.ironic.node(booking.node_uuid)
        if node is not None and (node_condition.of(node)
                                 is node_condition.Condition.USABLE):
            found.add(booking.uuid)
        else:
            # So that an old mirror does not wake the lease again.
            mirror.refresh_node(context.engine, booking.node_uuid)
    return found


def _released_at(seats: Collection[no_show.Seat], warned: Collection[str],
                 allowed: no_show.Terms,
                 now: datetime.datetime) -> datetime.datetime:
    """Return the release time of the first node of a warning."""
    return min(at for each in seats if each.booking_uuid in warned
               if (at := no_show.release_at(dataclasses.replace(
                   each, warned_at=now, arrived_at=now), allowed)) is not None)


def _warn(context: lease_context.Context, lease: leases.Lease,
          known: seen.Seen, bookings: Collection[leases.NodeBooking],
          now: datetime.datetime, released_at: datetime.datetime) -> None:
    shown = _only(lease, {each.uuid for each in bookings})
    context.commit(
        lease, lease, known.only({booking.node_uuid for booking in bookings}),
        now, statements=[functools.partial(
            db_bookings.update_warned, bookings=bookings, warned_at=now)],
        events=[change.Concern(
            lease, notices.Kind.NO_SHOW,
            f'{_count(bookings)} deployed since the lease got '
            + ('it. Deploy it, or it is released, not before '
               if len(bookings) == 1 else
               'them. Deploy them, or they are released, the first of them '
               'not before ')
            + f'{time_text.moment(released_at)}.', _occurrence(now), {
                'released': False, 'release_at': released_at.isoformat(),
                **_named(bookings)}, (_WARNING, shown))])
    LOG.info('The lease %s has %s without a deployment; they are released '
             'unless they are deployed', lease.id,
             count_text.counted(len(bookings), 'node'))


def _release(context: lease_context.Context, lease: leases.Lease,
             known: seen.Seen, bookings: Collection[leases.NodeBooking],
             now: datetime.datetime) -> None:
    gone = {each.uuid for each in bookings}
    left = any(booking.uuid not in gone and booking.state is not _ENDING
               for booking in lease.bookings)
    after = lease_context.with_bookings(
        _smaller(lease, gone, now) if left else _ended(lease, now), {
            each: dataclasses.replace(each, state=_ENDING,
                                      ends_at=min(each.ends_at, now))
            for each in bookings})
    context.commit(
        lease, after,
        known.only({booking.node_uuid for booking in bookings}), now, events=[
            change.Unused(lease, bookings),
            change.Concern(
                after, notices.Kind.NO_SHOW,
                f'{_count(bookings)} deployed in time, and '
                f'{"is" if len(bookings) == 1 else "are"} released.', None, {
                    'released': True, 'release_at': now.isoformat(),
                    **_named(bookings)})])
    LOG.warning('Released %s of the lease %s that nobody has deployed in '
                'time', count_text.counted(len(bookings), 'node'), lease.id)


def _named(bookings: Collection[leases.NodeBooking]) -> dict[str, Any]:
    """Return the details of a notice about nodes."""
    return {'nodes': len(bookings), 'node_uuids': sorted(
        each.node_uuid for each in bookings)[:_NAMED]}


def _count(bookings: Collection[leases.NodeBooking]) -> str:
    count = len(bookings)
    return (f'{count} of its nodes {"has" if count == 1 else "have"} not been')


def _only(lease: leases.Lease, uuids: Collection[str]) -> leases.Lease:
    """Return a lease with only some of its bookings, for a notification."""
    return dataclasses.replace(lease, reservations=tuple(
        dataclasses.replace(each, bookings=kept)
        for each in lease.reservations
        if (kept := tuple(booking for booking in each.bookings
                          if booking.uuid in uuids))))


def _smaller(lease: leases.Lease, gone: Collection[str],
             now: datetime.datetime) -> leases.Lease:
    """Return a lease after the release of some of its nodes."""
    return dataclasses.replace(lease, updated_at=now, reservations=tuple(
        _less(each, gone, now) if any(
            booking.uuid in gone for booking in each.bookings) else each
        for each in lease.reservations))


def _less(reservation: leases.LeaseReservation, gone: Collection[str],
          now: datetime.datetime) -> leases.LeaseReservation:
    left = sum(booking.uuid not in gone and booking.state is not _ENDING
               for booking in reservation.bookings)
    return dataclasses.replace(
        reservation, least=min(reservation.least, left), most=left,
        status=(reservation.status if left
                else leases.ReservationStatus.DELETED), updated_at=now)


def _ended(lease: leases.Lease, now: datetime.datetime) -> leases.Lease:
    """Return a lease with its end set to now."""
    return dataclasses.replace(
        lease, end=now, updated_at=now,
        before_end=None if lease.before_end is None
        else min(lease.before_end, now),
        events=tuple(
            dataclasses.replace(event, time=now, updated_at=now)
            if event.type is leases.EventType.END else event
            for event in lease.events))

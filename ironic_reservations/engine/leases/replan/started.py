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

"""Plan a lease that has started again; it keeps the nodes that it has."""

from __future__ import annotations

import bisect
import collections
from collections.abc import Sequence
import dataclasses
import datetime

from ironic_reservations import errors
from ironic_reservations.engine import hard_requests
from ironic_reservations.engine.leases import demands as lease_demands
from ironic_reservations.engine.leases.replan import attempt as attempts
from ironic_reservations.engine.leases.replan import refused
from ironic_reservations.engine.leases.replan import unusable
from ironic_reservations.model import count_text
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.model import node_condition
from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_states
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans


def plan(attempt: attempts.Attempt
         ) -> attempts.Replanned | refused.Refused:
    """Plan the nodes that a started lease keeps, gets and releases.

    :raises LeaseRefused: the lease cannot keep one of its nodes.
    :raises LeaseFrozen: nodes cannot be taken from it any more.
    """
    kept: list[leases.NodeBooking] = []
    ended: list[leases.NodeBooking] = []
    for each in attempt.after.reservations:
        stays, goes = _parted(attempt, each)
        _check_fits(attempt, each, stays)
        kept.extend(stays)
        ended.extend(goes)
    usable: list[leases.NodeBooking] = []
    lost: list[leases.NodeBooking] = []
    for row in kept:
        (usable if attempt.on_timeline(row) else lost).append(row)
    unusable.check_closed(attempt, lost)
    unusable.check_windows(attempt, lost, lambda end: _reaches(attempt, end))
    unusable.check_loans(attempt, lost, lambda end: _reaches(attempt, end))
    # A booking that is not extended stays, even if its host would not
    # be granted any more.
    staying = [_staying(attempt, row) for row in usable
               if attempt.after.end > row.ends_at]
    units, moving = unusable.overtaken(attempt, lost, kept)
    have = collections.Counter(row.reservation_id for row in kept)
    maximums = attempt.maximums({each.id: max(each.least, have[each.id])
                                 for each in attempt.after.reservations})
    growing = [demand for each in attempt.after.reservations
               if (demand := _growing(attempt, each, kept, ended,
                                      maximums[each.id])) is not None]
    # A node that is given back is occupied until it is clean.
    free = attempt.free.adding([*_leaving(attempt, ended),
                                *_keeping(attempt, usable)])
    hidden = attempt.placeholders(free, kept)
    free = free.adding(hidden)
    demands = [*staying, *moving, *growing]
    counts = have + collections.Counter({
        attempts.reservation_of(demand): demand.least
        for demand in growing})
    room = attempt.slide(free, demands, counts, planning.plan(
        free, demands, hard_requests.limits()))
    if isinstance(room, plans.Refusal):
        unusable.check_homes(attempt, units, moving, room)
        # Which bookings of others have to move depends on the end, so
        # if some have to, an earlier end cannot be offered.
        return refused.Refused(attempt, room, free,
                               () if moving else demands)
    homes = {placed.id: row for unit, granted in zip(
        units, room.plan.granted[len(staying):], strict=False)
        for row, placed in zip(unit, granted, strict=True)}
    added: list[leases.NodeBooking] = []
    for demand, granted in zip(
            growing, room.plan.granted[len(staying) + len(moving):],
            strict=True):
        ident = attempts.reservation_of(demand)
        added.extend(lease_demands.granted_rows(
            attempt.snapshot, ident, granted, attempt.before.project_id,
            _next_place(attempt, ident)))
    return attempt.replanned(
        room.plan.timeline.without(hidden), kept=kept,
        # A booking that has not begun is deleted at once.
        ended=[row for row in ended if row.begun],
        added=added, homes=homes, slid=room.writes)


def _reaches(attempt: attempts.Attempt, end: datetime.datetime) -> bool:
    """Return whether the lease could be extended until an earlier end."""
    if end <= attempt.before.end:
        return False
    try:
        return isinstance(plan(dataclasses.replace(
            attempt, after=dataclasses.replace(attempt.after, end=end))),
            attempts.Replanned)
    except errors.ReservationError:
        return False


def _parted(attempt: attempts.Attempt, each: leases.LeaseReservation
            ) -> tuple[list[leases.NodeBooking], list[leases.NodeBooking]]:
    """Return the bookings that stay, and the bookings that are released."""
    rows = [row for row in each.bookings if not row.ending]
    returned = attempt.returned(each)
    goes = [row for row in rows if row.node_uuid in returned
            or attempt.changes.heal and _broken(attempt, row)]
    stays = [row for row in rows if row not in goes]
    surplus = len(stays) - each.most
    if surplus > 0:
        idle = [row for row in stays if _idle(attempt, row)]
        if len(idle) < surplus:
            raise errors.LeaseFrozen(
                f'The reservation {each.id} has '
                f'{count_text.counted(len(stays), "host")}, and only '
                f'{len(idle)} of them {"is" if len(idle) == 1 else "are"} not '
                'deployed. Undeploy '
                f'{surplus - len(idle)} more, or name the hosts to give '
                'back in "give_back".')
        goes.extend(idle[-surplus:])
        stays = [row for row in stays if row not in goes]
    return stays, goes


def _check_fits(attempt: attempts.Attempt, each: leases.LeaseReservation,
                rows: Sequence[leases.NodeBooking]) -> None:
    """Check that the nodes that stay meet the new requirement."""
    old = next(other for other in attempt.before.reservations
               if other.id == each.id)
    if (old.hypervisor_properties, old.resource_properties) == (
            each.hypervisor_properties, each.resource_properties):
        return
    eligible = attempt.snapshot.eligible(attempt.wanted[each.id])
    if any(not eligible >> attempt.snapshot.number_of(row) & 1
           for row in rows):
        raise errors.LeaseFrozen(
            f'The reservation {each.id} has started, and some of its '
            'hosts do not match the new properties. Ask for properties '
            'that its hosts have, or give those hosts back first.')


def _broken(attempt: attempts.Attempt, row: leases.NodeBooking) -> bool:
    """Return whether a node cannot serve the lease until the promised end."""
    number = attempt.snapshot.number_of(row)
    here = attempt.snapshot.host_state(number)
    return (here.broken() is not None
            or here.interruption(row, attempt.snapshot.now) is not None
            or not attempt.snapshot.suits(
                number, attempt.wanted[row.reservation_id]))


def _idle(attempt: attempts.Attempt, row: leases.NodeBooking) -> bool:
    node = attempt.snapshot.host_of(row).host.node
    if node.compute:
        # It is not known which server uses which booking.
        return True
    return (node.provision_state == node_condition.AVAILABLE
            and node.instance_uuid is None)


def _keeping(attempt: attempts.Attempt, rows: Sequence[leases.NodeBooking]
             ) -> list[bookings.Booking]:
    """Return the bookings of rows on the timeline, as immovable bookings.

    Bookings of whole hosts that are extended are left out, since they are
    planned again as a whole.
    """
    names = {host_states.name(row) for row in rows
             if attempt.after.end <= row.ends_at or (
                 attempt.snapshot.host_of(row).host.node.compute)}
    end = instants.instant(attempt.after.end)
    found: list[bookings.Booking] = []
    for number in {attempt.snapshot.number_of(row) for row in rows}:
        for each in attempt.snapshot.timeline.rows[number]:
            if host_states.whole(each.id) not in names or each.start >= end:
                continue
            until = min(each.end, end)
            found.append(dataclasses.replace(
                each, end=until, movable=False, margin=min(
                    attempt.snapshot.margin, each.end + each.margin - until)))
    return found


def _staying(attempt: attempts.Attempt,
             row: leases.NodeBooking) -> bookings.Demand:
    """Return a demand that extends the use of a host."""
    snapshot = attempt.snapshot
    start = instants.instant(
        row.ends_at if snapshot.host_of(row).host.node.compute
        else row.starts_at)
    return attempt.limited(lease_demands.of_rows(
        snapshot, f'{row.reservation_id}{lease_demands.KEPT}{row.place}',
        [row], start, max(instants.instant(attempt.after.end), start + 1),
        1 << snapshot.number_of(row)))


def _leaving(attempt: attempts.Attempt, rows: Sequence[leases.NodeBooking]
             ) -> list[bookings.Booking]:
    """Return bookings for nodes that are released, until they are clean."""
    leaving: list[bookings.Booking] = []
    for row in rows:
        if not row.begun or not attempt.on_timeline(row):
            continue
        number = attempt.snapshot.number_of(row)
        here = attempt.snapshot.host_state(number)
        end = instants.instant(attempt.snapshot.now)
        until = host_states.late(attempt.snapshot.now)
        booked = bookings.Booking(
            host_states.name(row),
            min(instants.instant(row.starts_at), end - 1), end, number,
            1 << number, False)
        if here.host.node.compute:
            # The next booking was planned after the regular end of this
            # one, so a late end must not push it away.
            leaving.append(dataclasses.replace(
                host_states.seated(
                    booked, here.instances[row.reservation_id]),
                end=min(until, instants.instant(row.ends_at))))
            continue
        until = max(end + attempt.snapshot.margin, until)
        starts = attempt.free.starts[number]
        later = bisect.bisect_left(starts, end)
        for start in starts[later:later + 1]:
            until = min(until, start)
        leaving.append(dataclasses.replace(booked, margin=until - end))
    return leaving


def _growing(attempt: attempts.Attempt, each: leases.LeaseReservation,
             kept: Sequence[leases.NodeBooking],
             ended: Sequence[leases.NodeBooking], allowed: int
             ) -> bookings.Demand | None:
    """Return a demand for the hosts that a reservation lacks, if any."""
    have = sum(row.reservation_id == each.id for row in kept)
    least = max(0, each.least - have)
    old = next(other for other in attempt.before.reservations
               if other.id == each.id)
    most = least
    if (each.least, each.most) != (old.least, old.most):
        most = max(least, min(each.most, allowed) - have)
    elif attempt.changes.heal:
        # Hosts beyond the least are replaced if possible.
        lost = sum(row.reservation_id == each.id
                   and _broken(attempt, row) for row in ended)
        most = max(least, min(lost, each.most - have))
    if not most:
        return None
    snapshot = attempt.snapshot
    eligible = snapshot.eligible(attempt.wanted[each.id])
    if each.instances is None:
        eligible &= ~snapshot.host_set.mask(row.node_uuid for row in kept)
    elif have and each.instances.affinity:
        eligible &= snapshot.host_set.mask(
            row.node_uuid for row in kept
            if row.reservation_id == each.id)
    return attempt.limited(lease_demands.of(
        each.id + lease_demands.MORE, instants.instant(snapshot.now),
        instants.instant(attempt.after.end), least, most, eligible,
        attempt.snapshot.margin, snapshot.ready, each.instances, each.id))


def _next_place(attempt: attempts.Attempt, reservation_id: str) -> int:
    return 1 + max((row.place for row in attempt.before.bookings
                    if row.reservation_id == reservation_id), default=-1)

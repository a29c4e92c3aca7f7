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

"""Converts the rows of one host to bookings of the planner."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Container
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import functools
import itertools
import operator
from typing import Any

from ironic_reservations.model import host_view
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.model import node_condition
from ironic_reservations.model import node_reservation
from ironic_reservations.model import node_window
from ironic_reservations.model import requirements
from ironic_reservations.planner import bookings
from ironic_reservations.planner import covered

#: A window around everything that is planned.
ALWAYS = (-bookings.FOREVER, bookings.FOREVER)
_MINUTE = 60 * instants.SECOND
_START = operator.attrgetter('start')


@dataclasses.dataclass(frozen=True)
class HostState:
    """One host with all bookings of its node.

    :ivar reservation: the live reservation of the node, if there is one.
    :ivar busy: whether a guarded request for the node is in flight.
    :ivar instances: the instance reservations with bookings here, by lease
        reservation.
    :ivar windows: the maintenance windows of the node that are not over.
    :ivar known: results that have been computed from it, by subject.
    """

    host: leases.Host
    promised: tuple[tuple[leases.NodeBooking, requirements.Requirement],
                    ...] = ()
    reservation: node_reservation.Reservation | None = None
    busy: bool = False
    instances: Mapping[str, instance_reservations.InstanceReservation] = (
        dataclasses.field(default_factory=dict))
    windows: tuple[node_window.NodeWindow, ...] = ()
    known: dict[object, Any] = dataclasses.field(
        default_factory=dict, init=False, compare=False, repr=False)

    def view(self, now: datetime.datetime) -> host_view.HostView:
        """Return the promises of the node at an instant."""
        return host_view.HostView(
            self.host.node.uuid, now, self.reservation,
            tuple(booking for booking, _ in self.promised), self.windows)

    @functools.cached_property
    def wanted(self) -> tuple[requirements.Requirement, ...]:
        """The different requirements of the bookings."""
        # By identity, since mostly bookings share one object.
        return tuple({id(each): each for _, each in self.promised}.values())

    @functools.cached_property
    def orderly_until(self) -> int:
        """The instant until which no two bookings are in each other's way.

        It is long past if this cannot be determined easily.
        """
        if self.reservation is not None or self.windows or (
                self.host.node.compute):
            return -bookings.FOREVER
        windows = sorted(_window(row) for row, _ in self.promised)
        if any(one[1] > other[0]
               for one, other in itertools.pairwise(windows)):
            return -bookings.FOREVER
        # A booking that has started keeps its node for longer if it is
        # late.
        return min((row.window[1] for row, _ in self.promised if row.begun),
                   default=bookings.FOREVER)

    @functools.cached_property
    def unfit(self) -> str | None:
        """Why the host cannot be used for new bookings, in words.

        ``None``: it can be used.
        """
        return self.closed() or self._unusable() or self._taken()

    def closed(self) -> str | None:
        """Return how the operator has closed it to new leases, in words.

        :returns: ``None``: it is open.
        """
        node = self.host.node
        if not self.host.reservable or not node.reservable:
            return 'is closed by the operator'
        return node_condition.part(node) or (
            'is retired' if node.retired else None)

    def broken(self) -> str | None:
        """Return why no holder can use the node, in words.

        :returns: ``None``: the node is not broken.
        """
        return node_condition.broken(self.host.node)

    def maintained(self) -> bool:
        """Return whether a window may have written maintenance to Ironic."""
        return any(each.written for each in self.windows)

    def interruption(self, booking: leases.NodeBooking,
                     now: datetime.datetime) -> str | None:
        """Return the maintenance window across a booking, in words."""
        return node_window.interruption(self.windows, booking.starts_at,
                                        booking.ends_at, now)

    def _unusable(self) -> str | None:
        if self.maintained():
            # This maintenance ends with the window, which is drawn.
            return node_condition.broken(dataclasses.replace(
                self.host.node, maintenance=False))
        return self.broken()

    def _taken(self) -> str | None:
        node = self.host.node
        if self.promised_now:
            # A deployment there ends with its lease.
            return None
        # Requests in flight that belong to a window end with it.
        if (self.busy and not self.maintained()) or (
                self.reservation is not None and
                self.reservation.state is not node_reservation.State.RESERVED):
            return 'is being used without a lease'
        if node.instance_uuid is not None:
            return 'has an instance without a lease'
        if node_condition.of(node) is node_condition.Condition.DEPLOYED:
            return node_condition.in_state(node)
        return None

    def ready(self) -> bool:
        """Return whether the host can be used at once."""
        node = self.host.node
        if node.compute:
            return self.unfit is None
        return (node_condition.of(node) is node_condition.Condition.USABLE
                and not self.promised_now and not self.maintained())

    @functools.cached_property
    def promised_now(self) -> bool:
        """Whether a lease that has started has the node."""
        planned = leases.BookingState.PLANNED
        return any(booking.state is not planned
                   for booking, _ in self.promised)


#: Separates the id of a booking and the number of a part of it.
_PART = '#'


def name(booking: leases.NodeBooking) -> str:
    """Return the id in the planner of a row's booking."""
    return f'{booking.reservation_id}/{booking.place}'


def whole(ident: str) -> str:
    """Return the id of the booking that a part belongs to.

    :param ident: the id of a booking, or of a part of a booking.
    """
    return ident.partition(_PART)[0]


def parts(rows: Sequence[Sequence[bookings.Booking]], numbers: Iterable[int],
          names: Container[str]) -> list[bookings.Booking]:
    """Return all parts of some bookings on some hosts.

    :param rows: the bookings of all hosts on a timeline, by number.
    :param names: the ids of the bookings.
    """
    return [each for number in numbers for each in rows[number]
            if whole(each.id) in names]


#: By the uuid of each row, the row, the instances of its reservation, and its
#: booking, as they were drawn last.
DrawnRows = dict[str, tuple[
    leases.NodeBooking, instance_reservations.InstanceReservation | None,
    bookings.Booking]]


def draw(host_state: HostState, number: int, now: datetime.datetime,
         margin: int,
         eligible: Callable[[requirements.Requirement], int],
         known: DrawnRows | None = None) -> list[bookings.Booking]:
    """Return the bookings of one host for the planner.

    A host that cannot be used for new bookings is taken for ever; bookings
    planned on it are left out, and have to be planned again. On any other host
    every booking keeps its place, so that no other booking gets it: if two
    overlap, one of them keeps only the part outside the other, and does not
    move; see :func:`stranded` for the bookings to plan again.

    :param margin: for cleaning, in microseconds.
    :param eligible: returns the set of hosts that meet a requirement.
    :param known: the rows of this host as they were drawn last; they are not
        drawn again if neither they nor the time have changed them.
    """
    if host_state.unfit:
        return [bookings.Booking(f'unfit/{number}', *ALWAYS, number,
                                 1 << number, False)]
    drawn = draw_rows(host_state, number, now, margin, eligible,
                      {} if known is None else known)
    held = host_state.reservation
    others: list[int] = []
    if held is not None and held.live(now):
        start, end = _window(held)
        over = held.over(now)
        # A node whose holder has acted on it is cleaned afterwards.
        cleaning = margin if held.acted else 0
        drawn.append(bookings.Booking(
            f'reservation/{number}', start, end, number, 1 << number, False,
            max(cleaning, late(now) - end) if over else cleaning))
        others.append(_LATE if over else _RESERVED)
    for count, each in enumerate(host_state.windows):
        if each.stands(now):
            start, end = _window(each)
            late_now = each.late(now)
            drawn.append(bookings.Booking(
                f'maintenance/{number}/{count}', start,
                max(end, late(now)) if late_now else end, number,
                1 << number, False))
            others.append(_LATE if late_now else _RESERVED)
    ordered = sorted(drawn, key=_START)
    # Mostly none do, and then none has to move.
    if not _overlap(ordered):
        return _with_shorter_margins(ordered)
    homeless = _homeless(host_state, now)
    for place, (row, _) in enumerate(host_state.promised):
        if row.id in homeless:
            drawn[place] = dataclasses.replace(drawn[place], movable=False)
    return clipped(drawn, lambda: [
        _rank(row, made, homeless, now) for (row, _), made in zip(
            host_state.promised, drawn, strict=False)] + others)


def draw_rows(host_state: HostState, number: int, now: datetime.datetime,
              margin: int,
              eligible: Callable[[requirements.Requirement], int],
              known: DrawnRows, make: Callable[..., bookings.Booking] | None
              = None) -> list[bookings.Booking]:
    """Return the bookings of the rows of a host, regardless of each other.

    :param known: see :func:`draw`.
    :param make: returns the booking of one row; ``None``: :func:`of_row`.
    """
    instant = instants.instant(now)
    drawn: list[bookings.Booking] = []
    kept: DrawnRows = {}
    last, suitable = None, 0
    for row, wanted in host_state.promised:
        # Mostly they require the same.
        if wanted is not last:
            last, suitable = wanted, eligible(wanted)
            if not suitable >> number & 1:
                # A booking may stay, and a plan may move it away and back.
                suitable |= 1 << number
        begun, (start, end) = row.begun, row.window
        instances = host_state.instances.get(row.reservation_id)
        there = known.get(row.uuid)
        # A late booking is drawn each time, since its end moves.
        if (there is not None and there[0] is row and there[1] is instances
                and not (begun and end <= instant)
                and there[2].movable == (not begun and start > instant)
                and there[2].margin == margin
                and there[2].eligible == suitable):
            made = there[2]
        else:
            made = (make or of_row)(row, number, now, margin, suitable,
                                    instances)
            there = row, instances, made
        drawn.append(made)
        if not (begun and end <= instant):
            kept[row.uuid] = there
    known.clear()
    known.update(kept)
    return drawn


#: The ranks by which overlapping bookings keep their place: started, about to
#: start, a reservation or a maintenance window, movable, to be planned again,
#: and late.
_BEGUN, _STARTING, _RESERVED, _MOVABLE, _HOMELESS, _LATE = range(6)


def _rank(row: leases.NodeBooking, drawn: bookings.Booking,
          homeless: frozenset[int], now: datetime.datetime) -> int:
    if row.begun:
        return _LATE if row.ends_at <= now else _BEGUN
    if row.id in homeless:
        return _HOMELESS
    return _MOVABLE if drawn.movable else _STARTING


def of_row(row: leases.NodeBooking, number: int, now: datetime.datetime,
           margin: int, eligible: int,
           instances: instance_reservations.InstanceReservation | None = None
           ) -> bookings.Booking:
    """Return the booking of one row, regardless of others on the host.

    :param margin: for cleaning, in microseconds.
    :param instances: of its reservation; ``None``: it is for whole hosts.
    """
    start, end = _span(row, instants.instant(now))
    if row.begun and row.ends_at <= now:
        margin = max(margin, late(now) - end)
    # Without replace(), since there may be thousands of instances on a host.
    return bookings.Booking(
        name(row), start, end, number, eligible, _movable(row, now), margin,
        *(() if instances is None else (
            instances.need.amounts, instances.reservation_id,
            instances.affinity)))


def seated(booking: bookings.Booking,
           wanted: instance_reservations.InstanceReservation
           ) -> bookings.Booking:
    """Return the booking of a host as one of an instance."""
    return dataclasses.replace(
        booking, amounts=wanted.need.amounts, group=wanted.reservation_id,
        affinity=wanted.affinity)


def _span(row: leases.NodeBooking, now: int) -> tuple[int, int]:
    """Return the period in which a row has its node.

    A node that has not been released yet is not available to other leases.
    The result is valid until the end of the minute.
    """
    start, end = _window(row)
    if row.begun and row.window[1] <= now:
        end = max(end, now // _MINUTE * _MINUTE)
    return start, end


def next_boundary(host_state: HostState, now: datetime.datetime) -> int | None:
    """Return the time of the next :func:`draw` if nothing changes."""
    instant = instants.instant(now)
    turns = [booking.window[booking.begun]
             for booking, _ in host_state.promised]
    for each in host_state.windows:
        turns.extend((instants.instant(each.starts_at),
                      instants.instant(each.ends_at)))
    if any(booking.begun and booking.window[1] <= instant
           for booking, _ in host_state.promised) or any(
               each.late(now) for each in host_state.windows):
        turns.append((instant // _MINUTE + 1) * _MINUTE)
    if host_state.reservation is not None:
        turns.append(instants.instant(host_state.reservation.expires_at))
    return min([each for each in turns if each > instant], default=None)


def stranded(host_state: HostState, now: datetime.datetime
             ) -> list[tuple[leases.NodeBooking, requirements.Requirement]]:
    """Return the planned bookings of a host that cannot start there."""
    if host_state.unfit is None:
        if instants.instant(now) < host_state.orderly_until:
            return []
        homeless = _homeless(host_state, now)
        return [each for each in host_state.promised if each[0].id in homeless]
    return [(booking, wanted) for booking, wanted in host_state.promised
            if not booking.begun and booking.ends_at > now]


def late(now: datetime.datetime) -> int:
    """Return the first instant at which a late node can be booked.

    It is at least one minute ahead, and a whole minute, so that an offer with
    this start can be accepted for a while.
    """
    return (instants.instant(now) // _MINUTE + 2) * _MINUTE


def windows(host_state: HostState, now: datetime.datetime,
            without: Collection[str]) -> list[tuple[int, int]]:
    """Return the windows over which a host is booked.

    :param without: the ids of bookings to ignore.
    """
    instant = instants.instant(now)
    found = [_span(row, instant) for row, _ in host_state.promised
             if name(row) not in without]
    held = host_state.reservation
    if held is not None and held.live(now):
        start, end = _window(held)
        found.append((start, max(end, late(now)) if held.over(now) else end))
    found.extend(_window(each) for each in host_state.windows
                 if each.stands(now))
    return found


def _movable(booking: leases.NodeBooking, now: datetime.datetime) -> bool:
    return not booking.begun and booking.starts_at > now


def _window(row: leases.NodeBooking | node_reservation.Reservation
            | node_window.NodeWindow) -> tuple[int, int]:
    if isinstance(row, leases.NodeBooking):
        start, end = row.window
    elif isinstance(row, node_window.NodeWindow):
        start, end = (instants.instant(row.starts_at),
                      instants.instant(row.ends_at))
    else:
        start, end = (instants.instant(row.created_at),
                      instants.instant(row.expires_at))
    return start, max(end, start + 1)


def _homeless(host_state: HostState, now: datetime.datetime) -> frozenset[int]:
    """Return the ids of the movable bookings that have to move.

    The planner makes no such bookings; but a reservation may have been
    renewed, or a request that was let through may have taken the node.
    """
    if len(host_state.promised) + (host_state.reservation is not None) + len(
            host_state.windows) < 2:
        return frozenset()
    there: list[tuple[int, int, int]] = []
    moving: list[tuple[int, int, int]] = []
    if host_state.reservation is not None and host_state.reservation.live(now):
        there.append((*_window(host_state.reservation), 0))
    windows = [_window(each) for each in host_state.windows
               if each.stands(now) and not each.late(now)]
    there.extend((*window, 0) for window in windows)
    maintained = covered.Covered(windows)
    for booking, _ in host_state.promised:
        begin, end = _window(booking)
        # A booking that is about to start keeps its node, unless a
        # window was booked over it.
        moves = _movable(booking, now) or (
            not booking.begun and booking.ends_at > now
            and maintained.meets((begin, end)))
        (moving if moves else there).append((begin, end, booking.id))
    ordered = sorted(there + moving)
    if all(one[1] <= other[0] for one, other in itertools.pairwise(ordered)):
        return frozenset()
    homeless = set()
    kept = covered.Covered((start, end) for start, end, _ in there)
    for start, end, ident in sorted(moving):
        if kept.meets((start, end)):
            homeless.add(ident)
        else:
            kept.add((start, end))
    return frozenset(homeless)


def clipped(there: list[bookings.Booking],
            ranks: Callable[[], list[int]]) -> list[bookings.Booking]:
    """Clip bookings that overlap.

    The planner makes no such bookings; but a longer margin may have been
    configured, a node may be late, or its lessee may have reserved it.

    :param ranks: returns the rank of each; the lower one keeps the overlap.
    """
    drawn = sorted(there, key=_START)
    if _overlap(drawn):
        drawn, kept = [], covered.Covered()
        for _, booking in sorted(
                zip(ranks(), there, strict=False),
                key=lambda each: (each[0], each[1].start, each[1].id)):
            drawn.extend(_parts(booking, kept))
        drawn.sort(key=_START)
    return _with_shorter_margins(drawn)


def _with_shorter_margins(ordered: list[bookings.Booking]
                          ) -> list[bookings.Booking]:
    """Return bookings with margins cut at the start of the next booking."""
    for place, (booking, following) in enumerate(itertools.pairwise(ordered)):
        if booking.end + booking.margin > following.start:
            ordered[place] = dataclasses.replace(
                booking, margin=following.start - booking.end)
    return ordered


def _overlap(ordered: list[bookings.Booking]) -> bool:
    """Return whether any two bookings overlap."""
    end = -bookings.FOREVER
    for each in ordered:
        if each.start < end:
            return True
        end = each.end
    return False


def _parts(booking: bookings.Booking, kept: covered.Covered
           ) -> list[bookings.Booking]:
    """Return the parts of a booking outside others; these do not move.

    :param kept: the times that others keep; the booking is added to it.
    """
    windows = kept.add((booking.start, booking.end))
    if windows == [(booking.start, booking.end)]:
        return [booking]
    return [dataclasses.replace(
        booking, id=f'{booking.id}{_PART}{count}' if count else booking.id,
        start=start, end=end, movable=False,
        margin=booking.margin if end == booking.end else 0)
        for count, (start, end) in enumerate(windows)]

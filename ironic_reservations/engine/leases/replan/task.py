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

"""The task to plan one lease again, on one snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import functools

from ironic_reservations import errors
from ironic_reservations.engine import ceiling
from ironic_reservations.engine import change
from ironic_reservations.engine import difference as difference_module
from ironic_reservations.engine import Engine
from ironic_reservations.engine import hard_requests
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import dates as lease_dates
from ironic_reservations.engine.leases import ladder
from ironic_reservations.engine.leases import placeholders
from ironic_reservations.engine.leases import refusal_messages
from ironic_reservations.engine.leases import request_checks
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from ironic_reservations.model import requirements
from ironic_reservations.planner import allowance
from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_states
from ironic_reservations.planner import offers
from ironic_reservations.planner import plans
from ironic_reservations.planner import timeline

#: Other leases that get other dates.
_Slid = Sequence[change.Write[leases.Lease]]


@dataclasses.dataclass(frozen=True)
class Replanned:
    """A lease with its new bookings, and the changes that lead to it.

    :ivar slid: other leases whose dates change.
    """

    snapshot: snapshots.Snapshot
    difference: difference_module.Difference
    lease: leases.Lease
    slid: _Slid = ()


@dataclasses.dataclass(frozen=True)
class Window:
    """The starts that a lease with open dates may have.

    :ivar first: its earliest start.
    :ivar last: its latest start.
    :ivar until: the latest end that may be offered; ``None``: any.
    """

    first: datetime.datetime
    last: datetime.datetime
    until: datetime.datetime | None


def reservation_of(demand: bookings.Demand) -> str:
    """Return the id of the lease reservation that a demand is for."""
    return demand.id.partition(':')[0]


@dataclasses.dataclass(frozen=True)
class Task:
    """A lease to plan, and the snapshot to plan it on.

    :ivar before: the lease as it was read.
    :ivar after: the lease with its new terms and its present bookings.
    :ivar wanted: the requirement of each of its reservations, by id.
    :ivar project: the usage of its project without the lease.
    :ivar window: the range of its starts; ``None``: only the start of
        ``after``.
    :ivar allowed: the limits of the caller.
    :ivar others: the leases whose dates may move for it, if any.
    """

    engine: Engine
    snapshot: snapshots.Snapshot
    before: leases.Lease
    after: leases.Lease
    changes: leases.LeaseChange
    wanted: Mapping[str, requirements.Requirement]
    project: ceiling.Ceiling
    allowed: limits.Limits = limits.NONE
    window: Window | None = None
    others: ladder.Others | None = None

    @functools.cached_property
    def own(self) -> frozenset[str]:
        """Return the names of the bookings of the lease itself."""
        # Bookings whose nodes are being released still occupy them.
        return frozenset(map(host_states.name, self._staying))

    @functools.cached_property
    def free(self) -> timeline.Timeline:
        """Return the timeline without the bookings of the lease itself."""
        there = self.snapshot.timeline
        return there.without(host_states.parts(
            there.rows, set(map(self.snapshot.number_of, self._staying)),
            self.own))

    @property
    def until(self) -> datetime.datetime:
        """The latest end that may be offered."""
        return self.project.latest_end(self.before, self.after.end)

    @property
    def _staying(self) -> list[leases.NodeBooking]:
        return [row for row in self.before.bookings if not row.ending]

    def limited(self, demand: bookings.Demand) -> bookings.Demand:
        """Return a demand without hosts whose loan would end too early.

        Within its present dates the lease keeps its hosts, even if they
        have got another owner.
        """
        kept, before, after = 0, self.before, self.after
        if before.start <= after.start and after.end <= before.end:
            kept = self.snapshot.host_set.mask(
                row.node_uuid for row in before.bookings)
        return self.snapshot.limited(demand, before.project_id, kept)

    def slide(self, free: timeline.Timeline,
              demands: Sequence[bookings.Demand],
              counts: Mapping[str, int],
              outcome: plans.Plan | plans.Refusal,
              latest: datetime.datetime | None = None
              ) -> tuple[datetime.datetime | None,
                         plans.Plan | plans.Refusal, _Slid]:
        """Plan refused demands, and move the dates of other leases for them.

        :param free: the timeline without the bookings that the demands
            replace.
        :param counts: the least number of hosts or instances for each
            reservation, by its id.
        :param outcome: their refusal while all others keep their dates.
        :param latest: their latest start; ``None``: the start is fixed.
        :returns: their start, the plan, and the leases whose dates move.
        :raises Conflict: one of these leases has changed since it was read.
        """
        if isinstance(outcome, plans.Plan) or self.others is None:
            return None, outcome, ()
        if self.allowed.counted:
            # The amount beyond the least that the limits allow depends on
            # the new dates of other leases.
            demands = [dataclasses.replace(each, most=each.least)
                       for each in demands]
        counted = self._counted(counts)

        def at(start: int) -> leases.Lease:
            return counted if latest is None else lease_dates.starting_at(
                counted, instants.moment(start), self.snapshot.now)

        def held(start: int) -> list[allowance.Held]:
            lease = at(start)
            return allowance.held(lease, lease.start, lease.end)

        room = self.others.find_room(
            self.snapshot, free, demands, ladder.RoomRequest(
                self.before.project_id, self.allowed,
                None if latest is None else instants.instant(latest), held,
                lambda project, start: project.permits_change(
                    at(start), self.before), self.before.id))
        if isinstance(room, ladder.Room):
            return instants.moment(room.start), room.plan, room.writes
        return None, (outcome if room else dataclasses.replace(
            outcome, cause=plans.Cause.SEARCH_LIMIT)), ()

    def starting(self, start: datetime.datetime) -> Task:
        """Return the task for another start."""
        return dataclasses.replace(self, after=lease_dates.starting_at(
            self.after, start, self.snapshot.now))

    def check_limits(self, counts: Mapping[str, int]) -> None:
        """Check the limits for the lease at its start.

        :raises LeaseLimit: the lease exceeds a limit.
        """
        self.project.check_lease(self._counted(counts), self.before)

    def permits(self, start: datetime.datetime,
                counts: Mapping[str, int]) -> bool:
        """Return whether the limits allow a start at an instant."""
        moved = self.starting(start)
        return self.project.permits_change(moved._counted(counts),
                                           self.before)

    def maximums(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Return the largest number that the limits allow, by reservation.

        :param counts: the least number for each reservation.
        """
        return self.project.mosts_of(self.after, self.before, counts)

    def _counted(self, counts: Mapping[str, int]) -> leases.Lease:
        """Return the lease as limits count it."""
        after = self.after
        return dataclasses.replace(after, reservations=tuple(
            dataclasses.replace(each, bookings=tuple(
                leases.NodeBooking(0, each.id, place, '', after.start,
                                   after.end)
                for place in range(counts[each.id])))
            for each in after.reservations))

    def placeholders(self, free: timeline.Timeline,
                     staying: Sequence[leases.NodeBooking]
                     ) -> list[bookings.Booking]:
        """Return placeholders on the nodes that the lease may give up.

        Time that the lease gives up is not free if it overlapped with
        another promise; no booking may be moved there.

        :param free: the timeline without the bookings that the lease gives up.
        :param staying: the bookings that stay, until the new end.
        """
        hidden: list[bookings.Booking] = []
        end = instants.instant(self.after.end)
        longer: dict[int, list[tuple[int, int]]] = {}
        for row in staying:
            longer.setdefault(self.snapshot.number_of(row), []).append(
                (row.window[0], end))
        now = instants.instant(self.snapshot.now)
        for number in {self.snapshot.number_of(row)
                       for row in self.before.bookings
                       if self.on_timeline(row)}:
            # Mostly no promise hides another one.
            if now < self.snapshot.host_state(number).orderly_until:
                continue
            hidden.extend(placeholders.of_host(
                self.snapshot, number, self.own, [
                    *((each.start, each.end + each.margin)
                      for each in free.rows[number]),
                    *longer.get(number, ())]))
        return hidden

    def returned(self, each: leases.LeaseReservation) -> set[str]:
        """Return the nodes that the request releases."""
        return {
            uuid
            for requested in self.changes.reservations
            if requested.id == each.id for uuid in requested.give_back
        }

    def place(self, reservation_id: str) -> int:
        """Return the place of a reservation in the lease."""
        return [each.id for each in self.after.reservations].index(
            reservation_id)

    def on_timeline(self, row: leases.NodeBooking) -> bool:
        """Return whether a node is usable, and so on the timeline."""
        return bool(self.snapshot.usable >> self.snapshot.number_of(row) & 1)

    def refusal(self, refused: plans.Refusal, free: timeline.Timeline,
                demands: Sequence[bookings.Demand],
                later: datetime.datetime | None = None
                ) -> errors.LeaseRefused:
        """Return the error for a lease that cannot be changed like this.

        :param free: the timeline on which it was planned.
        :param demands: its demands, from which an earlier end is offered;
            empty if none can be offered.
        :param later: a later end of its window that would help.
        """
        if self.window is not None:
            return self._refused_window(refused, self.window, later)
        place = self.place(reservation_of(refused.demand))
        moved = demands if self.after.start != self.before.start else ()
        return refusal_messages.of_change(
            self.snapshot, self.before.project_id, place,
            self.after.reservations, refused,
            self._latest_end(free, demands), self._other_windows(free, moved))

    def _refused_window(self, refused: plans.Refusal, window: Window,
                        later: datetime.datetime | None
                        ) -> errors.LeaseRefused:
        place = self.place(reservation_of(refused.demand))
        # An offer has other dates only, and no other hosts.
        if self.changes.opened is None or self.changes.reservations:
            later = None
        return refusal_messages.of_open_dates(
            self.snapshot, self.before.project_id, place, refused,
            (window.first, window.last), self.after, later)

    def _latest_end(self, free: timeline.Timeline,
                    demands: Sequence[bookings.Demand]
                    ) -> datetime.datetime | None:
        """Return the latest end of an extension, if it is known."""
        if self.after.end <= self.before.end or not demands:
            return None
        for offer in offers.offers(
                free, demands, instants.instant(self.snapshot.now),
                instants.instant(self.after.end),
                hard_requests.unlock_offers(), (offers.Kind.SHORTER,)):
            end = min(self.until, instants.moment(max(
                demand.end for demand in offer.demands)))
            return end if end > self.before.end else None
        return None

    def _other_windows(self, free: timeline.Timeline,
                       demands: Sequence[bookings.Demand]
                       ) -> list[tuple[str, datetime.datetime,
                                       datetime.datetime]]:
        """Return the nearest windows that a lease could be moved to.

        :returns: the windows, each with the kind of its offer.
        """
        if not demands:
            return []
        latest = min(filter(None, (
            ladder.search_end(self.after.end), request_checks.latest_end(
                self.allowed, self.snapshot.now))))
        now = instants.instant(self.snapshot.now)
        found = []
        for offer in offers.offers(
                free, demands, now, instants.instant(latest),
                hard_requests.unlock_offers(), (
                    offers.Kind.LATER, offers.Kind.EARLIER), instants.SECOND,
                max(0, now - instants.instant(self.after.start))):
            start, end = (instants.moment(each) for each in (
                offer.demands[0].start, offer.demands[0].end))
            if self.project.permits_change(dataclasses.replace(
                    self.after, start=start, end=end), self.before):
                found.append((offer.kind.value, start, end))
        return found

    def replanned(self, after: timeline.Timeline, *,
                  kept: Sequence[leases.NodeBooking] = (),
                  ended: Sequence[leases.NodeBooking] = (),
                  added: Sequence[leases.NodeBooking] = (),
                  homes: Mapping[str, leases.NodeBooking] | None = None,
                  slid: _Slid = ()) -> Replanned:
        """Return the result of the task.

        :param after: the timeline with the lease.
        :param kept: rows that stay, until the new end.
        :param ended: rows that have started and whose nodes are released.
        :param added: new rows, without ids.
        :param homes: the rows of others that move, by name, as in
            :func:`difference.compare`.
        :param slid: other leases whose dates change.
        """
        snapshot = self.snapshot
        difference = difference_module.compare(
            snapshot, after, self.own | ladder.names(slid), homes)
        own = difference_module.seen_of(
            snapshot, map(snapshot.number_of, self.before.bookings))
        end = self.after.end
        rows = [*(dataclasses.replace(row, ends_at=end) for row in kept),
                *(dataclasses.replace(row, ends_at=snapshot.now,
                                      state=leases.BookingState.ENDING)
                  for row in ended), *added,
                *(row for row in self.before.bookings if row.ending)]
        healed = self.changes.heal
        reservations = tuple(dataclasses.replace(
            each, bookings=tuple(row for row in rows
                                 if row.reservation_id == each.id),
            missing_resources=each.missing_resources and not healed,
            resources_changed=each.resources_changed or (
                healed and any(row.reservation_id == each.id
                               for row in added)))
            for each in self.after.reservations)
        return Replanned(
            snapshot, dataclasses.replace(
                difference, seen=difference.seen.also(own)),
            dataclasses.replace(self.after, reservations=reservations,
                                degraded=(self.after.degraded
                                          and not healed)), slid)

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

"""An attempt to plan one lease, on one snapshot."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import functools

from ironic_reservations.engine import ceiling
from ironic_reservations.engine import change
from ironic_reservations.engine import difference as difference_module
from ironic_reservations.engine import Engine
from ironic_reservations.engine import hard_requests
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import dates as lease_dates
from ironic_reservations.engine.leases import ladder
from ironic_reservations.engine.leases import placeholders
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.model import requirements
from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_states
from ironic_reservations.planner import offers
from ironic_reservations.planner import planning
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


def least_of(demands: Sequence[bookings.Demand]) -> list[bookings.Demand]:
    """Return demands for no more than the least numbers."""
    return [dataclasses.replace(each, most=each.least) for each in demands]


def reservation_of(demand: bookings.Demand) -> str:
    """Return the id of the lease reservation that a demand is for."""
    return demand.id.partition(':')[0]


@dataclasses.dataclass(frozen=True)
class Attempt:
    """A lease to plan, and the snapshot to plan it on.

    :ivar before: the lease as it was read; a new one has no bookings.
    :ivar after: the lease with its new terms and its present bookings.
    :ivar wanted: the requirement of each of its reservations, by id.
    :ivar project: the usage of its project without the lease.
    :ivar asked: the request, with the starts that the lease may have.
    :ivar others: the leases whose dates may move for it, if any.
    :ivar outrun: uuids of nodes that other requests took during an earlier
        attempt; a new lease prefers other ones.
    """

    engine: Engine
    snapshot: snapshots.Snapshot
    before: leases.Lease
    after: leases.Lease
    changes: leases.LeaseChange
    wanted: Mapping[str, requirements.Requirement]
    project: ceiling.Ceiling
    asked: ladder.Asked
    others: ladder.Others | None = None
    outrun: Collection[str] = ()

    @property
    def least(self) -> dict[str, int]:
        """The least number for each of its reservations, by its id."""
        return {each.id: each.least for each in self.after.reservations}

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
              outcome: plans.Plan | plans.Refusal
              ) -> ladder.Room | plans.Refusal:
        """Plan refused demands, and move the dates of other leases for them.

        :param free: the timeline without the bookings that the demands
            replace.
        :param counts: the least number of hosts or instances for each
            reservation, by its id.
        :param outcome: their plan, or their refusal, while all others keep
            their dates.
        :raises Conflict: one of these leases has changed since it was read.
        """
        if isinstance(outcome, plans.Plan):
            return ladder.Room(instants.instant(self.after.start), outcome)
        if self.others is None:
            return outcome
        if self.asked.allowed.counted or (
                self.asked.is_open and not self.before.bookings):
            # The amount beyond the least that the limits allow depends on
            # the new dates of other leases, and on its own.
            demands = least_of(demands)
        room = self.others.find_room(self.snapshot, free, demands, (
            self._counted(counts), self.before), {})
        if isinstance(room, ladder.Room):
            return room
        return outcome if room else dataclasses.replace(
            outcome, cause=plans.Cause.SEARCH_LIMIT)

    def earliest(self, free: timeline.Timeline,
                 demands: Sequence[bookings.Demand],
                 latest_end: datetime.datetime, exact: bool = False,
                 permits: Callable[[datetime.datetime], bool] | None = None
                 ) -> datetime.datetime | None:
        """Return the earliest start while all other leases keep their dates.

        :param demands: with the first start that is tried.
        :param exact: whether this start need not be a whole minute.
        :param permits: returns whether the limits allow a start; ``None``: for
            the least numbers.
        """
        least = self.least
        may_start = permits or (lambda start: self.permits(start, least))
        first = instants.moment(demands[0].start)
        if exact and may_start(first) and isinstance(planning.plan(
                free, demands, hard_requests.limits()), plans.Plan):
            return first
        found = offers.soonest(
            free, demands, instants.instant(latest_end),
            hard_requests.limits(), ladder.GRAIN,
            lambda moved: may_start(instants.moment(moved[0].start)),
            # Within its present dates, it may have more than the limits allow.
            {*self.project.opens(), instants.instant(self.before.start)})
        return instants.moment(found.demands[0].start) if found else None

    def starting(self, start: datetime.datetime) -> Attempt:
        """Return the attempt for another start."""
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
        return self.project.permits_lease(moved._counted(counts), self.before)

    def preferred(self, each: leases.LeaseReservation,
                  begin: datetime.datetime) -> int:
        """Return the hosts that are preferred for a reservation."""
        snapshot = self.snapshot
        if self.before.bookings:
            return snapshot.host_set.mask(row.node_uuid
                                          for row in each.bookings)
        # A lease that starts at once prefers hosts that are ready.
        ready = snapshot.ready if begin <= snapshot.now else 0
        return ready if not self.outrun else (
            (ready or snapshot.usable)
            & ~snapshot.host_set.mask(self.outrun))

    def maximums(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Return the largest number that the limits allow, by reservation.

        :param counts: the least number for each reservation.
        """
        return self.project.mosts_of(self.after, self.before, counts)

    def _counted(self, counts: Mapping[str, int]) -> leases.Lease:
        """Return the lease as limits count it."""
        after = self.after
        return dataclasses.replace(after, reservations=tuple(
            dataclasses.replace(each, bookings=counts[each.id] * (
                leases.NodeBooking(0, each.id, 0, '', after.start,
                                   after.end),))
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

    def replanned(self, after: timeline.Timeline | timeline.Draft, *,
                  kept: Sequence[leases.NodeBooking] = (),
                  ended: Sequence[leases.NodeBooking] = (),
                  added: Sequence[leases.NodeBooking] = (),
                  homes: Mapping[str, leases.NodeBooking] | None = None,
                  slid: _Slid = ()) -> Replanned:
        """Return the result of the attempt.

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

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

"""One lease that is planned anew, on one snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import functools

from ironic_reservations import errors
from ironic_reservations.db import open_dates as db_open_dates
from ironic_reservations.engine import difference as difference_module
from ironic_reservations.engine import Engine
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import refused as lease_refused
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.model import requirements
from ironic_reservations.planner import bookings
from ironic_reservations.planner import offers
from ironic_reservations.planner import plans
from ironic_reservations.planner import reach
from ironic_reservations.planner import standing
from ironic_reservations.planner import timeline


@dataclasses.dataclass(frozen=True)
class Replanned:
    """A lease as it is to become, and how to get there.

    :ivar kept: rows that stay, until the new end.
    :ivar dropped: rows that have not started and are replaced.
    :ivar ended: rows that have, and whose nodes are taken back.
    :ivar added: rows without ids.
    """

    snapshot: snapshots.Snapshot
    difference: difference_module.Difference
    lease: leases.Lease
    kept: tuple[leases.NodeBooking, ...]
    dropped: tuple[leases.NodeBooking, ...]
    ended: tuple[leases.NodeBooking, ...]
    added: tuple[leases.NodeBooking, ...]


@dataclasses.dataclass(frozen=True)
class Task:
    """What there is to plan, and on what.

    :ivar after: the lease with its new terms, and the bookings as they were.
    :ivar wanted: what each of its reservations asks of its hosts, by id.
    :ivar until: the latest end that may be offered.
    """

    engine: Engine
    snapshot: snapshots.Snapshot
    before: leases.Lease
    after: leases.Lease
    changes: leases.LeaseChange
    wanted: Mapping[str, requirements.Requirement]
    until: datetime.datetime

    @functools.cached_property
    def margin(self) -> int:
        """Return how long a node is cleaned, in microseconds."""
        return self.engine.conf.leases.cleaning_time * instants.SECOND

    @functools.cached_property
    def own(self) -> frozenset[str]:
        """Return the names of the bookings of the lease itself."""
        # NOTE: what is being taken back is still in the way of all others.
        return frozenset(map(standing.name, self._staying))

    @functools.cached_property
    def free(self) -> timeline.Timeline:
        """Return the timeline without the bookings of the lease itself."""
        rows = self.snapshot.timeline.rows
        return self.snapshot.timeline.without(
            [each for number in set(map(self.number, self._staying))
             for each in rows[number]
             if standing.whole(each.id) in self.own])

    @property
    def _staying(self) -> list[leases.NodeBooking]:
        return [row for row in self.before.bookings
                if row.state is not leases.BookingState.ENDING]

    def limited(self, demand: bookings.Demand) -> bookings.Demand:
        """Return a demand of the lease that gets loans while they last.

        NOTE: in its window it keeps what it has, whoever owns that by now.
        """
        kept, before, after = 0, self.before, self.after
        if before.start <= after.start and after.end <= before.end:
            kept = self.snapshot.fleet.mask(
                row.node_uuid for row in before.bookings)
        return self.snapshot.loans.limit(demand, before.project_id, kept)

    def guards(self, free: timeline.Timeline,
               staying: Sequence[leases.NodeBooking]
               ) -> list[bookings.Booking]:
        """Return what others have of the lease's nodes beside what is drawn.

        NOTE: where two overlap, one is drawn as far as the other leaves it.
        What the lease lets go of is not free as far as another one has been
        promised it; nobody is moved there.

        :param free: without what the lease lets go of.
        :param staying: what keeps its place, for the time that is asked for.
        """
        snapshot = self.snapshot
        guards: list[bookings.Booking] = []
        end = instants.instant(self.after.end)
        for number in {self.number(row) for row in self.before.bookings
                       if self.on_timeline(row)}:
            here = snapshot.standing(number)
            if here.host.node.compute:
                continue
            taken = [(each.start, each.end + each.margin)
                     for each in free.rows[number]]
            taken.extend((instants.instant(row.starts_at), end)
                         for row in staying if self.number(row) == number)
            for window in standing.windows(here, snapshot.now, self.own):
                for part in standing.left_of(window, taken):
                    guards.append(bookings.Booking(
                        f'guard/{number}/{len(guards)}', *part, number,
                        1 << number, False))
                    taken.append(part)
        return guards

    def returned(self, each: leases.LeaseReservation) -> set[str]:
        """Return which nodes its owner can do without."""
        return {uuid for wish in self.changes.wishes if wish.id == each.id
                for uuid in wish.give_back}

    def number(self, row: leases.NodeBooking) -> int:
        """Return the number of the host that a row is on."""
        return self.snapshot.fleet.number(row.node_uuid)

    def on_timeline(self, row: leases.NodeBooking) -> bool:
        """Return whether a node can serve anything new, and so has a plan."""
        return bool(self.snapshot.usable >> self.number(row) & 1)

    def is_compute(self, row: leases.NodeBooking) -> bool:
        """Return whether instances share the host that a row is on."""
        return self.snapshot.standing(self.number(row)).host.node.compute

    def refusal(self, refused: plans.Refusal, free: timeline.Timeline,
                demands: Sequence[bookings.Demand]) -> errors.LeaseRefused:
        """Return the error that tells why a lease cannot be so.

        :param free: the timeline on which it was planned.
        :param demands: all that has to be served, or nothing where that
            depends on the end.
        """
        refused = self.judged(refused)
        key = refused.demand.id.partition(':')[0]
        place = [each.id for each in self.after.reservations].index(key)
        return lease_refused.of_change(
            self.snapshot, self.before.project_id, place,
            self.after.reservations[place], refused,
            self._latest_end(free, demands))

    def judged(self, refused: plans.Refusal) -> plans.Refusal:
        """Return a refusal that is told as proved only if it is."""
        if refused.cause.proved and self._others_are_loose(refused.demand):
            # NOTE: nobody slides for a change, so that is no proof.
            return dataclasses.replace(refused,
                                       cause=plans.Cause.SEARCH_LIMIT)
        return refused

    def _others_are_loose(self, demand: bookings.Demand) -> bool:
        """Return whether leases are near whose dates are open."""
        snapshot = self.snapshot
        with self.engine.database.read() as connection:
            nodes = db_open_dates.read_loose_nodes(connection, snapshot.now,
                                               self.before.id)
        return bool(reach.hosts(self.free, demand.eligible)
                    & snapshot.fleet.mask(nodes))

    def _latest_end(self, free: timeline.Timeline,
                    demands: Sequence[bookings.Demand]
                    ) -> datetime.datetime | None:
        """Return until when the lease could be extended, if that is known.
        """
        if self.after.end <= self.before.end or not demands:
            return None
        for offer in offers.offers(
                free, demands, instants.instant(self.snapshot.now),
                instants.instant(self.after.end), kinds=(
                    offers.Kind.SHORTER,)):
            end = min(self.until, instants.moment(max(
                demand.end for demand in offer.demands)))
            return end if end > self.before.end else None
        return None

    def replanned(self, after: timeline.Timeline, *,
                  kept: tuple[leases.NodeBooking, ...] = (),
                  dropped: tuple[leases.NodeBooking, ...] = (),
                  ended: tuple[leases.NodeBooking, ...] = (),
                  added: tuple[leases.NodeBooking, ...] = (),
                  homes: Mapping[str, leases.NodeBooking] | None = None
                  ) -> Replanned:
        """Return the lease as it is to become.

        :param after: the timeline with it.
        :param homes: by name, the rows of others that move, as in
            :func:`difference.compare`.
        """
        snapshot = self.snapshot
        difference = difference_module.compare(snapshot, after, self.own,
                                               homes)
        own = difference_module.seen_of(
            snapshot, map(self.number, self.before.bookings))
        end = self.after.end
        rows = [*(dataclasses.replace(row, ends_at=end) for row in kept),
                *(dataclasses.replace(row, ends_at=snapshot.now,
                                      state=leases.BookingState.ENDING)
                  for row in ended), *added,
                *(row for row in self.before.bookings
                  if row.state is leases.BookingState.ENDING)]
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
                                          and not healed)),
            kept, dropped, ended, added)

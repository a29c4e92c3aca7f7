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

"""Find a start and hosts for a new lease, or the reasons for none."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence
import dataclasses
import datetime

from ironic_reservations import errors
from ironic_reservations.engine import ceiling
from ironic_reservations.engine import Engine
from ironic_reservations.engine import hard_requests
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import demands as lease_demands
from ironic_reservations.engine.leases import ladder
from ironic_reservations.engine.leases import refusal_messages
from ironic_reservations.engine.leases import request_checks
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from ironic_reservations.model import requirements
from ironic_reservations.planner import allowance
from ironic_reservations.planner import bookings
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans


@dataclasses.dataclass
class Admission:
    """One attempt to find room for a request, on one snapshot.

    :ivar _starts: the request, with the starts that it allows.
    :ivar _allowed: the limits of the caller.
    :ivar _ids: the id of each reservation of the lease.
    :ivar _requirements: the requirement of each reservation for its hosts.
    :ivar _project: the usage of its project, and how much more it may have.
    :ivar _outrun: uuids of nodes that other requests took during an earlier
        attempt; other nodes are preferred.
    """

    _engine: Engine
    _starts: Starts
    _allowed: limits.Limits
    _ids: Sequence[str]
    _requirements: Sequence[requirements.Requirement]
    _snapshot: snapshots.Snapshot
    _project: ceiling.Ceiling
    _outrun: Collection[str]

    def __post_init__(self) -> None:
        self._refused: ladder.Room | plans.Refusal
        # If its dates are open, not all starts are tried at first.
        self._proved = self._starts.fixed

    def plan(self, terms: ladder.Terms) -> ladder.Room | plans.Refusal:
        """Plan the request with the terms of a rung.

        :returns: the plan; or the reason why there is none at the earliest
            start.
        :raises LeaseLimit: there are free hosts, but the project may not have
            them.
        :raises Conflict: the snapshot is outdated, or a lease that would get
            other dates has changed since it was read.
        """
        found: ladder.Room | plans.Refusal | None
        if terms.others is not None:
            found = self._beside(terms.others)
        elif terms.latest_end is not None:
            # The request waits: its start is later than the requested ones.
            start = self._earliest(
                self._least(self._snapshot, max(self._starts.first,
                                                self._snapshot.now)),
                terms.latest_end)
            found = None if start is None else self._plan(start)
        else:
            found = self._refused = self._alone()
            if isinstance(found, plans.Refusal):
                self._engine.snapshots.confirm(self._engine.database,
                                               self._snapshot)
        return found if isinstance(found, ladder.Room) else self._refused

    def _alone(self) -> ladder.Room | plans.Refusal:
        """Plan the request while all other leases keep their dates.

        :raises LeaseLimit: there are free hosts, but the project may not have
            them.
        """
        starts = self._starts
        request, first = starts.request, starts.first
        if request.flexible is None or self._project.permits(starts.at(first)):
            found = self._plan(first)
            if starts.fixed or isinstance(found, ladder.Room):
                return found
        least = self._least(self._snapshot, first)
        start = self._earliest(least, starts.at(starts.last).end)
        if start is not None and start <= starts.last:
            return self._plan(start)
        outcome = planning.plan(self._snapshot.timeline, least,
                                hard_requests.limits())
        if isinstance(outcome, plans.Plan):
            # There are hosts, so a limit of the project is in the way;
            # this raises it.
            self._project.maximums(request.reservations, first,
                                   starts.at(first).end)
        return self._room(first, outcome)

    def _beside(self, others: ladder.Others) -> ladder.Room | None:
        """Plan the request with other dates for some leases."""
        starts = self._starts
        snapshot = self._engine.snapshot(self._snapshot.now, [
            *self._requirements, *others.wanted.values()])

        def held(start: int) -> list[allowance.Held]:
            begin = instants.moment(start)
            return allowance.least(starts.at(begin), begin)

        # How much the project may have beyond the least depends on where its
        # own leases slide to.
        demands = (self._least(snapshot, starts.first)
                   if self._allowed.counted else self._most(snapshot))
        room = others.find_room(
            snapshot, snapshot.timeline, demands, ladder.RoomRequest(
                starts.request.project_id, self._allowed,
                None if starts.fixed else instants.instant(starts.last), held,
                lambda project, start: project.permits(
                    starts.at(instants.moment(start)))))
        if isinstance(room, bool):
            self._proved = room
            return None
        return room

    def refusal(self, refused: plans.Refusal) -> errors.LeaseRefused:
        """Return the error for a request for which there is no room.

        :param refused: the reason at the earliest start.
        """
        starts = self._starts
        if not self._proved:
            refused = dataclasses.replace(refused,
                                          cause=plans.Cause.SEARCH_LIMIT)
        refusal = refusal_messages.refusal(
            self._snapshot, starts.at(starts.first),
            self._most(self._snapshot), refused,
            request_checks.latest_end(self._allowed, self._snapshot.now),
            self._project)
        if starts.fixed:
            return refusal
        return errors.LeaseRefused(refusal_messages.no_start(
            starts.first, starts.last, str(refusal)), **refusal.details)

    def _room(self, start: datetime.datetime,
              outcome: plans.Plan | plans.Refusal
              ) -> ladder.Room | plans.Refusal:
        return outcome if isinstance(outcome, plans.Refusal) else ladder.Room(
            self._snapshot, instants.instant(start), outcome)

    def start_in(self, room: ladder.Room) -> datetime.datetime:
        """Return the start that the lease is given.

        A lease that is to start at once keeps the requested start, which
        may be seconds before the time of the plan.
        """
        first, planned = self._starts.first, instants.moment(room.start)
        return first if planned <= max(first, self._snapshot.now) else planned

    def _earliest(self, least: Sequence[bookings.Demand],
                  latest_end: datetime.datetime) -> datetime.datetime | None:
        """Return the earliest start with hosts that the project may have."""
        return ladder.earliest(
            self._snapshot.timeline, least, latest_end,
            lambda start: self._project.permits(self._starts.at(start)),
            self._project.opens())

    def _plan(self, start: datetime.datetime) -> ladder.Room | plans.Refusal:
        """Plan for one start, with as many hosts as the project may have."""
        asked = self._starts.at(start)
        return self._room(start, planning.plan(
            self._snapshot.timeline, self._demands(
                self._snapshot, asked, start, self._project.maximums(
                    asked.reservations, start, asked.end)),
            hard_requests.limits()))

    def _least(self, snapshot: snapshots.Snapshot,
               start: datetime.datetime) -> list[bookings.Demand]:
        """Return demands for the least number of hosts."""
        return self._demands(snapshot, self._starts.at(start), start, [
            requested.least for requested in self._starts.request.reservations
        ])

    def _most(self, snapshot: snapshots.Snapshot) -> list[bookings.Demand]:
        """Return demands for the largest number of hosts known to be allowed.

        If the dates are open, the limits depend on the start, so only the
        minimum is known to be allowed.
        """
        first = self._starts.first
        if self._starts.request.flexible is not None:
            return self._least(snapshot, first)
        asked = self._starts.at(first)
        return self._demands(snapshot, asked, first, self._project.maximums(
            asked.reservations, first, asked.end))

    def _demands(self, snapshot: snapshots.Snapshot,
                 asked: leases.LeaseRequest, start: datetime.datetime,
                 maximums: Sequence[int]) -> list[bookings.Demand]:
        begin = max(start, snapshot.now)
        # A lease that starts at once prefers hosts that are ready.
        preferred = snapshot.ready if begin <= snapshot.now else 0
        if self._outrun:
            preferred = (preferred or snapshot.usable
                         ) & ~snapshot.host_set.mask(self._outrun)
        return [snapshot.limited(lease_demands.of(
            each, instants.instant(begin), instants.instant(asked.end),
            requested.least, most, snapshot.eligible(requirement),
            snapshot.margin, preferred, requested.instances),
            asked.project_id)
            for each, requested, most, requirement in zip(
                self._ids, asked.reservations, maximums, self._requirements,
                strict=True)]


@dataclasses.dataclass(frozen=True)
class Starts:
    """A request, and the range of starts of its lease.

    :ivar request: the request.
    :ivar first: the earliest start.
    :ivar last: the latest start; the same as ``first`` unless the dates of the
        lease are open. A lease that waits in the queue may start later still.
    """

    request: leases.LeaseRequest
    first: datetime.datetime
    last: datetime.datetime

    @property
    def fixed(self) -> bool:
        """Whether the lease can only start at ``first``."""
        return self.first == self.last

    def at(self, start: datetime.datetime) -> leases.LeaseRequest:
        """Return the request with this start as the only one.

        Its duration is the same as from ``first`` on.
        """
        request = self.request
        if request.flexible is not None:
            return dataclasses.replace(
                request, start=start, end=start + request.flexible.duration,
                flexible=None)
        if not request.queue or start <= self.first:
            return request
        later = start - self.first
        return dataclasses.replace(
            request, start=start, end=request.end + later,
            before_end=None if request.before_end is None
            else request.before_end + later)

    def queued(self, start: datetime.datetime) -> leases.Queued | None:
        """Return the queue entry of a lease that is planned at ``start``.

        :returns: ``None`` if the lease does not wait.
        """
        if not self.request.queue or start <= self.first:
            return None
        return leases.Queued(self.first, start, self.request.priority)


def starts_of(request: leases.LeaseRequest, allowed: limits.Limits,
              now: datetime.datetime) -> Starts:
    """Return the starts that a request allows at a given time.

    :param allowed: the limits of the caller; no lease may end beyond the
        horizon.
    :raises InvalidValue: the start has passed.
    """
    flexible = request.flexible
    if flexible is None:
        first = request_checks.start(request.start, now)
        if request.lasts is not None:
            request = dataclasses.replace(request, end=first + request.lasts,
                                          lasts=None)
        return Starts(request, first, first)
    first = max(request.start or now, now)
    horizon = request_checks.latest_end(allowed, now)
    latest_end = (flexible.latest if horizon is None
                  else min(flexible.latest, horizon))
    return Starts(request, first, max(first, latest_end - flexible.duration))

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

"""Change the dates of leases with open dates, to make room for a request.

A lease that was requested with ``between`` is planned as early as possible.
Until its dates are fixed, it may get any other start within its window. The
new start is never so near that the dates would be fixed at once, so the owner
always gets the agreed notice.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import itertools

from ironic_reservations.db import connection as db_connection
from ironic_reservations.engine import ceiling
from ironic_reservations.engine import change as change_module
from ironic_reservations.engine import Engine
from ironic_reservations.engine import hard_requests
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import dates as lease_dates
from ironic_reservations.engine.leases import demands as lease_demands
from ironic_reservations.engine.leases import ladder
from ironic_reservations.engine.leases import request_checks
from ironic_reservations.features.open_dates import make_way
from ironic_reservations.features.open_dates import planning as slides
from ironic_reservations.features.open_dates import rows as db_open_dates
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from ironic_reservations.model import requirements
from ironic_reservations.planner import allowance
from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_states
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import reach
from ironic_reservations.planner import timeline

#: The maximum numbers of leases that slide for a request, and that are read.
_MOST = 5
_MOST_READ = 100
#: The time for the search, in seconds.
_LONGEST = 5.0

_Demands = Sequence[bookings.Demand]


@dataclasses.dataclass(frozen=True)
class Others:
    """Leases whose dates are open, as they were read.

    :ivar asked: the request for which they may change.
    :ivar is_all: whether these are all leases whose dates could change.
    :ivar wanted: the requirement of each of their reservations, by its id.
    :ivar late: whether the time for the search is over.
    """

    engine: Engine
    asked: ladder.Asked
    leases: Sequence[leases.Lease]
    is_all: bool
    wanted: Mapping[str, requirements.Requirement]
    late: Callable[[], bool]

    def find_room(self, snapshot: snapshots.Snapshot, free: timeline.Timeline,
                  demands: _Demands,
                  own: ladder.Own | None,
                  leaving: Mapping[bookings.Demand, str]
                  ) -> ladder.Room | bool:
        """Plan a request, with other dates for some of these leases.

        See :meth:`.ladder.Others.find_room`.
        """
        asked, opened = self.asked, self.asked.is_open
        loose = _FlexibleLeases(self.engine, snapshot, self.wanted)
        near = [lease for lease in self.leases
                if loose.is_near(lease, free, demands)]
        # NOTE: counting costs little, where a search would find nothing.
        slide = {ident for lease in near for ident in _reservations(lease)}
        if not opened and near and not _leaves_enough(
                loose.without(near, free), [
                    each for each in demands
                    if leaving.get(each) not in slide]):
            return self.is_all
        others = [lease for lease in near if loose.may_slide(lease)]
        moving = set(leaving.values())
        others.sort(key=lambda lease: (
            moving.isdisjoint(_reservations(lease)),
            not _overlaps(lease, demands, asked), lease.start, lease.id))
        if not others and not opened:
            return self.is_all and not near
        # NOTE: it gives no more than the least number of hosts.
        way = None if leaving or any(
            each.most > each.least for each in demands) else _make_way(
                self.engine, loose, free, demands, asked, own, others)
        if way is not None:
            return way
        is_all = self.is_all and len(near) == len(others) <= _MOST
        others = others[:_MOST]
        sliding = [loose.sliding(lease) for lease in others]
        start = min(each.start for each in demands)
        slide = {ident for lease in others for ident in _reservations(lease)}
        demands = [each for each in demands
                   if leaving.get(each) not in slide]
        if opened:
            sliding.insert(0, slides.Sliding(tuple(demands), start,
                                             instants.instant(asked.last)))
        together = _CombinedLimits(self.engine, asked, own, others, start)
        outcome = slides.slide(
            loose.without(others, free), () if opened else demands, sliding,
            ladder.GRAIN, hard_requests.limits(), permits=together.permit,
            late=self.late)
        if isinstance(outcome, bool):
            return outcome and is_all
        starts = list(outcome.starts)
        start = starts.pop(0) if opened else start
        granted = list(outcome.plan.granted)
        plan = dataclasses.replace(outcome.plan,
                                   granted=tuple(granted[:len(demands)]))
        del granted[:len(demands)]
        writes = []
        for lease, begin in zip(others, starts, strict=True):
            had = granted[:len(lease.reservations)]
            del granted[:len(lease.reservations)]
            if begin != instants.instant(lease.start):
                writes.append(_moved(snapshot, lease, begin, had))
        return ladder.Room(start, plan, writes)


def read_others(engine: Engine, asked: ladder.Asked) -> Others:
    """Read the leases that may get other dates for a request."""
    begun = engine.timer()
    with engine.database.snapshot() as connection:
        found, is_all = db_open_dates.read_loose(
            connection, asked.now, asked.first, asked.until, _MOST_READ,
            asked.lease_id)
    return Others(engine, asked, found, is_all, {
        each.id: request_checks.requirement_of(each)
        for lease in found for each in lease.reservations},
        lambda: engine.timer() - begun > _LONGEST)


def _make_way(engine: Engine, loose: _FlexibleLeases, free: timeline.Timeline,
              demands: _Demands, asked: ladder.Asked, own: ladder.Own | None,
              others: Sequence[leases.Lease]) -> ladder.Room | None:
    """Plan a request, with other dates for leases of one node each.

    This finds most of the plans in a fraction of the time of the complete
    search, but it proves nothing.
    """
    single = {name: (lease, sliding) for lease in others
              if (sliding := loose.single(lease)) is not None
              for name in map(host_states.name, lease.bookings)}
    found = make_way.make_way(
        free, demands,
        instants.instant(asked.last) if asked.is_open else None, {
            name: (sliding.earliest, sliding.latest)
            for name, (_, sliding) in single.items()},
        _MOST, ladder.GRAIN, hard_requests.limits())
    if found is None:
        return None
    moved = [(single[name][0], start)
             for name, start in found.starts.items()]
    starts = [start for _, start in moved]
    if asked.is_open:
        starts.insert(0, found.start)
    if not _CombinedLimits(engine, asked, own,
                           [lease for lease, _ in moved],
                           found.start).permit(dict(enumerate(starts))):
        return None
    there = {each.id: each for row in found.plan.draft.rows for each in row
             if each.id in found.starts}
    return ladder.Room(found.start, found.plan, [
        _moved(loose.snapshot, lease, start, [
            [there[host_states.name(row)] for row in lease.bookings]])
        for lease, start in moved])


def _leaves_enough(bare: timeline.Timeline, demands: _Demands) -> bool:
    """Return whether there may be room for demands, by counting.

    :param bare: the timeline without the leases whose dates could change.
    """
    if not demands:
        return True
    answer = planning.plan(bare, demands, dataclasses.replace(
        hard_requests.limits(), swap=0, search=0, eject=0), False)
    return isinstance(answer, plans.Plan) or not answer.cause.proved


def fixed_from(change: change_module.Change) -> Iterator[datetime.datetime]:
    """Yield the instants at which leases with new dates are fixed.

    :raises Conflict: a lease is fixed already.
    """
    for lease in itertools.chain.from_iterable(
            change_module.slid(change.writes)):
        if lease.between is None or lease.between.fix_at is None:
            raise db_connection.Conflict(
                'the dates of a lease have been fixed meanwhile')
        yield lease.between.fix_at


def _limits(engine: Engine, lease: leases.Lease) -> limits.Limits:
    """Return the limits of the project of a lease, not of the caller."""
    return engine.limits['leases', lease.project_id is not None]


def _reservations(lease: leases.Lease) -> Iterator[str]:
    return (each.id for each in lease.reservations)


def _overlaps(lease: leases.Lease, demands: _Demands,
              asked: ladder.Asked) -> bool:
    start = min(each.start for each in demands)
    until = max(each.until for each in demands)
    if asked.is_open:
        until += instants.instant(asked.last) - start
    return (instants.instant(lease.start) < until
            and start < instants.instant(lease.end))


def _moved(snapshot: snapshots.Snapshot, lease: leases.Lease, start: int,
           granted: Sequence[Sequence[bookings.Booking]]
           ) -> change_module.Write[leases.Lease]:
    """Return a lease with another start and the hosts granted for it."""
    moved = lease_dates.starting_at(lease, instants.moment(start),
                                    snapshot.now)
    moved = dataclasses.replace(moved, reservations=tuple(dataclasses.replace(
        each, bookings=lease_demands.granted_rows(snapshot, each.id, rows,
                                                  lease.project_id))
        for each, rows in zip(lease.reservations, granted, strict=True)))
    return change_module.Write(lease, moved, change_module.Cause.SLID,
                               request_checks.due(moved, snapshot.now))


class _CombinedLimits:
    """Checks limits for a request and leases with new dates together."""

    def __init__(self, engine: Engine, asked: ladder.Asked,
                 own: ladder.Own | None, others: Sequence[leases.Lease],
                 start: int) -> None:
        self._asked = asked
        self._own = own
        self._others = others
        self._start = start
        self._first = 1 if asked.is_open else 0
        ids = [lease.id for lease in others]
        if asked.lease_id is not None:
            ids.append(asked.lease_id)
        self._projects: dict[str | None, ceiling.Ceiling] = {}
        self._project: ceiling.Ceiling | None = None
        with engine.database.read() as connection:
            if own is not None and asked.allowed.counted:
                self._project = ceiling.read(
                    engine, connection, asked.allowed, own[1].project_id,
                    asked.now, *ids)
            for lease in others:
                allowed = _limits(engine, lease)
                if allowed.counted and lease.project_id not in self._projects:
                    self._projects[lease.project_id] = ceiling.read(
                        engine, connection, allowed, lease.project_id,
                        asked.now, *ids)

    def permit(self, starts: Mapping[int, int]) -> bool:
        """Check the limits for the request and the leases with a start."""
        begin = starts.get(0) if self._first else self._start
        placed = [(self._others[number - self._first], instants.moment(start))
                  for number, start in starts.items() if number >= self._first]
        own = self._own_at(begin)
        if own is not None and self._project is not None and (
                not self._project.beside(self._held(
                    placed, own[1].project_id)).permits_lease(*own)):
            return False
        for lease, at in placed:
            project = self._projects.get(lease.project_id)
            # It may keep its start, even beyond a limit.
            if project is None or at == lease.start:
                continue
            beside = self._held([each for each in placed
                                 if each[0] is not lease], lease.project_id)
            if own is not None and own[1].project_id == lease.project_id:
                beside += allowance.held(own[0], own[0].start, own[0].end)
            if not project.beside(beside).permits_lease(dataclasses.replace(
                    lease, start=at, end=at + (lease.end - lease.start))):
                return False
        return True

    def _own_at(self, start: int | None) -> ladder.Own | None:
        """Return the lease that the request is for, once it has a start."""
        if self._own is None or start is None:
            return None
        counted, before = self._own
        return (lease_dates.starting_at(
            counted, instants.moment(start), self._asked.now)
            if self._asked.is_open else counted), before

    def _held(self, placed: Iterable[tuple[leases.Lease, datetime.datetime]],
              project_id: str | None) -> list[allowance.Held]:
        return [each for lease, at in placed if lease.project_id == project_id
                for each in allowance.held(
                    lease, at, at + (lease.end - lease.start))]


class _FlexibleLeases:
    """Leases whose dates are open, on one snapshot.

    :ivar snapshot: the snapshot.
    """

    def __init__(self, engine: Engine, snapshot: snapshots.Snapshot,
                 asked: Mapping[str, requirements.Requirement]) -> None:
        self._engine = engine
        self.snapshot = snapshot
        self._asked = asked

    def is_near(self, lease: leases.Lease, free: timeline.Timeline,
                demands: _Demands) -> bool:
        """Return whether a lease could make room by other dates.

        A lease that is due to be fixed keeps its dates, and so does a lease on
        hosts that the request cannot use.
        """
        assert lease.between is not None and lease.between.fix_at is not None
        eligible = 0
        for demand in demands:
            eligible |= demand.eligible
        hosts = reach.hosts(free, eligible)
        return lease.between.fix_at > self.snapshot.now and any(
            hosts >> self._number(row) & 1 for row in lease.bookings)

    def may_slide(self, lease: leases.Lease) -> bool:
        """Return whether the timeline has exactly the bookings of a lease.

        If two bookings overlap, the timeline has the second only in part, and
        the former place of a booking may belong to the other. Such leases keep
        their dates until this has been resolved, and so do leases on hosts
        that no longer suit them, which they might have to leave otherwise.
        """
        between = lease.between
        assert between is not None
        first, last = self._range(lease)
        if (lease.degraded or first > last
                or not between.earliest <= lease.start
                or self._is_beyond_loans(lease)
                or lease.end > between.latest
                or any(row.begun for row in lease.bookings)
                or not all(self.snapshot.suits(
                    self._number(row), self._asked[each.id])
                    for each in lease.reservations for row in each.bookings)
                or any(row.place != place for each in lease.reservations
                       for place, row in enumerate(each.bookings))):
            return False
        return all(self._is_alone(row) for row in lease.bookings)

    def _is_beyond_loans(self, lease: leases.Lease) -> bool:
        """Return whether a lease has hosts that would not be lent to it now.

        Since the lease was planned, the host may have got an owner, or the
        operator may have set a shorter notice.
        """
        loans, margin = self.snapshot.loans, self.snapshot.margin
        lent = loans.to(lease.project_id)
        return (instants.instant(lease.end) + margin > loans.until
                and any(lent >> self._number(row) & 1
                        for row in lease.bookings))

    def _is_alone(self, row: leases.NodeBooking) -> bool:
        """Check that no other booking overlaps a booking on its host.

        :raises Conflict: the booking has been moved since it was read.
        """
        number, snapshot = self._number(row), self.snapshot
        name = host_states.name(row)
        drawn = host_states.parts(snapshot.timeline.rows, (number,), {name})
        start, end = (instants.instant(row.starts_at),
                      instants.instant(row.ends_at))
        here = snapshot.host_state(number)
        if not any(there == row for there, _ in here.promised):
            raise db_connection.Conflict('a lease has been moved meanwhile')
        return (bool(snapshot.usable >> number & 1)
                and [(each.start, each.end, each.movable)
                     for each in drawn] == [(start, end, True)]
                and (here.host.node.compute or not any(
                    begin < end and start < until for begin, until
                    in host_states.windows(here, snapshot.now, {name}))))

    def _number(self, row: leases.NodeBooking) -> int:
        """Return the number of the host of a booking.

        :raises Conflict: the host was removed, or the snapshot does not have
            it yet.
        """
        try:
            number = self.snapshot.host_set.number(row.node_uuid)
            self.snapshot.host_state(number)
        except KeyError as exc:
            raise db_connection.Conflict('a host has changed') from exc
        return number

    def _range(self, lease: leases.Lease) -> tuple[int, int]:
        """Return the earliest and the latest start of a lease."""
        between = lease.between
        assert between is not None
        soonest = self.snapshot.now + datetime.timedelta(
            seconds=between.fix_before)
        first = max(instants.instant(between.earliest),
                    (instants.instant(soonest) // ladder.GRAIN + 1)
                    * ladder.GRAIN)
        # The lease may keep its start.
        first = min(first, instants.instant(lease.start))
        until = request_checks.latest_end(_limits(self._engine, lease),
                                          self.snapshot.now)
        # The window of a lease may reach beyond the horizon.
        latest = between.latest if until is None else min(
            between.latest, max(until, lease.end))
        last = instants.instant(latest - (lease.end - lease.start))
        return first, last

    def sliding(self, lease: leases.Lease) -> slides.Sliding:
        """Return a lease in the form of the planner."""
        start, end = (instants.instant(lease.start),
                      instants.instant(lease.end))
        demands = tuple(
            self.snapshot.limited(
                lease_demands.of(
                    each.id, start, end, len(each.bookings), len(
                        each.bookings),
                    self.snapshot.eligible(self._asked[
                        each.id]), self.snapshot.margin,
                    self.snapshot.host_set.mask(row.node_uuid
                                                for row in each.bookings),
                    each.instances), lease.project_id)
            for each in lease.reservations)
        return slides.Sliding(demands, *self._range(lease), start)

    def single(self, lease: leases.Lease) -> slides.Sliding | None:
        """Return a lease of one node in the form of the planner.

        :returns: ``None`` if it has several nodes, or its node could be on
            loan.
        """
        if len(lease.bookings) != 1 or lease.reservations[0].instances:
            return None
        found = self.sliding(lease)
        return None if any(each.lent for each in found.demands) else found

    def without(self, others: Sequence[leases.Lease],
                free: timeline.Timeline) -> timeline.Timeline:
        """Return a timeline without some leases."""
        names = {host_states.name(row) for lease in others
                 for row in lease.bookings}
        return free.without(host_states.parts(free.rows, {
            self._number(row) for lease in others for row in lease.bookings},
            names))

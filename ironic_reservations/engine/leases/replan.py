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

"""Planning the nodes of a lease anew for what it is to become."""

from __future__ import annotations

import bisect
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import difference as difference_module
from ironic_reservations.engine import Engine
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import demands as lease_demands
from ironic_reservations.engine.leases import granted as lease_granted
from ironic_reservations.engine.leases import refused as lease_refused
from ironic_reservations.engine.leases import terms as lease_terms
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.model import node_condition
from ironic_reservations.model import requirements
from ironic_reservations.planner import bookings
from ironic_reservations.planner import instance_standing
from ironic_reservations.planner import offers
from ironic_reservations.planner import planning
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


def started(lease: leases.Lease, now: datetime.datetime) -> bool:
    """Return whether the nodes of a lease are bound."""
    return lease.start <= now or any(booking.begun
                                     for booking in lease.bookings)


def replan(engine: Engine, before: leases.Lease, after: leases.Lease,
           changes: leases.LeaseChange, now: datetime.datetime,
           until: datetime.datetime, compared: bool = True) -> Replanned:
    """Plan a lease with new terms, together with all the others.

    :param after: with the new terms, and the bookings as they were.
    :param until: the latest end that may be offered.
    :param compared: whether all others have to be known for sure.
    :raises LeaseRefused: it cannot be served.
    :raises LeaseFrozen: nodes cannot be taken from it any more.
    :raises Conflict: it has been moved since it was read.
    """
    wanted = {each.id: lease_terms.requirement(each.hypervisor_properties,
                                               each.resource_properties,
                                               each.instances)
              for each in after.reservations}
    snapshot = engine.snapshots.snapshot(engine.database, now,
                                         wanted.values(), compared)
    try:
        task = _Task(engine, snapshot, before, after, changes, wanted, until)
        return task.started() if started(before, now) else task.pending()
    except errors.ReservationError:
        engine.snapshots.confirm(engine.database, snapshot)
        raise


def earliest(engine: Engine, before: leases.Lease, first: datetime.datetime,
             now: datetime.datetime,
             permits: Callable[[datetime.datetime], bool]
             ) -> datetime.datetime | None:
    """Return the earliest start before its own that a lease could have.

    It keeps as many nodes as it has, and all others keep their times.

    :param first: it does not start before.
    :param permits: returns whether it may start at an instant.
    :raises Conflict: it has been moved since it was read.
    """
    wanted = {each.id: lease_terms.requirement(each.hypervisor_properties,
                                               each.resource_properties,
                                               each.instances)
              for each in before.reservations}
    snapshot = engine.snapshots.snapshot(engine.database, now,
                                         wanted.values())
    task = _Task(engine, snapshot, before, before, leases.LeaseChange(),
                 wanted, before.end)
    return task.earliest(max(first, now), permits)


def _check_unmoved(snapshot: snapshots.Snapshot, lease: leases.Lease) -> None:
    """Check that a lease is where it was when it was read.

    :raises Conflict: it is not.
    """
    try:
        there = {booking for each in lease.bookings
                 for booking, _ in snapshot.standing(
                     snapshot.fleet.number(each.node_uuid)).promised}
    except KeyError:
        there = set()
    if not there.issuperset(lease.bookings):
        raise db_connection.Conflict('the lease has been moved meanwhile')


class _Task:
    """One lease that is planned anew on one snapshot."""

    def __init__(self, engine: Engine, snapshot: snapshots.Snapshot,
                 before: leases.Lease, after: leases.Lease,
                 changes: leases.LeaseChange,
                 wanted: dict[str, requirements.Requirement],
                 until: datetime.datetime) -> None:
        self._engine = engine
        self._snapshot = snapshot
        self._until = until
        self._before = before
        self._after = after
        self._changes = changes
        self._wanted = wanted
        self._margin = engine.conf.leases.cleaning_time * instants.SECOND
        _check_unmoved(snapshot, before)
        # NOTE: what is being taken back is still in the way of all others.
        staying = [booking for booking in before.bookings
                   if booking.state is not leases.BookingState.ENDING]
        self._own = frozenset(standing.name(booking) for booking in staying)
        numbers = {snapshot.fleet.number(booking.node_uuid)
                   for booking in staying}
        self._free = snapshot.timeline.without(
            [each for number in numbers
             for each in snapshot.timeline.rows[number]
             if standing.whole(each.id) in self._own])

    def pending(self) -> Replanned:
        """Plan all nodes of a lease that has not started."""
        after, snapshot = self._after, self._snapshot
        guards = self._guards(self._free, self._before.bookings)
        self._free = self._free.adding(guards)
        held = [len(each.bookings) for each in after.reservations]
        # NOTE: a lease that has more than its least keeps as many, if that
        # can be; fewer are better than a refusal.
        outcome = self._plan_pending([
            max(each.least, min(count, each.most))
            for each, count in zip(after.reservations, held, strict=True)])
        if isinstance(outcome, plans.Refusal):
            outcome = self._plan_pending([each.least for each
                                          in after.reservations])
        if isinstance(outcome, plans.Refusal):
            raise self._refused(outcome, self._free, self._wishes(
                [each.least for each in self._after.reservations]))
        added = tuple(row for each, granted in zip(
            after.reservations, outcome.granted, strict=True)
            for row in lease_granted.rows(
                snapshot, each.id, granted, after.project_id))
        return self._replanned(outcome.timeline.without(guards),
                               dropped=self._before.bookings, added=added)

    def earliest(self, first: datetime.datetime,
                 permits: Callable[[datetime.datetime], bool]
                 ) -> datetime.datetime | None:
        """Return an earlier start that could be had, the first of them."""
        before = self._before
        length = before.end - before.start
        free = self._free.adding(self._guards(self._free, before.bookings))
        demands = [self._snapshot.loans.limit(dataclasses.replace(
            demand, start=instants.instant(first),
            end=instants.instant(first + length)), before.project_id)
            for demand in self._wishes(
                [len(each.bookings) for each in before.reservations])]
        # NOTE: what was asked for need not be a whole minute.
        if first > self._snapshot.now and permits(first) and isinstance(
                planning.plan(free, demands), plans.Plan):
            return first
        found = offers.starts(
            free, demands, instants.instant(before.end) - 1, 1,
            60 * instants.SECOND,
            lambda moved: permits(instants.moment(moved[0].start)))
        return instants.moment(found[0][0].start) if found else None

    def _plan_pending(self, least: Sequence[int]
                      ) -> plans.Plan | plans.Refusal:
        return planning.plan(self._free, self._wishes(least))

    def _wishes(self, least: Sequence[int]) -> list[bookings.Demand]:
        after, snapshot = self._after, self._snapshot
        begin = max(after.start, snapshot.now)
        return [self._limited(lease_demands.of(
            each.id, instants.instant(begin), instants.instant(after.end),
            count, each.most, snapshot.eligible(self._wanted[each.id])
            & ~snapshot.fleet.mask(self._returned(each)),
            self._margin, snapshot.fleet.mask(
                booking.node_uuid for booking in each.bookings),
            each.instances))
            for each, count in zip(after.reservations, least, strict=True)]

    def _limited(self, demand: bookings.Demand) -> bookings.Demand:
        """Return a demand of the lease that gets loans while they last.

        NOTE: in its window it keeps what it has, whoever owns that by now.
        """
        kept, before, after = 0, self._before, self._after
        if before.start <= after.start and after.end <= before.end:
            kept = self._snapshot.fleet.mask(
                row.node_uuid for row in before.bookings)
        return self._snapshot.loans.limit(demand, before.project_id, kept)

    def started(self) -> Replanned:
        """Plan a lease that has started: what it has, it keeps."""
        kept: list[leases.NodeBooking] = []
        ended: list[leases.NodeBooking] = []
        for each in self._after.reservations:
            stays, goes = self._parted(each)
            self._check_fits(each, stays)
            kept.extend(stays)
            ended.extend(goes)
        usable = [row for row in kept if self._on_timeline(row)]
        self._check_windows([row for row in kept if row not in usable])
        self._check_loans([row for row in kept if row not in usable])
        # NOTE: what asks for no more than it has is not refused it, whatever
        # has come to be wrong with the host.
        staying = [self._staying(row) for row in usable
                   if self._after.end > row.ends_at]
        overtaken = {other: row for row in kept
                     if not self._on_timeline(row)
                     for other in self._overtaken(row, kept)}
        units = self._units(overtaken)
        moving = [self._home(overtaken[unit[0]], unit) for unit in units]
        growing = [demand for each in self._after.reservations
                   if (demand := self._growing(each, kept, ended))
                   is not None]
        # NOTE: what is given back stays until its node is clean again.
        free = self._free.adding([*self._leaving(ended),
                                  *self._keeping(usable)])
        guards = self._guards(free, kept)
        free = free.adding(guards)
        demands = [*staying, *moving, *growing]
        outcome = planning.plan(free, demands)
        if isinstance(outcome, plans.Refusal):
            if outcome.demand.id in {demand.id for demand in moving}:
                # NOTE: what another lease is lent, and by whom, is nothing
                # that who asks for this one could do anything about.
                outcome = dataclasses.replace(
                    outcome, demand=dataclasses.replace(outcome.demand,
                                                        lent=0))
            # NOTE: which bookings of others have to move depends on the end;
            # so where some have to, no earlier end is known to be possible.
            raise self._refused(outcome, free, () if moving else demands)
        homes = {placed.id: row for unit, granted in zip(
            units, outcome.granted[len(staying):], strict=False)
            for row, placed in zip(unit, granted, strict=True)}
        added: list[leases.NodeBooking] = []
        for demand, granted in zip(
                growing, outcome.granted[len(staying) + len(moving):],
                strict=True):
            added.extend(lease_granted.rows(
                self._snapshot, demand.id.partition(':')[0], granted,
                self._before.project_id, self._next_place(demand.id)))
        return self._replanned(
            outcome.timeline.without(guards), kept=tuple(kept),
            # NOTE: of what has not begun there is nothing to take back.
            dropped=tuple(row for row in ended if not row.begun),
            ended=tuple(row for row in ended if row.begun),
            added=tuple(added), homes=homes)

    def _check_windows(self, rows: Sequence[leases.NodeBooking]) -> None:
        """Check that no host that cannot be used is kept into maintenance.

        NOTE: it does not stand on the timeline; its windows stand all the
        same.

        :raises LeaseRefused: one would be.
        """
        before, after = self._before.end, self._after.end
        until = instants.moment(instants.instant(after) + self._margin)
        found = [] if after <= before else [
            (window, row) for row in rows
            for window in self._snapshot.standing(self._number(row)).windows
            if window.stands(self._snapshot.now)
            and window.starts_at < until and window.ends_at > before]
        if not found:
            return
        window, row = min(found, key=lambda pair: pair[0].starts_at)
        place = [each.id for each in self._after.reservations].index(
            row.reservation_id)
        raise lease_refused.of_window(
            place, self._snapshot.standing(self._number(row)).host.id, window)

    def _check_loans(self, rows: Sequence[leases.NodeBooking]) -> None:
        """Check that no host that cannot be used is kept beyond its loan.

        NOTE: as it does not stand on the timeline, it is not planned.

        :raises LeaseRefused: one would be.
        """
        loans, after = self._snapshot.loans, self._after.end
        if after <= self._before.end or (
                instants.instant(after) + self._margin <= loans.until):
            return
        lent = loans.to(self._before.project_id)
        until = instants.moment(loans.until - self._margin)
        for row in rows:
            number = self._number(row)
            if lent >> number & 1:
                place = [each.id for each in self._after.reservations].index(
                    row.reservation_id)
                raise lease_refused.of_loan(
                    place, self._snapshot.standing(number).host.id, until,
                    self._before.end, self._if_had(min(self._until, until)))

    def _if_had(self, end: datetime.datetime) -> datetime.datetime | None:
        """Return an end if the lease could be extended until then."""
        if end <= self._before.end:
            return None
        shorter = _Task(
            self._engine, self._snapshot, self._before,
            dataclasses.replace(self._after, end=end), self._changes,
            self._wanted, self._until)
        try:
            shorter.started()
        except errors.ReservationError:
            return None
        return end

    def _units(self, rows: Iterable[leases.NodeBooking]
               ) -> list[list[leases.NodeBooking]]:
        """Put together what has to be on one host."""
        found: dict[str, list[leases.NodeBooking]] = {}
        for row in rows:
            here = self._snapshot.standing(self._number(row))
            found.setdefault(lease_demands.unit_of(here, row), []).append(row)
        return list(found.values())

    def _guards(self, free: timeline.Timeline,
                staying: Sequence[leases.NodeBooking]
                ) -> list[bookings.Booking]:
        """Return what others have of the lease's nodes beside what is drawn.

        NOTE: where two overlap, one is drawn as far as the other leaves it.
        What the lease lets go of is not free as far as another one has been
        promised it; nobody is moved there.

        :param free: without what the lease lets go of.
        :param staying: what keeps its place, for the time that is asked for.
        """
        snapshot = self._snapshot
        guards: list[bookings.Booking] = []
        end = instants.instant(self._after.end)
        for number in {self._number(row) for row in self._before.bookings
                       if self._on_timeline(row)}:
            here = snapshot.standing(number)
            if here.host.node.compute:
                continue
            taken = [(each.start, each.end + each.margin)
                     for each in free.rows[number]]
            taken.extend((instants.instant(row.starts_at), end)
                         for row in staying if self._number(row) == number)
            for window in standing.windows(here, snapshot.now, self._own):
                for part in standing.left_of(window, taken):
                    guards.append(bookings.Booking(
                        f'guard/{number}/{len(guards)}', *part, number,
                        1 << number, False))
                    taken.append(part)
        return guards

    def _parted(self, each: leases.LeaseReservation
                ) -> tuple[list[leases.NodeBooking],
                           list[leases.NodeBooking]]:
        """Return which nodes stay, and which are given back."""
        rows = [row for row in each.bookings
                if row.state is not leases.BookingState.ENDING]
        returned = self._returned(each)
        goes = [row for row in rows if row.node_uuid in returned
                or self._changes.heal and self._broken(row)]
        stays = [row for row in rows if row not in goes]
        surplus = len(stays) - each.most
        if surplus > 0:
            idle = [row for row in stays if self._idle(row)]
            if len(idle) < surplus:
                raise errors.LeaseFrozen(
                    f'The reservation {each.id} has {len(stays)} hosts, and '
                    f'only {len(idle)} of them are not deployed. Undeploy '
                    f'{surplus - len(idle)} more, or name the hosts to give '
                    'back in "give_back".')
            goes.extend(idle[-surplus:])
            stays = [row for row in stays if row not in goes]
        return stays, goes

    def _returned(self, each: leases.LeaseReservation) -> set[str]:
        """Return which nodes its owner can do without."""
        return {uuid for wish in self._changes.wishes if wish.id == each.id
                for uuid in wish.give_back}

    def _check_fits(self, each: leases.LeaseReservation,
                    rows: Sequence[leases.NodeBooking]) -> None:
        old = next(other for other in self._before.reservations
                   if other.id == each.id)
        if (old.hypervisor_properties, old.resource_properties) == (
                each.hypervisor_properties, each.resource_properties):
            return
        eligible = self._snapshot.eligible(self._wanted[each.id])
        if any(not eligible >> self._number(row) & 1 for row in rows):
            raise errors.LeaseFrozen(
                f'The reservation {each.id} has started, and some of its '
                'hosts do not match the new properties. Ask for properties '
                'that its hosts have, or give those hosts back first.')

    def _number(self, row: leases.NodeBooking) -> int:
        return self._snapshot.fleet.number(row.node_uuid)

    def _broken(self, row: leases.NodeBooking) -> bool:
        """Return whether a node is not what was promised, or of no use."""
        number = self._number(row)
        return (self._snapshot.standing(number).broken() is not None
                or not self._snapshot.suits(
                    number, self._wanted[row.reservation_id]))

    def _idle(self, row: leases.NodeBooking) -> bool:
        node = self._snapshot.standing(self._number(row)).host.node
        if node.compute:
            # NOTE: which server came by which booking nobody can tell.
            return True
        return (node.provision_state == node_condition.AVAILABLE
                and node.instance_uuid is None)

    def _on_timeline(self, row: leases.NodeBooking) -> bool:
        """Return whether a node can serve anything new, and so has a plan."""
        return bool(self._snapshot.usable >> self._number(row) & 1)

    def _keeping(self, rows: Sequence[leases.NodeBooking]
                 ) -> list[bookings.Booking]:
        """Return what rows go on having, as it is drawn now.

        NOTE: of a node that is to be had for longer, all is planned anew.
        """
        names = {standing.name(row) for row in rows
                 if self._after.end <= row.ends_at
                 or self._is_compute(row)}
        end = instants.instant(self._after.end)
        found: list[bookings.Booking] = []
        for number in {self._number(row) for row in rows}:
            for each in self._snapshot.timeline.rows[number]:
                if standing.whole(each.id) not in names or each.start >= end:
                    continue
                until = min(each.end, end)
                found.append(dataclasses.replace(
                    each, end=until, movable=False, margin=min(
                        self._margin, each.end + each.margin - until)))
        return found

    def _is_compute(self, row: leases.NodeBooking) -> bool:
        return self._snapshot.standing(self._number(row)).host.node.compute

    def _staying(self, row: leases.NodeBooking) -> bookings.Demand:
        here = self._snapshot.standing(self._number(row))
        start = instants.instant(row.ends_at if here.host.node.compute
                                 else row.starts_at)
        return self._limited(lease_demands.of_rows(
            f'{row.reservation_id}:{row.place}', [row], start,
            max(instants.instant(self._after.end), start + 1),
            1 << self._number(row), self._margin, here))

    def _leaving(self, rows: Sequence[leases.NodeBooking]
                 ) -> list[bookings.Booking]:
        leaving: list[bookings.Booking] = []
        for row in rows:
            if not row.begun or not self._on_timeline(row):
                continue
            number = self._number(row)
            here = self._snapshot.standing(number)
            end = instants.instant(self._snapshot.now)
            until = standing.late(self._snapshot.now)
            booked = bookings.Booking(
                standing.name(row),
                min(instants.instant(row.starts_at), end - 1), end, number,
                1 << number, False)
            if here.host.node.compute:
                # NOTE: what comes after it was planned beside all that was
                # there until its end, and not beside what is late.
                leaving.append(dataclasses.replace(
                    instance_standing.seated(
                        booked, here.instances[row.reservation_id]),
                    end=min(until, instants.instant(row.ends_at))))
                continue
            until = max(end + self._margin, until)
            starts = self._free.starts[number]
            later = bisect.bisect_left(starts, end)
            for start in starts[later:later + 1]:
                until = min(until, start)
            leaving.append(dataclasses.replace(booked, margin=until - end))
        return leaving

    def _overtaken(self, row: leases.NodeBooking,
                   kept: Sequence[leases.NodeBooking]
                   ) -> list[leases.NodeBooking]:
        """Return what is planned where a host that cannot be used stays.

        NOTE: it does not stand on the timeline, since it is to be planned
        anew; but nobody may have its place before that.
        """
        before, after = self._before.end, self._after.end
        here = self._snapshot.standing(self._number(row))
        if after <= before:
            return []
        if here.host.node.compute:
            return self._crowded_out(here, kept)
        until = instants.instant(after) + self._margin
        return [other for other, _ in here.promised
                if not other.begun and other.starts_at >= before
            and instants.instant(other.starts_at) < until]

    def _crowded_out(self, here: standing.Standing,
                     kept: Sequence[leases.NodeBooking]
                     ) -> list[leases.NodeBooking]:
        """Return what a compute host has no room for beside what stays."""
        staying = {row.uuid for row in kept}
        end = instants.instant(self._after.end)
        there = [instance_standing.seated(
            standing.of_row(row, 0, self._snapshot.now, 0, 1),
            here.instances[row.reservation_id]) for row, _ in here.promised]
        known = {row.uuid for row, _ in instance_standing.excess(here, there)}
        longer = [dataclasses.replace(each, end=end, movable=False)
                  if row.uuid in staying else each
                  for each, (row, _) in zip(there, here.promised,
                                            strict=True)]
        return [row for row, _ in instance_standing.excess(here, longer)
                if row.uuid not in known and row.uuid not in staying]

    def _home(self, staying: leases.NodeBooking,
              unit: list[leases.NodeBooking]) -> bookings.Demand:
        """Return a demand for another host for what a row leaves no room."""
        row = unit[0]
        here = self._snapshot.standing(self._number(row))
        return self._snapshot.loans.limit(lease_demands.of_rows(
            f'{staying.reservation_id}:{staying.place}:{standing.name(row)}',
            unit, instants.instant(row.starts_at),
            instants.instant(row.ends_at),
            self._snapshot.eligible(lease_demands.wanted_of(here, row)),
            self._margin, here), row.project_id)

    def _growing(self, each: leases.LeaseReservation,
                 kept: Sequence[leases.NodeBooking],
                 ended: Sequence[leases.NodeBooking]
                 ) -> bookings.Demand | None:
        have = sum(row.reservation_id == each.id for row in kept)
        least = max(0, each.least - have)
        old = next(other for other in self._before.reservations
                   if other.id == each.id)
        most = least
        if (each.least, each.most) != (old.least, old.most):
            most = max(least, each.most - have)
        elif self._changes.heal:
            # NOTE: more than the least are replaced where that can be.
            lost = sum(row.reservation_id == each.id
                       and self._broken(row) for row in ended)
            most = max(least, min(lost, each.most - have))
        if not most:
            return None
        snapshot = self._snapshot
        eligible = snapshot.eligible(self._wanted[each.id])
        if have and each.instances is not None and each.instances.affinity:
            eligible &= snapshot.fleet.mask(
                row.node_uuid for row in kept
                if row.reservation_id == each.id)
        return self._limited(lease_demands.of(
            f'{each.id}:more', instants.instant(snapshot.now),
            instants.instant(self._after.end), least, most, eligible,
            self._margin, snapshot.ready, each.instances, each.id))

    def _next_place(self, demand_id: str) -> int:
        key = demand_id.partition(':')[0]
        return 1 + max((row.place for row in self._before.bookings
                        if row.reservation_id == key), default=-1)

    def _refused(self, refused: plans.Refusal, free: timeline.Timeline,
                 demands: Sequence[bookings.Demand]) -> errors.LeaseRefused:
        if refused.cause.proved and self._others_are_loose(refused.demand):
            # NOTE: nobody slides for a change, so that is no proof.
            refused = dataclasses.replace(refused,
                                          cause=plans.Cause.SEARCH_LIMIT)
        key = refused.demand.id.partition(':')[0]
        place = [each.id for each in self._after.reservations].index(key)
        return lease_refused.of_change(
            self._snapshot, self._before.project_id, place,
            self._after.reservations[place], refused,
            self._latest_end(free, demands))

    def _others_are_loose(self, demand: bookings.Demand) -> bool:
        """Return whether leases are near whose dates are open."""
        snapshot = self._snapshot
        with self._engine.database.read() as connection:
            nodes = db_leases.read_loose_nodes(connection, snapshot.now,
                                               self._before.id)
        return bool(reach.hosts(self._free, demand.eligible)
                    & snapshot.fleet.mask(nodes))

    def _latest_end(self, free: timeline.Timeline,
                    demands: Sequence[bookings.Demand]
                    ) -> datetime.datetime | None:
        """Return until when the lease could be extended, if that is known.

        :param demands: all that has to be served, or nothing where that
            depends on the end.
        """
        if self._after.end <= self._before.end or not demands:
            return None
        for offer in offers.offers(
                free, demands, instants.instant(self._snapshot.now),
                instants.instant(self._after.end), kinds=(
                    offers.Kind.SHORTER,)):
            end = min(self._until, instants.moment(max(
                demand.end for demand in offer.demands)))
            return end if end > self._before.end else None
        return None

    def _replanned(self, after: timeline.Timeline, *,
                   kept: tuple[leases.NodeBooking, ...] = (),
                   dropped: tuple[leases.NodeBooking, ...] = (),
                   ended: tuple[leases.NodeBooking, ...] = (),
                   added: tuple[leases.NodeBooking, ...] = (),
                   homes: Mapping[str, leases.NodeBooking] | None = None
                   ) -> Replanned:
        snapshot = self._snapshot
        difference = difference_module.compare(snapshot, after, self._own,
                                               homes)
        own = difference_module.seen_of(
            snapshot, map(self._number, self._before.bookings))
        end = self._after.end
        rows = [*(dataclasses.replace(row, ends_at=end) for row in kept),
                *(dataclasses.replace(row, ends_at=snapshot.now,
                                      state=leases.BookingState.ENDING)
                  for row in ended), *added,
                *(row for row in self._before.bookings
                  if row.state is leases.BookingState.ENDING)]
        healed = self._changes.heal
        reservations = tuple(dataclasses.replace(
            each, bookings=tuple(row for row in rows
                                 if row.reservation_id == each.id),
            missing_resources=each.missing_resources and not healed,
            resources_changed=each.resources_changed or (
                healed and any(row.reservation_id == each.id
                               for row in added)))
            for each in self._after.reservations)
        return Replanned(
            snapshot, dataclasses.replace(
                difference, seen=difference.seen.also(own)),
            dataclasses.replace(self._after, reservations=reservations,
                                degraded=(self._after.degraded
                                          and not healed)),
            kept, dropped, ended, added)

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

"""Admission in the pool: fit, repair, search, or refuse.

Demands for whole hosts alone, and for instances on nodes of Ironic, are
planned as they are without a pool.  Only where instances on compute hosts
come into it, whole hosts and shares are planned together.

The order in which hosts are numbered decides which are taken, never
whether: what is refused as proved is refused in every order.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import fit
from ironic_reservations.planner import fleet
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import search
from ironic_reservations.planner.pool import instances
from ironic_reservations.planner.pool import plans as pool_plans
from ironic_reservations.planner.pool import pool
from ironic_reservations.planner.pool import repair as pool_repair
from ironic_reservations.planner.pool import search as pool_search
from ironic_reservations.planner.pool import shared
from ironic_reservations.planner.pool import shares
from ironic_reservations.planner.pool import shortage as pool_shortage
from ironic_reservations.planner.pool import units


def plan(now: pool.Pool, demands: Sequence[instances.Wish],
         limits: budget.Limits = planning.LIMITS
         ) -> pool_plans.PoolPlan | pool_plans.PoolRefusal:
    """Plan demands together: all of them are served, or none is.

    Each gets its least, or all of its instances; then the first for whole
    hosts gets as many more as there is room for, up to its most; then the
    second.  What is not movable stays where it is, and so does a group with
    affinity that grows, or has started in part.

    :param now: the plan that holds, without what the demands stand for.
    :raises ValueError: where two demands share an id.
    """
    if len({demand.id for demand in demands}) < len(demands):
        raise ValueError('Two of the demands share an id. Give each its own, '
                         'since what serves them is called by it.')
    whole = [_as_whole(now, demand) for demand in demands]
    if None not in whole:
        outcome = planning.plan(
            now.timeline, [each for each in whole if each is not None],
            limits)
        # NOTE: for what more could be had, instances might move.
        done = isinstance(outcome, plans.Plan) and all(
            each is not None and len(row) == each.most
            for each, row in zip(whole, outcome.granted, strict=True))
        if done or not _coupled(now, demands):
            if isinstance(outcome, plans.Plan):
                return _adopted(now, demands, outcome)
            return _of_whole(now, demands, outcome)
    return _Planner(now, demands, limits).plan()


def as_whole(now: pool.Pool, demands: Sequence[instances.Wish]
             ) -> list[bookings.Demand] | None:
    """Give demands as ones for whole hosts, where they are as good as that.

    :returns: ``None`` where instances on compute hosts come into it.
    """
    whole = [each for demand in demands
             if (each := _as_whole(now, demand)) is not None]
    if len(whole) < len(demands) or _coupled(now, demands):
        return None
    return whole


def _as_whole(now: pool.Pool,
              demand: instances.Wish) -> bookings.Demand | None:
    """Give a demand as one for whole hosts, where it is as good as one."""
    if isinstance(demand, bookings.Demand):
        return demand
    if demand.eligible & now.compute or demand.affinity is True and (
            demand.amount > 1 or _groups(now).get(demand.family)):
        return None
    return bookings.Demand(
        demand.id, demand.start, demand.end, demand.amount, demand.amount,
        demand.eligible, demand.margin, demand.preferred)


def _adopted(now: pool.Pool, demands: Sequence[instances.Wish],
             plan: plans.Plan) -> pool_plans.PoolPlan:
    granted: list[tuple[instances.Promise, ...]] = []
    names: dict[str, instances.Instance] = {}
    for demand, row in zip(demands, plan.granted, strict=True):
        if isinstance(demand, bookings.Demand):
            granted.append(row)
            continue
        made = [demand.instance(count, booking.node)
                for count, booking in enumerate(row)]
        names.update((booking.id, each)
                     for booking, each in zip(row, made, strict=True))
        granted.append(tuple(made))
    draft = pool.Draft.of(now)
    draft.adopt(plan, names)
    moves = []
    for move in plan.moves:
        promise: instances.Promise = move.booking
        if isinstance(move.booking, pool.Seat):
            assert move.booking.instance is not None
            promise = dataclasses.replace(move.booking.instance,
                                          node=move.node)
        moves.append(pool_plans.PoolMove(promise, move.node))
    return pool_plans.PoolPlan(draft.pool(), tuple(granted), tuple(moves),
                               plan.most)


def _coupled(now: pool.Pool, demands: Sequence[instances.Wish]) -> bool:
    """Tell whether instances that may move could make room for whole hosts.
    """
    if not now.compute:
        return False
    eligible = 0
    for demand in demands:
        eligible |= demand.eligible
    walk = fleet.Walk(eligible)
    for node in walk:
        for each in now.rows[node]:
            if each.movable and (now.compute >> node & 1
                                 or each.eligible & now.compute):
                return True
        for booking in now.timeline.rows[node]:
            if booking.movable:
                walk.leads_to(booking.eligible)
    return False


def _of_whole(now: pool.Pool, demands: Sequence[instances.Wish],
              refused: plans.Refusal) -> pool_plans.PoolRefusal:
    demand = next(each for each in demands
                  if each.id == refused.demand.id)
    draft = pool.Draft.of(now)
    blockers: dict[str, instances.Promise] = {}
    for booking in refused.blockers:
        there: Sequence[instances.Promise] = (booking,)
        if isinstance(booking, pool.Shared):
            there = shares.between(now.rows[booking.node], demand.start,
                                   demand.until)
        elif isinstance(booking, pool.Seat):
            assert booking.instance is not None
            there = (booking.instance,)
        blockers.update((each.id, each) for each in there)
    return pool_plans.PoolRefusal(
        refused.cause, demand, refused.short, refused.at,
        pool_shortage.explain(draft, _kind(draft, demand))[0],
        tuple(blockers.values()))


def _kind(draft: pool.Draft, demand: instances.Wish) -> units.Unit:
    """Give one unit of a demand, on no host yet."""
    if isinstance(demand, bookings.Demand):
        return units.unit((demand.booking(0, -1),), draft)
    count = 1
    if demand.affinity is True:
        # NOTE: one more than any host has room for is as impossible as any
        # number that somebody may send.
        count = min(demand.amount, 1 + max(1, _most_together(draft, demand)))
    return units.unit([demand.instance(number, -1)
                       for number in range(count)], draft)


def _most_together(draft: pool.Draft,
                   demand: instances.InstanceDemand) -> int:
    """Give how many of the instances the largest host can have at most."""
    return max((min((draft.capacities[node] or {}).get(name, 0) // amount
                    for name, amount in demand.amounts)
                for node in fleet.members(demand.eligible & draft.compute)),
               default=0)


class _Planner:
    """Demands that are planned together on the whole pool."""

    def __init__(self, now: pool.Pool, demands: Sequence[instances.Wish],
                 limits: budget.Limits) -> None:
        self._now = now
        self._draft = pool.Draft.of(now)
        self._limits = limits
        self._ejections = budget.Budget(limits.eject)
        groups = _groups(now)
        self._pinned = frozenset(
            group for group, there in groups.items()
            if not all(each.movable for each in there)
            or any(_family(demand) == group for demand in demands))
        self._served = [_Served(demand, _kind(self._draft, demand),
                                groups.get(_family(demand) or '', ()))
                        for demand in demands]

    def plan(self) -> pool_plans.PoolPlan | pool_plans.PoolRefusal:
        """Serve all demands, or say which cannot be."""
        for each in sorted(self._served, key=_hardest):
            cause = self._serve(each, each.least)
            if cause is not None:
                return self._refusal(each, cause)
        most = True
        for each in self._served:
            cause = self._serve(each, each.most)
            if cause is not None and not cause[0].proved:
                most = False
        return self._compare(most)

    def _serve(self, served: _Served, wanted: int
               ) -> tuple[plans.Cause, int | None] | None:
        """Find places until there are ``wanted``, or no more."""
        draft, limits = self._draft, self._limits
        if served.count < wanted:
            served.take(draft, _fit(draft, served, wanted - served.count))
        if served.count >= wanted:
            return None
        steps = budget.Budget(limits.swap // _STEPS_IN_ONE)
        alone = isinstance(served.demand, bookings.Demand)
        repair = True
        while served.count < wanted:
            if alone and self._exchange(served):
                continue
            alone = False
            # NOTE: of what is wanted besides, one more is better than none.
            lacking = self._shortage(served, max(
                served.least, served.count + served.each))
            if lacking is not None:
                return plans.Cause.SHORTAGE, lacking
            unit = served.unit()
            # NOTE: where there is no way for one, there hardly is for the
            # next of the same kind; what is proved does not depend on it.
            repair = repair and pool_repair.make_room(
                draft, unit, self._pinned, steps)
            if not repair:
                match pool_search.find(draft, unit, self._pinned,
                                       budget.Budget(limits.search)):
                    case search.Outcome.NONE:
                        return plans.Cause.NO_ASSIGNMENT, None
                    case search.Outcome.UNKNOWN if not shared.eject(
                            draft, unit, self._pinned, self._ejections):
                        return plans.Cause.SEARCH_LIMIT, None
            served.count += served.each
        return None

    def _exchange(self, served: _Served) -> bool:
        """Make room for a whole host by moving whole hosts alone."""
        demand = served.demand
        assert isinstance(demand, bookings.Demand)
        outcome = planning.plan(
            self._draft.nodes.timeline(),
            [dataclasses.replace(demand, id=_TEMPORARY, least=1, most=1)],
            dataclasses.replace(self._limits, eject=0))
        if isinstance(outcome, plans.Refusal):
            return False
        attempt = self._draft.copy()
        attempt.adopt(outcome, {})
        placed = outcome.granted[0][0]
        attempt.put([demand.booking(served.count, placed.node)], [placed])
        self._draft.become(attempt)
        served.count += 1
        return True

    def _shortage(self, served: _Served, wanted: int) -> int | None:
        """Give an instant of a shortage that is proved."""
        kind, each = served.kind, served.each
        if pool_shortage.stuck(self._draft, pool_shortage.Wanted(
                kind, wanted // each), self._pinned):
            hosts, _ = pool_shortage.explain(self._without(served), kind)
            return min((host.spells[0].start for host in hosts),
                       default=kind.start)
        return pool_shortage.overfull(self._draft, pool_shortage.Wanted(
            kind, (wanted - served.count) // each))

    def _without(self, served: _Served) -> pool.Draft:
        rest = self._draft.copy()
        own = served.ids()
        rest.put((), [each for node in fleet.members(served.kind.eligible)
                      for each in rest.there(node) if each.id in own])
        return rest

    def _refusal(self, served: _Served,
                 cause: tuple[plans.Cause, int | None]
                 ) -> pool_plans.PoolRefusal:
        hosts, blockers = pool_shortage.explain(self._without(served),
                                                served.kind)
        short = served.least - served.count
        if served.each > 1:
            short -= max((host.room for host in hosts), default=0)
        return pool_plans.PoolRefusal(cause[0], served.demand, short,
                                      cause[1], hosts, blockers)

    def _compare(self, most: bool) -> pool_plans.PoolPlan:
        now, draft = self._now, self._draft
        wanted = {name: number for number, served in enumerate(self._served)
                  for name in served.ids()}
        granted: list[list[instances.Promise]] = [[] for _ in self._served]
        moves = []
        for node, row in enumerate(draft.nodes.rows):
            if row is now.timeline.rows[node] and (
                    draft.rows[node] is now.rows[node]):
                continue
            before = {booking.id for booking in now.timeline.rows[node]}
            before.update(each.id for each in now.rows[node])
            for each in draft.there(node):
                if each.id in wanted:
                    granted[wanted[each.id]].append(each)
                elif each.id not in before:
                    moves.append(pool_plans.PoolMove(each, node))
        return pool_plans.PoolPlan(
            draft.pool(), tuple(tuple(row) for row in granted), tuple(moves),
            most)


#: What is looked at for room in a share takes longer than what is for a swap.
_STEPS_IN_ONE = 8
#: What the planner calls a booking that it has to rename.
_TEMPORARY = 'pool planning'


class _Served:
    """A demand, and how many of its hosts or instances it has so far."""

    def __init__(self, demand: instances.Wish, kind: units.Unit,
                 siblings: Sequence[instances.Instance]) -> None:
        self.demand = demand
        self.count = 0
        if isinstance(demand, bookings.Demand):
            self.least, self.most = demand.least, demand.most
        else:
            self.least = self.most = demand.amount
            if demand.affinity is True and siblings:
                kind = dataclasses.replace(kind, eligible=kind.eligible & (
                    fleet.mask({each.node for each in siblings})))
        self.kind = kind
        #: How many a unit counts for.
        self.each = len(kind.parts)

    def ids(self) -> frozenset[str]:
        """Give what serves the demand so far, by its ids."""
        if isinstance(self.demand, bookings.Demand):
            return frozenset(f'{self.demand.id}/{count}'
                             for count in range(self.count))
        first = self.demand.first
        return frozenset(f'{self.demand.id}/{count}' for count in range(
            first, first + self.count))

    def unit(self) -> units.Unit:
        """Give the next unit, on no host yet."""
        if self.each > 1:
            return self.kind
        return dataclasses.replace(self.kind, parts=(self._part(
            self.count, -1),))

    def take(self, draft: pool.Draft,
             places: Sequence[tuple[int, int]]) -> None:
        """Place units: pairs of a host and how many of them it gets."""
        made = []
        for node, count in places:
            for _ in range(count * self.each):
                made.append(self._part(self.count, node))
                self.count += 1
        draft.put(made)

    def _part(self, count: int, node: int) -> instances.Promise:
        if isinstance(self.demand, bookings.Demand):
            return self.demand.booking(count, node)
        return self.demand.instance(count, node)


def _hardest(served: _Served) -> tuple[int, int]:
    """Order demands: those that leave the least choice come first."""
    if isinstance(served.demand, bookings.Demand):
        return 0, 0
    if served.demand.affinity is True:
        return 1, -served.demand.amount
    return (2 if served.demand.affinity is False else 3), 0


def _family(demand: instances.Wish) -> str | None:
    """Give the group of what serves a demand, if it is of instances."""
    if isinstance(demand, bookings.Demand):
        return None
    return demand.family


def _groups(now: pool.Pool) -> Mapping[str, Sequence[instances.Instance]]:
    """Give the groups that are on one host each."""
    found: dict[str, list[instances.Instance]] = {}
    for row in now.rows:
        for each in row:
            if each.affinity is True:
                found.setdefault(each.group, []).append(each)
    return found


def _fit(draft: pool.Draft, served: _Served,
         wanted: int) -> list[tuple[int, int]]:
    """Find places for up to ``wanted``, where nobody has to move.

    For what needs a share, compute hosts come before nodes of Ironic; those
    that are preferred first, then those that are shared already, so that
    whole ones are left for what needs them; then the fullest.
    """
    kind, demand = served.kind, served.demand
    left = wanted // served.each
    places: list[tuple[int, int]] = []
    if kind.amounts is not None:
        found = []
        for node in fleet.members(kind.eligible & draft.compute):
            room = units.room(draft, node, kind.amounts, kind.start,
                              kind.end, kind.apart)
            if room:
                found.append((not demand.preferred >> node & 1,
                              not draft.rows[node], room, node))
        for _, _, room, node in sorted(found):
            taken = min(room, left)
            if not taken:
                break
            places.append((node, taken))
            left -= taken
    nodes = (kind.eligible if kind.amounts is None
             else kind.eligible & ~draft.compute)
    if left and nodes:
        places.extend((node, 1) for node in fit.fit(
            draft.nodes, bookings.Demand(
                demand.id, demand.start, demand.end, 1, left, nodes,
                demand.margin, demand.preferred), left))
    return places

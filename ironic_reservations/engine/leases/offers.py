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

"""What would be accepted in place of a lease that is refused."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import datetime
import json
from typing import Any

from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import limits
from ironic_reservations.engine.leases import terms as lease_terms
from ironic_reservations.lifecycle.placement import node_flavors
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.model import requirements
from ironic_reservations.planner import bookings
from ironic_reservations.planner import fleet
from ironic_reservations.planner.pool import instances
from ironic_reservations.planner.pool import offers as pool_offers
from ironic_reservations.planner.pool import planning as pool_planning
from ironic_reservations.planner.pool import plans as pool_plans
from ironic_reservations.planner.pool import shares

#: How far ahead a later start is looked for, where there is no limit.
_AHEAD = datetime.timedelta(days=366)
#: How many later windows are looked at that a project may not have.
_WINDOWS = 10


def make(horizon: snapshots.Snapshot, ask: leases.LeaseAsk,
         demands: Sequence[instances.Wish],
         latest: datetime.datetime | None,
         project: limits.Project) -> list[dict[str, Any]]:
    """Make what would be accepted as it is, the best first.

    :param latest: when a lease has to end, where the operator says so.
    :param project: what more it may have: at another time that may be less.
    """
    until = latest or (max(ask.end, horizon.now) + _AHEAD)
    windows = [
        (offer.kind.value, _permitted(horizon, ask, demands, offer, until,
                                      project))
        for offer in pool_offers.offers(
            horizon.pool, demands, instants.instant(horizon.now),
            instants.instant(until))]
    return [
        *_apart(horizon, ask, demands),
        *(_told(kind, horizon, offered) for kind, offered in windows
          if offered is not None),
        *_other_class(horizon, ask, demands)]


def _permitted(horizon: snapshots.Snapshot, ask: leases.LeaseAsk,
               demands: Sequence[instances.Wish],
               offer: pool_offers.PoolOffer, until: datetime.datetime,
               project: limits.Project) -> leases.LeaseAsk | None:
    """Return what is offered, or a later window that the project may have.

    :returns: ``None``: none was found.
    """
    found: pool_offers.PoolOffer | None = offer
    for _ in range(_WINDOWS):
        if found is None:
            return None
        offered = _changed(ask, demands, found.demands)
        if project.permits(offered):
            return offered
        start = (project.next_start(offered)
                 if offer.kind is pool_offers.Kind.LATER else None)
        if start is None:
            return None
        shift = instants.instant(start) - found.demands[0].start
        moved = tuple(dataclasses.replace(
            demand, start=demand.start + shift, end=demand.end + shift)
            for demand in found.demands)
        if moved[0].end > instants.instant(until):
            return None
        found = pool_offers.soonest(horizon.pool, moved,
                                    instants.instant(until))
    return None


def nowhere_together(horizon: snapshots.Snapshot, demand: instances.Wish,
                     count: int) -> bool:
    """Tell whether so many instances are to be together that never can be."""
    if (isinstance(demand, bookings.Demand) or demand.affinity is not True
            or count == 1):
        return False
    return not any(
        all(amount <= (horizon.pool.capacities[number] or {}).get(name, 0)
            for name, amount in shares.times(demand.amounts, count))
        for number in fleet.members(demand.eligible & horizon.pool.compute))


def _changed(ask: leases.LeaseAsk, asked: Sequence[instances.Wish],
             demands: Sequence[instances.Wish]) -> leases.LeaseAsk:
    start, end = demands[0].start, demands[0].end
    # NOTE: what starts now is to be had after the minute, too.
    at_once = ask.start is None and start == asked[0].start
    before = None
    if ask.before_end is not None:
        before = min(ask.before_end, instants.moment(end))
        if before < instants.moment(start):
            before = None
    return dataclasses.replace(
        ask, start=None if at_once else instants.moment(start),
        end=instants.moment(end), before_end=before,
        wishes=tuple(_resized(wish, demand) for wish, demand in zip(
            ask.wishes, demands, strict=True)))


def _resized(wish: leases.Wish, demand: instances.Wish) -> leases.Wish:
    if isinstance(demand, bookings.Demand):
        return dataclasses.replace(wish, least=demand.least, most=demand.most)
    return dataclasses.replace(wish, least=demand.amount, most=demand.amount)


def _other_class(horizon: snapshots.Snapshot, ask: leases.LeaseAsk,
                 demands: Sequence[instances.Wish]) -> list[dict[str, Any]]:
    """Offer hosts of another class, where the class is all that is asked."""
    if len(demands) != 1:
        return []
    wish, demand = ask.wishes[0], demands[0]
    asked = requirements.parse(wish.hypervisor_properties,
                               wish.resource_properties).names
    if not asked or asked - {'resource_class'}:
        return []
    needed = lease_terms.requirement('', '', wish.instances)
    by_class: dict[str, list[int]] = {}
    for number in fleet.members(horizon.usable & ~demand.eligible):
        host = horizon.standing(number).host
        name = host.node.resource_class
        if name is not None and needed.met_by(requirements.describe(host)):
            by_class.setdefault(name, []).append(number)
    for name, numbers in sorted(by_class.items(),
                                key=lambda item: -len(item[1])):
        other = dataclasses.replace(demand, eligible=fleet.mask(numbers))
        if isinstance(pool_planning.plan(horizon.pool, [other]),
                      pool_plans.PoolPlan):
            return [_told('other_class', horizon, dataclasses.replace(
                ask, wishes=(dataclasses.replace(
                    wish, hypervisor_properties='',
                    resource_properties=json.dumps(
                        ['==', '$resource_class', name])),)))]
    return []


def _apart(horizon: snapshots.Snapshot, ask: leases.LeaseAsk,
           demands: Sequence[instances.Wish]) -> list[dict[str, Any]]:
    """Offer any hosts to instances that asked for one together."""
    split: list[instances.Wish] = []
    wishes: list[leases.Wish] = []
    for wish, demand in zip(ask.wishes, demands, strict=True):
        if wish.instances is not None and nowhere_together(
                horizon, demand, wish.most):
            assert isinstance(demand, instances.InstanceDemand)
            demand = dataclasses.replace(demand, affinity=None)
            wish = dataclasses.replace(wish, instances=dataclasses.replace(
                wish.instances, affinity=None))
        split.append(demand)
        wishes.append(wish)
    if tuple(wishes) == ask.wishes or isinstance(pool_planning.plan(
            horizon.pool, split), pool_plans.PoolRefusal):
        return []
    return [_told('no_affinity', horizon, dataclasses.replace(
        ask, wishes=tuple(wishes)))]


def _told(kind: str, horizon: snapshots.Snapshot,
          ask: leases.LeaseAsk) -> dict[str, Any]:
    start = ask.start or horizon.now
    window = f'from {shown(start)} until {shown(ask.end)}'
    wanted = ' and '.join(
        f'{wish.least}' if wish.least == wish.most
        else f'{wish.least} to {wish.most}' for wish in ask.wishes)
    what = ('instances' if any(wish.instances for wish in ask.wishes)
            else 'hosts')
    detail = {
        'later': f'The nearest later window is {window}.',
        'earlier': f'The nearest earlier window is {window}.',
        'shorter': f'A shorter lease, {window}, would be accepted.',
        'no_affinity': 'Without "affinity", on any hosts, the instances would '
                       f'be accepted {window}.',
        'fewer': f'Fewer {what}, {wanted}, would be accepted {window}.',
        'other_class': 'Hosts of another resource class would be accepted: '
                       f'{ask.wishes[0].resource_properties}.'}[kind]
    return {'kind': kind, 'detail': detail, 'lease': body(ask)}


def within_limits(kind: str, now: datetime.datetime,
                  ask: leases.LeaseAsk) -> dict[str, Any]:
    """Return an offer of what the limits of a project leave.

    :param kind: whether it is shorter, or of fewer hosts.
    """
    window = f'from {shown(ask.start or now)} until {shown(ask.end)}'
    counts = ' and '.join(str(wish.least) for wish in ask.wishes)
    return {'kind': kind, 'lease': body(ask), 'detail': (
        f'Within the limits, {counts} would be accepted {window}.')}


def body(ask: leases.LeaseAsk) -> dict[str, Any]:
    """Give a request as it would be posted."""
    posted: dict[str, Any] = {
        'name': ask.name,
        'start_date': 'now' if ask.start is None else date(ask.start),
        'end_date': date(ask.end), 'events': [],
        'reservations': [_body(wish) for wish in ask.wishes]}
    if ask.before_end is not None:
        posted['before_end_date'] = date(ask.before_end)
    return posted


def _body(wish: leases.Wish) -> dict[str, Any]:
    posted: dict[str, Any] = {
        'resource_type': wish.resource_type,
        'resource_properties': wish.resource_properties}
    wanted = wish.instances
    if wanted is None:
        return {**posted, 'min': wish.least, 'max': wish.most,
                'hypervisor_properties': wish.hypervisor_properties,
                'before_end': wish.before_end}
    posted.update(amount=wish.most, affinity=wanted.affinity)
    if wanted.source_flavor_id is not None:
        posted['flavor_id'] = wanted.source_flavor_id
    if wish.flavor_id is not None:
        # NOTE: Nova is asked again.
        return posted
    if wanted.flavor is not None:
        return {**posted, 'flavor': node_flavors.shown(wanted.flavor)}
    return {**posted, 'vcpus': wanted.vcpus, 'memory_mb': wanted.memory_mb,
            'disk_gb': wanted.disk_gb}


def date(moment: datetime.datetime) -> str:
    """Give a moment as a client posts it."""
    # NOTE: the clients' own format, unless it would cut seconds off.
    if moment.second or moment.microsecond:
        return moment.isoformat()
    return moment.strftime('%Y-%m-%d %H:%M')


def shown(moment: datetime.datetime) -> str:
    """Give a moment as a sentence has it."""
    seconds = moment.second or moment.microsecond
    return moment.strftime('%Y-%m-%d %H:%M' + (':%S' if seconds else '')
                           + ' UTC')

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

"""Saying why a lease is refused, and what would be accepted."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import datetime
import json
from typing import Any

from ironic_reservations import errors
from ironic_reservations.engine import timelines
from ironic_reservations.engine.leases import terms as lease_terms
from ironic_reservations.planner import bookings
from ironic_reservations.planner import fleet
from ironic_reservations.planner import instants
from ironic_reservations.planner import leases
from ironic_reservations.planner import plans
from ironic_reservations.planner import requirements
from ironic_reservations.planner import standing
from ironic_reservations.planner.placement import flavors
from ironic_reservations.planner.placement import node_flavors
from ironic_reservations.planner.pool import instances
from ironic_reservations.planner.pool import offers as pool_offers
from ironic_reservations.planner.pool import planning as pool_planning
from ironic_reservations.planner.pool import plans as pool_plans
from ironic_reservations.planner.pool import shares

NO_HOST_MATCHES = 'no_host_matches'
NO_HOST_TAKES_ALL = 'no_host_takes_all'
#: How far ahead a later start is looked for, where there is no limit.
_AHEAD = datetime.timedelta(days=366)
#: How many blockers an answer tells.
_TOLD = 20


def refusal(horizon: timelines.Horizon, ask: leases.LeaseAsk,
            demands: Sequence[instances.Wish],
            refused: pool_plans.PoolRefusal,
            latest: datetime.datetime | None) -> errors.LeaseRefused:
    """Make the answer to a request that cannot be served.

    :param latest: when a lease has to end, where the operator says so.
    """
    place = [demand.id for demand in demands].index(refused.demand.id)
    reason = _reason(horizon, ask.project_id, place, ask.wishes[place],
                     refused)
    made = _offers(horizon, ask, demands, latest)
    told = reason['detail']
    if made:
        told += ' ' + made[0]['detail']
    return errors.LeaseRefused(told, reasons=[reason], offers=made)


def of_change(horizon: timelines.Horizon, project_id: str | None, place: int,
              wanted: leases.LeaseReservation,
              refused: pool_plans.PoolRefusal,
              latest: datetime.datetime | None) -> errors.LeaseRefused:
    """Make the answer to a change that cannot be made.

    :param project_id: whose lease it is.
    :param place: which of its reservations cannot be served.
    :param wanted: what that one was to be.
    :param latest: the latest end that it can be given, where a later one was
        asked for.
    """
    reason = _reason(horizon, project_id, place, wanted, refused)
    made = [] if latest is None else [{
        'kind': 'shorter', 'lease': {'end_date': _date(latest)},
        'detail': f'It can be extended until {_shown(latest)}.'}]
    return errors.LeaseRefused(
        ' '.join([reason['detail'], 'The lease stays as it is.',
                  *(str(offer['detail']) for offer in made)]),
        reasons=[reason], offers=made)


def _reason(horizon: timelines.Horizon, project_id: str | None, place: int,
            wanted: leases.Wish | leases.LeaseReservation,
            refused: pool_plans.PoolRefusal) -> dict[str, Any]:
    demand = refused.demand
    at = None if refused.at is None else instants.moment(
        max(refused.at, demand.start))
    code, detail = _why(horizon, place, wanted, refused, at)
    told = {'code': code, 'detail': detail, 'reservation': place,
            'hosts_short': refused.short, 'proved': refused.cause.proved,
            'at': None if at is None else at.isoformat(),
            'blockers': _blockers(horizon, project_id, refused.blockers)}
    if wanted.instances is not None:
        told['hosts'] = [_lacking(horizon, each)
                         for each in refused.hosts[:_TOLD]]
    return told


def _why(horizon: timelines.Horizon, place: int,
         wanted: leases.Wish | leases.LeaseReservation,
         refused: pool_plans.PoolRefusal,
         at: datetime.datetime | None) -> tuple[str, str]:
    demand = refused.demand
    count = demand.eligible.bit_count()
    usable = (demand.eligible & horizon.usable).bit_count()
    window = (f'from {_shown(instants.moment(demand.start))} until '
              f'{_shown(instants.moment(demand.end))}')
    code: str = refused.cause.value
    if usable and _nowhere_together(horizon, demand, wanted.most):
        return NO_HOST_TAKES_ALL, (
            f'Reservation {place} asks for {wanted.most} instances on one '
            'host, with affinity true, and no host has room for all of them, '
            'not even an empty one. Leave affinity out.')
    if usable < _hosts_needed(horizon, demand):
        return NO_HOST_MATCHES if not usable else code, (
            f'Not enough hosts: {count} match what reservation {place} '
            f'asks for, and {usable} of them can be used; it needs '
            f'{_hosts_needed(horizon, demand)}.'
            + _sized(wanted)
            + _unfit(horizon, demand.eligible & ~horizon.usable)
            + _in_shares(horizon, wanted))
    if wanted.instances is not None and refused.cause.proved:
        return code, (
            f'Not enough room {window}: of the {wanted.most} instances of '
            f'reservation {place}, {refused.short} have no room'
            + ('' if at is None else f' at {_shown(at)}')
            + f' on the {usable} hosts that can serve it, and moving other '
            'leases does not help.')
    if refused.cause is plans.Cause.SHORTAGE:
        assert at is not None
        return code, (
            f'Not enough hosts {window}: of the {usable} that can serve '
            f'reservation {place}, which needs '
            f'{_hosts_needed(horizon, demand)}, '
            f'{refused.short} too few are free at {_shown(at)}, and '
            'moving other leases does not help.')
    if refused.cause is plans.Cause.NO_ASSIGNMENT:
        return code, (
            f'Not enough hosts {window}: no assignment of the leases '
            'that have not started leaves enough of the '
            f'{usable} hosts free that can serve reservation {place}.')
    return code, (
        f'No way was found to serve reservation {place} {window}, '
        'and not all ways were tried within the limit of the '
        'search. There may be one.')


def _hosts_needed(horizon: timelines.Horizon, demand: instances.Wish) -> int:
    """Give how many hosts there have to be, whatever else is on them."""
    if isinstance(demand, bookings.Demand):
        return demand.least
    if demand.affinity is False or not demand.eligible & horizon.pool.compute:
        return demand.amount
    return 1


def _nowhere_together(horizon: timelines.Horizon, demand: instances.Wish,
                      count: int) -> bool:
    """Tell whether so many instances are to be together that never can be.
    """
    if (isinstance(demand, bookings.Demand) or demand.affinity is not True
            or count == 1):
        return False
    return not any(
        all(amount <= (horizon.pool.capacities[number] or {}).get(name, 0)
            for name, amount in shares.times(demand.amounts, count))
        for number in fleet.members(demand.eligible & horizon.pool.compute))


def _lacking(horizon: timelines.Horizon,
             each: pool_plans.HostShortage) -> dict[str, Any]:
    """Tell what a host has too little of, and when."""
    return {
        'host': str(horizon.standing(each.node).host.id), 'room': each.room,
        'short': [{'resource_class': spell.resource_class,
                   'amount': spell.short,
                   'start_date': instants.moment(spell.start).isoformat(),
                   'end_date': instants.moment(spell.end).isoformat()}
                  for spell in each.spells[:_TOLD]]}


def _sized(wanted: leases.Wish | leases.LeaseReservation) -> str:
    if wanted.instances is None:
        return ''
    if wanted.instances.request is not None:
        return _asked(wanted.instances.request)
    vcpus, memory_mb, disk_gb = wanted.instances.sizes
    return (f' Each instance needs {vcpus} vcpus, {memory_mb} MB of memory '
            f'and {disk_gb} GB of disk.')


def _asked(request: flavors.Request) -> str:
    traits = [*sorted({name for group in request.groups
                       for name in group.required}),
              *sorted({f'not {name}' for group in request.groups
                       for name in group.forbidden})]
    return (' Each instance needs '
            + ', '.join(f'{amount} {name}' for name, amount
                        in sorted(request.totals().items()))
            + (f', and a host with the traits {", ".join(traits)}'
               if traits else '') + '.')


def _in_shares(horizon: timelines.Horizon,
               wanted: leases.Wish | leases.LeaseReservation) -> str:
    count = horizon.pool.compute.bit_count()
    if wanted.instances is not None or not count:
        return ''
    return (f' The {count} compute hosts are not had whole, but in '
            'instances: ask for "virtual:instance" there.')


def _unfit(horizon: timelines.Horizon, numbers: int) -> str:
    told = []
    for number in fleet.members(numbers)[:_TOLD]:
        here = horizon.standing(number)
        told.append(f'host {here.host.id} {here.unfit()}')
    return f' Not usable: {"; ".join(told)}.' if told else ''


def _blockers(horizon: timelines.Horizon, project_id: str | None,
              blocking: Sequence[instances.Promise]) -> list[dict[str, Any]]:
    rows = {standing.name(booking): booking
            for number in {each.node for each in blocking}
            for booking, _ in horizon.standing(number).promised}
    told: dict[tuple[Any, ...], dict[str, Any]] = {}
    for each in blocking:
        row = rows.get(each.id)
        if row is None:
            continue
        own = row.project_id == project_id
        known: dict[str, Any] = {
            'start_date': row.starts_at.isoformat(),
            'end_date': row.ends_at.isoformat(), 'own': own}
        if own:
            known['reservation_id'] = row.reservation_id
        key = tuple(known.values())
        told.setdefault(key, {**known, 'hosts': 0})['hosts'] += 1
    return list(told.values())[:_TOLD]


def _offers(horizon: timelines.Horizon, ask: leases.LeaseAsk,
            demands: Sequence[instances.Wish],
            latest: datetime.datetime | None) -> list[dict[str, Any]]:
    until = latest or (max(ask.end, horizon.now) + _AHEAD)
    return [
        *_apart(horizon, ask, demands),
        *(_told(offer.kind.value, horizon,
                _changed(ask, demands, offer.demands))
          for offer in pool_offers.offers(
              horizon.pool, demands, instants.instant(horizon.now),
              instants.instant(until))),
        *_other_class(horizon, ask, demands)]


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


def _other_class(horizon: timelines.Horizon, ask: leases.LeaseAsk,
                 demands: Sequence[instances.Wish]) -> list[dict[str, Any]]:
    """Offer hosts of another class, where the class is all that is asked.
    """
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


def _apart(horizon: timelines.Horizon, ask: leases.LeaseAsk,
           demands: Sequence[instances.Wish]) -> list[dict[str, Any]]:
    """Offer any hosts to instances that asked for one together."""
    split: list[instances.Wish] = []
    wishes: list[leases.Wish] = []
    for wish, demand in zip(ask.wishes, demands, strict=True):
        if wish.instances is not None and _nowhere_together(
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


def _told(kind: str, horizon: timelines.Horizon,
          ask: leases.LeaseAsk) -> dict[str, Any]:
    start = ask.start or horizon.now
    window = f'from {_shown(start)} until {_shown(ask.end)}'
    wanted = ' and '.join(
        f'{wish.least}' if wish.least == wish.most
        else f'{wish.least} to {wish.most}' for wish in ask.wishes)
    what = ('instances' if any(wish.instances for wish in ask.wishes)
            else 'hosts')
    detail = {
        'later': f'The nearest later window is {window}.',
        'earlier': f'The nearest earlier window is {window}.',
        'shorter': f'A shorter lease, {window}, would be accepted.',
        'no_affinity': 'Instances on any hosts, without affinity, would be '
                       f'accepted {window}.',
        'fewer': f'Fewer {what}, {wanted}, would be accepted {window}.',
        'other_class': 'Hosts of another class would be accepted: '
                       f'{ask.wishes[0].resource_properties}.'}[kind]
    return {'kind': kind, 'detail': detail, 'lease': body(ask)}


def body(ask: leases.LeaseAsk) -> dict[str, Any]:
    """Give a request as it would be posted."""
    posted: dict[str, Any] = {
        'name': ask.name,
        'start_date': 'now' if ask.start is None else _date(ask.start),
        'end_date': _date(ask.end), 'events': [],
        'reservations': [_body(wish) for wish in ask.wishes]}
    if ask.before_end is not None:
        posted['before_end_date'] = _date(ask.before_end)
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


def _date(moment: datetime.datetime) -> str:
    # NOTE: the clients' own format, unless it would cut seconds off.
    if moment.second or moment.microsecond:
        return moment.isoformat()
    return moment.strftime('%Y-%m-%d %H:%M')


def _shown(moment: datetime.datetime) -> str:
    seconds = moment.second or moment.microsecond
    return moment.strftime('%Y-%m-%d %H:%M' + (':%S' if seconds else '')
                           + ' UTC')

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
from ironic_reservations.engine import lease_terms
from ironic_reservations.engine import timelines
from ironic_reservations.planner import bookings
from ironic_reservations.planner import fleet
from ironic_reservations.planner import instants
from ironic_reservations.planner import leases
from ironic_reservations.planner import offers
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import requirements
from ironic_reservations.planner import standing
from ironic_reservations.planner import timeline

NO_HOST_MATCHES = 'no_host_matches'
NO_HOST_TAKES_ALL = 'no_host_takes_all'
#: How far ahead a later start is looked for, where there is no limit.
_AHEAD = datetime.timedelta(days=366)
#: How many blockers an answer tells.
_TOLD = 20


def refusal(horizon: timelines.Horizon, free: timeline.Timeline,
            ask: leases.LeaseAsk, demands: Sequence[bookings.Demand],
            refused: plans.Refusal, latest: datetime.datetime | None,
            counter: bool = True) -> errors.LeaseRefused:
    """Make the answer to a request that cannot be served.

    :param free: the timeline that was planned on.
    :param latest: when a lease has to end, where the operator says so.
    """
    place = [demand.id for demand in demands].index(refused.demand.id)
    reason = _reason(horizon, ask.project_id, place, ask.wishes[place],
                     refused)
    made = _offers(horizon, free, ask, demands, latest)
    told = reason['detail']
    if made:
        told += ' ' + made[0]['detail']
    return errors.LeaseRefused(told, reasons=[reason], offers=made)


def of_change(horizon: timelines.Horizon, project_id: str | None, place: int,
              wanted: leases.LeaseReservation, refused: plans.Refusal,
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
            refused: plans.Refusal) -> dict[str, Any]:
    demand = refused.demand
    count = demand.eligible.bit_count()
    usable = (demand.eligible & horizon.usable).bit_count()
    at = None if refused.at is None else instants.moment(
        max(refused.at, demand.start))
    blockers = _blockers(horizon, project_id, refused.blockers)
    window = (f'from {_shown(instants.moment(demand.start))} until '
              f'{_shown(instants.moment(demand.end))}')
    code: str = refused.cause.value
    if lease_terms.apart(wanted.instances, wanted.most):
        code = NO_HOST_TAKES_ALL
        detail = (f'Reservation {place} asks for {wanted.most} instances on '
                  'one host, with affinity true, and each host takes one '
                  'instance. Leave affinity out.')
    elif usable < demand.least:
        code = NO_HOST_MATCHES if not usable else code
        detail = (f'Not enough hosts: {count} match what reservation {place} '
                  f'asks for, and {usable} of them can be used; it needs '
                  f'{demand.least}.'
                  + _sized(wanted)
                  + _unfit(horizon, demand.eligible & ~horizon.usable))
    elif refused.cause is plans.Cause.SHORTAGE:
        assert at is not None
        detail = (f'Not enough hosts {window}: of the {usable} that can serve '
                  f'reservation {place}, which needs {demand.least}, '
                  f'{refused.short} too few are free at {_shown(at)}, and '
                  'moving other leases does not help.')
    elif refused.cause is plans.Cause.NO_ASSIGNMENT:
        detail = (f'Not enough hosts {window}: no assignment of the leases '
                  'that have not started leaves enough of the '
                  f'{usable} hosts free that can serve reservation {place}.')
    else:
        detail = (f'No way was found to serve reservation {place} {window}, '
                  'and not all ways were tried within the limit of the '
                  'search. There may be one.')
    return {'code': code, 'detail': detail, 'reservation': place,
            'hosts_short': refused.short, 'proved': refused.cause.proved,
            'at': None if at is None else at.isoformat(),
            'blockers': blockers}


def _sized(wanted: leases.Wish | leases.LeaseReservation) -> str:
    if wanted.instances is None:
        return ''
    vcpus, memory_mb, disk_gb = wanted.instances.sizes
    return (f' Each instance needs a host of its own with {vcpus} vcpus, '
            f'{memory_mb} MB of memory and {disk_gb} GB of disk.')


def _unfit(horizon: timelines.Horizon, numbers: int) -> str:
    told = []
    for number in fleet.members(numbers)[:_TOLD]:
        here = horizon.standing(number)
        told.append(f'host {here.host.id} {here.unfit()}')
    return f' Not usable: {"; ".join(told)}.' if told else ''


def _blockers(horizon: timelines.Horizon, project_id: str | None,
              blocking: Sequence[bookings.Booking]) -> list[dict[str, Any]]:
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


def _offers(horizon: timelines.Horizon, free: timeline.Timeline,
            ask: leases.LeaseAsk, demands: Sequence[bookings.Demand],
            latest: datetime.datetime | None) -> list[dict[str, Any]]:
    until = latest or (max(ask.end, horizon.now) + _AHEAD)
    made = []
    for offer in offers.offers(free, demands,
                               instants.instant(horizon.now),
                               instants.instant(until)):
        changed = _changed(ask, demands, offer.demands)
        if changed is not None:
            made.append(_told(offer.kind.value, horizon, changed))
    made.extend(_other_class(horizon, free, ask, demands))
    made.extend(_apart(horizon, free, ask, demands))
    return made


def _changed(ask: leases.LeaseAsk, asked: Sequence[bookings.Demand],
             demands: Sequence[bookings.Demand]) -> leases.LeaseAsk | None:
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
        wishes=tuple(dataclasses.replace(wish, least=demand.least,
                                         most=demand.most)
                     for wish, demand in zip(ask.wishes, demands,
                                             strict=True)))


def _other_class(horizon: timelines.Horizon, free: timeline.Timeline,
                 ask: leases.LeaseAsk, demands: Sequence[bookings.Demand]
                 ) -> list[dict[str, Any]]:
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
    for number in fleet.members(lease_terms.takers(
            horizon.usable & ~demand.eligible, wish.instances, wish.most)):
        host = horizon.standing(number).host
        name = host.node.resource_class
        if name is not None and needed.matches(requirements.of_host(host)):
            by_class.setdefault(name, []).append(number)
    for name, numbers in sorted(by_class.items(),
                                key=lambda item: -len(item[1])):
        other = dataclasses.replace(demand, eligible=fleet.mask(numbers))
        if isinstance(planning.plan(free, [other]), plans.Plan):
            return [_told('other_class', horizon, dataclasses.replace(
                ask, wishes=(dataclasses.replace(
                    wish, hypervisor_properties='',
                    resource_properties=json.dumps(
                        ['==', '$resource_class', name])),)))]
    return []


def _apart(horizon: timelines.Horizon, free: timeline.Timeline,
           ask: leases.LeaseAsk, demands: Sequence[bookings.Demand]
           ) -> list[dict[str, Any]]:
    """Offer hosts of their own to instances that asked for one together."""
    split, wishes = list(demands), list(ask.wishes)
    for place, wish in enumerate(ask.wishes):
        if wish.instances is None or not lease_terms.apart(wish.instances,
                                                           wish.most):
            continue
        needed = lease_terms.requirement(
            wish.hypervisor_properties, wish.resource_properties,
            wish.instances)
        split[place] = dataclasses.replace(
            split[place], eligible=horizon.eligible(needed))
        wishes[place] = dataclasses.replace(
            wish, instances=dataclasses.replace(wish.instances,
                                                affinity=None))
    if tuple(wishes) == ask.wishes or isinstance(
            planning.plan(free, split), plans.Refusal):
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
    detail = {
        'later': f'The nearest later window is {window}.',
        'earlier': f'The nearest earlier window is {window}.',
        'shorter': f'A shorter lease, {window}, would be accepted.',
        'no_affinity': 'Instances on hosts of their own would be accepted '
                       f'{window}.',
        'fewer': f'Fewer hosts, {wanted}, would be accepted {window}.',
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
    posted = {'resource_type': wish.resource_type,
              'resource_properties': wish.resource_properties}
    wanted = wish.instances
    if wanted is None:
        return {**posted, 'min': wish.least, 'max': wish.most,
                'hypervisor_properties': wish.hypervisor_properties,
                'before_end': wish.before_end}
    if wanted.source_flavor_id is not None:
        posted['flavor_id'] = wanted.source_flavor_id
    return {**posted, 'amount': wish.most, 'affinity': wanted.affinity,
            'vcpus': wanted.vcpus, 'memory_mb': wanted.memory_mb,
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

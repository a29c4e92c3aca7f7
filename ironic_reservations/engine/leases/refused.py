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

"""Saying why a lease is refused."""

from __future__ import annotations

from collections.abc import Sequence
import datetime
from typing import Any

from ironic_reservations import errors
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import limits
from ironic_reservations.engine.leases import offers
from ironic_reservations.model import flavors
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.planner import bookings
from ironic_reservations.planner import fleet
from ironic_reservations.planner import plans
from ironic_reservations.planner import standing
from ironic_reservations.planner.pool import instances
from ironic_reservations.planner.pool import plans as pool_plans

NO_HOST_MATCHES = 'no_host_matches'
NO_HOST_TAKES_ALL = 'no_host_takes_all'
#: How many blockers an answer lists.
_TOLD = 20
_MOVABLE = 'leases that have not started'


def refusal(horizon: snapshots.Snapshot, ask: leases.LeaseAsk,
            demands: Sequence[instances.Wish],
            refused: pool_plans.PoolRefusal,
            latest: datetime.datetime | None,
            project: limits.Project) -> errors.LeaseRefused:
    """Make the answer to a request that cannot be served.

    :param latest: when a lease has to end, where the operator says so.
    :param project: what more it may have.
    """
    place = [demand.id for demand in demands].index(refused.demand.id)
    reason = _reason(horizon, ask.project_id, place, ask.wishes[place],
                     refused)
    made = offers.make(horizon, ask, demands, latest, project)
    told = reason['detail']
    if made:
        told += ' ' + made[0]['detail']
    return errors.LeaseRefused(told, reasons=[reason], offers=made)


def of_change(horizon: snapshots.Snapshot, project_id: str | None, place: int,
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
        'kind': 'shorter', 'lease': {'end_date': offers.date(latest)},
        'detail': f'It can be extended until {offers.shown(latest)}.'}]
    return errors.LeaseRefused(
        ' '.join([reason['detail'], 'The lease stays as it is.',
                  *(str(offer['detail']) for offer in made)]),
        reasons=[reason], offers=made)


def _reason(horizon: snapshots.Snapshot, project_id: str | None, place: int,
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


def _why(horizon: snapshots.Snapshot, place: int,
         wanted: leases.Wish | leases.LeaseReservation,
         refused: pool_plans.PoolRefusal,
         at: datetime.datetime | None) -> tuple[str, str]:
    demand = refused.demand
    count = demand.eligible.bit_count()
    usable = (demand.eligible & horizon.usable).bit_count()
    window = (f'from {offers.shown(instants.moment(demand.start))} until '
              f'{offers.shown(instants.moment(demand.end))}')
    code: str = refused.cause.value
    if usable and offers.nowhere_together(horizon, demand, wanted.most):
        return NO_HOST_TAKES_ALL, (
            f'Reservation {place} needs {wanted.most} instances on one host '
            '("affinity" is true), but no host has room for all of them, '
            'not even an empty one. Leave "affinity" out.')
    needed = _hosts_needed(horizon, demand)
    if usable < needed:
        return NO_HOST_MATCHES if not usable else code, (
            f'Not enough hosts: reservation {place} needs '
            f'{_counted(needed, "host")}; {_matching(count)}'
            + (f', and {usable} of them can be used.' if count else '.')
            + _sized(wanted)
            + _unfit(horizon, demand.eligible & ~horizon.usable)
            + _in_shares(horizon, wanted))
    if wanted.instances is not None and refused.cause.proved:
        return code, (
            f'Not enough room {window}: reservation {place} needs '
            f'{_counted(wanted.most, "instance")}; {_matching(usable)}, but '
            f'there is no room for {refused.short} of the instances'
            + ('' if at is None else f' at {offers.shown(at)}')
            + f', even if {_MOVABLE} are moved.')
    if refused.cause is plans.Cause.SHORTAGE:
        assert at is not None
        return code, (
            f'Not enough hosts {window}: reservation {place} needs '
            f'{_counted(needed, "host")}; {_matching(usable)}, but '
            f'{needed - refused.short} of them can be free at '
            f'{offers.shown(at)}, even if {_MOVABLE} are moved.')
    if refused.cause is plans.Cause.NO_ASSIGNMENT:
        return code, (
            f'Not enough hosts {window}: reservation {place} needs '
            f'{_counted(needed, "host")}; {_matching(usable)}, but too few '
            f'of them are free together, however {_MOVABLE} are moved.')
    return code, (
        f'No hosts were found for reservation {place} {window}, and the '
        'search stopped at its limit before all possibilities were tried: '
        'the request may be possible.')


def _counted(amount: int, what: str) -> str:
    return f'{amount} {what}{"s" * (amount != 1)}'


def _matching(hosts: int) -> str:
    if not hosts:
        return 'no host matches'
    return '1 host matches' if hosts == 1 else f'{hosts} hosts match'


def _hosts_needed(horizon: snapshots.Snapshot, demand: instances.Wish) -> int:
    """Return the least number of hosts, whatever else is on them."""
    if isinstance(demand, bookings.Demand):
        return demand.least
    if demand.affinity is False or not demand.eligible & horizon.pool.compute:
        return demand.amount
    return 1


def _lacking(horizon: snapshots.Snapshot,
             each: pool_plans.HostShortage) -> dict[str, Any]:
    """Return the resources that a host has too little of, and when."""
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
            + (f', on a host with the traits {", ".join(traits)}'
               if traits else '') + '.')


def _in_shares(horizon: snapshots.Snapshot,
               wanted: leases.Wish | leases.LeaseReservation) -> str:
    count = horizon.pool.compute.bit_count()
    if wanted.instances is not None or not count:
        return ''
    return (' A compute host cannot be leased as a whole: to use the '
            f'{_counted(count, "compute host")}, ask for instances with '
            '"virtual:instance".')


def _unfit(horizon: snapshots.Snapshot, numbers: int) -> str:
    told = []
    for number in fleet.members(numbers)[:_TOLD]:
        here = horizon.standing(number)
        told.append(f'host {here.host.id} {here.unfit()}')
    return f' Not usable: {"; ".join(told)}.' if told else ''


def _blockers(horizon: snapshots.Snapshot, project_id: str | None,
              blocking: Sequence[instances.Promise]) -> list[dict[str, Any]]:
    rows = {standing.name(booking): booking
            for number in {each.node for each in blocking}
            for booking, _ in horizon.standing(number).promised}
    told: dict[tuple[Any, ...], dict[str, Any]] = {}
    for each in blocking:
        row = rows.get(standing.whole(each.id))
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

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

"""Offers: changes of a lease that would be accepted instead."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import dataclasses
import datetime
from typing import Any

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.engine import ceiling
from ironic_reservations.engine.leases import offers
from ironic_reservations.engine.leases import request_checks
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from ironic_reservations.model import time_text
from ironic_reservations.planner import plans

#: Plans a change without making it.
#:
#: :raises ReservationError: it would be refused.
Attempt = Callable[[leases.LeaseChange], object]

_Refusal = errors.LeaseRefused | errors.LeaseLimit
#: With these limits, no other end helps.
_NO_END_HELPS = limits.EXTENSIONS
_SAME = instance_reservations.InstanceChange()


def add(refused: _Refusal, lease: leases.Lease,
        changes: leases.LeaseChange, now: datetime.datetime,
        allowed: limits.Limits, project: ceiling.Ceiling,
        attempt: Attempt) -> None:
    """Add requests that would be accepted to a refusal, ready to be sent.

    :param lease: the lease as it is.
    :param allowed: the limits of the caller.
    :param project: the usage of its project without the lease.
    """
    if (refused.details.get('limit') in _NO_END_HELPS
            or changes.opened is not None):
        return
    rest = _written(changes)
    if rest is None:
        # The planner's offers have the dates only, which the change
        # needs other hosts for.
        refused.details['offers'] = []
        return
    latest = _latest_end(lease, changes, now, allowed, project)
    found = list(_planned(refused, rest))
    told = len(found)
    if not found:
        found.extend(_shorter(changes, latest, rest, attempt))
    found.extend(_fewer(lease, changes, rest, attempt))
    refused.details['offers'] = found
    added = [offer['detail'] for offer in found[told:]]
    if not found and _ends_there(refused, lease, changes):
        added.append('It cannot be extended: '
                     f'{time_text.moment(lease.end)} is its latest possible '
                     'end.')
    refused.args = (' '.join([str(refused), *added]),)


def _written(changes: leases.LeaseChange) -> dict[str, Any] | None:
    """Return a change in the form of a request; ``None``: it has none."""
    body: dict[str, Any] = {
        key: offers.date(when) for key, when in (
            ('start_date', changes.start), ('end_date', changes.end),
            ('before_end_date', changes.before_end)) if when is not None}
    if changes.name is not None:
        body['name'] = changes.name
    if changes.heal:
        body['heal'] = True
    parts = []
    for each in changes.reservations:
        if each.give_back or (each.instances or _SAME) != _SAME:
            return None
        parts.append({'id': each.id, **{
            key: value for key, value in (
                ('min', each.least), ('max', each.most),
                ('amount', each.amount),
                ('hypervisor_properties', each.hypervisor_properties),
                ('resource_properties', each.resource_properties))
            if value is not None}})
    if parts:
        body['reservations'] = parts
    return body


def _planned(refused: _Refusal, rest: dict[str, Any]
             ) -> Iterator[dict[str, Any]]:
    """Yield the offers of the planner, with the rest of the request."""
    for offer in refused.details.get('offers', ()):
        yield {**offer, 'lease': {**rest, **offer['lease']}}


def _latest_end(lease: leases.Lease, changes: leases.LeaseChange,
                now: datetime.datetime, allowed: limits.Limits,
                project: ceiling.Ceiling) -> datetime.datetime | None:
    """Return the latest end that the limits allow; ``None``: no later one."""
    if changes.end is None or changes.end <= lease.end:
        return None
    start = lease.start if changes.start is None else changes.start
    ends = [project.latest_end(lease, changes.end)]
    if allowed.max_duration:
        ends.append(start + datetime.timedelta(seconds=allowed.max_duration))
    if (horizon := request_checks.latest_end(allowed, now)) is not None:
        # Clients send whole minutes, and an offer is valid for a while.
        ends.append(horizon)
    latest = min(ends).replace(second=0, microsecond=0)
    return latest if latest > lease.end else None


def _shorter(changes: leases.LeaseChange,
             latest: datetime.datetime | None, rest: dict[str, Any],
             attempt: Attempt) -> Iterator[dict[str, Any]]:
    """Yield the extension until the latest end that the limits allow."""
    if latest is None or latest == changes.end:
        return
    try:
        attempt(dataclasses.replace(changes, end=latest))
    except errors.LeaseRefused as exc:
        for offer in _planned(exc, {**rest, 'end_date': None}):
            if offer['kind'] == 'shorter':
                yield offer
        return
    except (errors.ReservationError, db_connection.Conflict):
        return
    yield {'kind': 'shorter',
           'lease': {**rest, 'end_date': offers.date(latest)},
           'detail': f'It can be extended until {time_text.moment(latest)}.'}


def _fewer(lease: leases.Lease, changes: leases.LeaseChange,
           rest: dict[str, Any], attempt: Attempt
           ) -> Iterator[dict[str, Any]]:
    """Yield the growth to the largest possible number of hosts."""
    grown = [(each, old) for each in changes.reservations
             for old in lease.reservations if each.id == old.id
             and _count(each) > old.least]
    if len(grown) != 1 or len(changes.reservations) != 1:
        return
    (asked, old), = grown
    best = None
    # A binary search: if so many are possible, fewer are, too.
    low, high = old.least, _count(asked)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            attempt(dataclasses.replace(
                changes, reservations=(_exactly(asked, middle),)))
            best = low = middle
        except (errors.ReservationError, db_connection.Conflict):
            high = middle
    if best is None:
        return
    amount = asked.amount is not None
    part = {**rest['reservations'][0], **(
        {'amount': best} if amount else {'min': best, 'max': best})}
    yield {'kind': 'fewer', 'lease': {**rest, 'reservations': [part]},
           'detail': f'It can have {best} {"instances" if amount else "hosts"}'
                     ' instead.'}


def _count(each: leases.LeaseReservationChange) -> int:
    return each.amount or each.least or 0


def _exactly(each: leases.LeaseReservationChange,
             count: int) -> leases.LeaseReservationChange:
    if each.amount is not None:
        return dataclasses.replace(each, amount=count)
    return dataclasses.replace(each, least=count, most=count)


def _ends_there(refused: _Refusal, lease: leases.Lease,
                changes: leases.LeaseChange) -> bool:
    """Return whether it is proved that the lease cannot end any later."""
    if (changes.end is None or changes.end <= lease.end
            or changes.start is not None or changes.reservations):
        return False
    return any(
        each['code'] == plans.Cause.SHORTAGE.value
        and each['proved'] and each['at'] is not None
        and datetime.datetime.fromisoformat(each['at']) <= lease.end
        for each in refused.details.get('reasons', ()))

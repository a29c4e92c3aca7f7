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


"""Whether what is promised fits, in one answer that shows all leases."""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
import datetime
from typing import Any

from tests.processes.checker import history
from tests.processes.checker import owners

_SECOND = datetime.timedelta(seconds=1)
_LIVE = ('PENDING', 'STARTING', 'ACTIVE')
_SIZES = {'VCPU': 'vcpus', 'MEMORY_MB': 'memory_mb', 'DISK_GB': 'disk_gb'}


@dataclasses.dataclass(frozen=True)
class Promise:
    """One node, or one instance on a host, from when until when."""

    lease: str
    begin: datetime.datetime
    end: datetime.datetime
    amounts: dict[str, int]


def by_node(each: history.Exchange) -> dict[str, list[Promise]]:
    """Return what is promised of each node.

    :param each: whose answer has all leases.
    """
    found: dict[str, list[Promise]] = {}
    for lease in owners.leases_in(each.answer):
        if lease['status'] in _LIVE:
            for node, promise in _promises(lease):
                found.setdefault(node, []).append(promise)
    return found


def exceeded(there: dict[str, list[Promise]],
             capacities: dict[str, dict[str, int]]
             ) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Return what is promised beyond what there is.

    :param there: as :func:`by_node` returns it.
    :param capacities: of compute hosts; whatever else is promised is had by
        one at a time.
    :returns: the node, why, and the leases.
    """
    for node, promises in there.items():
        for at in sorted({promise.begin for promise in promises}):
            now = [promise for promise in promises
                   if promise.begin <= at < promise.end]
            wrong = _too_much(now, capacities.get(node))
            if wrong:
                yield (node, f'at {at} {wrong}',
                       tuple(sorted({promise.lease for promise in now})))
                break


def of_lease(lease: dict[str, Any]) -> Iterator[tuple[str, Promise]]:
    """Return what is promised to a lease in an answer.

    NOTE: one that is flagged has been promised what is not to be had.
    """
    if lease['status'] in _LIVE and not lease['degraded']:
        yield from _promises(lease)


def _promises(lease: dict[str, Any]) -> Iterator[tuple[str, Promise]]:
    for reservation in lease['reservations']:
        amounts = {name: int(reservation.get(key) or 0)
                   for name, key in _SIZES.items()}
        for node in reservation['nodes']:
            if node['state'] in ('planned', 'bound'):
                yield node['uuid'], Promise(
                    lease['id'], _begin(lease), _read(lease['end_date']),
                    amounts)


def _begin(lease: dict[str, Any]) -> datetime.datetime:
    """Return from when on the nodes of a lease are surely promised.

    NOTE: of one that was made after its start, or moved to it, not before.
    """
    dates = [lease.get('created_at'), lease.get('updated_at')
             if lease['status'] == 'PENDING' else None]
    start = _read(lease['start_date'])
    # NOTE: these are told in whole seconds.
    return max([start, *(_read(date) + _SECOND for date in dates if date)])


def _read(date: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(date).replace(tzinfo=None)


def _too_much(now: list[Promise], has: dict[str, int] | None) -> str:
    if has is None:
        return f'it is promised {len(now)} times' if len(now) > 1 else ''
    return ', '.join(
        f'{total} of {there} {name} is promised'
        for name, there in has.items()
        if (total := sum(promise.amounts[name] for promise in now)) > there)

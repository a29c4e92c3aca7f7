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


"""Whether projects have no more than is theirs to have.

No project has more hosts of a class, leased or reserved, than the operator
allows; and nobody but its owner was ever promised a node for later than the
owner may ask to have it back.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
import datetime
import json
import math
from typing import Any

from tests.processes.checker import history
from tests.processes.checker import owners
from tests.processes.checker import promises

#: So long, in seconds, what an operator did may go unseen.
_SEEN = 30.0
#: How far, in seconds, the clock of the database may be off the one of all.
_CLOCKS = 1.0
_NEW = ('operate-delete', 'operate-enroll')

_Found = Iterator[tuple[float, str, str, tuple[str, ...]]]


def leased(told: history.History) -> _Found:
    """Return projects that have leased too much, in an answer with all.

    NOTE: a reservation counts for each class that it may be served from.

    :returns: when, which project, what is wrong, and the leases.
    """
    found = set()
    for each in told.exchanges:
        if each.op != 'audit' or not each.done or not told.leased_most:
            continue
        now = datetime.datetime.fromtimestamp(
            each.sent + told.wall, datetime.UTC).replace(tzinfo=None)
        counted: dict[tuple[str, str], list[promises.Promise]] = (
            collections.defaultdict(list))
        for lease in owners.leases_in(each.answer):
            for reservation in lease['reservations']:
                if reservation['resource_type'] != 'physical:host':
                    continue
                for name in _may_be(reservation, told.leased_most):
                    counted[lease['project_id'], name] += [
                        promise for _, promise in promises.of_lease(
                            {**lease, 'degraded': False,
                             'reservations': [reservation]})]
        for (project, name), there in counted.items():
            most = told.leased_most[name]
            for at in sorted({max(one.begin, now) for one in there}):
                over = [one for one in there if one.begin <= at < one.end]
                leases = tuple(sorted({one.lease for one in over}))
                told.judged['too much for a project'] += len(over) >= most
                if len(over) > most and (project, leases) not in found:
                    found.add((project, leases))
                    yield (each.got, project, f'at {at} it has leased '
                           f'{len(over)} of the class {name}, and may have '
                           f'{most}: {", ".join(leases)}', leases)
                    break


def _may_be(reservation: dict[str, Any],
            classes: dict[str, int]) -> list[str]:
    asked = reservation['resource_properties']
    match json.loads(asked) if asked else None:
        case ['==', '$resource_class', name]:
            return [name] if name in classes else []
    return list(classes)


def reserved(told: history.History, sure: list[owners.Sure]) -> _Found:
    """Return projects that have surely reserved too much at one time.

    NOTE: what has been used does not count; nor, here, what may have been.
    """
    found = set()
    open_now: dict[tuple[str | None, str], dict[str, float]] = (
        collections.defaultdict(dict))
    for each in sure if told.reserved_most else ():
        name = told.classes.get(each.node, '')
        if each.lease or name not in told.reserved_most:
            continue
        end = _unused_until(told, each)
        there = open_now[each.project, name]
        for owner in [owner for owner, until in there.items()
                      if until <= each.begin]:
            del there[owner]
        if end > each.begin:
            there[each.owner] = max(end, there.get(each.owner, end))
        uuids = tuple(sorted(there))
        told.judged['too much for a project'] += (
            len(there) >= told.reserved_most[name])
        if len(there) > told.reserved_most[name] and uuids not in found:
            found.add(uuids)
            yield (each.begin, str(each.project), f'it has reserved '
                   f'{len(there)} of the class {name}, and may have '
                   f'{told.reserved_most[name]}: {", ".join(uuids)}', uuids)


def _unused_until(told: history.History, sure: owners.Sure) -> float:
    """Return until when a reservation surely counts for its class."""
    if not any(given['uuid'] == sure.owner and given['state'] == 'reserved'
               for given in owners.reservations_in(sure.shown.answer)):
        return -math.inf
    asked = sure.shown.sent
    return min([sure.end, *(
        by.sent for by in told.exchanges
        if by.method != 'GET' and not by.refused and (
            by.proof in sure.proofs and by.over(told.late) > asked
            or by.op in ('reclass', *_NEW) and _is_about(by, sure.node)
            and by.over(told.late) + _SEEN > asked))])


def lent(told: history.History) -> _Found:
    """Return leases that have nodes of others for too long.

    NOTE: time passes, and with it what may be promised; so whatever is shown
    was too much when it was promised if it is too much now.
    """
    found = set()
    changes = [each for each in told.exchanges if not each.refused
               and each.op in ('reown', *_NEW)]
    for each in told.exchanges if told.owner_notice else ():
        if not each.done or each.dry:
            continue
        latest = each.got + told.owner_notice + _CLOCKS
        for lease in owners.leases_in(each.answer):
            if lease['id'] in found:
                continue
            ends, made = told.at(lease['end_date']), told.at(
                lease['created_at'])
            for node, _ in promises.of_lease({**lease, 'degraded': False}):
                owner = told.owners.get(node)
                if owner in (None, lease['project_id']):
                    continue
                told.judged['lent for too long'] += 1
                if ends <= latest or any(
                        by.sent < each.got
                        and by.over(told.late) + _SEEN > made
                        for by in changes if _is_about(by, node)):
                    continue
                found.add(lease['id'])
                yield (each.got, lease['id'], f'it has the node {node} of '
                       f'the project {owner} until {ends:.2f}, which could '
                       f'have been promised until {latest:.2f}',
                       (node,))
                break


def _is_about(by: history.Exchange, node: str) -> bool:
    return node in by.path or node in str(by.body)

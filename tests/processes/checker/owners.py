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


"""When a node surely was somebody's, from what clients were told.

An answer that shows a promise makes it sure from the moment when the client
had the answer.  It stays so until the promise ends by itself, or until
somebody sends what may end or change it: from then on it is not sure, until
an answer to a request that was sent after all that shows it again.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import math
from typing import Any

from tests.processes.checker import gone as gone_module
from tests.processes.checker import history
from tests.processes.checker import unused

RESERVATIONS = '/v1/reservations'
LEASES = '/v1/leases'
#: So much, in seconds, before its end a promise is no longer called sure.
MARGIN = 0.5
#: So long, in seconds, what an operator did may go unseen.
_SEEN = 30.0


@dataclasses.dataclass(frozen=True)
class Sure:
    """A node was somebody's.

    :ivar owner: the uuid of a reservation, or the id of a lease.
    :ivar proofs: what opens the node for its owner.
    :ivar shown: the exchange that shows it.
    """

    node: str
    owner: str
    who: str
    project: str | None
    begin: float
    end: float
    proofs: frozenset[str]
    lease: bool
    shown: history.Exchange

    def covers(self, begin: float, end: float) -> bool:
        """Tell whether it lasted all that time."""
        return self.begin <= begin and end <= self.end


@dataclasses.dataclass(frozen=True)
class _Shown:
    """A promise in an answer.

    :ivar project: whose it is; an operator sees those of others.
    :ivar asked: when it was asked for, at the latest.
    """

    owner: str
    node: str
    until: float
    proofs: frozenset[str]
    exchange: history.Exchange
    lease: bool
    asked: float
    project: str | None


def find(told: history.History) -> list[Sure]:
    """Return all that is sure, in the order in which it began."""
    shown = [*_reservations(told), *_leases(told)]
    writes = [each for each in told.exchanges if each.method != 'GET'
              and not each.dry and not each.refused]
    found, lost = [], gone_module.find(told)
    for each in shown:
        begin = each.exchange.got
        end = min([each.until - MARGIN,
                   *(gone.until for gone in lost if gone.has(each.exchange)),
                   *(by.sent for by in writes
                     if by is not each.exchange
                     and _disturbs(told, by, each))])
        if begin < end:
            found.append(Sure(
                each.node, each.owner, each.exchange.who,
                each.project, begin, end, each.proofs, each.lease,
                each.exchange))
    return sorted(found, key=lambda sure: sure.begin)


def _disturbs(told: history.History, by: history.Exchange,
              shown: _Shown) -> bool:
    """Tell whether a request may have ended or changed what was shown."""
    base = LEASES if shown.lease else RESERVATIONS
    if by.plain_path == f'{base}/{shown.owner}':
        return by.over(told.late) > shown.exchange.sent
    if by.plain_path.startswith(f'/v1/nodes/{shown.node}'):
        if by.op in ('undeploy', 'unbind'):
            # NOTE: a reservation that was used is over once its node is
            # free, which takes time; it never becomes sure again.  What was
            # over before it was asked for means another one, and so does an
            # undeploy that Ironic had before: it is fenced.
            over = by.over(told.late) if by.op == 'unbind' else (
                told.handed.get(by.id, by.over(told.late)))
            return not shown.lease and over > shown.asked
        # NOTE: that a node has gone is seen later.  Maintenance ends nothing.
        return (by.op in ('operate-delete', 'operate-enroll')
                and by.over(told.late) + _SEEN > shown.exchange.sent)
    return False


def _reservations(told: history.History) -> Iterator[_Shown]:
    asked: dict[str, float] = {}
    for each in told.exchanges:
        if each.op == 'reserve' and isinstance(each.body, dict):
            asked.setdefault(str(each.body.get('uuid')), each.sent)
        if not each.done:
            continue
        for given in reservations_in(each.answer):
            in_use = given.get('state') == 'in_use'
            yield _Shown(
                given['uuid'], given['node_uuid'],
                math.inf if in_use else told.at(given['expires_at']),
                frozenset((given['uuid'],)), each, False,
                # NOTE: where it was not made here, any time before.
                asked.get(given['uuid'], -math.inf),
                given.get('project_id', each.project))


def reservations_in(answer: Any) -> Iterable[dict[str, Any]]:
    """Return the reservations that an answer shows."""
    match answer:
        case {'reservation': {'node_uuid': _} as given}:
            return (given,)
        case {'reservations': [*given]}:
            return [each for each in given if 'node_uuid' in each]
    return ()


def leases_in(answer: Any) -> Iterable[dict[str, Any]]:
    """Return the leases that an answer shows."""
    match answer:
        case {'lease': {'id': _} as lease}:
            return (lease,)
        case {'leases': [*leases]}:
            return leases
    return ()


def _leases(told: history.History) -> Iterator[_Shown]:
    released = unused.Unused(told)
    used: dict[tuple[str, str], _Shown] = {}
    for each in told.exchanges:
        if not each.done or each.dry:
            continue
        if each.op == 'deploy' and each.proof is not None:
            # NOTE: it says that its lease still has the node, for good now.
            had = used.get((each.path.split('/')[3], each.proof))
            if had is not None and had.exchange.got <= each.sent:
                yield dataclasses.replace(had, exchange=each, asked=each.sent)
        for lease in leases_in(each.answer):
            if lease['status'] != 'ACTIVE':
                continue
            for reservation in lease['reservations']:
                for node in reservation['nodes']:
                    if node['state'] == 'bound':
                        ends = told.at(lease['end_date'])
                        there = _Shown(
                            lease['id'], node['uuid'],
                            min(ends, released.kept_until(
                                node['uuid'], reservation['id'],
                                told.at(lease['start_date']), each.sent)
                                if told.no_show else math.inf),
                            frozenset((reservation['id'],)), each, True,
                            each.sent,
                            lease.get('project_id', each.project))
                        yield there
                        used[node['uuid'], reservation['id']] = (
                            dataclasses.replace(there, until=ends))

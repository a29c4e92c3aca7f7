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


"""Whether maintenance windows keep their nodes, and touch nothing else.

An answer that shows a window makes it sure on its nodes from the moment when
the client had the answer, until somebody sends what ends it, or deletes one
of its nodes, or the last answer before one that shows other dates.
"""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
from typing import Any

from tests.processes.checker import handed
from tests.processes.checker import history
from tests.processes.checker import owners
from tests.processes.checker import promises

WINDOWS = '/v1/maintenances'
#: What stands in Ironic behind the reason of a window.
MARK = '[maintenance window '
#: How far, in seconds, the clock of the database may be off the one of all.
_CLOCKS = 1.0
#: So long, in seconds, before it hands over a request of the service the guard
#: looks at the node.
_LOOKED = 5.0
#: So long, in seconds, what an operator did may go unseen.
_SEEN = 30.0


@dataclasses.dataclass(frozen=True)
class Sure:
    """A window surely stands on a node.

    :ivar end: when that is sure no more.
    :ivar starts: of the window on that node, and when it ends.
    """

    window: str
    node: str
    begin: float
    end: float
    starts: float
    ends: float


def find(told: history.History) -> list[Sure]:
    """Return all windows that are sure, by what clients were shown."""
    writes = [each for each in told.exchanges if not each.refused and (
        each.method == 'DELETE' and each.path.startswith(f'{WINDOWS}/')
        or each.op in ('operate-delete', 'operate-enroll'))]
    shown: dict[tuple[str, str], list[tuple[history.Exchange, str]]] = {}
    found = []
    for each in told.exchanges:
        if not each.done or each.dry:
            continue
        for window in windows_in(each.answer):
            for node in window['nodes']:
                shown.setdefault((window['uuid'], node['node_uuid']),
                                 []).append((each, node['starts_at']))
                if node['state'] != 'over':
                    found.append(_sure(told, each, window, node, writes))
    return [dataclasses.replace(each, end=min(each.end, _last_shown(
        told, each, shown[each.window, each.node]))) for each in found]


def _last_shown(told: history.History, sure: Sure,
                shown: list[tuple[history.Exchange, str]]) -> float:
    """Return until when no answer shows that a window starts otherwise."""
    others = [by.got for by, starts in shown if sure.begin < by.got
              and told.at(starts) != sure.starts]
    return max((by.sent for by, starts in shown
                if told.at(starts) == sure.starts and by.got < min(others)),
               default=sure.begin) if others else sure.ends


def windows_in(answer: Any) -> list[dict[str, Any]]:
    """Return the windows that an answer shows."""
    match answer:
        case {'maintenance': {'nodes': [*_]} as window}:
            return [window]
        case {'maintenances': [*windows]}:
            return windows
    return []


def _sure(told: history.History, each: history.Exchange,
          window: dict[str, Any], node: dict[str, Any],
          writes: list[history.Exchange]) -> Sure:
    ident, uuid = window['uuid'], node['node_uuid']
    ends = told.at(node['ends_at'])
    return Sure(ident, uuid, each.got, min([ends, *(
        by.sent for by in writes
        if by.plain_path == f'{WINDOWS}/{ident}'
        and by.over(told.late) > each.sent
        or by.op.startswith('operate') and (
            uuid in by.path or uuid in str(by.body))
        and by.over(told.late) + _SEEN > each.sent),
        *_began_earlier(told, ident, uuid, told.at(node['starts_at']))]),
        told.at(node['starts_at']), ends)


def _began_earlier(told: history.History, window: str, node: str,
                   starts: float) -> Iterator[float]:
    """Return when a node entered a window before the start that was shown.

    A window that waits for the user of a node begins, and ends, earlier if the
    user leaves earlier.
    """
    for done in told.done:
        if (done.uuid == node and done.began < starts - _CLOCKS
                and f'{MARK}{window}]' in str(
                    done.values.get('maintenance_reason'))):
            yield done.began - _LOOKED


def deployed(told: history.History, sure: list[Sure]
             ) -> Iterator[tuple[history.Done, Sure]]:
    """Return deploys of those who have neither a reservation nor a lease.

    NOTE: of those that were asked for once the window had surely started;
    those before may come late.
    """
    if not sure:
        return
    asked = {each.id: each for each in told.exchanges}
    proofs = _proofs(told)
    told.judged['deployed in maintenance'] += sum(
        any(each.node in by.path and max(each.begin, each.starts + _CLOCKS)
            < by.sent < each.end - _CLOCKS for each in sure)
        for by in told.exchanges if by.op == 'deploy'
        and by.proof not in proofs)
    for done in told.done:
        by = asked.get(done.request or '')
        if by is None or by.proof in proofs or (
                done.values.get('provision_state') != 'deploying'):
            continue
        for each in sure:
            if (each.node == done.uuid and by.sent > max(
                    each.begin, each.starts + _CLOCKS)
                    and done.ended < each.end - _CLOCKS):
                yield done, each
                break


def _proofs(told: history.History) -> set[str]:
    found = {str(each.body.get('uuid')) for each in told.exchanges
             if each.op == 'reserve' and isinstance(each.body, dict)}
    for each in told.exchanges:
        for lease in owners.leases_in(each.answer):
            found.update(reservation['id']
                         for reservation in lease['reservations'])
    return found


def crossed(told: history.History, sure: list[Sure]
            ) -> Iterator[tuple[history.Exchange, Sure, str]]:
    """Return leases that were promised nodes across a window of them.

    NOTE: what was promised before the window was booked is moved, or flagged,
    only after that, so it has to be new: the lease was made since then, or
    was seen since then without it.  One that had begun keeps its nodes; that
    it was flagged for another one meanwhile changes nothing.
    """
    if not sure:
        return
    seen: dict[str, list[tuple[history.Exchange, _Promises]]] = {}
    found, judged = set(), set()
    for each in told.exchanges:
        if not each.done or each.dry:
            continue
        for lease in owners.leases_in(each.answer):
            there = _Promises(told, lease)
            before = seen.setdefault(lease['id'], [])
            for window in sure:
                if there.is_meanwhile(window):
                    judged.add((lease['id'], window.window))
                if (there.crosses(window) and window.begin <= each.sent
                        and each.got <= window.end
                        and (lease['id'], window.window) not in found
                        and (there.made > window.begin or any(
                            window.begin <= other.sent
                            and other.got <= each.sent
                            and not had.crosses(window)
                            for other, had in before))
                        and not any(other.got <= window.begin
                                    and had.has_begun(window)
                                    for other, had in before)):
                    found.add((lease['id'], window.window))
                    yield each, window, lease['id']
            before.append((each, there))
    told.judged['promised across maintenance'] += len(judged)


class _Promises:
    """From when until when an answer shows nodes promised to a lease."""

    def __init__(self, told: history.History, lease: dict[str, Any]) -> None:
        self.made = told.at(lease['created_at'])
        self._times = [
            (node, *(told.at(date.isoformat())
                     for date in (promise.begin, promise.end)))
            for node, promise in promises.of_lease(lease)]

    def has_begun(self, window: Sure) -> bool:
        """Return whether it had the node when its window was booked."""
        return any(node == window.node and begin < window.begin
                   and window.starts < end
                   for node, begin, end in self._times)

    def is_meanwhile(self, window: Sure) -> bool:
        """Return whether it was made while a window stood across its time."""
        return window.begin < self.made < window.end and any(
            begin + _CLOCKS < window.ends and window.starts + _CLOCKS < end
            for _, begin, end in self._times)

    def crosses(self, window: Sure) -> bool:
        """Return whether it is promised the node of a window across it."""
        return any(node == window.node and begin + _CLOCKS < window.ends
                   and window.starts + _CLOCKS < end
                   for node, begin, end in self._times)


def meddled(told: history.History, sure: list[Sure]
            ) -> Iterator[tuple[history.Done, str]]:
    """Return what the service did to maintenance that others had set."""
    asked = {each.id for each in told.exchanges}
    by_service = [passed for passed in told.passed if passed.request is None]
    last: dict[str, tuple[history.Done, str | None]] = {}
    for done in told.done:
        values = done.values
        if done.kind == 'node' and done.what == 'destroy':
            # NOTE: a node that is enrolled again has none of it.
            last.pop(done.uuid, None)
        if done.kind != 'node' or done.what != 'save' or not (
                {'maintenance', 'maintenance_reason'} & set(values)):
            continue
        before = last.pop(done.uuid, None)
        reason = values.get('maintenance_reason')
        if values.get('maintenance') is not False:
            last[done.uuid] = done, reason
        if before is None or MARK in (before[1] or '') or (
                handed.is_of_holder(before[1])):
            continue
        since = before[0].ended + _LOOKED
        told.judged['maintenance of another'] += any(
            each.node == done.uuid and max(since, each.starts)
            < min(done.began, each.ends) for each in sure) or any(
                since < passed.began < done.began for passed in by_service
                if passed.path.startswith(f'/v1/nodes/{done.uuid}'))
        if done.request in asked:
            continue
        if since < _handed(told, done):
            yield done, f'{before[1]!r}, set at {before[0].ended:.2f},'


def _handed(told: history.History, done: history.Done) -> float:
    """Return when a request that was not a client's was handed to Ironic.

    NOTE: one that was handed over before may be what was done only now.
    """
    return min((passed.began for passed in told.passed
                if passed.request is None
                and passed.path == f'/v1/nodes/{done.uuid}/maintenance'
                and done.began - told.late < passed.began < done.ended),
               default=done.began)

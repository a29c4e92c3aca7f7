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


"""Whether leases that wait start when that was promised, at the latest.

An answer that shows a promised start says that the lease has its nodes by
then, until somebody sends what may change or end it.  Only a node that is
broken may be in its way: then it is flagged, and its owner told.  While
one thing after another fails, nobody can say by when something is done; then
it is, within the time after which nothing that was sent is under way any
more.  Once a storm is over, and all that is under way has come to its end,
leases start in time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.processes.checker import dates
from tests.processes.checker import history
from tests.processes.checker import owners

_DONE = 'DONE'
#: How many seconds after its start a lease may start once there is quiet.
_PUNCTUAL = 15.0


def late(told: history.History) -> Iterator[tuple[float, str, str]]:
    """Return leases that have started too late, or have not started.

    :returns: when, the lease, and what is wrong.
    """
    flagged = _written(told, 'broken')
    end = max((each.sent for each in told.exchanges), default=0.0)
    judged = set()
    started = _written(told, 'started')
    for lease, answers in dates.shown(told).items():
        if lease in flagged:
            continue
        for before in answers:
            if before.promised is None or before.status == 'ACTIVE':
                continue
            latest = _latest(told, max(before.promised, before.exchange.got))
            began = started.get(lease)
            if latest < min(before.until, end) or (
                    began is not None and before.exchange.got < began):
                judged.add(lease)
            if began is not None and latest < began < before.until:
                yield began, lease, _text(before, f'has at {began:.2f}')
                break
            shown = next(_not_begun(told, lease, latest, before.until), None)
            if shown is not None:
                yield shown, lease, _text(before, f'had not at {shown:.2f}')
                break
    told.judged['started late'] += len(judged)


def _latest(told: history.History, since: float) -> float:
    """Return when what is due since then is done, whatever failed."""
    if since > told.quiet:
        return since + _PUNCTUAL
    for fault in told.faults:
        if fault['fault'] != 'calm' and fault['at'] <= since + told.late:
            since = max(since, fault['at'] + (fault.get('seconds') or 0))
    return since + told.late


def _text(before: dates.Dates, instead: str) -> str:
    return (f'it was to start by {before.promised:.2f}, as was shown at '
            f'{before.exchange.got:.2f}, and {instead}')


def _not_begun(told: history.History, ident: str, latest: float,
               until: float) -> Iterator[float]:
    """Return when answers showed that a lease had not started.

    NOTE: one that is over since then started in its time, or never.
    """
    for each in told.exchanges:
        if each.sent > latest and each.got <= until and (
                each.done and not each.dry):
            for lease in owners.leases_in(each.answer):
                if lease['id'] == ident and not lease['degraded'] and (
                        told.at(lease['end_date']) > latest
                        and not _has_begun(lease)):
                    yield each.sent


def _has_begun(lease: dict[str, Any]) -> bool:
    return any(event['event_type'] == 'start_lease'
               and event['status'] == _DONE for event in lease['events'])


def _written(told: history.History, kind: str) -> dict[str, float]:
    """Return when notices of a kind were written, by the lease."""
    rows = (told.snapshots[-1]['tables'].get('outbox', ())
            if told.snapshots else ())
    return {row['lease_id']: told.at(row['created_at'])
            for row in rows if row['kind'] == kind}

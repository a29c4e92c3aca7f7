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


"""Whether what the enforcement service was told adds up.

Of each lease it takes entries with numbers, each with what was promised
before and what is since then: one that knows them all knows all that the
lease ever was.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
from typing import Any

from tests.processes.checker import history
from tests.processes.checker import owners

#: The channel of the outbox that entries are sent over.
CHANNEL = 'enforcement'
_LIVE = ('PENDING', 'STARTING', 'ACTIVE')
#: How far, in seconds, dates may be off: what is shown is rounded.
_GRAIN = 0.01

_Entry = dict[str, Any]
_Terms = tuple[float, float, int, int]


def wrong(told: history.History) -> Iterator[tuple[float, str, str]]:
    """Return what the enforcement service was not told right.

    NOTE: by the tables once all is over; what has not been sent is left over.

    :returns: when, the lease, and what is wrong.
    """
    if told.commits is None or not told.snapshots:
        return
    last = told.snapshots[-1]
    at, known = last['at'], {each['id'] for each in told.commits}
    for row in last['tables'].get('outbox', ()):
        if row['channel'] == CHANNEL and row['outcome'] == 'delivered' and (
                row['notice_id'] not in known):
            yield at, row['lease_id'], (f'the commit {row["notice_id"]} was '
                                        'never received')
    by_lease: dict[str, list[_Entry]] = collections.defaultdict(list)
    for entry in told.commits:
        by_lease[entry['lease_id']].append(entry)
    going_on = {row['id'] for row in last['tables'].get('leases', ())
                if row['status'] not in ('TERMINATED', 'ERROR')}
    for lease, entries in by_lease.items():
        told.judged['charged wrong'] += len(entries)
        for text in _chain(told, entries, lease in going_on):
            yield at, lease, text
    for lease, text in _untold(told, by_lease):
        yield at, lease, text


def _chain(told: history.History, entries: list[_Entry],
           continues: bool) -> Iterator[str]:
    """Return what is wrong about the entries of a lease, as they came."""
    first: dict[int, _Entry] = {}
    for entry in entries:
        number = entry['sequence']
        there = first.setdefault(number, entry)
        if there != entry:
            yield f'there are two commits {number}: {there} and {entry}'
    if list(first) != list(range(1, len(first) + 1)):
        yield f'the commits came as {list(first)}'
    terms = None
    for number in sorted(first):
        entry = first[number]
        if entry['before'] != terms:
            yield (f'commit {number} is of {entry["before"]}, and {terms} '
                   'was told before')
        before, terms = entry['before'], entry['after']
        kind = ('granted' if before is None else
                'ended' if terms is None else 'changed')
        if entry['type'] != kind or before == terms:
            yield (f'commit {number} ({entry["type"]}) is from {before} to '
                   f'{terms}')
        if terms is None and before is not None and (
                told.at(entry['ended_at'])
                > told.at(before['end_date']) + _GRAIN):
            yield (f'it ended at {entry["ended_at"]}, and was told to end at '
                   f'{before["end_date"]}')
    if not continues and terms is not None:
        yield f'there is no commit that it has ended: {terms}'


def _untold(told: history.History, by_lease: dict[str, list[_Entry]]
            ) -> Iterator[tuple[str, str]]:
    """Return leases that clients were shown otherwise than it was told."""
    charged: dict[str, set[_Terms]] = {
        lease: {_terms(told, entry['after']) for entry in entries
                if entry['after'] is not None}
        for lease, entries in by_lease.items()}
    found = set()
    for each in told.exchanges:
        if not each.done or each.dry:
            continue
        for lease in owners.leases_in(each.answer):
            ident = lease['id']
            if lease['status'] not in _LIVE or ident in found:
                continue
            shown = _shown(told, lease)
            if not any(_same(shown, terms)
                       for terms in charged.get(ident, ())):
                found.add(ident)
                yield ident, (f'{shown} was shown to {each.who}, and never '
                              f'charged: {sorted(charged.get(ident, ()))}')


def _terms(told: history.History, terms: dict[str, Any]) -> _Terms:
    return (told.at(terms['start_date']), told.at(terms['end_date']),
            sum(terms['hosts'].values()), terms['instances'])


def _shown(told: history.History, lease: dict[str, Any]) -> _Terms:
    counts = [0, 0]
    for reservation in lease['reservations']:
        counts[reservation['resource_type'] == 'virtual:instance'] += sum(
            node['state'] in ('planned', 'bound')
            for node in reservation['nodes'])
    return (told.at(lease['start_date']), told.at(lease['end_date']),
            *counts)  # type: ignore[return-value]


def _same(one: _Terms, other: _Terms) -> bool:
    return one[2:] == other[2:] and all(
        abs(mine - yours) <= _GRAIN for mine, yours in zip(one, other,
                                                           strict=True))

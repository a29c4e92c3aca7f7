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

"""Draws a calendar from the rows; shares no code with what serves it.

Slow and plain on purpose: it asks of each second and each host anew.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import datetime
import math
from typing import Any

_MINUTE = datetime.timedelta(minutes=1)
_SECOND = datetime.timedelta(seconds=1)
#: What of the states that tests use passes without anybody's help, and what
#: is somebody's.
_CLEANED = ('cleaning', 'clean wait')
_PASSING = (None, 'deleting', *_CLEANED)
_DEPLOYED = ('active', 'wait call-back', 'deploying', 'deploy failed')

#: Judges a row.
_Test = Callable[[Mapping[str, Any]], bool]


@dataclasses.dataclass(frozen=True)
class Timeline:
    """All rows that matter, as dictionaries.

    :ivar hosts: of hosts; each has its node as ``node``.
    :ivar promised: of reservations; those of leases have their lease as
        ``lease``.
    :ivar busy: the nodes for which requests are under way.
    :ivar margin: for cleaning.
    """

    now: datetime.datetime
    hosts: Iterable[Mapping[str, Any]]
    promised: Iterable[Mapping[str, Any]]
    busy: frozenset[str]
    margin: datetime.timedelta

    def on(self, host: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """Return what one host is promised to."""
        return [row for row in self.promised
                if row['node_uuid'] == host['node_uuid']
                and not self._void(row)]

    def _void(self, row: Mapping[str, Any]) -> bool:
        """Return whether nobody has come for a reservation in time."""
        return (bool(row['immediate']) and row['state'] == 'reserved'
                and row['expires_at'] <= self.now)

    def window(self, row: Mapping[str, Any]
               ) -> tuple[datetime.datetime, datetime.datetime]:
        """Return when a row has its host."""
        start, end = row['starts_at'] or row['created_at'], row['expires_at']
        if self._late(row):
            # So that it is free two minutes from now at the earliest.
            end = max(end, self._whole_minutes(0),
                      self._whole_minutes(2) - self.margin)
        return start, end

    def _begun(self, row: Mapping[str, Any]) -> bool:
        return row['state'] != 'planned' or row['lessee'] is not None

    def _late(self, row: Mapping[str, Any]) -> bool:
        return (not row['immediate'] and self._begun(row)
                and row['expires_at'] <= self.now)

    def _whole_minutes(self, more: int) -> datetime.datetime:
        return self.now.replace(second=0, microsecond=0) + more * _MINUTE

    def fit(self, host: Mapping[str, Any]) -> bool:
        """Return whether a host can serve anything new at all."""
        node = host['node']
        if not (host['reservable'] and node['reservable']) or (
                node['maintenance'] or node['retired']):
            return False
        state, rows = node['provision_state'], self.on(host)
        if state not in ('available', *_PASSING, *_DEPLOYED):
            return False
        if any(not row['immediate'] and row['state'] != 'planned'
               for row in rows):
            # Whatever is there goes with the lease.
            return True
        return not (
            host['node_uuid'] in self.busy
            or any(row['immediate'] and row['state'] != 'reserved'
                   for row in rows)
            or node['instance_uuid'] is not None or state in _DEPLOYED)

    def free(self, host: Mapping[str, Any], at: datetime.datetime) -> bool:
        """Return whether nobody has a host at an instant."""
        windows = [(*self.window(row), row) for row in self.on(host)]
        if not self.fit(host) or any(start <= at < end
                                     for start, end, _ in windows):
            return False
        return not any(
            end <= at < end + self.margin and not row['immediate']
            and not any(end <= start <= at for start, _, _ in windows)
            for _, end, row in windows)

    def condition(self, host: Mapping[str, Any]) -> str:
        """Return what a host is good for now."""
        node = host['node']
        if not (host['reservable'] and node['reservable']):
            return 'closed'
        state = node['provision_state']
        if node['maintenance'] or (
                state not in ('available', *_PASSING, *_DEPLOYED)):
            return 'broken'
        if state in _DEPLOYED or (state == 'available'
                                  and node['instance_uuid']):
            return 'deployed'
        if node['retired']:
            return 'broken'
        if state in _CLEANED:
            return 'cleaning'
        return 'usable' if state == 'available' else 'in transition'


def faults(document: Mapping[str, Any], there: Timeline, everything: bool,
           project_id: str | None) -> list[str]:
    """Return all that is wrong with a calendar with rows.

    :param everything: whether the viewer may list all leases and hosts;
    :param project_id: or else those that concern this project.
    """
    def sees(lease: Mapping[str, Any]) -> bool:
        return everything or (project_id is not None
                              and lease['project_id'] == project_id)

    def knows(node: Mapping[str, Any]) -> bool:
        return everything or (project_id is not None and project_id in (
            node['owner'], node['lessee']))

    origin = datetime.datetime.fromisoformat(document['origin'])
    hosts = sorted(there.hosts, key=lambda host: host['id'])
    wrong = _wrong_steps(document, there, hosts, origin)
    shown = [_shown(row, document) for row in document['hosts']]
    drawn = [_drawn(host, there, sees, knows, origin, document['end'])
             for host in hosts]
    wrong.extend(f'shown as {one}, and is {other}' for one, other in zip(
        shown, drawn, strict=True) if one != other)
    if len(document['leases']) != len({
            row['lease']['id'] for host in hosts for row in there.on(host)
            if row.get('lease') and _within(
                there.window(row), origin, document['end'])}):
        wrong.append('some leases are there twice, or for nothing')
    return wrong


def _wrong_steps(document: Mapping[str, Any], there: Timeline,
                 hosts: list[Mapping[str, Any]],
                 origin: datetime.datetime) -> list[str]:
    wrong = []
    instants = {0, document['end'] - 1}
    for host in hosts:
        for row in there.on(host):
            start, end = there.window(row)
            for edge in (start, end, end + there.margin):
                second = math.ceil((edge - origin) / _SECOND)
                instants.update((second - 1, second))
    names = {host['node']['resource_class'] for host in hosts}
    if [each['resource_class'] for each in document['classes']] != sorted(
            names, key=lambda name: name or ''):
        wrong.append('the classes are others')
    for each in document['classes']:
        mine = [host for host in hosts
                if host['node']['resource_class'] == each['resource_class']]
        counted: dict[str, int] = dict.fromkeys(each['conditions'], 0)
        for host in mine:
            counted[there.condition(host)] += 1
        if (len(mine), counted) != (each['hosts'], each['conditions']):
            wrong.append(f'{each}: there are {len(mine)}, {counted}')
        steps = each['steps']
        if steps[0][0] != 0 or any(
                one[0] >= other[0] or one[1] == other[1]
                for one, other in zip(steps, steps[1:], strict=False)):
            wrong.append(f'no steps: {steps}')
        for second in sorted(instants):
            if 0 <= second < document['end']:
                told = [free for at, free in steps if at <= second][-1]
                is_so = sum(there.free(host, origin + second * _SECOND)
                            for host in mine)
                if told != is_so:
                    wrong.append(f'{each["resource_class"]} at {second}: '
                                 f'{told} are free, and it is {is_so}')
    return wrong


def _within(window: tuple[datetime.datetime, datetime.datetime],
            origin: datetime.datetime, end: int) -> bool:
    return (math.ceil((window[0] - origin) / _SECOND) < end
            and math.ceil((window[1] - origin) / _SECOND) > 0)


def _shown(row: Mapping[str, Any], document: Mapping[str, Any]) -> Any:
    return (row['id'], row['node_uuid'], row['name'], row['resource_class'],
            row['condition'], sorted(
                (start, end, state,
                 *(('none',) if lease < 0 else (
                     document['leases'][lease]['id'] or 'hidden',
                     document['leases'][lease]['name'])), amount)
                for start, end, state, lease, amount in row['bookings']))


def _drawn(host: Mapping[str, Any], there: Timeline, sees: _Test,
           knows: _Test, origin: datetime.datetime, seconds: int) -> Any:
    bookings, named = [], knows(host['node'])
    for row in there.on(host):
        start, end = there.window(row)
        if not _within((start, end), origin, seconds):
            continue
        lease = row.get('lease')
        named = named or (lease is not None and sees(lease))
        bookings.append((
            math.ceil((start - origin) / _SECOND),
            math.ceil((end - origin) / _SECOND),
            2 if row['immediate'] else int(there._begun(row)),
            *(('none',) if lease is None else
              (lease['id'], lease['name']) if sees(lease)
              else ('hidden', None)), 0))
    node = host['node']
    return (str(host['id']), node['uuid'] if named else None,
            node['name'] if named else None, node['resource_class'],
            there.condition(host), sorted(bookings))

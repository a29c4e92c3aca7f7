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


"""Whether what is said of reservations can be true.

Of each instance that a node was asked for, it is known since when it may have
had one, of which nodes, and until when at the latest.  A node may be refused
as reserved only while somebody may have had it.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
import dataclasses
import math
from typing import Any

from tests.processes.checker import history
from tests.processes.checker import owners

_RESERVED = 'reserved'
_NO_NODE = 'reservation.no_node_available'
_NOT_HELD = 'held_elsewhere'
#: How far, in seconds, the clock of the database may be off the one of all.
_CLOCKS = 2.0

_Found = Iterator[tuple[float, str, str]]


@dataclasses.dataclass
class Life:
    """One reservation, as clients asked for it and saw it.

    :ivar tries: the requests for it.
    :ivar shown: the answers that show it, each with what it shows.
    :ivar about: the requests that name it, or show it as the proof of a
        deploy.
    :ivar acts: the requests of its holder that change its node, which is put
        back afterwards.
    """

    tries: list[history.Exchange] = dataclasses.field(default_factory=list)
    shown: list[tuple[history.Exchange, dict[str, Any]]] = (
        dataclasses.field(default_factory=list))
    about: list[history.Exchange] = dataclasses.field(default_factory=list)
    acts: list[history.Exchange] = dataclasses.field(default_factory=list)

    def gone(self, late: float) -> float:
        """Return when it surely was over, by what was told, and for good."""
        asked = max((each.over(late) for each in self.tries),
                    default=-math.inf)
        return min((each.got for each in self.about if not each.repeated and (
            each.status == 404 or each.method == 'DELETE' and each.done)
            and asked <= each.sent), default=math.inf)

    def end(self, late: float, told: history.History) -> float:
        """Return until when it may have been there."""
        ends = [told.at(given['expires_at']) if given['state'] == _RESERVED
                else math.inf for _, given in self.shown]
        for each in (*self.tries, *self.about, *self.acts):
            if each.refused:
                continue
            if each.op in ('deploy', 'act'):
                return math.inf
            if each.op == 'reserve':
                ends.append(each.over(late) + each.body.get('ttl', math.inf))
            elif each.op == 'renew':
                ends.append(each.over(late) + each.body[0]['value'])
        return min(max(ends, default=-math.inf) + _CLOCKS, self.gone(late))

    def nodes(self) -> set[str] | None:
        """Return which nodes it may have been of; ``None``: of any."""
        found = {given['node_uuid'] for _, given in self.shown}
        for each in self.tries:
            if not each.refused and (each.repeated or not each.done):
                if 'node_uuid' not in each.body:
                    return None
                found.update(each.body['node_uuid'])
        return found


def lives(told: history.History) -> dict[str, Life]:
    """Return all of them, by the uuid or else the instance of a request."""
    found: dict[str, Life] = collections.defaultdict(Life)
    names: dict[str, str] = {}
    for each in told.exchanges:
        if each.op == 'reserve' and isinstance(each.body, dict):
            name = each.body.get('uuid') or each.body['instance_uuid']
            found[name].tries.append(each)
    for each in told.exchanges:
        for given in owners.reservations_in(each.answer) if each.done else ():
            name = (given['uuid'] if given['uuid'] in found
                    else given.get('instance_uuid', given['uuid']))
            found[name].shown.append((each, given))
            names[given['uuid']] = name
    for each in told.exchanges:
        named = (each.proof if each.op in ('deploy', 'act') else
                 each.plain_path.rpartition('/')[2]) or ''
        name = names.get(named, named)
        if name in found:
            life = found[name]
            (life.acts if each.op == 'act' else life.about).append(each)
    return found


def refused(told: history.History, known: dict[str, Life]) -> _Found:
    """Return nodes that were refused as reserved, and nobody had them."""
    spans = [(life.nodes(), min((each.sent for each in life.tries),
                                default=-math.inf), life.end(told.late, told))
             for life in known.values()]
    spans += [(_tried(each), each.sent, each.got) for each in told.exchanges
              if each.op == 'reserve']
    for each in told.exchanges:
        if each.op != 'reserve' or each.repeated or _NO_NODE not in each.codes:
            continue
        for reason in each.answer['errors'][0].get('reasons', ()):
            node = reason.get('node_uuid')
            if node and reason['code'] == _RESERVED and not any(
                    (nodes is None or node in nodes)
                    and begin <= each.got and each.sent <= end
                    for nodes, begin, end in spans):
                yield each.got, node, (
                    f'{reason["detail"]}, {each.who} is told, and nobody '
                    'can have had it')


def _tried(each: history.Exchange) -> set[str | None]:
    """Return which nodes a request had until Placement refused their holds.

    NOTE: it goes on with the next node, and may be refused in the end.
    """
    if each.done and isinstance(each.body, dict):
        return set(each.body.get('node_uuid', ()))
    if _NO_NODE not in each.codes:
        return set()
    return {reason.get('node_uuid') for reason
            in each.answer['errors'][0].get('reasons', ())
            if reason['code'] == _NOT_HELD}


def came_back(told: history.History, known: dict[str, Life]) -> _Found:
    """Return reservations that were shown although they were over."""
    for life in known.values():
        gone = life.gone(told.late)
        for each, given in life.shown:
            if each.sent > gone:
                yield each.got, given['uuid'], (
                    f'it was over at {gone:.2f}, and is shown to {each.who}')
                break


def not_as_asked(told: history.History) -> _Found:
    """Return reservations and leases that are not what was asked for."""
    for each in told.exchanges:
        asked = each.body
        if each.op == 'reserve' and each.status == 201 and (
                isinstance(asked, dict) and 'instance_uuid' in asked):
            given = each.answer['reservation']
            if (given['instance_uuid'], given['uuid']) != (
                    asked['instance_uuid'], asked.get('uuid', given['uuid'])
            ) or given['node_uuid'] not in asked.get(
                    'node_uuid', (given['node_uuid'],)):
                yield each.got, given['uuid'], (
                    f'who asked for {asked} has got {given}')
        for lease in owners.leases_in(each.answer) if each.done else ():
            if lease['status'] != 'PENDING' or lease.get('degraded') or (
                    lease.get('queued')):
                continue
            for one in lease['reservations']:
                count = len(one['nodes'])
                if 'max' in one and not one['min'] <= count <= one['max']:
                    yield each.got, lease['id'], (
                        f'it has {count} hosts, and is to have {one["min"]} '
                        f'to {one["max"]}')


def of_nobody(told: history.History, known: dict[str, Life]) -> _Found:
    """Return what is reserved in the end, and nobody has asked for."""
    for snapshot in told.snapshots:
        for row in snapshot['tables'].get('reservations', ()):
            if row['lease_reservation_id'] is None and row.get(
                    'window_id') is None and not (
                    {row['uuid'], row.get('instance_uuid')} & known.keys()):
                yield snapshot['at'], row['node_uuid'], (
                    f'nobody has asked for {row}')


def in_use(told: history.History, known: dict[str, Life]) -> _Found:
    """Return nodes that were reserved while somebody else had them deployed.

    NOTE: by what Ironic has written before, and until the answer was there.
    Who was killed right then may not have told of it.
    """
    kills = [fault['at'] for fault in told.faults
             if fault['fault'].startswith('kill')]
    states: dict[str, list[tuple[float, float, str | None]]] = (
        collections.defaultdict(list))
    for done in told.done:
        if done.kind == 'node' and (done.what != 'save'
                                    or 'provision_state' in done.values):
            states[done.uuid].append((
                done.began, done.ended, done.values.get('provision_state')
                if done.what == 'save' else None))
    for life in known.values():
        asked = min((each.sent for each in life.tries), default=-math.inf)
        for each, given in life.shown[:1]:
            there = [(began, ended, state) for began, ended, state
                     in states[given['node_uuid']] if began <= each.got]
            if there and there[-1][1] <= asked and (
                    there[-1][2] not in (None, 'available')) and not any(
                        there[-1][0] <= at <= each.got for at in kills):
                yield each.got, given['node_uuid'], (
                    f'it is reserved, and {there[-1][2]} since '
                    f'{there[-1][1]:.2f}')

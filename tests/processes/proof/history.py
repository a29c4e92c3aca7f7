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

"""Whether a history of requests and answers can be true.

Pure: records and rows in, sentences about what cannot be true out.  Of each
reservation two spans of time are known: that in which it *surely* stood,
from the answer that told of it to the request that ended it, and that in
which it *may* have stood, from the request for it to the end of it that was
told.  No two sure spans of a node may overlap; and a node may be refused only
while one that may have stood did.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import datetime
import math
from typing import Any

from tests.processes.proof import records

_RESERVED = 'reserved'
_NOT_FOUND = 'reservation.not_found'
_REFUSED = 'reservation.no_node_available'
_ASKING = (records.RESERVE, records.AGAIN)
_BY_UUID = (records.SHOW, records.RENEW, records.DELETE)
#: Every answer that a request may get.
_ANSWERS = {
    records.RESERVE: {(201, None), (409, _REFUSED)},
    records.AGAIN: {(201, None), (409, _REFUSED)},
    records.RENEW: {(200, None), (404, _NOT_FOUND)},
    records.SHOW: {(200, None), (404, _NOT_FOUND)},
    records.DELETE: {(204, None), (404, _NOT_FOUND)},
    records.LIST: {(200, None)},
    records.PAGE: {(200, None)},
}


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of the table, live when it was read."""

    uuid: str
    node_uuid: str
    instance_uuid: str
    expires: float


@dataclasses.dataclass
class Life:
    """One reservation as the clients saw it.

    NOTE: renewals here only ever lengthen, so that the latest end that was
    told is the true one.

    :ivar told: when the first answer told of it.
    :ivar asked: when the first request that may have made it was sent.
    :ivar expires: the latest end that was told.
    :ivar may_expire: the latest end that it may have got.
    :ivar leaves: when its end was first asked for.
    :ivar left: when its end was first told.
    """

    uuid: str
    node: str
    instance: str
    told: float
    asked: float
    expires: float
    may_expire: float
    leaves: float = math.inf
    left: float = math.inf

    @property
    def sure(self) -> tuple[float, float]:
        """The span in which it stood."""
        return self.told, min(self.leaves, self.expires)

    @property
    def maybe(self) -> tuple[float, float]:
        """The span in which it may have stood."""
        return self.asked, min(self.left, max(self.expires, self.may_expire))


class History:
    """All that was asked and answered, in any order.

    :param broken_calls: whether calls may have broken: processes were
        killed.
    """

    def __init__(self, all_records: Iterable[records.Record],
                 broken_calls: bool = False) -> None:
        self.records = sorted(all_records, key=lambda record: record.sent)
        self._broken_calls = broken_calls
        self.wrong: list[str] = []
        self.lives: dict[tuple[str, str], Life] = {}
        self._by_instance: dict[str, list[Life]] = (
            collections.defaultdict(list))
        self._asking: dict[str, list[records.Record]] = (
            collections.defaultdict(list))
        self._maybe: dict[str, list[tuple[float, float]]] = (
            collections.defaultdict(list))
        self._gather()

    def judge(self, rows: Sequence[Row], before: float,
              after: float) -> list[str]:
        """Say what cannot be true.

        :param rows: the live rows of the table in the end.
        :param before: a time before they were read.
        :param after: a time after they were read.
        """
        for record in self.records:
            self._judge_answer(record)
            self._judge_promise(record)
            self._judge_choice(record)
        self._judge_spans()
        self._judge_rows(rows, before, after)
        return self.wrong

    def about(self, said: Iterable[str]) -> str:
        """Return all records of the instances in some sentences."""
        return '\n'.join(
            record.dump() for record in self.records
            if any(str(record.instance) in text for text in said))

    def count(self) -> dict[str, int]:
        """Count requests by what they were and what was answered."""
        return dict(collections.Counter(
            f'{record.op} {record.status}' for record in self.records))

    def _gather(self) -> None:
        for record in self.records:
            if record.op in _ASKING:
                self._asking[str(record.instance)].append(record)
        for record in sorted(self.records, key=lambda record: record.got):
            if record.given is not None:
                self._tell(record, record.given)
        for record in self.records:
            if record.op == records.DELETE:
                self._leave(record)
            elif record.op == records.RENEW and record.broken:
                for life in self._by_instance[str(record.instance)]:
                    life.may_expire = max(life.may_expire,
                                          record.got + record.ttl)
        for life in self.lives.values():
            self._maybe[life.node].append(life.maybe)
        for record in self.records:
            # NOTE: of an attempt without an answer nobody knows whether it
            # left a reservation, nor of which node.
            if record.op in _ASKING and record.broken:
                for node in record.nodes:
                    self._maybe[node].append(
                        (record.sent, record.got + record.ttl))

    def _tell(self, record: records.Record, given: dict[str, Any]) -> None:
        key = given['uuid'], given['created_at']
        expires = _seconds(given['expires_at'])
        life = self.lives.get(key)
        if life is None:
            life = self.lives[key] = Life(
                given['uuid'], given['node_uuid'], given['instance_uuid'],
                record.got, min(other.sent for other in
                                self._asking[str(record.instance)]),
                expires, expires)
            self._by_instance[life.instance].append(life)
        if (life.node, life.instance) != (given['node_uuid'],
                                          given['instance_uuid']):
            self._say(record, f'changed from {life.node}')
        life.expires = max(life.expires, expires)

    def _leave(self, record: records.Record) -> None:
        for life in self._by_instance[str(record.instance)]:
            if life.uuid == record.uuid and life.told <= record.sent:
                life.leaves = min(life.leaves, record.sent)
                if record.status in (204, 404):
                    life.left = min(life.left, record.got)

    def _judge_answer(self, record: records.Record) -> None:
        if (record.status, record.code) not in _ANSWERS[record.op]:
            self._say(record, 'is no answer to that')
        if record.broken and not self._broken_calls:
            self._say(record, 'only after the call broke')
        if len(set(record.found)) != len(record.found):
            self._say(record, 'a node twice in one list')
        if record.given is None:
            return
        if record.given['instance_uuid'] != record.instance or (
                record.op in _ASKING
                and record.given['node_uuid'] not in record.nodes):
            self._say(record, 'is not what was asked for')
        if record.uuid not in (None, record.given['uuid']):
            self._say(record, f'is not the reservation {record.uuid}')

    def _judge_promise(self, record: records.Record) -> None:
        """A reservation is there until its end, and not after it."""
        if record.op == records.PAGE:
            return
        told = [life for life in self._by_instance[str(record.instance)]
                if life.told <= record.sent and (
                    record.op not in _BY_UUID or life.uuid == record.uuid)]
        for life in told:
            until = life.leaves
            if record.op == records.DELETE:
                # NOTE: one that broke may have been done all the same.
                until = 0 if record.broken else math.inf
            if record.got < min(until, life.expires):
                self._judge_standing(record, life)
        over = told and all(
            max(life.expires, life.may_expire) <= record.sent
            or life.left <= record.sent for life in told)
        if over and (record.op in (records.SHOW, records.RENEW)
                     and record.status == 200
                     or record.op == records.DELETE and record.status == 204
                     and not record.broken
                     or record.op == records.LIST and record.found):
            self._say(record, 'although it was over')

    def _judge_standing(self, record: records.Record, life: Life) -> None:
        if record.op == records.DELETE:
            if record.status != 204:
                self._say(record, f'lost, on {life.node}')
        elif record.op == records.LIST:
            if record.found != (life.node,):
                self._say(record, f'lost, on {life.node}')
        elif record.given is None:
            self._say(record, f'lost, on {life.node}')
        elif (record.given['uuid'], record.given['node_uuid']) != (
                life.uuid, life.node):
            self._say(record, f'two for one request; {life.uuid} is there')

    def _judge_choice(self, record: records.Record) -> None:
        """What was skipped, or refused, was not to be had."""
        if record.op not in _ASKING:
            return
        skipped: Iterable[str] = record.nodes
        if record.given is not None:
            if self._told_before(record):
                return
            skipped = record.nodes[:record.nodes.index(
                record.given['node_uuid'])]
        elif record.status == 409:
            codes = {code for _node, code in record.reasons}
            if codes != {_RESERVED} or record.nodes != tuple(
                    node for node, _code in record.reasons):
                self._say(record, f'for odd reasons: {record.reasons}')
        else:
            return
        for node in skipped:
            if not any(since <= record.got and record.sent <= until
                       for since, until in self._maybe[node]):
                self._say(record, f'although {node} was free')

    def _told_before(self, record: records.Record) -> bool:
        """Whether this answer may only repeat another one."""
        return any(other is not record and other.sent <= record.got
                   for other in self._asking[str(record.instance)])

    def _judge_spans(self) -> None:
        """No node has two owners, and no instance two nodes."""
        spans: dict[str, list[Life]] = collections.defaultdict(list)
        for life in self.lives.values():
            spans[f'The node {life.node}'].append(life)
            spans[f'The instance {life.instance}'].append(life)
        for what, lives in spans.items():
            latest: Life | None = None
            for life in sorted(lives, key=lambda life: life.sure[0]):
                since, until = life.sure
                if until <= since:
                    continue
                if latest is not None and since < latest.sure[1]:
                    self.wrong.append(
                        f'{what} is in two of them: {latest} and {life}')
                if latest is None or until > latest.sure[1]:
                    latest = life

    def _judge_rows(self, rows: Sequence[Row], before: float,
                    after: float) -> None:
        there = {row.uuid: row for row in rows}
        for life in self.lives.values():
            since, until = life.sure
            row = there.get(life.uuid)
            if since <= before and after < until and (
                    row is None or row.node_uuid != life.node
                    or row.instance_uuid != life.instance):
                self.wrong.append(f'The table has {row} for {life}')
        known = {(life.uuid, life.node, life.instance)
                 for life in self.lives.values()}
        unsure = {record.instance for record in self.records
                  if record.op in _ASKING and record.broken}
        for row in rows:
            if ((row.uuid, row.node_uuid, row.instance_uuid) not in known
                    and row.instance_uuid not in unsure):
                self.wrong.append(f'Nobody was told of {row}')
        nodes = collections.Counter(row.node_uuid for row in rows)
        self.wrong.extend(f'Node {node} has {count} rows'
                          for node, count in nodes.items() if count > 1)

    def _say(self, record: records.Record, what: str) -> None:
        self.wrong.append(
            f'{record.client}: {record.op} for {record.instance} at '
            f'{record.sent:.3f}-{record.got:.3f} ({record.broken} broken) '
            f'answered {record.status} {record.code} {record.given}: {what}')


def _seconds(text: str) -> float:
    return datetime.datetime.fromisoformat(text).timestamp()

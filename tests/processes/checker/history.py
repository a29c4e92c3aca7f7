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


"""What was recorded, as values."""

from __future__ import annotations

import collections
from collections.abc import Iterable
import dataclasses
import datetime
import functools
import math
from typing import Any


@dataclasses.dataclass(frozen=True)
class Exchange:
    """A request and its answer, as the one who asked saw them.

    :ivar sent: when, in seconds of the one clock.
    :ivar got: when the answer was there, or it was given up.
    :ivar status: ``None`` where no answer came.
    :ivar proof: what was shown to the guard.
    :ivar repeated: whether it was delivered twice: the answer is of the
        second time, and tells nothing of the first.
    """

    id: str
    who: str
    op: str
    method: str
    path: str
    sent: float
    got: float
    status: int | None
    project: str | None = None
    body: Any = None
    answer: Any = None
    proof: str | None = None
    key: str | None = None
    error: str | None = None
    repeated: bool = False

    @property
    def plain_path(self) -> str:
        """The path without its query."""
        return self.path.partition('?')[0]

    @property
    def dry(self) -> bool:
        """Whether it was only tried."""
        return 'dry_run=true' in self.path

    @property
    def refused(self) -> bool:
        """Whether the answer says that nothing was done."""
        return (self.status is not None and 400 <= self.status < 500
                and not self.repeated)

    @property
    def done(self) -> bool:
        """Whether the answer says that it was done."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of our errors in the answer."""
        match self.answer:
            case {'errors': [*errors]}:
                return tuple(str(each.get('code')) for each in errors
                             if isinstance(each, dict))
            case {'code': code}:
                return (str(code),)
        return ()

    def over(self, late: float) -> float:
        """Return when it surely has no effect any more.

        :param late: how long, in seconds, one whose answer is not known may
            still be under way.
        """
        if self.status is not None and self.status < 500 and (
                not self.repeated):
            return self.got
        return self.sent + late


@dataclasses.dataclass(frozen=True)
class Done:
    """What Ironic wrote of a node or an allocation.

    :ivar request: the id of the exchange that it was done for; ``None`` for
        what no client has asked for.
    """

    kind: str
    what: str
    uuid: str
    began: float
    ended: float
    values: dict[str, Any]
    request: str | None = None


@dataclasses.dataclass(frozen=True)
class Passed:
    """A request that the guard handed to Ironic."""

    began: float
    method: str
    path: str
    request: str | None = None
    status: int | None = None
    body: Any = None


@dataclasses.dataclass(frozen=True)
class History:
    """All that was recorded of one storm.

    :ivar wall: what has to be added to the one clock to get seconds since
        1970.
    :ivar late: see :meth:`Exchange.over`.
    :ivar node_ids: the uuids of nodes by their ids in Ironic.
    :ivar capacities: what compute hosts have, by their uuids.
    :ivar noticed: the ids of the notices that somebody got; ``None``: nobody
        was to get any.
    :ivar commits: the entries that the enforcement service took, in their
        order; ``None``: there was no such service.
    :ivar no_show: after how many seconds a node that a lease has not deployed
        may be released, by its class.
    :ivar classes: of the nodes.
    :ivar calm: whether nothing was to fail.
    :ivar leased_most: how many nodes of a class a project may have leased at
        the same time.
    :ivar reserved_most: how many it may have reserved.
    :ivar owners: the projects that nodes belong to.
    :ivar owner_notice: within how many seconds they can have them back.
    :ivar all_hosts: whether all nodes could be leased.
    :ivar quiet: when nothing of what any fault had left was under way any
        more.
    :ivar judged: how often each rule was in a position to find something, by
        its name, as far as it has been judged.
    """

    exchanges: tuple[Exchange, ...]
    done: tuple[Done, ...] = ()
    passed: tuple[Passed, ...] = ()
    faults: tuple[dict[str, Any], ...] = ()
    snapshots: tuple[dict[str, Any], ...] = ()
    wall: float = 0.0
    late: float = 60.0
    node_ids: dict[int, str] = dataclasses.field(default_factory=dict)
    capacities: dict[str, dict[str, int]] = dataclasses.field(
        default_factory=dict)
    all_hosts: bool = False
    noticed: frozenset[str] | None = None
    commits: tuple[dict[str, Any], ...] | None = None
    no_show: dict[str, float] = dataclasses.field(default_factory=dict)
    classes: dict[str, str] = dataclasses.field(default_factory=dict)
    calm: bool = False
    leased_most: dict[str, int] = dataclasses.field(default_factory=dict)
    reserved_most: dict[str, int] = dataclasses.field(default_factory=dict)
    owners: dict[str, str] = dataclasses.field(default_factory=dict)
    owner_notice: float = 0.0
    quiet: float = math.inf
    judged: collections.Counter[str] = dataclasses.field(
        default_factory=collections.Counter, compare=False)

    @functools.cached_property
    def handed(self) -> dict[str, float]:
        """When the guard last handed a client's request to Ironic."""
        return {passed.request: passed.began for passed in self.passed
                if passed.request is not None}

    def at(self, date: str) -> float:
        """Return when a date of an answer is, on the one clock."""
        when = datetime.datetime.fromisoformat(date)
        if when.tzinfo is None:
            when = when.replace(tzinfo=datetime.UTC)
        return when.timestamp() - self.wall


def read(records: Iterable[dict[str, Any]]) -> History:
    """Read the records of a storm, in any order."""
    exchanges: dict[str, Exchange] = {}
    done, passed = [], []
    faults, snapshots = [], []
    ids: dict[int, str] = {}
    capacities: dict[str, dict[str, int]] = {}
    wall, late, all_hosts = 0.0, 60.0, False
    noticed: set[str] = set()
    commits: list[dict[str, Any]] = []
    notices = charged = False
    no_show: dict[str, float] = {}
    classes: dict[str, str] = {}
    rules: dict[str, Any] = {}
    for record in records:
        match record['kind']:
            case 'sending':
                exchanges.setdefault(record['id'], _of(Exchange, {
                    **record, 'got': math.inf, 'status': None}))
            case 'exchange':
                exchanges[record['id']] = _of(Exchange, record)
            case 'node' | 'allocation':
                done.append(_of(Done, record, 'kind'))
                if record['kind'] == 'node' and record.get('id') is not None:
                    ids[record['id']] = record['uuid']
            case 'passed' | 'passing':
                passed.append(_of(Passed, record))
            case 'fault':
                faults.append(record)
            case 'snapshot':
                snapshots.append(record)
            case 'quiet':
                rules['quiet'] = record['at']
            case 'noticed':
                noticed.add(record['id'])
            case 'notices':
                notices = record['sent']
            case 'commit':
                commits.append(record)
            case 'commits':
                charged = record['sent']
            case 'no_show':
                no_show, classes = record['after'], record['classes']
            case 'limits':
                rules |= {'leased_most': record['leased'],
                          'reserved_most': record['reserved']}
            case 'owners':
                rules |= {'owners': record['owners'],
                          'owner_notice': record['notice']}
            case 'host':
                capacities[record['uuid']] = record['capacity']
            case 'hosts':
                all_hosts = record['all']
            case 'calm':
                rules['calm'] = record['calm']
            case 'clock':
                wall, late = record['wall'], record['late']
    for fault in faults:
        twice = exchanges.get(str(fault.get('request')))
        if fault['fault'] == 'repeated' and twice is not None:
            exchanges[twice.id] = dataclasses.replace(twice, repeated=True)
    return History(
        tuple(sorted(exchanges.values(), key=lambda each: each.sent)),
        tuple(sorted(done, key=lambda each: each.began)),
        tuple(sorted(passed, key=lambda each: each.began)),
        tuple(sorted(faults, key=lambda each: each['at'])),
        tuple(snapshots), wall, late, ids, capacities, all_hosts,
        frozenset(noticed) if notices else None,
        tuple(each['entry'] for each in sorted(
            commits, key=lambda each: each['at'])) if charged else None,
        no_show, classes, **rules)


def _of(which: Any, record: dict[str, Any], *more: str) -> Any:
    names = {field.name for field in dataclasses.fields(which)}
    return which(**{name: value for name, value in record.items()
                    if name in names})

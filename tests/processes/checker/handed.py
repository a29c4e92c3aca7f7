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


"""Whether nodes change hands as they were, whatever their holders did.

An act of a holder writes a mark that it shares with no other one, so that
whoever looks at a node sees whose it is.  Who has had a node may do so again:
what is judged is what others see, of other projects, and what is there when
all promises have ended.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import json
import math
import re
from typing import Any

from tests.processes.checker import history
from tests.processes.checker import owners
from tests.real import remembering

#: What each mark begins with.
MARK = 'act-'
#: What is read of a node.
FIELDS = ('description,extra,instance_info,power_state,maintenance,'
          'maintenance_reason,boot_mode,secure_boot,driver_internal_info')
#: Acts that set the machine, and write no mark: what each sets.
_SET = {'/states/power': 'power_state', '/states/boot_mode': 'boot_mode',
        '/states/secure_boot': 'secure_boot',
        '/management/boot_device': 'boot_device'}
#: What stands in Ironic in front of the reason of a maintenance of a holder.
_OF_HOLDER = '[by the holder of the node'
_MARKED = re.compile(MARK + '[0-9a-f-]{36}')
_ON = 'power on'
_CLEANING = 'cleaning'
#: Acts that Ironic's policy in the storm lets lessees and owners do alone.
_LESSEES_ONLY = ('/extra/', '/instance_info/')
_LESSEES_SET = ('/states/boot_mode', '/states/secure_boot')
_VOLUMES = '/v1/volume/targets'
#: How often Ironic is asked for one snapshot.
_LOOKS = 3
#: The end of all promises, as the owner of all nodes.
_NOBODY = 'nobody'

#: When it was seen, the node, what is wrong, and the leases it is about.
Wrong = tuple[float, str, str, tuple[str, ...]]


def is_of_holder(reason: str | None) -> bool:
    """Return whether the holder of a node has put it into maintenance."""
    return (reason or '').startswith(_OF_HOLDER)


@dataclasses.dataclass(frozen=True)
class Act:
    """A request of a holder that Ironic has carried out, or may have.

    :ivar node: that it is about.
    :ivar mark: in what it writes; empty where it writes none.
    :ivar effects: when Ironic began to write what it asks for.
    :ivar surely: whether its project surely had the node when it was handed
        to Ironic, or nobody else may have done it.
    """

    asked: history.Exchange
    node: str
    mark: str
    effects: tuple[float, ...]
    surely: bool


@dataclasses.dataclass(frozen=True)
class Seen:
    """What somebody saw of a node.

    :ivar fields: of the node; ``None``: not read.
    :ivar volumes: what its volume targets are of, by their uuids; ``None``:
        not read.
    """

    node: str
    sent: float
    got: float
    fields: dict[str, Any] | None = None
    volumes: dict[str, str] | None = None

    @property
    def marks(self) -> set[str]:
        """The marks that are on it."""
        shown = [(self.fields or {}).get(name)
                 for name in FIELDS.split(',')]
        return set(_MARKED.findall(json.dumps(
            [shown, sorted((self.volumes or {}).values())])))


@dataclasses.dataclass(frozen=True)
class _Next:
    """One who has a node after another.

    :ivar project: whose; that of nobody is none.
    """

    owner: str
    project: str | None
    begin: float


class Handed:
    """Nodes that go from one to another.

    :param sure: when nodes surely were somebody's.
    """

    def __init__(self, told: history.History,
                 sure: Iterable[owners.Sure]) -> None:
        self._told = told
        self._sure: dict[str, list[owners.Sure]] = {}
        for each in sure:
            self._sure.setdefault(each.node, []).append(each)
        self._seen = list(_all_seen(told))
        # NOTE: the operator looks at all of them before anybody has one.
        self._before: dict[str, Seen] = {}
        self._volumes: dict[str, tuple[str, str]] = {}
        for seen in self._seen:
            if seen.fields is not None:
                self._before.setdefault(seen.node, seen)
        first = min((seen.got for seen in self._seen
                     if seen.volumes is not None), default=math.inf)
        for seen in self._seen:
            if seen.volumes is not None and seen.got == first:
                self._volumes |= {uuid: (seen.node, of) for uuid, of
                                  in seen.volumes.items()}
        self._acts = list(self._find_acts())
        self._by_mark = {act.mark: act for act in self._acts if act.mark}
        self._end = _end(told)

    def wrong(self) -> Iterator[Wrong]:
        """Return all that was not put back, or not cleaned."""
        judged: set[tuple[str, str]] = set()
        told: set[tuple[str, str]] = set()
        for seen in self._seen:
            for after in self._after(seen):
                judged.update(
                    (str(act.asked.proof), after.owner) for act in self._acts
                    if act.effects and act.surely and act.node == seen.node
                    and max(act.effects) < seen.sent
                    and act.asked.project != after.project)
                for text, about in self._left(seen, after):
                    if (seen.node, text) not in told:
                        told.add((seen.node, text))
                        yield (seen.got, seen.node,
                               f'{text}, while {after.owner} has it',
                               (*about, after.owner))
        for act, after in self._not_cleaned(judged):
            yield (after.begin, act.node, f'{_text(act)} had an effect at '
                   f'{max(act.effects):.2f}, and Ironic did not clean it '
                   f'until {after.owner} had it', (after.owner,))
        self._told.judged['not as lent'] += len(judged)

    def _find_acts(self) -> Iterator[Act]:
        written: dict[str, list[history.Done]] = {}
        for done in self._told.done:
            if done.request is not None and (done.values
                                             or done.kind == 'volume'):
                written.setdefault(done.request, []).append(done)
        for each in self._told.exchanges:
            node = self._node_of(each) if each.op == 'act' else None
            if node is not None:
                marks = _MARKED.findall(str(each.body))
                yield Act(each, node, marks[0] if marks else '', tuple(
                    done.began for done in written.get(each.id, ())),
                    self._is_of_holder(each, node))

    def _node_of(self, each: history.Exchange) -> str | None:
        if not each.path.startswith(_VOLUMES):
            return each.path.split('/')[3]
        if each.method == 'POST':
            return str(each.body['node_uuid'])
        return self._volumes.get(each.path.rpartition('/')[2], (None,))[0]

    def _is_of_holder(self, each: history.Exchange, node: str) -> bool:
        if each.project not in self._told.owners.values() and (
                each.path.startswith(_VOLUMES)
                or each.path.endswith(_LESSEES_SET)
                or any(item['path'].startswith(_LESSEES_ONLY)
                       for item in each.body or ()
                       if isinstance(item, dict))):
            return True
        handed = self._told.handed.get(each.id)
        return handed is not None and any(
            sure.project == each.project
            and sure.covers(handed, handed)
            for sure in self._sure.get(node, ()))

    def _after(self, seen: Seen) -> Iterator[_Next]:
        """Return who surely had a node when it was seen."""
        if self._end is not None and seen.sent >= self._end:
            yield _Next(_NOBODY, None, seen.got)
            return
        owned = set()
        for sure in self._sure.get(seen.node, ()):
            if sure.covers(seen.sent, seen.got) and sure.owner not in owned:
                owned.add(sure.owner)
                yield _Next(sure.owner, sure.project, sure.begin)

    def _left(self, seen: Seen, after: _Next
              ) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Return what others have left on a node, and what they took."""
        for mark in seen.marks:
            act = self._by_mark.get(mark)
            if act is not None and act.surely and (
                    act.asked.project != after.project):
                yield f'{_text(act)} is still there', (mark,)
        before = self._before.get(seen.node)
        if seen.fields is not None and before is not None and before.fields:
            for name in ('description', 'rack'):
                was, now = (each['extra'].get(name) if name == 'rack'
                            else each[name]
                            for each in (before.fields, seen.fields))
                if now != was and not _MARKED.search(str(now)):
                    yield f'its {name} is {now!r}, and was {was!r}', ()
            for suffix, name in _SET.items():
                yield from self._still_set(seen, after, suffix, name)
        if seen.volumes is None or self._is_deleted(seen):
            return
        for uuid, (node, was) in self._volumes.items():
            if node == seen.node and seen.volumes.get(uuid) != was and (
                    not any(act.asked.path.endswith(uuid)
                            and act.asked.project == after.project
                            for act in self._acts)):
                yield (f'its volume {uuid} is {seen.volumes.get(uuid)!r}, '
                       f'and was {was!r}', (uuid,))

    def _is_deleted(self, seen: Seen) -> bool:
        """Return whether an operator had deleted a node by then."""
        last = [done.what for done in self._told.done
                if done.uuid == seen.node and done.kind == 'node'
                and done.what in ('create', 'destroy')
                and done.began < seen.got]
        return last[-1:] == ['destroy']

    def _still_set(self, seen: Seen, after: _Next, suffix: str, name: str
                   ) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Return who has set a machine that still is as it was set."""
        shown, before = (_shown(each.fields, name) for each in (
            seen, self._before[seen.node]))
        if (shown != _ON if name == 'power_state' else shown == before):
            return
        acts = {act.asked.id: act for act in self._acts
                if act.asked.path.endswith(suffix)}
        last = [done for done in self._told.done
                if done.uuid == seen.node and name in done.values
                and done.began < seen.sent]
        act = acts.get(last[-1].request or '') if last else None
        # NOTE: who has it now may have set it so, unrecorded.
        if act is not None and act.surely and (
                act.asked.project != after.project) and not any(
                    last[-1].began < self._told.handed.get(
                        other.asked.id, 0.0) < seen.got
                    for other in acts.values() if other.node == seen.node):
            yield f'{_text(act)} is still so', ()

    def _not_cleaned(self, judged: set[tuple[str, str]]
                     ) -> Iterator[tuple[Act, _Next]]:
        """Return acts after which a node was not cleaned, and who got it."""
        cleaned: dict[str, list[float]] = {}
        made: dict[str, list[float]] = {}
        for done in self._told.done:
            if done.kind == 'node' and done.what == 'create':
                made.setdefault(done.uuid, []).append(done.ended)
            elif done.kind == 'node' and (
                    done.values.get('provision_state') == _CLEANING):
                cleaned.setdefault(done.uuid, []).append(done.ended)
        for act in self._acts:
            if not act.effects or not act.surely:
                continue
            last = max(act.effects)
            after = self._next(act, last)
            if after is None:
                continue
            judged.add((str(act.asked.proof), after.owner))
            # NOTE: one that an operator has made anew is another one.
            if not any(last < at < after.begin for at in (
                    *cleaned.get(act.node, ()), *made.get(act.node, ()))):
                yield act, after

    def _next(self, act: Act, last: float) -> _Next | None:
        """Return who surely had a node first after an act."""
        for sure in self._sure.get(act.node, ()):
            if sure.begin > last and sure.project != act.asked.project:
                return _Next(sure.owner, sure.project, sure.begin)
        return None if self._end is None else _Next(_NOBODY, None, self._end)


def _shown(fields: dict[str, Any] | None, name: str) -> Any:
    """Return what is shown of a setting of a machine."""
    assert fields is not None
    if name not in remembering.FACTORY or name in fields:
        return fields.get(name)
    kept = (fields.get('driver_internal_info') or {}).get(remembering.KEY, {})
    return kept.get(name, remembering.FACTORY[name])


def _text(act: Act) -> str:
    each = act.asked
    return (f'{each.method} {each.path} {str(each.body or "")[:120]} of '
            f'{each.who} with the proof {each.proof} at {each.sent:.2f}')


def _end(told: history.History) -> float | None:
    """Return when all promises had ended, before one looked once more."""
    if len(told.snapshots) < 2 or told.snapshots[-1]['left_over']:
        return None
    looks = [each.sent for each in told.exchanges if each.op == 'see'
             and each.sent < told.snapshots[-1]['at']]
    return looks[-_LOOKS] if len(looks) >= _LOOKS else None


def _all_seen(told: history.History) -> Iterator[Seen]:
    """Return all that was seen of nodes, in the order of the answers."""
    for each in sorted(told.exchanges, key=lambda each: each.got):
        if not each.done or each.method != 'GET':
            continue
        match each.answer:
            case {'nodes': [*nodes]}:
                found = nodes
            case {'targets': [*targets]}:
                yield from _volumes_seen(told, each, targets)
                continue
            case {'uuid': _, 'extra': _} as node:
                found = [node]
            case _:
                continue
        for node in found:
            if 'extra' in node and 'uuid' in node:
                yield Seen(node['uuid'], each.sent, each.got, node)


def _volumes_seen(told: history.History, each: history.Exchange,
                  targets: list[dict[str, Any]]) -> Iterator[Seen]:
    by_node: dict[str, dict[str, str]] = {
        node: {} for node in told.classes}
    for target in targets:
        by_node.setdefault(target['node_uuid'], {})[
            target['uuid']] = target['volume_id']
    for node, volumes in by_node.items():
        yield Seen(node, each.sent, each.got, volumes=volumes)

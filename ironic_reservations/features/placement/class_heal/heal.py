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

"""Gives instances the resource class of their node in Placement.

It is for instances that are older than the class of their node, and safe while
the cloud runs: each write names the generations that were read, no other
consumer gets a node in between, and allocations of others are kept. If it is
interrupted, the next run continues; see
:mod:`ironic_reservations.features.placement.class_heal.verdicts`.
"""

from __future__ import annotations

from collections.abc import Generator
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import enum
import random
import time
from typing import Any
import uuid as uuid_module

from ironic_reservations import errors
from ironic_reservations.clouds import placement
from ironic_reservations.clouds import placement_answers as answers
from ironic_reservations.db import claims as db_claims
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.features.placement.class_heal import verdicts
from ironic_reservations.features.placement.holds import calls as hold_calls
from ironic_reservations.features.placement.holds import consumers
from ironic_reservations.features.placement.holds import holding
from ironic_reservations.model import flavors
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import time_text
from ironic_reservations.model import uuids

#: The name of the claim.
CLAIM = 'class heal'
#: The user of consumers that had no allocations before, by which they are
#: found if the instance is deleted meanwhile.
GIVEN = 'ironic-reservations placement heal'
#: The maximum number of attempts for a node while others write, too.
_ROUNDS = 24
_PAUSES = (0.005, 0.05)

_Step = verdicts.Step


class UnderWay(Exception):
    """Another process is healing, or was interrupted not long ago."""


class Outcome(enum.StrEnum):
    """The outcome for a node."""

    #: Everything that was needed has been done.
    HEALED = 'healed'
    #: Something has to be done, but no changes were requested.
    TO_HEAL = 'to heal'
    #: Nothing had to be done.
    FINE = 'fine'
    #: Something may be wrong, and was not changed.
    LEFT = 'left'


@dataclasses.dataclass(frozen=True)
class Result:
    """The result for a node.

    :ivar reason: one word: its state, the obstacle, or the next step.
    :ivar said: a sentence for operators.
    """

    node: mirrored_node.Node
    outcome: Outcome
    reason: str
    said: str = ''

    @property
    def again(self) -> bool:
        """Whether another run may change the node."""
        return self.outcome is Outcome.TO_HEAL or (
            self.outcome is Outcome.LEFT
            and self.reason == verdicts.Reason.IN_WORK.value)


@dataclasses.dataclass(frozen=True)
class _Observed:
    """The state of a node, and the generations for changing it.

    :ivar others: the consumers of the node, except the instance and our holds.
    """

    view: verdicts.View
    generation: int
    instance: placement.Consumer
    others: Mapping[str, placement.Consumer]


def nodes(engine: Engine,
          ident: str | None = None) -> list[mirrored_node.Node]:
    """Return the nodes of Ironic.

    :param ident: the uuid or the name of the only node that is wanted.
    :raises ValueError: there is no such node.
    """
    assert engine.ironic is not None
    if ident is None:
        return sorted(engine.ironic.nodes(), key=lambda node: node.uuid)
    found = engine.ironic.node(uuids.canonical(ident))
    if found is None:
        raise ValueError(f'Ironic has no node {ident[:80]}.')
    return [found]


def collisions(there: Iterable[mirrored_node.Node]) -> dict[str, list[str]]:
    """Return resource classes that are one class in Placement."""
    return flavors.collisions({
        node.resource_class for node in there
        if node.resource_class and flavors.class_or_none(node.resource_class)})


def heal(engine: Engine, there: Iterable[mirrored_node.Node], apply: bool,
         skip_unallocated: bool = False
         ) -> Generator[Result, None, None]:
    """Heal nodes, one after another.

    :param apply: whether to change anything.
    :param skip_unallocated: skip instances that have no allocations.
    :raises UnderWay: another process is healing.
    :raises PlacementUnavailable: Placement does not answer, or refuses.
    :raises DatabaseUnavailable: the claim cannot be written.
    """
    owner = str(uuid_module.uuid4())
    if not apply:
        for node in there:
            yield _result(node, verdicts.judge(
                _observe(engine, node, skip_unallocated).view))
        return
    _claim(engine, owner)
    healing = _Healing(engine, owner, skip_unallocated)
    try:
        for node in there:
            yield healing.heal(node)
    finally:
        if not healing.uncertain:
            _drop(engine, owner)


def _claim(engine: Engine, owner: str) -> None:
    """Claim the work for as long as a write may take.

    Two concurrent first writes for one consumer can leave usage without a
    consumer.
    """
    now = engine.clock()
    if not retry.write(engine, lambda connection: db_claims.take(
            connection, CLAIM, owner, now, hold_calls.deadline(engine))):
        wait = (hold_calls.deadline(engine) - now).total_seconds()
        raise UnderWay(
            'Another process is healing, or was interrupted less than '
            f'{time_text.duration(max(1, wait))} ago. Try again after that '
            'time.')


def _drop(engine: Engine, owner: str) -> None:
    retry.write(engine, lambda connection: db_claims.drop(
        connection, CLAIM, owner))


def _observe(engine: Engine, node: mirrored_node.Node,
             skip_unallocated: bool) -> _Observed:
    client = hold_calls.client(engine)
    there = client.inventories(node.uuid)
    on_node = dict((client.consumers_on(node.uuid) or {})
                   if there is not None else {})
    instance = placement.Consumer({})
    if there is not None and node.instance_uuid is not None:
        # The writes are based on this state and its generation.
        instance = client.consumer(node.instance_uuid)
        on_node.pop(node.instance_uuid, None)
        if node.uuid in instance.allocations:
            on_node[node.instance_uuid] = instance.allocations[node.uuid]
    ours = frozenset(each for each in on_node if consumers.is_ours(each))
    others = {each: client.consumer(each) for each
              in on_node.keys() - ours - {node.instance_uuid}}
    return _Observed(verdicts.View(
        node, None if there is None else there.by_class, on_node,
        elsewhere=bool(instance.allocations.keys() - {node.uuid}), ours=ours,
        given=frozenset(each for each, there in others.items()
                        if there.user_id == GIVEN),
        skip_unallocated=skip_unallocated),
        0 if there is None else there.generation, instance, others)


def _result(node: mirrored_node.Node, verdict: verdicts.Verdict,
            steps: int = 0) -> Result:
    if isinstance(verdict.what, _Step):
        return Result(node, Outcome.TO_HEAL, verdict.what.value, verdict.said)
    if verdict.what not in verdicts.FINE:
        outcome = Outcome.LEFT
    else:
        outcome = Outcome.HEALED if steps else Outcome.FINE
    return Result(node, outcome, verdict.what.value, verdict.said)


class _Healing:
    """Heals one node at a time: read, take one step, read again.

    :ivar uncertain: whether a first write for a consumer may be late.
    """

    def __init__(self, engine: Engine, owner: str,
                 skip_unallocated: bool) -> None:
        self._engine = engine
        self._owner = owner
        self._skip_unallocated = skip_unallocated
        self._client = hold_calls.client(engine)
        self.uncertain = False
        #: The generation of an empty consumer of a failed write, if any.
        self._empty: int | None = None

    def heal(self, node: mirrored_node.Node) -> Result:
        """Take steps until none remains."""
        self._empty = None
        steps, said = 0, ''
        for _ in range(_ROUNDS):
            seen = _observe(self._engine, node, self._skip_unallocated)
            verdict = verdicts.judge(seen.view)
            if steps or isinstance(verdict.what, _Step):
                # Read after Placement, to notice a deleted instance.
                again = self._ironic_says(node)
                if again is None:
                    return _result(node, verdicts.Verdict(
                        verdicts.Reason.GONE,
                        said='The node is gone from Ironic.'))
                if again != node:
                    node = again
                    continue
            if not isinstance(verdict.what, _Step):
                return _result(node, verdict, steps)
            _claim(self._engine, self._owner)
            answer = self._take(verdict.what, verdict.consumer, seen)
            if answer.outcome is answers.Outcome.REFUSED:
                raise errors.PlacementUnavailable(answer.said)
            if answer.done:
                steps += 1
            elif (answer.outcome is answers.Outcome.UNCERTAIN
                  and verdict.what is _Step.RESHAPE
                  and not seen.instance.allocations):
                self.uncertain = True
                return Result(
                    node, Outcome.LEFT, verdicts.Reason.IN_WORK.value,
                    'The outcome of the first write for the instance is not '
                    f'known: {answer.said} Run it again later.')
            else:
                # An uncertain write may have been done.
                steps += answer.outcome is answers.Outcome.UNCERTAIN
                said = answer.said
                time.sleep(random.uniform(*_PAUSES))
        return Result(node, Outcome.LEFT, verdicts.Reason.IN_WORK.value,
                      'Others changed the allocation each time. Run it again. '
                      + said)

    def _ironic_says(self,
                     node: mirrored_node.Node) -> mirrored_node.Node | None:
        assert self._engine.ironic is not None
        return self._engine.ironic.node(node.uuid)

    def _take(self, step: verdicts.Step, consumer: str | None,
              seen: _Observed) -> answers.Answer:
        if step is _Step.OPEN:
            return self._client.put_inventories(
                seen.view.node.uuid, seen.generation,
                verdicts.published(seen.view))
        if step is _Step.REMOVE:
            assert consumer is not None
            return self._reshape_to(seen, verdicts.published(seen.view), {
                consumer: _wanted(seen, step, seen.others[consumer])})
        return self._reshape(seen)

    def _reshape(self, seen: _Observed) -> answers.Answer:
        node = seen.view.node
        assert node.instance_uuid is not None
        made = self._client.ensure_class(
            flavors.class_of_node(node.resource_class))
        if not made.done:
            return made
        fresh = not seen.instance.allocations
        wanted = _wanted(seen, _Step.RESHAPE, seen.instance)
        answer = self._reshape_to(seen, verdicts.reshaped(seen.view), {
            node.instance_uuid: dataclasses.replace(
                wanted, generation=self._empty) if fresh else wanted})
        if fresh and answer.outcome is answers.Outcome.CONSUMER_CHANGED:
            self._empty = 0 if self._empty is None else None
        return answer

    def _reshape_to(
            self, seen: _Observed, inventory: Mapping[str, Mapping[str, Any]],
            wanted: Mapping[str,
                            placement.AllocationRequest]) -> answers.Answer:
        # NOTE: the generation of a consumer may repeat after its deletion;
        # that of the provider, which every write raises, does not.
        return self._client.reshape(seen.view.node.uuid, seen.generation,
                                    inventory, wanted)


def _wanted(seen: _Observed, step: verdicts.Step,
            there: placement.Consumer) -> placement.AllocationRequest:
    """Return the allocations of a consumer after a step."""
    node = seen.view.node
    wanted = {provider: dict(resources) for provider, resources
              in there.allocations.items()}
    wanted[node.uuid] = verdicts.allocation(
        seen.view, step, wanted.get(node.uuid, {}))
    return placement.AllocationRequest(
        {provider: resources for provider, resources in wanted.items()
         if resources},
        there.project_id or node.lessee or node.owner or holding.NOBODY,
        there.user_id or GIVEN, there.generation, _type_of(there))


def _type_of(consumer: placement.Consumer) -> str:
    """Return the type of a consumer; without a type, it is an instance."""
    named = consumer.consumer_type
    return (consumers.INSTANCE if named in (None, placement.NO_TYPE)
            else named)

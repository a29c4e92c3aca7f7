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

"""Giving instances from before the classes of nodes the class of their node.

Safe while the cloud runs: each write names what it was planned on, nobody
else gets a node in between, and what others have allocated stays theirs.
Broken off at any moment, the next run goes on from what is there; see
:mod:`ironic_reservations.lifecycle.placement.class_heal`.
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
from ironic_reservations.engine.placement import consumers
from ironic_reservations.engine.placement import hold_calls
from ironic_reservations.engine.placement import holds
from ironic_reservations.lifecycle.placement import class_heal
from ironic_reservations.model import facts
from ironic_reservations.model import flavors

#: The name of the work that one process does for all.
CLAIM = 'class heal'
#: Whose the consumer of an instance is that had nothing until it was given the
#: class of its node; so it is found again if the instance has gone meanwhile.
GIVEN = 'ironic-reservations placement heal'
#: How often a node is looked at, while others write as well.
_ROUNDS = 24
_PAUSES = (0.005, 0.05)

_Step = class_heal.Step


class UnderWay(Exception):
    """Another process is at it, or has not been dead for long enough."""


class Outcome(enum.StrEnum):
    """What became of a node."""

    #: Everything was done that was left to be.
    HEALED = 'healed'
    #: Something is to be done, and nothing was to be changed.
    TO_HEAL = 'to heal'
    #: Nothing had to be done.
    FINE = 'fine'
    #: Something may be wrong, and was left alone.
    LEFT = 'left'


@dataclasses.dataclass(frozen=True)
class Result:
    """What became of a node.

    :ivar reason: in a word: where it stands, why it was left, or what comes
        next.
    :ivar said: a sentence for people.
    """

    node: facts.Node
    outcome: Outcome
    reason: str
    said: str = ''

    @property
    def again(self) -> bool:
        """Return whether another run may do something about the node."""
        return self.outcome is Outcome.TO_HEAL or (
            self.outcome is Outcome.LEFT
            and self.reason == class_heal.Reason.IN_WORK.value)


@dataclasses.dataclass(frozen=True)
class _Look:
    """A view, and what has to be named to change what it shows.

    :ivar others: the consumers of the node beside the instance and our holds.
    """

    view: class_heal.View
    generation: int
    instance: placement.Consumer
    others: Mapping[str, placement.Consumer]


def nodes(engine: Engine, ident: str | None = None) -> list[facts.Node]:
    """Read from Ironic which nodes there are.

    :param ident: the uuid or the name of the only one that is wanted.
    :raises ValueError: there is no such node.
    :raises IronicUnavailable: Ironic did not answer.
    """
    assert engine.ironic is not None
    if ident is None:
        return sorted(engine.ironic.nodes(), key=lambda node: node.uuid)
    found = engine.ironic.node(ident)
    if found is None:
        raise ValueError(f'Ironic has no node {ident[:80]}.')
    return [found]


def collisions(there: Iterable[facts.Node]) -> dict[str, list[str]]:
    """Find resource classes that are one class in Placement."""
    fit = set()
    for node in there:
        try:
            flavors.class_of_node(node.resource_class)
        except ValueError:
            continue
        fit.add(node.resource_class or '')
    return flavors.collisions(fit)


def heal(engine: Engine, there: Iterable[facts.Node], apply: bool,
         skip_unallocated: bool = False
         ) -> Generator[Result, None, None]:
    """Heal nodes, one after the other.

    :param apply: whether anything is to be changed.
    :param skip_unallocated: leave instances alone that have nothing in
        Placement.
    :raises UnderWay: another process is at it.
    :raises PlacementUnavailable: it cannot be known, or is not allowed.
    :raises IronicUnavailable: Ironic did not answer.
    :raises DatabaseUnavailable: nobody can be kept from doing the same.
    """
    owner = str(uuid_module.uuid4())
    if not apply:
        for node in there:
            yield _result(node, class_heal.judge(
                _look(engine, node, skip_unallocated).view))
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
    """Be the only one, for as long as a write that is begun may take.

    NOTE: two first writes for one consumer at the same time can leave usage
    that nobody owns.
    """
    now = engine.clock()

    def attempt() -> bool:
        with engine.database.write() as connection:
            return db_claims.take(connection, CLAIM, owner, now,
                                  hold_calls.deadline(engine))
    if not retry.until_committed(attempt):
        wait = (hold_calls.deadline(engine) - now).total_seconds()
        raise UnderWay(
            'Another process is healing, or was interrupted less than '
            f'{wait:.0f} seconds ago. Try again after that time.')


def _drop(engine: Engine, owner: str) -> None:
    def attempt() -> None:
        with engine.database.write() as connection:
            db_claims.drop(connection, CLAIM, owner)
    retry.until_committed(attempt)


def _look(engine: Engine, node: facts.Node,
          skip_unallocated: bool) -> _Look:
    client = hold_calls.client(engine)
    there = client.inventories(node.uuid)
    on_node = dict((client.consumers_on(node.uuid) or {})
                   if there is not None else {})
    instance = placement.Consumer({})
    if there is not None and node.instance_uuid is not None:
        # NOTE: what is written is what this says, and its generation.
        instance = client.consumer(node.instance_uuid)
        on_node.pop(node.instance_uuid, None)
        if node.uuid in instance.allocations:
            on_node[node.instance_uuid] = instance.allocations[node.uuid]
    ours = frozenset(each for each in on_node if consumers.is_ours(each))
    others = {each: client.consumer(each) for each
              in on_node.keys() - ours - {node.instance_uuid}}
    return _Look(class_heal.View(
        node, None if there is None else there.by_class, on_node,
        elsewhere=bool(instance.allocations.keys() - {node.uuid}), ours=ours,
        given=frozenset(each for each, there in others.items()
                        if there.user_id == GIVEN),
        skip_unallocated=skip_unallocated),
        0 if there is None else there.generation, instance, others)


def _result(node: facts.Node, verdict: class_heal.Verdict,
            steps: int = 0) -> Result:
    if isinstance(verdict.what, _Step):
        return Result(node, Outcome.TO_HEAL, verdict.what.value, verdict.said)
    if verdict.what not in class_heal.FINE:
        outcome = Outcome.LEFT
    else:
        outcome = Outcome.HEALED if steps else Outcome.FINE
    return Result(node, outcome, verdict.what.value, verdict.said)


class _Healing:
    """One node at a time: look, take one step, look again.

    :ivar uncertain: whether a first write for some consumer may come late.
    """

    def __init__(self, engine: Engine, owner: str,
                 skip_unallocated: bool) -> None:
        self._engine = engine
        self._owner = owner
        self._skip_unallocated = skip_unallocated
        self._client = hold_calls.client(engine)
        self.uncertain = False
        #: What an empty consumer is at; it may have been left by a write
        #: that failed.
        self._empty: int | None = None

    def heal(self, node: facts.Node) -> Result:
        """Take step after step until there is none left."""
        self._empty = None
        steps, said = 0, ''
        for _ in range(_ROUNDS):
            look = _look(self._engine, node, self._skip_unallocated)
            verdict = class_heal.judge(look.view)
            if steps or isinstance(verdict.what, _Step):
                # NOTE: after the look at Placement, and once more after the
                # last step, so that an instance that goes meanwhile is not
                # left with something.
                again = self._ironic_says(node)
                if again is None:
                    return _result(node, class_heal.Verdict(
                        class_heal.Reason.GONE,
                        said='The node is gone from Ironic.'))
                if again != node:
                    node = again
                    continue
            if not isinstance(verdict.what, _Step):
                return _result(node, verdict, steps)
            _claim(self._engine, self._owner)
            answer = self._take(verdict.what, verdict.consumer, look)
            if answer.outcome is answers.Outcome.REFUSED:
                raise errors.PlacementUnavailable(answer.said)
            if answer.done:
                steps += 1
            elif (answer.outcome is answers.Outcome.UNCERTAIN
                  and verdict.what is _Step.RESHAPE
                  and not look.instance.allocations):
                self.uncertain = True
                return Result(
                    node, Outcome.LEFT, class_heal.Reason.IN_WORK.value,
                    'The outcome of the first write for the instance is not '
                    f'known: {answer.said} Run it again later.')
            else:
                # NOTE: it may have been done without saying so.
                steps += answer.outcome is answers.Outcome.UNCERTAIN
                said = answer.said
                time.sleep(random.uniform(*_PAUSES))
        return Result(node, Outcome.LEFT, class_heal.Reason.IN_WORK.value,
                      'Others changed the allocation each time. Run it again. '
                      + said)

    def _ironic_says(self, node: facts.Node) -> facts.Node | None:
        assert self._engine.ironic is not None
        return self._engine.ironic.node(node.uuid)

    def _take(self, step: class_heal.Step, consumer: str | None,
              look: _Look) -> answers.Answer:
        if step is _Step.OPEN:
            return self._client.put_inventories(
                look.view.node.uuid, look.generation,
                class_heal.published(look.view))
        if step is _Step.TAKE_BACK:
            assert consumer is not None
            return self._reshape_to(look, class_heal.published(look.view), {
                consumer: _wanted(look, step, look.others[consumer])})
        return self._reshape(look)

    def _reshape(self, look: _Look) -> answers.Answer:
        node = look.view.node
        assert node.instance_uuid is not None
        made = self._client.ensure_class(
            flavors.class_of_node(node.resource_class))
        if not made.done:
            return made
        fresh = not look.instance.allocations
        wanted = _wanted(look, _Step.RESHAPE, look.instance)
        answer = self._reshape_to(look, class_heal.reshaped(look.view), {
            node.instance_uuid: dataclasses.replace(
                wanted, generation=self._empty) if fresh else wanted})
        if fresh and answer.outcome is answers.Outcome.CONSUMER_CHANGED:
            self._empty = 0 if self._empty is None else None
        return answer

    def _reshape_to(self, look: _Look,
                    inventory: Mapping[str, Mapping[str, Any]],
                    wanted: Mapping[str, placement.Wanted]) -> answers.Answer:
        # NOTE: names the generation of the provider, which each claim raises;
        # that of a consumer is the same again once it was deleted and made
        # anew.
        return self._client.reshape(look.view.node.uuid, look.generation,
                                    inventory, wanted)


def _wanted(look: _Look, step: class_heal.Step,
            there: placement.Consumer) -> placement.Wanted:
    """Return what a consumer is to have after a step."""
    node = look.view.node
    wanted = {provider: dict(resources) for provider, resources
              in there.allocations.items()}
    wanted[node.uuid] = class_heal.allocation(
        look.view, step, wanted.get(node.uuid, {}))
    return placement.Wanted(
        {provider: resources for provider, resources in wanted.items()
         if resources},
        there.project_id or node.lessee or node.owner or holds.NOBODY,
        there.user_id or GIVEN, there.generation, _type_of(there))


def _type_of(consumer: placement.Consumer) -> str:
    """Return the type of a consumer; one that has none is an instance's."""
    named = consumer.consumer_type
    return (consumers.INSTANCE if named in (None, placement.NO_TYPE)
            else named)

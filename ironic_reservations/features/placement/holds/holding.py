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

"""Holds promised hosts in Placement.

Our database decides on the holder of a host; Placement follows. A hold is an
allocation on a host for an owner: one of the class of a node of Ironic, or the
share of a compute host for one instance. First a row is written (``intend``),
then the allocation, then the row is confirmed (``complete``). If this is
interrupted,
:mod:`ironic_reservations.features.placement.holds.recovery` completes it.

Allocations of others are never changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import enum

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.clouds import placement_answers as answers
from ironic_reservations.db import connection as db_connection
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.features.placement.holds import calls as hold_calls
from ironic_reservations.features.placement.holds import consumers
from ironic_reservations.features.placement.holds import recovery
from ironic_reservations.features.placement.holds import releasing
from ironic_reservations.features.placement.holds import rows as db_holds
from ironic_reservations.features.placement.holds import transitions
from ironic_reservations.features.placement.holds import values
from ironic_reservations.model import flavors

#: An unknown project or user in Placement.
NOBODY = '00000000-0000-0000-0000-000000000000'

#: The maximum number of consumers that are tried for one hold.
_ATTEMPTS = 2
#: The minimum number of holds that are written together.
_TOGETHER = 2


class Verdict(enum.StrEnum):
    """The consumer that has the node in Placement."""

    #: Our hold.
    HELD = 'held'
    #: The instance of the promise; nothing was written.
    INSTANCE = 'instance'
    #: Another consumer.
    TAKEN = 'taken'
    #: No consumer, and the node is closed.
    CLOSED = 'closed'
    #: No consumer: Placement has no such node of its class.
    UNKNOWN = 'unknown'
    #: The outcome of an earlier request of ours is not known yet.
    BUSY = 'busy'


@dataclasses.dataclass(frozen=True)
class Result:
    """The result for a hold.

    :ivar hold: the hold, if there is one.
    :ivar consumers: the consumers of the node, if it is taken.
    :ivar said: a sentence for operators.
    """

    verdict: Verdict
    hold: values.Hold | None = None
    consumers: tuple[str, ...] = ()
    said: str = ''

    @property
    def secured(self) -> bool:
        """Whether nobody else gets the host."""
        return self.verdict in (Verdict.HELD, Verdict.INSTANCE)

    def obstacle(self, exclusive: bool = True) -> str:
        """Return why a host is not held, in words that follow its name."""
        match self.verdict:
            case Verdict.BUSY:
                return 'is still being changed in Placement'
            case Verdict.TAKEN if exclusive:
                return 'is held in Placement by ' + ', '.join(self.consumers)
            case Verdict.TAKEN:
                others = len(self.consumers)
                return ('has too little left in Placement, where '
                        f'{others} other{"s" * (others > 1)} '
                        f'{"has" if others == 1 else "have"} of it, such as '
                        + self.consumers[0])
            case Verdict.CLOSED if exclusive:
                return ('is closed in Placement, so that Nova offers it to '
                        'nobody')
        return ('cannot be held' if exclusive else 'has no share to give') + (
            f' in Placement: {self.said.rstrip(".")}')


def of_node(promise: values.Promise,
            resource_class: str | None) -> values.Promise | Result:
    """Return the promise of a node of Ironic, with its class.

    :param resource_class: of the node in Ironic.
    :returns: the result, if Placement can have no such class.
    """
    try:
        class_name = flavors.class_of_node(resource_class)
    except ValueError as exc:
        return Result(Verdict.UNKNOWN, said=str(exc))
    return promise.of_class(class_name)


def hold_node(engine: Engine, promise: values.Promise,
              resource_class: str | None) -> Result:
    """Hold a node of Ironic with one write.

    :param resource_class: of the node in Ironic.
    :raises PlacementUnavailable: as :func:`hold`.
    """
    wanted = of_node(promise, resource_class)
    return wanted if isinstance(wanted, Result) else hold(engine, wanted)


def hold(engine: Engine, promise: values.Promise) -> Result:
    """Hold resources of a host with one write.

    :param promise: the owner and the resources; nothing is written if they are
        held already.
    :raises PlacementUnavailable: the hold was not written, or this is not
        known; then it will be released.
    """
    def attempt() -> values.Hold | None:
        with engine.database.read() as connection:
            there = db_holds.read_live(connection, [promise]).get(
                promise.owner)
        if there is None:
            with engine.database.write() as connection:
                return intend(engine, connection, promise)
        if there.state is not values.HoldState.ACTIVE:
            if recovery.recover_one(engine, there) is None:
                return None
            raise db_connection.Conflict('interrupted writes are being '
                                         'completed')
        if there.owner != promise.owner:
            return None
        if there.exclusive or there.amounts == promise.amounts:
            return there
        # The hold has another size, and the instance has not started.
        with engine.database.write() as connection:
            if db_holds.change(connection, there, engine.clock(),
                               state=values.HoldState.RELEASING,
                               deadline=hold_calls.deadline(engine)) is None:
                raise db_connection.Conflict('the hold has changed')
            return intend(engine, connection, promise)

    found = retry.until_committed(attempt)
    if found is None:
        return Result(Verdict.BUSY, said=(
            f'The node {promise.node_uuid} is held, or is about to be held, '
            'for another reservation or lease.'))
    if found.state is values.HoldState.ACTIVE:
        return Result(Verdict.HELD, found)
    return complete(engine, found, promise.instance_uuid)


def hold_all(engine: Engine, promises: Sequence[values.Promise]
             ) -> Iterator[tuple[str, Result]]:
    """Hold resources of hosts, with one write if possible.

    :returns: each owner with the result, as soon as it is known.
    :raises PlacementUnavailable: some holds were not written, or this is not
        known; these will be released.
    """
    def attempt() -> list[tuple[values.Promise, values.Hold]]:
        with engine.database.read() as connection:
            there = db_holds.read_live(connection, promises)
        new = [each for each in promises if each.owner not in there]
        if len(new) < _TOGETHER:
            return []
        with engine.database.write() as connection:
            return [(each, intend(engine, connection, each)) for each in new]
    known = set()
    for owner, result in _complete_all(engine, retry.until_committed(attempt)):
        known.add(owner)
        yield owner, result
    for promise in promises:
        if promise.owner not in known:
            yield promise.owner, hold(engine, promise)


def intend(engine: Engine, connection: sa.Connection, promise: values.Promise,
           promising: bool = False) -> values.Hold:
    """Write the row of a hold before the hold is written.

    Call it in the transaction that promises the host, if there is one, and
    call :func:`complete` afterwards.

    :param promise: the promise, with its amounts.
    :param promising: whether the transaction makes the promise. Then the
        promise ends if the hold fails, and all other holds of the node are
        released: the transaction has made sure that their owners have lost it.
    :raises oslo_db.exception.DBDuplicateEntry: the host is held for another
        owner.
    """
    assert promise.amounts is not None
    now, until = engine.clock(), hold_calls.deadline(engine)
    if promising:
        db_holds.supersede(connection, promise.node_uuid, now, until)
    return db_holds.insert(connection, values.Hold(
        id=0, consumer_uuid=consumers.fresh(), node_uuid=promise.node_uuid,
        owner=promise.owner, amounts=promise.amounts,
        project_id=promise.project_id or NOBODY,
        user_id=promise.user_id or NOBODY, created_at=now, deadline=until,
        state=(values.HoldState.PROMISING if promising
               else values.HoldState.RESERVING),
        exclusive=promise.exclusive))


def complete(engine: Engine, intended: values.Hold,
             instance_uuid: str | None = None, sent: bool = False) -> Result:
    """Write a hold to Placement, and confirm its row.

    :param instance_uuid: the instance that may have the node already.
    :param sent: whether a request has been sent before, which may be late.
    :raises PlacementUnavailable: the hold was not written, or this is not
        known; then it will be released.
    """
    for attempts_left in reversed(range(_ATTEMPTS)):
        answer = hold_calls.put(engine, intended)
        if answer.outcome is answers.Outcome.FULL and _make_room(
                engine, intended):
            answer = hold_calls.put(engine, intended)
        if answer.done:
            return _confirm(engine, intended)
        if answer.outcome not in (answers.Outcome.UNCERTAIN,
                                  answers.Outcome.CONSUMER_CHANGED):
            return _not_written(engine, intended, answer, instance_uuid, sent)
        try:
            if hold_calls.is_there(engine, intended):
                return _confirm(engine, intended)
        except errors.PlacementUnavailable:
            attempts_left = 0
        again = _give_up(engine, intended, bool(attempts_left))
        if again is None:
            break
        intended, sent = again, False
    raise errors.PlacementUnavailable(
        f'It is not known whether the node {intended.node_uuid} is held in '
        f'Placement, so the reservation was given up: {answer.said}')


def _complete_all(engine: Engine,
                  intended: Sequence[tuple[values.Promise, values.Hold]]
                  ) -> Iterator[tuple[str, Result]]:
    """Write new holds together or, if that fails, one by one."""
    if not intended:
        return
    new = [one for _, one in intended]
    answer = hold_calls.put_all(engine, new)
    if answer.done:
        there = {held.owner: Result(Verdict.HELD, held)
                 for held in transitions.reactivate_all(engine, new)}
        for one in new:
            yield (one.owner,
                   there.get(one.owner) or _confirm(engine, one))
        return
    sent = answer.outcome is answers.Outcome.UNCERTAIN
    for number, (promise, one) in enumerate(intended):
        if not hold_calls.in_time(engine, one):
            if not sent:
                transitions.forget(engine, *new[number:])
            break
        try:
            yield one.owner, complete(engine, one, promise.instance_uuid, sent)
        except errors.PlacementUnavailable:
            if not sent:
                # Nothing has been written for these.
                transitions.forget(engine, *new[number + 1:])
            raise


def _confirm(engine: Engine, written: values.Hold) -> Result:
    """Write that a hold exists, and return the result."""
    confirmed = transitions.reactivate(engine, written)
    if confirmed is not None:
        return Result(Verdict.HELD, confirmed)
    with engine.database.read() as connection:
        there = db_holds.read(connection, written.id)
    if there is not None and there.state is values.HoldState.ACTIVE:
        return Result(Verdict.HELD, there)
    # It was released meanwhile, or treated as interrupted.
    hold_calls.remove(engine, dataclasses.replace(written, confirmed=True))
    if there is not None:
        transitions.forget(engine, there)
    return Result(Verdict.BUSY, said=(
        f'The reservation of node {written.node_uuid} was given up while the '
        'node was being held.'))


def _not_written(engine: Engine, intended: values.Hold,
                 answer: answers.Answer, instance_uuid: str | None,
                 sent: bool) -> Result:
    """Return the reason for which a hold was certainly not written."""
    if sent:
        # The earlier request may still be late, and has to be fenced.
        _give_up(engine, intended, False)
        return _why_not(engine, intended, answer, instance_uuid)
    try:
        result = _why_not(engine, intended, answer, instance_uuid)
    except errors.PlacementUnavailable:
        transitions.forget(engine, intended)
        raise
    transitions.forget(engine, intended,
                       keep_promise=result.verdict is Verdict.INSTANCE)
    return result


def _why_not(engine: Engine, intended: values.Hold, answer: answers.Answer,
             instance_uuid: str | None) -> Result:
    outcome = answer.outcome
    if outcome is answers.Outcome.REFUSED:
        raise errors.PlacementUnavailable(answer.said)
    if outcome is answers.Outcome.AGAIN:
        return Result(Verdict.BUSY, said=answer.said)
    if outcome is answers.Outcome.FULL:
        others = hold_calls.client(engine).consumers_on(intended.node_uuid)
        if not intended.exclusive:
            # On a shared host, other leases and their servers are no obstacle.
            others = {consumer: has for consumer, has
                      in (others or {}).items()
                      if not consumers.is_ours(consumer)
                      and has.keys() & intended.resources.keys()}
        if instance_uuid is not None and instance_uuid in (others or {}):
            return Result(Verdict.INSTANCE, consumers=(instance_uuid,))
        if others:
            return Result(Verdict.TAKEN, consumers=tuple(sorted(others)),
                          said=answer.said)
        return Result(Verdict.CLOSED, said=answer.said)
    return Result(Verdict.UNKNOWN, said=answer.said)


def _make_room(engine: Engine, intended: values.Hold) -> bool:
    """Release our old holds of a host; return whether any was removed."""
    with engine.database.read() as connection:
        there = db_holds.read_of_node(connection, intended.node_uuid)
    gone = [one for one in there if one.id != intended.id
            and releasing.take_back_one(engine, one)]
    return bool(gone) and hold_calls.in_time(engine, intended)


def _give_up(engine: Engine, uncertain: values.Hold,
             again: bool) -> values.Hold | None:
    """Mark a hold for release that may have been written, or may be late.

    :returns: the row of the next attempt.
    """
    def mark(connection: sa.Connection) -> values.Hold | None:
        now = engine.clock()
        given_up = db_holds.change(connection, uncertain, now,
                                   state=values.HoldState.RELEASING)
        if given_up is None:
            return None
        if not again:
            transitions.end_promise(engine, connection, uncertain, now)
            return None
        return db_holds.insert(connection, dataclasses.replace(
            uncertain, consumer_uuid=consumers.fresh(), created_at=now,
            deadline=hold_calls.deadline(engine)))
    return retry.write(engine, mark)

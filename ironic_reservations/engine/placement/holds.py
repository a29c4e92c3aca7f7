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

"""Holding hosts in Placement for those to whom they are promised.

Our database decides who has a host; Placement is told.  A hold is amounts of
a host for an owner: one of the class of a node of Ironic, or the share of a
compute host that one instance has.  It is a row that says what will be
written (``intend``), the write, and a row that says that it is there
(``carry_out``).  Whatever is cut off in between,
:mod:`ironic_reservations.engine.placement.hold_recovery` brings to an end.

What others have allocated is respected, and never taken over.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import enum

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.clouds import placement_answers as answers
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import holds as db_holds
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.engine.placement import consumers
from ironic_reservations.engine.placement import hold_calls
from ironic_reservations.engine.placement import hold_recovery
from ironic_reservations.engine.placement import hold_release
from ironic_reservations.lifecycle.placement import holds
from ironic_reservations.model import flavors

#: A project or a user that is not known, in Placement.
NOBODY = '00000000-0000-0000-0000-000000000000'

#: How many consumers one request uses up at most.
_ATTEMPTS = 2
#: From so many on, holds are written together.
_TOGETHER = 2


class Verdict(enum.StrEnum):
    """Who has the node in Placement."""

    #: The hold.
    HELD = 'held'
    #: The instance that it was for: nothing more was claimed.
    INSTANCE = 'instance'
    #: Somebody else.
    TAKEN = 'taken'
    #: Nobody, and nobody gets it: it is not fit for use now.
    CLOSED = 'closed'
    #: Nobody: Placement does not know the node as one of its class.
    UNKNOWN = 'unknown'
    #: It is not settled yet what an earlier request of ours left there.
    BUSY = 'busy'


@dataclasses.dataclass(frozen=True)
class Result:
    """What became of a hold.

    :ivar hold: where there is one.
    :ivar consumers: who has the node, where it is taken.
    :ivar said: a sentence for people.
    """

    verdict: Verdict
    hold: holds.Hold | None = None
    consumers: tuple[str, ...] = ()
    said: str = ''


def hold_node(engine: Engine, promise: holds.Promise,
              resource_class: str | None) -> Result:
    """Hold a node of Ironic, with one write.

    :param resource_class: of the node, as Ironic says it.
    :raises PlacementUnavailable: as :func:`hold`.
    """
    try:
        class_name = flavors.class_of_node(resource_class)
    except ValueError as exc:
        return Result(Verdict.UNKNOWN, said=str(exc))
    return hold(engine, promise.of_class(class_name))


def hold(engine: Engine, promise: holds.Promise) -> Result:
    """Hold amounts of a host, with one write.

    :param promise: which it is for; held for it already, nothing is written.
    :raises PlacementUnavailable: it was not written, or is not known to be;
        then it is taken back by itself.
    :raises DatabaseUnavailable: nothing could be read or written.
    """
    def attempt() -> holds.Hold | None:
        with engine.database.read() as connection:
            there = db_holds.read_live(connection, [promise]).get(
                promise.owner)
        if there is None:
            with engine.database.write() as connection:
                return intend(engine, connection, promise)
        if there.state is not holds.HoldState.ACTIVE:
            if hold_recovery.recover_one(engine, there) is None:
                return None
            raise db_connection.Conflict('interrupted writes are being '
                                         'completed')
        if there.owner != promise.owner:
            return None
        if there.exclusive or there.amounts == promise.amounts:
            return there
        # NOTE: it was written for another size, and nobody has begun.
        with engine.database.write() as connection:
            if db_holds.change(connection, there, engine.clock(),
                               state=holds.HoldState.RELEASING,
                               deadline=hold_calls.deadline(engine)) is None:
                raise db_connection.Conflict('the hold has changed')
            return intend(engine, connection, promise)

    found = retry.until_committed(attempt)
    if found is None:
        return Result(Verdict.BUSY, said=(
            f'The node {promise.node_uuid} is held, or about to be held, for '
            'another promise.'))
    if found.state is holds.HoldState.ACTIVE:
        return Result(Verdict.HELD, found)
    return carry_out(engine, found, promise.instance_uuid)


def hold_all(engine: Engine, promises: Sequence[holds.Promise],
             results: dict[str, Result] | None = None) -> dict[str, Result]:
    """Hold amounts of hosts, with one write where nothing is amiss.

    :returns: by owner.
    :raises PlacementUnavailable: some were not written, or are not known to
        be; those that are not had in the end are taken back by themselves.
    :raises DatabaseUnavailable: nothing could be read or written.
    """
    def attempt() -> list[tuple[holds.Promise, holds.Hold]]:
        with engine.database.read() as connection:
            there = db_holds.read_live(connection, promises)
        new = [each for each in promises if each.owner not in there]
        if len(new) < _TOGETHER:
            return []
        with engine.database.write() as connection:
            return [(each, intend(engine, connection, each)) for each in new]
    results = {} if results is None else results
    _carry_out_all(engine, retry.until_committed(attempt), results)
    for promise in promises:
        if promise.owner not in results:
            results[promise.owner] = hold(engine, promise)
    return results


def intend(engine: Engine, connection: sa.Connection, promise: holds.Promise,
           supersede: bool = False,
           state: holds.HoldState = holds.HoldState.RESERVING) -> holds.Hold:
    """Write that a host is going to be held.

    Belongs into the transaction that promises the host, if there is one;
    :func:`carry_out` comes after it.

    :param promise: with amounts.
    :param supersede: take the node back from who it was held for: the
        transaction has made sure that they have lost it.
    :param state: ``PROMISING`` where the promise is to end with the hold,
        should that not be had.
    :raises oslo_db.exception.DBDuplicateEntry: somebody else holds it.
    """
    assert promise.amounts is not None
    now, until = engine.clock(), hold_calls.deadline(engine)
    if supersede:
        db_holds.supersede(connection, promise.node_uuid, now, until)
    return db_holds.insert(connection, holds.Hold(
        id=0, consumer_uuid=consumers.fresh(), node_uuid=promise.node_uuid,
        owner=promise.owner, amounts=promise.amounts,
        project_id=promise.project_id or NOBODY,
        user_id=promise.user_id or NOBODY, state=state, created_at=now,
        deadline=until, exclusive=promise.exclusive))


def carry_out(engine: Engine, intended: holds.Hold,
              instance_uuid: str | None = None, sent: bool = False) -> Result:
    """Write a hold to Placement, and that it is there.

    :param instance_uuid: who may have the node already.
    :param sent: whether it has been sent before, so that it may come late.
    :raises PlacementUnavailable: it was not written, or is not known to be;
        then it is taken back by itself.
    """
    for attempts_left in reversed(range(_ATTEMPTS)):
        answer = hold_calls.put(engine, intended)
        if answer.outcome is answers.Outcome.FULL and _make_room(
                engine, intended):
            answer = hold_calls.put(engine, intended)
        if answer.done:
            return confirm(engine, intended)
        if answer.outcome not in (answers.Outcome.UNCERTAIN,
                                  answers.Outcome.CONSUMER_CHANGED):
            return _not_written(engine, intended, answer, instance_uuid, sent)
        try:
            if hold_calls.is_there(engine, intended):
                return confirm(engine, intended)
        except errors.PlacementUnavailable:
            attempts_left = 0
        again = _give_up(engine, intended, bool(attempts_left))
        if again is None:
            break
        intended, sent = again, False
    raise errors.PlacementUnavailable(
        f'It is not known whether the node {intended.node_uuid} is held in '
        f'Placement, so the reservation was given up: {answer.said}')


def _carry_out_all(engine: Engine,
                   intended: Sequence[tuple[holds.Promise, holds.Hold]],
                   results: dict[str, Result]) -> None:
    """Write new holds, together or else one by one."""
    if not intended:
        return
    new = [one for _, one in intended]
    answer = hold_calls.put_all(engine, new)
    if answer.done:
        there = {held.owner: Result(Verdict.HELD, held)
                 for held in hold_recovery.reactivate_all(engine, new)}
        for one in new:
            results[one.owner] = there.get(one.owner) or confirm(engine, one)
        return
    sent = answer.outcome is answers.Outcome.UNCERTAIN
    for number, (promise, one) in enumerate(intended):
        if not hold_calls.in_time(engine, one):
            if not sent:
                hold_recovery.forget_all(engine, new[number:])
            break
        try:
            results[one.owner] = carry_out(engine, one,
                                           promise.instance_uuid, sent)
        except errors.PlacementUnavailable:
            if not sent:
                # NOTE: of these nothing has been written.
                hold_recovery.forget_all(engine, new[number + 1:])
            raise


def confirm(engine: Engine, written: holds.Hold) -> Result:
    """Write that a hold is there, which it is; return the result."""
    confirmed = hold_recovery.reactivate(engine, written)
    if confirmed is not None:
        return Result(Verdict.HELD, confirmed)
    with engine.database.read() as connection:
        there = db_holds.read(connection, written.id)
    if there is not None and there.state is holds.HoldState.ACTIVE:
        return Result(Verdict.HELD, there)
    # NOTE: it was released meanwhile, or taken for left over.
    hold_calls.remove(engine, dataclasses.replace(written, confirmed=True))
    if there is not None:
        hold_recovery.forget(engine, there)
    return Result(Verdict.BUSY, said=(
        f'The reservation of node {written.node_uuid} was given up while the '
        'node was being held.'))


def _not_written(engine: Engine, intended: holds.Hold,
                 answer: answers.Answer, instance_uuid: str | None,
                 sent: bool = False) -> Result:
    """Return why a hold was not written, which is certain of this write."""
    if sent:
        # NOTE: the one before it may still come, and is to find a fence.
        _give_up(engine, intended, False)
        return _why_not(engine, intended, answer, instance_uuid)
    try:
        result = _why_not(engine, intended, answer, instance_uuid)
    except errors.PlacementUnavailable:
        hold_recovery.forget(engine, intended)
        raise
    hold_recovery.forget(engine, intended,
                         keep_promise=result.verdict is Verdict.INSTANCE)
    return result


def _why_not(engine: Engine, intended: holds.Hold, answer: answers.Answer,
             instance_uuid: str | None) -> Result:
    outcome = answer.outcome
    if outcome is answers.Outcome.REFUSED:
        raise errors.PlacementUnavailable(answer.said)
    if outcome is answers.Outcome.AGAIN:
        return Result(Verdict.BUSY, said=answer.said)
    if outcome is answers.Outcome.FULL:
        others = hold_calls.client(engine).consumers_on(intended.node_uuid)
        if not intended.exclusive:
            # NOTE: it is shared, so that other leases are no surprise, nor
            # are their servers, which have something else of it.
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


def _make_room(engine: Engine, intended: holds.Hold) -> bool:
    """Take back what of ours is in the way still; return whether some was."""
    with engine.database.read() as connection:
        there = db_holds.read_of_node(connection, intended.node_uuid)
    gone = [one for one in there if one.id != intended.id
            and hold_release.take_back_one(engine, one)]
    return bool(gone) and hold_calls.in_time(engine, intended)


def _give_up(engine: Engine, uncertain: holds.Hold,
             again: bool) -> holds.Hold | None:
    """Have a hold taken back that may be there, or may still come.

    :param again: whether to try once more.
    :returns: the row of the next attempt.
    """
    def attempt() -> holds.Hold | None:
        now = engine.clock()
        with engine.database.write() as connection:
            given_up = db_holds.change(connection, uncertain, now,
                                       state=holds.HoldState.RELEASING)
            if given_up is None:
                return None
            if not again:
                hold_recovery.end_promise(connection, uncertain, now)
                return None
            return db_holds.insert(connection, dataclasses.replace(
                uncertain, consumer_uuid=consumers.fresh(), generation=0,
                created_at=now, deadline=hold_calls.deadline(engine)))
    return retry.until_committed(attempt)

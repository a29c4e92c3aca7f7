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

"""Holding nodes in Placement, so that the scheduler of Nova leaves them alone.

Our database decides who has a node; Placement is told.  A hold is: a row that
says what will be written (``intend``), the write, a row that says that it is
there (``carry_out``).  Whatever is cut off in between,
:mod:`ironic_reservations.engine.placement.hold_recovery` brings to an end.

What others have allocated is respected, and never taken over.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import enum

from oslo_log import log
import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.clouds import placement
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import holds as db_holds
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.engine.placement import consumers
from ironic_reservations.engine.placement import hold_calls
from ironic_reservations.engine.placement import hold_recovery
from ironic_reservations.lifecycle.placement import holds
from ironic_reservations.model import flavors
from ironic_reservations.model import inventories

LOG = log.getLogger(__name__)

#: What Placement calls a project or a user that is not known.
NOBODY = '00000000-0000-0000-0000-000000000000'

#: How many consumers one request uses up at most.
_ATTEMPTS = 2


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


def hold(engine: Engine, node_uuid: str, resource_class: str | None,
         owner: str, project_id: str | None, user_id: str | None,
         instance_uuid: str | None = None) -> Result:
    """Hold a node, with one write.

    :param resource_class: of the node, as Ironic says it.
    :param owner: the reservation, or the booking of a lease, that it is for;
        held for it already, nothing is written.
    :param instance_uuid: who may have the node already.
    :raises PlacementUnavailable: it was not written, or is not known to be;
        then it is taken back by itself.
    :raises DatabaseUnavailable: nothing could be read or written.
    """
    try:
        class_name = flavors.class_of_node(resource_class)
    except ValueError as exc:
        return Result(Verdict.UNKNOWN, said=str(exc))

    def live(there: Iterable[holds.Hold]) -> holds.Hold | None:
        return next((row for row in there
                     if row.state is not holds.HoldState.RELEASING), None)

    def held(row: holds.Hold) -> holds.Hold | None:
        return row if row.owner == owner else None
    return keep(engine, node_uuid, live, held, lambda connection: intend(
        engine, connection, node_uuid, class_name, owner, project_id,
        user_id), instance_uuid)


def keep(engine: Engine, node_uuid: str,
         live: Callable[[Iterable[holds.Hold]], holds.Hold | None],
         held: Callable[[holds.Hold], holds.Hold | None],
         intended: Callable[[sa.Connection], holds.Hold],
         instance_uuid: str | None = None) -> Result:
    """Hold a node, or a share of it, unless it is held already.

    :param live: gives, of what there is, what would be in the way.
    :param held: gives that where it serves, or what is written instead.
    :param intended: writes what is going to be held.
    :param instance_uuid: who may have the node already.
    :raises PlacementUnavailable: as :func:`hold`.
    """
    def attempt() -> holds.Hold | None:
        with engine.database.read() as connection:
            there = live(db_holds.read_of_node(connection, node_uuid))
        if there is None:
            with engine.database.write() as connection:
                return intended(connection)
        if there.state is holds.HoldState.ACTIVE:
            return held(there)
        if hold_recovery.recover_one(engine, there) is None:
            return None
        raise db_connection.Conflict('interrupted writes are being completed')

    found = retry.until_committed(attempt)
    if found is None:
        return Result(Verdict.BUSY, said=(
            f'The node {node_uuid} is held, or about to be held, for another '
            'promise.'))
    if found.state is holds.HoldState.ACTIVE:
        return Result(Verdict.HELD, found)
    return carry_out(engine, found, instance_uuid)


def intend(engine: Engine, connection: sa.Connection, node_uuid: str,
           class_name: str | None, owner: str, project_id: str | None,
           user_id: str | None, supersede: bool = False,
           state: holds.HoldState = holds.HoldState.RESERVING,
           amounts: inventories.Amounts | None = None) -> holds.Hold:
    """Write that a node is going to be held.

    Belongs into the transaction that promises the node, if there is one;
    :func:`carry_out` comes after it.

    :param class_name: as Placement says it; ``None`` for a share of a
        compute host.
    :param supersede: take the node back from who it was held for: the
        transaction has made sure that they have lost it.
    :param state: ``PROMISING`` where the promise is to end with the hold,
        should that not be had.
    :param amounts: the share.
    :raises oslo_db.exception.DBDuplicateEntry: somebody else holds it.
    """
    now, until = engine.clock(), hold_calls.deadline(engine)
    if supersede:
        db_holds.supersede(connection, node_uuid, now, until)
    return db_holds.insert(connection, holds.Hold(
        id=0, consumer_uuid=consumers.fresh(), node_uuid=node_uuid,
        owner=owner, resource_class=class_name,
        project_id=project_id or NOBODY, user_id=user_id or NOBODY,
        state=state, created_at=now, deadline=until, amounts=amounts))


def carry_out(engine: Engine, intended: holds.Hold,
              instance_uuid: str | None = None) -> Result:
    """Write a hold to Placement, and that it is there.

    :param instance_uuid: who may have the node already.
    :raises PlacementUnavailable: it was not written, or is not known to be;
        then it is taken back by itself.
    """
    for attempts_left in reversed(range(_ATTEMPTS)):
        answer = hold_calls.put(engine, intended)
        if answer.outcome is placement.Outcome.FULL and _make_room(
                engine, intended):
            answer = hold_calls.put(engine, intended)
        if answer.done:
            return confirm(engine, intended)
        if answer.outcome not in (placement.Outcome.UNCERTAIN,
                                  placement.Outcome.CONSUMER_CHANGED):
            return _not_written(engine, intended, answer, instance_uuid)
        try:
            if hold_calls.is_there(engine, intended):
                return confirm(engine, intended)
        except errors.PlacementUnavailable:
            attempts_left = 0
        again = _give_up(engine, intended, bool(attempts_left))
        if again is None:
            break
        intended = again
    raise errors.PlacementUnavailable(
        f'It is not known whether the node {intended.node_uuid} is held in '
        f'Placement, so the reservation was given up: {answer.said}')


def release(engine: Engine, owners: Collection[str]) -> bool:
    """Take back what is held for some reservations.

    :returns: whether all of it is gone; what is not, is going to be.
    :raises DatabaseUnavailable: nothing was changed.
    """
    def attempt() -> None:
        with engine.database.write() as connection:
            db_holds.release(connection, owners, engine.clock(),
                             hold_calls.deadline(engine))
    if owners:
        retry.until_committed(attempt)
    return take_back(engine, owners)


def give_up(engine: Engine, held: holds.Hold) -> bool:
    """Take back one hold, and nothing else that is held for its owner.

    :returns: whether it is gone; else it is going to be, or has changed.
    :raises DatabaseUnavailable: nothing was changed.
    """
    def attempt() -> holds.Hold | None:
        with engine.database.write() as connection:
            return db_holds.change(
                connection, held, engine.clock(),
                state=holds.HoldState.RELEASING,
                deadline=hold_calls.deadline(engine))
    marked = retry.until_committed(attempt)
    return marked is not None and _take_back(engine, marked)


def take_back(engine: Engine, owners: Collection[str]) -> bool:
    """Take back what :func:`db.holds.release` has marked in a transaction.

    :returns: whether all of it is gone; what is not, is going to be.
    """
    if not owners:
        return True
    with engine.database.read() as connection:
        left = db_holds.read_of_owners(connection, owners)
    gone = 0
    for some in hold_calls.in_parts(left):
        removed = _remove_all(engine, some)
        hold_recovery.forget_all(engine, removed)
        gone += len(removed)
    return gone == len(left)


def move(engine: Engine, owner: str, instance_uuid: str,
         project_id: str | None, user_id: str | None) -> Verdict:
    """Hand a held node to its instance, with nobody in between.

    :returns: ``INSTANCE``: it has the node now; ``HELD``: it does not, since
        it has something else; ``BUSY``: not known yet; ``UNKNOWN``: nothing
        is held for that owner.
    :raises PlacementUnavailable: nothing was changed.
    """
    def attempt() -> holds.Hold | None:
        with engine.database.write() as connection:
            held = next((row for row in db_holds.read_of_owners(
                connection, [owner])
                if row.state is holds.HoldState.ACTIVE
                and not row.handed), None)
            return held and db_holds.change(
                connection, held, engine.clock(),
                state=holds.HoldState.MOVING, instance_uuid=instance_uuid,
                deadline=hold_calls.deadline(engine))
    moving = retry.until_committed(attempt)
    if moving is None:
        return Verdict.UNKNOWN
    try:
        there = hold_calls.client(engine).consumer(moving.consumer_uuid)
        if not there.allocations:
            hold_recovery.forget(engine, moving)
            return Verdict.UNKNOWN
        answer = hold_calls.patiently(
            engine, moving, lambda: hold_calls.client(
                engine).post_allocations(_handed(
                    moving, there.generation, instance_uuid,
                    project_id or NOBODY, user_id or NOBODY)))
    except errors.PlacementUnavailable:
        hold_recovery.reactivate(engine, moving)
        raise
    return _moved(engine, moving, instance_uuid, answer)


def _handed(hold: holds.Hold, generation: int | None, instance_uuid: str,
            project_id: str, user_id: str
            ) -> Mapping[str, placement.Wanted]:
    return {
        hold.consumer_uuid: hold_calls.nothing(hold, generation),
        instance_uuid: placement.Wanted(
            {hold.node_uuid: hold.resources}, project_id, user_id,
            None, consumers.INSTANCE)}


def _moved(engine: Engine, moving: holds.Hold, instance_uuid: str,
           answer: placement.Answer) -> Verdict:
    if answer.done:
        hold_recovery.hand_over(engine, moving)
        return Verdict.INSTANCE
    if answer.outcome is placement.Outcome.UNCERTAIN:
        return Verdict.BUSY
    if answer.outcome is placement.Outcome.CONSUMER_CHANGED:
        there = hold_calls.client(engine).consumer(instance_uuid)
        if moving.node_uuid in there.allocations:
            # NOTE: Nova's scheduler has claimed it, although it was held.
            release(engine, [moving.owner])
            return Verdict.INSTANCE
    hold_recovery.reactivate(engine, moving)
    if answer.outcome is placement.Outcome.REFUSED:
        raise errors.PlacementUnavailable(answer.said)
    LOG.warning('The hold of node %(node)s was not handed to the instance '
                '%(instance)s: %(said)s', {
                    'node': moving.node_uuid, 'instance': instance_uuid,
                    'said': answer.said})
    return Verdict.HELD


def confirm(engine: Engine, written: holds.Hold) -> Result:
    """Write that a hold is there, which it is; gives what came of it."""
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
                 answer: placement.Answer,
                 instance_uuid: str | None) -> Result:
    """Tell why a hold was not written, which is certain."""
    try:
        result = _why_not(engine, intended, answer, instance_uuid)
    except errors.PlacementUnavailable:
        hold_recovery.forget(engine, intended)
        raise
    hold_recovery.forget(engine, intended,
                         keep_promise=result.verdict is Verdict.INSTANCE)
    return result


def _why_not(engine: Engine, intended: holds.Hold, answer: placement.Answer,
             instance_uuid: str | None) -> Result:
    outcome = answer.outcome
    if outcome is placement.Outcome.REFUSED:
        raise errors.PlacementUnavailable(answer.said)
    if outcome is placement.Outcome.AGAIN:
        return Result(Verdict.BUSY, said=answer.said)
    if outcome is placement.Outcome.FULL:
        others = hold_calls.client(engine).consumers_on(intended.node_uuid)
        if intended.amounts is not None:
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
    """Take back what of ours is in the way still; tells whether some was."""
    with engine.database.read() as connection:
        there = db_holds.read_of_node(connection, intended.node_uuid)
    gone = [one for one in there
            if one.id != intended.id and _take_back(engine, one)]
    return bool(gone) and hold_calls.in_time(engine, intended)


def _take_back(engine: Engine, one: holds.Hold) -> bool:
    """Take a hold back that is marked so; tells whether it is gone."""
    gone = _remove(engine, one)
    if gone:
        hold_recovery.forget(engine, one)
    return gone


def _remove_all(engine: Engine,
                some: Sequence[holds.Hold]) -> list[holds.Hold]:
    """Take away what is marked so, and give what is gone."""
    together = [one for one in some
                if _may_be_removed(one) and not one.handed]
    if len(together) > 1:
        answer = hold_calls.remove_all(engine, together)
        if answer.outcome is placement.Outcome.UNCERTAIN:
            # NOTE: a Placement that does not answer is not asked fifty times.
            LOG.warning('%(count)s holds could not be released yet, and will '
                        'be later: %(why)s',
                        {'count': len(some), 'why': answer.said})
            return []
        if answer.done:
            some = [one for one in some if one not in together]
            return [*together, *(one for one in some if _remove(engine, one))]
    return [one for one in some if _remove(engine, one)]


def _may_be_removed(one: holds.Hold) -> bool:
    # NOTE: what is not known to have been written may be in the middle of
    # it; that one waits for its deadline.
    return one.state is holds.HoldState.RELEASING and one.confirmed


def _remove(engine: Engine, one: holds.Hold) -> bool:
    """Take away what is marked so; tells whether it is gone."""
    if not _may_be_removed(one):
        return False
    try:
        hold_calls.remove(engine, one)
    except errors.PlacementUnavailable as exc:
        LOG.warning('The hold of node %(node)s could not be released yet, and '
                    'will be later: %(why)s',
                    {'node': one.node_uuid, 'why': exc})
        return False
    return True


def _give_up(engine: Engine, uncertain: holds.Hold,
             again: bool) -> holds.Hold | None:
    """Have a hold taken back that may be there, or may still come.

    :param again: whether to try once more.
    :returns: the row of the next attempt.
    """
    def attempt() -> holds.Hold | None:
        with engine.database.write() as connection:
            given_up = db_holds.change(
                connection, uncertain, engine.clock(),
                state=holds.HoldState.RELEASING)
            if given_up is None:
                return None
            if not again:
                hold_recovery.end_promise(connection, uncertain,
                                          engine.clock())
                return None
            return intend(
                engine, connection, uncertain.node_uuid,
                uncertain.resource_class, uncertain.owner,
                uncertain.project_id, uncertain.user_id,
                state=uncertain.state, amounts=uncertain.amounts)
    return retry.until_committed(attempt)

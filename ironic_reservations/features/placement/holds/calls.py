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

"""The requests to Placement for holds, and their outcomes.

A request without an answer may still be carried out later. A *fence* makes it
harmless: a write after which the consumer has a generation that the late
request does not name, so that Placement refuses it.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import datetime
import random
import time
from typing import TypeVar

from ironic_reservations import errors
from ironic_reservations.clouds import placement
from ironic_reservations.clouds import placement_answers as answers
from ironic_reservations.engine import Engine
from ironic_reservations.features.placement.holds import consumers
from ironic_reservations.features.placement.holds import values

_T = TypeVar('_T')

#: The maximum number of consumers of a write, which takes about a second.
_IN_ONE_WRITE = 50
#: The maximum number of attempts against concurrent writes.
_TIMES = 6
_PAUSES = (0.005, 0.05)
#: The generation of a consumer that was written for the first time.
_WRITTEN_ONCE = 1
#: The time-out in seconds if none is configured.
_NO_TIMEOUT = 60


def client(engine: Engine) -> placement.Placement:
    """Return the client of Placement, which must be enabled."""
    assert engine.placement is not None
    return engine.placement


def deadline(engine: Engine) -> datetime.datetime:
    """Return the deadline of work on a hold that begins now.

    Requests begin within the first time-out, end within the second, and have
    ended in Placement after the grace.
    """
    conf = engine.conf.placement
    return engine.clock() + datetime.timedelta(
        seconds=2 * (conf.timeout or _NO_TIMEOUT) + conf.grace)


def in_time(engine: Engine, hold: values.Hold) -> bool:
    """Return whether another request may be begun for a hold."""
    conf = engine.conf.placement
    return engine.clock() <= hold.deadline - datetime.timedelta(
        seconds=(conf.timeout or _NO_TIMEOUT) + conf.grace)


def repeat(write: Callable[[], answers.Answer], conflict: answers.Outcome,
           may_continue: Callable[[], bool] = lambda: True
           ) -> answers.Answer:
    """Write, and write again after concurrent writes of others.

    :param conflict: the outcome of a write after another one.
    """
    for _ in range(_TIMES):
        answer = write()
        if answer.outcome is not conflict or not may_continue():
            break
        time.sleep(random.uniform(*_PAUSES))
    return answer


def patiently(engine: Engine, hold: values.Hold,
              write: Callable[[], answers.Answer]) -> answers.Answer:
    """Write allocations, as long as there is time for a hold."""
    return repeat(write, answers.Outcome.AGAIN, lambda: in_time(engine, hold))


def in_parts(work: Sequence[_T]) -> Iterator[Sequence[_T]]:
    """Split work into parts for one write each."""
    for start in range(0, len(work), _IN_ONE_WRITE):
        yield work[start:start + _IN_ONE_WRITE]


def wanted(hold: values.Hold,
           generation: int | None) -> placement.AllocationRequest:
    """Return the allocations of a hold."""
    return placement.AllocationRequest(
        {hold.node_uuid: hold.resources}, hold.project_id,
        hold.user_id, generation, consumers.TYPE)


def nothing(hold: values.Hold,
            generation: int | None) -> placement.AllocationRequest:
    """Return empty allocations for the consumer of a hold."""
    return placement.AllocationRequest({}, hold.project_id, hold.user_id,
                                       generation, consumers.TYPE)


def put(engine: Engine, hold: values.Hold) -> answers.Answer:
    """Write a hold for the first time."""
    return patiently(engine, hold, lambda: client(engine).put_allocations(
        hold.consumer_uuid, wanted(hold, None)))


def put_all(engine: Engine, new: Sequence[values.Hold]) -> answers.Answer:
    """Write several holds for the first time, all or none."""
    return patiently(engine, new[0], lambda: client(engine).post_allocations(
        {hold.consumer_uuid: wanted(hold, None) for hold in new}))


def is_there(engine: Engine, hold: values.Hold) -> bool:
    """Return whether a hold is in Placement now."""
    return bool(client(engine).consumer(hold.consumer_uuid).allocations)


def fence_new(engine: Engine, hold: values.Hold) -> bool:
    """Make a late first write fail; return whether it will.

    NOTE: an empty consumer remains, which Placement does not show.

    :returns: ``False`` if the hold has been written already.
    """
    answer = client(engine).post_allocations(
        {hold.consumer_uuid: nothing(hold, None)})
    # An empty consumer is of a failed write, or of a fence. Before the end of
    # the grace, a write could be between its two transactions.
    if answer.done or answer.outcome is answers.Outcome.CONSUMER_CHANGED:
        return not is_there(engine, hold)
    raise errors.PlacementUnavailable(answer.said)


def fence_move(engine: Engine, hold: values.Hold) -> bool:
    """Make a late move fail; return whether the hold is still ours.

    :returns: ``False`` if it has been moved.
    """
    there = client(engine).consumer(hold.consumer_uuid)
    if not there.allocations:
        return False
    answer = patiently(engine, hold, lambda: client(engine).put_allocations(
        hold.consumer_uuid, wanted(hold, there.generation)))
    if answer.done:
        return True
    raise errors.PlacementUnavailable(answer.said)


def remove(engine: Engine, hold: values.Hold) -> bool:
    """Remove a hold permanently; return whether it existed.

    :raises PlacementUnavailable: the hold may or may not be removed.
    """
    if hold.handed:
        return _take_from_instance(engine, hold)
    if hold.instance_uuid is not None:
        return _remove_moving(engine, hold)
    answer = client(engine).delete_allocations(hold.consumer_uuid)
    if answer.outcome is answers.Outcome.GONE:
        if hold.confirmed or fence_new(engine, hold):
            return False
        answer = client(engine).delete_allocations(hold.consumer_uuid)
    if answer.deleted:
        return True
    raise errors.PlacementUnavailable(answer.said)


def remove_all(engine: Engine,
               written: Sequence[values.Hold]) -> answers.Answer:
    """Remove several holds, all or none.

    The holds must have been written only once; Placement refuses if a hold has
    changed or is gone.
    """
    return patiently(engine, written[0], lambda: client(
        engine).post_allocations({
            hold.consumer_uuid: nothing(hold, _WRITTEN_ONCE)
            for hold in written}))


def _remove_moving(engine: Engine, hold: values.Hold) -> bool:
    """Remove a hold that may have been moved to its instance.

    A move that is late is refused: its consumer has changed, or is gone.
    """
    there = client(engine).consumer(hold.consumer_uuid)
    if there.allocations:
        # NOTE: a DELETE is done even if the hold is moved meanwhile.
        answer = patiently(engine, hold, lambda: client(
            engine).put_allocations(hold.consumer_uuid,
                                    nothing(hold, there.generation)))
        if answer.done:
            return True
        if answer.outcome is not answers.Outcome.CONSUMER_CHANGED:
            raise errors.PlacementUnavailable(answer.said)
    assert hold.instance_uuid is not None
    return _take_from_instance(engine, dataclasses.replace(
        hold, consumer_uuid=hold.instance_uuid))


def _take_from_instance(engine: Engine, hold: values.Hold) -> bool:
    """Remove only the moved allocation from an instance.

    NOTE: Nova may have moved the instance to another host, or have claimed the
    node for it again, without a type.
    """
    there = client(engine).consumer(hold.consumer_uuid)
    if set(there.allocations) != {hold.node_uuid} or (
            there.consumer_type not in (None, consumers.INSTANCE)):
        return False
    answer = client(engine).put_allocations(
        hold.consumer_uuid, placement.AllocationRequest(
            {}, there.project_id or hold.project_id,
            there.user_id or hold.user_id, there.generation,
            consumers.INSTANCE))
    if answer.done:
        return True
    raise errors.PlacementUnavailable(answer.said)

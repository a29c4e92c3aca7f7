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

"""The calls to Placement that a hold is made of, and what they prove.

NOTE: a call whose answer never came may still be done, later. What makes that
harmless is a *fence*: a write that leaves the consumer at a generation which
the late call does not name, so that Placement refuses it.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import datetime
import random
import time
from typing import TypeVar

from ironic_reservations import errors
from ironic_reservations.clouds import placement
from ironic_reservations.clouds import placement_answers as answers
from ironic_reservations.engine import Engine
from ironic_reservations.engine.placement import consumers
from ironic_reservations.lifecycle.placement import holds

_T = TypeVar('_T')

#: How many consumers one write changes; it takes Placement a second or so.
_IN_ONE_WRITE = 50
#: How often a write is sent that others keep getting in front of.
_TIMES = 6
_PAUSES = (0.005, 0.05)
#: The generation of a consumer that was written for the first time.
_WRITTEN_ONCE = 1
#: What a call may take where no time-out is configured.
_NO_TIMEOUT = 60


def client(engine: Engine) -> placement.Placement:
    """Return the client; the caller knows that holds are switched on."""
    assert engine.placement is not None
    return engine.placement


def deadline(engine: Engine) -> datetime.datetime:
    """Return the deadline of work on a hold that begins now.

    Calls are begun within the first time-out, end within the second, and
    are over in Placement when the grace is.
    """
    conf = engine.conf.placement
    return engine.clock() + datetime.timedelta(
        seconds=2 * (conf.timeout or _NO_TIMEOUT) + conf.grace)


def in_time(engine: Engine, hold: holds.Hold) -> bool:
    """Return whether one more call may be begun for a hold."""
    conf = engine.conf.placement
    return engine.clock() <= hold.deadline - datetime.timedelta(
        seconds=(conf.timeout or _NO_TIMEOUT) + conf.grace)


def patiently(engine: Engine, hold: holds.Hold,
              write: Callable[[], answers.Answer]) -> answers.Answer:
    """Write, and again while others get in front of it."""
    for _ in range(_TIMES):
        answer = write()
        if answer.outcome is not answers.Outcome.AGAIN or not in_time(
                engine, hold):
            break
        time.sleep(random.uniform(*_PAUSES))
    return answer


def in_parts(work: Sequence[_T]) -> Iterator[Sequence[_T]]:
    """Cut what is to be written into what one write may take."""
    for start in range(0, len(work), _IN_ONE_WRITE):
        yield work[start:start + _IN_ONE_WRITE]


def wanted(hold: holds.Hold, generation: int | None) -> placement.Wanted:
    """Return the allocations that a hold consists of."""
    return placement.Wanted(
        {hold.node_uuid: hold.resources}, hold.project_id,
        hold.user_id, generation, consumers.TYPE)


def nothing(hold: holds.Hold, generation: int | None) -> placement.Wanted:
    """Return no allocations, for the consumer of a hold."""
    return placement.Wanted({}, hold.project_id, hold.user_id, generation,
                            consumers.TYPE)


def put(engine: Engine, hold: holds.Hold) -> answers.Answer:
    """Write a hold for the first time."""
    return patiently(engine, hold, lambda: client(engine).put_allocations(
        hold.consumer_uuid, wanted(hold, None)))


def put_all(engine: Engine, new: Sequence[holds.Hold]) -> answers.Answer:
    """Write several holds for the first time, all of them or none."""
    return patiently(engine, new[0], lambda: client(engine).post_allocations(
        {hold.consumer_uuid: wanted(hold, None) for hold in new}))


def is_there(engine: Engine, hold: holds.Hold) -> bool:
    """Return whether a hold is there now.

    :raises PlacementUnavailable: it cannot be known.
    """
    return bool(client(engine).consumer(hold.consumer_uuid).allocations)


def fence_new(engine: Engine, hold: holds.Hold) -> bool:
    """Have a first write fail that may come late; return whether it will.

    NOTE: it leaves an empty consumer, which Placement shows to nobody.

    :returns: ``False`` where the hold is there already.
    :raises PlacementUnavailable: it cannot be known.
    """
    answer = client(engine).post_allocations(
        {hold.consumer_uuid: nothing(hold, None)})
    # NOTE: a consumer that is there and has nothing was left by a write that
    # failed, or by a fence. Or a write is between its two transactions,
    # which is why nobody comes here before the grace is over.
    if answer.done or answer.outcome is answers.Outcome.CONSUMER_CHANGED:
        return not is_there(engine, hold)
    raise errors.PlacementUnavailable(answer.said)


def fence_move(engine: Engine, hold: holds.Hold) -> bool:
    """Have a move fail that may come late; return whether it is ours.

    :returns: ``False`` where it has been moved.
    :raises PlacementUnavailable: it cannot be known.
    """
    there = client(engine).consumer(hold.consumer_uuid)
    if not there.allocations:
        return False
    answer = patiently(engine, hold, lambda: client(engine).put_allocations(
        hold.consumer_uuid, wanted(hold, there.generation)))
    if answer.done:
        return True
    raise errors.PlacementUnavailable(answer.said)


def remove(engine: Engine, hold: holds.Hold) -> bool:
    """Take a hold away, for good; return whether it was there.

    :raises PlacementUnavailable: it is not known whether it is gone.
    """
    if hold.handed:
        return _take_from_instance(engine, hold)
    answer = client(engine).delete_allocations(hold.consumer_uuid)
    if answer.outcome is answers.Outcome.GONE:
        if hold.confirmed or fence_new(engine, hold):
            return False
        answer = client(engine).delete_allocations(hold.consumer_uuid)
    if answer.outcome in (answers.Outcome.DONE, answers.Outcome.GONE):
        return True
    raise errors.PlacementUnavailable(answer.said)


def remove_all(engine: Engine,
               written: Sequence[holds.Hold]) -> answers.Answer:
    """Take several holds away, all of them or none.

    NOTE: for such as nobody has touched since they were written; Placement
    refuses where somebody has, or where one is gone.
    """
    return patiently(engine, written[0], lambda: client(
        engine).post_allocations({
            hold.consumer_uuid: nothing(hold, _WRITTEN_ONCE)
            for hold in written}))


def _take_from_instance(engine: Engine, hold: holds.Hold) -> bool:
    """Take from an instance what was handed to it, and nothing else.

    NOTE: Nova may have put it somewhere else by now, or have claimed the
    node for it anew, without a type.
    """
    there = client(engine).consumer(hold.consumer_uuid)
    if set(there.allocations) != {hold.node_uuid} or (
            there.consumer_type not in (None, consumers.INSTANCE)):
        return False
    answer = client(engine).put_allocations(
        hold.consumer_uuid, placement.Wanted(
            {}, there.project_id or hold.project_id,
            there.user_id or hold.user_id, there.generation,
            consumers.INSTANCE))
    if answer.done:
        return True
    raise errors.PlacementUnavailable(answer.said)

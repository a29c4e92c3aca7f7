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

"""Moves holds to deployed instances (``[placement] on_deploy = move``)."""

from __future__ import annotations

from collections.abc import Iterator

from oslo_log import log
import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.clouds import placement
from ironic_reservations.clouds import placement_answers as answers
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.features.placement.holds import calls as hold_calls
from ironic_reservations.features.placement.holds import consumers
from ironic_reservations.features.placement.holds import holding
from ironic_reservations.features.placement.holds import releasing
from ironic_reservations.features.placement.holds import rows as db_holds
from ironic_reservations.features.placement.holds import transitions
from ironic_reservations.features.placement.holds import values
from ironic_reservations.model import node_reservation

LOG = log.getLogger(__name__)

MOVE = 'move'
#: The maximum number of holds that are read at once.
_BATCH = 100


def hand_over(engine: Engine,
              reservation: node_reservation.Reservation) -> None:
    """Move the hold of a reservation to its instance, now or later."""
    if _is_wanted(engine):
        _hand_over(engine, values.Promise.of(reservation))


def hand_over_all(engine: Engine) -> None:
    """Move holds that should have been moved before."""
    if not _is_wanted(engine):
        return
    for promise in _deployed(engine):
        if not _hand_over(engine, promise):
            # Each of the others would wait for a time-out, too.
            break


def _deployed(engine: Engine) -> Iterator[values.Promise]:
    """Read the promises whose holds should have been moved, in pages.

    A hold that cannot be moved stays, and must not hide the others.
    """
    last = 0
    while True:
        with engine.database.read() as connection:
            page = db_holds.read_deployed(connection, last, _BATCH)
        if not page:
            return
        yield from page.values()
        last = max(page)


def _is_wanted(engine: Engine) -> bool:
    return engine.conf.placement.on_deploy == MOVE


def _hand_over(engine: Engine, promise: values.Promise) -> bool:
    """Move one hold.

    :returns: ``False``: Placement or the database does not answer.
    """
    try:
        move(engine, promise)
    except (errors.Contention, errors.PlacementUnavailable,
            errors.DatabaseUnavailable) as exc:
        LOG.warning('The hold for the reservation of instance %(instance)s '
                    'could not be moved to it yet, and will be later: %(why)s',
                    {'instance': promise.instance_uuid, 'why': exc})
        return isinstance(exc, errors.Contention)
    return True


def move(engine: Engine, promise: values.Promise) -> holding.Verdict:
    """Move the hold of a node to its instance, in one transaction.

    :param promise: with an instance.
    :returns: ``INSTANCE``: the instance has the node now; ``HELD``: it does
        not, since it has other allocations; ``BUSY``: the outcome is not known
        yet; ``UNKNOWN``: the node is not held for that promise.
    :raises PlacementUnavailable: nothing was changed.
    """
    instance_uuid = promise.instance_uuid
    assert instance_uuid is not None

    def mark(connection: sa.Connection) -> values.Hold | None:
        # An owner may have old holds of other nodes, about to be released.
        held = next((row for row in db_holds.read_of_node(
            connection, promise.node_uuid) if row.owner == promise.owner
            and row.state is values.HoldState.ACTIVE
            and not row.handed), None)
        return held and db_holds.change(
            connection, held, engine.clock(), state=values.HoldState.MOVING,
            instance_uuid=instance_uuid, deadline=hold_calls.deadline(engine))
    moving = retry.write(engine, mark)
    if moving is None:
        return holding.Verdict.UNKNOWN
    try:
        there = hold_calls.client(engine).consumer(moving.consumer_uuid)
        if not there.allocations:
            transitions.forget(engine, moving)
            return holding.Verdict.UNKNOWN
        answer = hold_calls.patiently(
            engine, moving, lambda: hold_calls.client(
                engine).post_allocations({
                    moving.consumer_uuid: hold_calls.nothing(
                        moving, there.generation),
                    instance_uuid: placement.AllocationRequest(
                        {moving.node_uuid: moving.resources},
                        promise.project_id or holding.NOBODY,
                        promise.user_id or holding.NOBODY, None,
                        consumers.INSTANCE)}))
    except errors.PlacementUnavailable:
        transitions.reactivate(engine, moving)
        raise
    return _moved(engine, moving, instance_uuid, answer)


def _moved(engine: Engine, moving: values.Hold, instance_uuid: str,
           answer: answers.Answer) -> holding.Verdict:
    if answer.done:
        transitions.hand_over(engine, moving)
        return holding.Verdict.INSTANCE
    if answer.outcome is answers.Outcome.UNCERTAIN:
        return holding.Verdict.BUSY
    # First, so that a release takes nothing from the instance.
    transitions.reactivate(engine, moving)
    if answer.outcome is answers.Outcome.CONSUMER_CHANGED:
        there = hold_calls.client(engine).consumer(instance_uuid)
        if moving.node_uuid in there.allocations:
            # Nova's scheduler has allocated the node to the instance.
            releasing.release(engine, [moving.owner])
            return holding.Verdict.INSTANCE
    if answer.outcome is answers.Outcome.REFUSED:
        raise errors.PlacementUnavailable(answer.said)
    LOG.warning('The hold of node %(node)s was not moved to the instance '
                '%(instance)s: %(said)s', {
                    'node': moving.node_uuid, 'instance': instance_uuid,
                    'said': answer.said})
    return holding.Verdict.HELD

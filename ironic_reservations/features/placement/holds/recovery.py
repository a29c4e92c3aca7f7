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

"""Completes holds whose write to Placement was interrupted.

Before its deadline, only the process that works on a hold may touch it; after
that, the process that first extends the deadline.
"""

from __future__ import annotations

import enum

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.features.placement.holds import calls as hold_calls
from ironic_reservations.features.placement.holds import rows as db_holds
from ironic_reservations.features.placement.holds import transitions
from ironic_reservations.features.placement.holds import values

LOG = log.getLogger(__name__)

_BATCH = 100


class Recovered(enum.StrEnum):
    """The outcome for an interrupted hold."""

    #: It had been written, and is confirmed.
    CONFIRMED = 'confirmed'
    #: It had not been written, and never will be.
    DROPPED = 'dropped'
    #: It has been removed.
    RELEASED = 'released'
    #: It had been moved to its instance.
    MOVED = 'moved'


def recover(engine: Engine) -> dict[Recovered, int]:
    """Complete interrupted holds, as long as Placement answers.

    Any number of processes may do this at the same time.

    :returns: the number of holds by outcome.
    """
    counts = dict.fromkeys(Recovered, 0)
    with engine.database.read() as connection:
        left_over = db_holds.read_left_over(connection, engine.clock(),
                                            _BATCH)
    for hold in left_over:
        try:
            recovered = recover_one(engine, hold)
        except errors.PlacementUnavailable as exc:
            # Each of the others would wait for a time-out, too.
            LOG.warning('Interrupted writes of holds could not be completed '
                        'yet, and will be later: %s', exc)
            break
        if recovered is not None:
            counts[recovered] += 1
            LOG.info('The interrupted hold of node %(node)s is '
                     '%(recovered)s', {'node': hold.node_uuid,
                                       'recovered': recovered})
    return counts


def recover_one(engine: Engine, hold: values.Hold) -> Recovered | None:
    """Complete one hold, unless a process still works on it.

    :returns: ``None`` if a process does, or if another hold of the instance
        has to be released first.
    :raises PlacementUnavailable: Placement does not answer; it is retried
        after the new deadline.
    """
    if hold.state is values.HoldState.ACTIVE or hold.deadline > engine.clock():
        return None
    ours = retry.write(engine, lambda connection: db_holds.change(
        connection, hold, engine.clock(),
        deadline=hold_calls.deadline(engine)))
    if ours is None:
        return None
    if ours.state is values.HoldState.RELEASING:
        hold_calls.remove(engine, ours)
        transitions.forget(engine, ours)
        return Recovered.RELEASED
    if ours.state is values.HoldState.MOVING:
        if hold_calls.fence_move(engine, ours):
            transitions.reactivate(engine, ours)
            return Recovered.CONFIRMED
        return Recovered.MOVED if transitions.hand_over(
            engine, ours) else None
    if hold_calls.is_there(engine, ours) or not hold_calls.fence_new(
            engine, ours):
        transitions.reactivate(engine, ours)
        return Recovered.CONFIRMED
    transitions.forget(engine, ours)
    return Recovered.DROPPED


def release_forsaken(engine: Engine) -> int:
    """Mark holds without a promise to be released at once.

    :returns: the number of these holds.
    """
    return retry.write(engine, lambda connection: db_holds.release_forsaken(
        connection, engine.clock(), _BATCH))

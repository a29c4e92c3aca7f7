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

from collections.abc import Collection
import datetime
import enum

from oslo_log import log
import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.engine import drop_unused
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.features.placement.holds import calls as hold_calls
from ironic_reservations.features.placement.holds import rows as db_holds
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

    :returns: ``None`` if a process does.
    :raises PlacementUnavailable: Placement does not answer; it is retried
        after the new deadline.
    """
    if hold.state is values.HoldState.ACTIVE or hold.deadline > engine.clock():
        return None

    def take() -> values.Hold | None:
        with engine.database.write() as connection:
            return db_holds.change(connection, hold, engine.clock(),
                                   deadline=hold_calls.deadline(engine))
    ours = retry.until_committed(take)
    if ours is None:
        return None
    if ours.state is values.HoldState.RELEASING:
        hold_calls.remove(engine, ours)
        forget(engine, ours)
        return Recovered.RELEASED
    if ours.state is values.HoldState.MOVING:
        if hold_calls.fence_move(engine, ours):
            reactivate(engine, ours)
            return Recovered.CONFIRMED
        hand_over(engine, ours)
        return Recovered.MOVED
    if hold_calls.is_there(engine, ours) or not hold_calls.fence_new(
            engine, ours):
        reactivate(engine, ours)
        return Recovered.CONFIRMED
    forget(engine, ours)
    return Recovered.DROPPED


def release_forsaken(engine: Engine) -> int:
    """Mark holds without a promise to be released at once.

    :returns: the number of these holds.
    """
    def attempt() -> int:
        with engine.database.write() as connection:
            return db_holds.release_forsaken(connection, engine.clock(),
                                             _BATCH)
    return retry.until_committed(attempt)


def reactivate(engine: Engine, hold: values.Hold) -> values.Hold | None:
    """Write that a hold exists; return ``None`` if its row has changed."""
    return next(iter(reactivate_all(engine, [hold])), None)


def reactivate_all(engine: Engine, new: Collection[values.Hold]
                   ) -> list[values.Hold]:
    """Write that holds exist; return the holds with an unchanged row."""
    def attempt() -> list[values.Hold]:
        with engine.database.write() as connection:
            changed = [db_holds.change(
                connection, hold, engine.clock(), confirmed=True,
                state=values.HoldState.ACTIVE, instance_uuid=None)
                for hold in new]
        return [hold for hold in changed if hold is not None]
    return retry.until_committed(attempt)


def hand_over(engine: Engine, hold: values.Hold) -> None:
    """Write that a hold has been moved to its instance."""
    assert hold.instance_uuid is not None
    instance_uuid = hold.instance_uuid

    def attempt() -> None:
        with engine.database.write() as connection:
            db_holds.change(connection, hold, engine.clock(), confirmed=True,
                            state=values.HoldState.ACTIVE,
                            consumer_uuid=instance_uuid)
    retry.until_committed(attempt)


def forget(engine: Engine, *gone: values.Hold,
           keep_promise: bool = False) -> None:
    """Delete the rows of holds that do not exist and never will.

    A changed row stays, for the process that changed it.

    :param keep_promise: keep the promises that were made with the holds.
    """
    def attempt() -> None:
        with engine.database.write() as connection:
            for hold in gone:
                if db_holds.delete(connection, hold) and not keep_promise:
                    end_promise(engine, connection, hold, engine.clock())
    if gone:
        retry.until_committed(attempt)


def end_promise(engine: Engine, connection: sa.Connection, hold: values.Hold,
                now: datetime.datetime) -> None:
    """End the promise that was made with a hold, unless it is in use.

    Call it in the transaction that ends the hold, so that both or neither are
    written.
    """
    if hold.state is values.HoldState.PROMISING:
        drop_unused.drop_unused(engine, connection, hold.owner,
                                hold.node_uuid, now)

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

"""Writes the outcomes of requests for holds into their rows."""

from __future__ import annotations

from collections.abc import Collection
import datetime

from oslo_db import exception as db_exc
from oslo_log import log
import sqlalchemy as sa

from ironic_reservations.engine import drop_unused
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.features.placement.holds import rows as db_holds
from ironic_reservations.features.placement.holds import values

LOG = log.getLogger(__name__)


class _HasHold(Exception):
    """The instance is the consumer of another hold."""


def reactivate(engine: Engine, hold: values.Hold) -> values.Hold | None:
    """Write that a hold exists; return ``None`` if its row has changed."""
    return next(iter(reactivate_all(engine, [hold])), None)


def reactivate_all(engine: Engine, new: Collection[values.Hold]
                   ) -> list[values.Hold]:
    """Write that holds exist; return the holds with an unchanged row."""
    changed = retry.write(engine, lambda connection: [
        db_holds.change(connection, hold, engine.clock(), confirmed=True,
                        state=values.HoldState.ACTIVE, instance_uuid=None)
        for hold in new])
    return [hold for hold in changed if hold is not None]


def hand_over(engine: Engine, hold: values.Hold) -> bool:
    """Write that a hold has been moved to its instance.

    :returns: ``False`` if a hold of another node still has that consumer; then
        the row is unchanged, and :mod:`.recovery` tries again later.
    """
    assert hold.instance_uuid is not None
    instance_uuid = hold.instance_uuid

    def write(connection: sa.Connection) -> None:
        try:
            db_holds.change(connection, hold, engine.clock(),
                            confirmed=True, state=values.HoldState.ACTIVE,
                            consumer_uuid=instance_uuid)
        except db_exc.DBDuplicateEntry as exc:
            # No conflict: it lasts until that hold is released.
            raise _HasHold from exc
    try:
        retry.write(engine, write)
    except _HasHold:
        LOG.info('The instance %(instance)s has got the node %(node)s, and '
                 'its hold of another node has yet to be released',
                 {'instance': instance_uuid, 'node': hold.node_uuid})
        return False
    return True


def forget(engine: Engine, *gone: values.Hold,
           keep_promise: bool = False) -> None:
    """Delete the rows of holds that do not exist and never will.

    A changed row stays, for the process that changed it.

    :param keep_promise: keep the promises that were made with the holds.
    """
    def delete(connection: sa.Connection) -> None:
        for hold in gone:
            if db_holds.delete(connection, hold) and not keep_promise:
                end_promise(engine, connection, hold, engine.clock())
    if gone:
        retry.write(engine, delete)


def end_promise(engine: Engine, connection: sa.Connection, hold: values.Hold,
                now: datetime.datetime) -> None:
    """End the promise that was made with a hold, unless it is in use.

    Call it in the transaction that ends the hold, so that both or neither are
    written.
    """
    if hold.state is values.HoldState.PROMISING:
        drop_unused.drop_unused(engine, connection, hold.owner,
                                hold.node_uuid, now)

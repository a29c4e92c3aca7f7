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

"""Read maintenance windows, and end them."""

from __future__ import annotations

import datetime
import functools

from ironic_reservations import errors
from ironic_reservations.engine import change
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.engine import seen
from ironic_reservations.features.maintenance import rows as db_maintenance
from ironic_reservations.features.maintenance import values

#: The maximum number of windows that one transaction deletes.
_BATCH = 200


def page(engine: Engine) -> list[values.Window]:
    """Read all windows, in the order of their starts."""
    with engine.database.snapshot() as connection:
        return db_maintenance.read(connection)


def get(engine: Engine, ident: str) -> values.Window:
    """Read one window.

    :raises MaintenanceNotFound: there is no such window.
    """
    with engine.database.snapshot() as connection:
        found = db_maintenance.read(connection, (ident,))
    if not found:
        raise errors.MaintenanceNotFound(
            f'There is no maintenance window {ascii(ident)[:80]}. '
            '"GET /v1/maintenances" lists the windows.')
    return found[0]


def end(engine: Engine, ident: str) -> None:
    """End a window, now or before it has started.

    The reconciler then takes the nodes out of maintenance.

    :raises MaintenanceNotFound: there is no such window.
    :raises Contention: other requests changed the nodes at each attempt.
    """
    def plan() -> change.Planned[None]:
        now = engine.clock()
        with engine.database.read() as connection:
            window, generations = db_maintenance.read_standing(connection,
                                                               ident)
        left = [each for each in (window or get(engine, ident)).nodes
                if not each.over and not each.late(now)]
        if window is None or not left:
            return change.Planned(None)
        return change.Planned(None, change.Change(
            now, seen.Seen(generations).only(
                [each.node_uuid for each in left]),
            [change.Write(each, each.ended(now), change.Cause.ENDED)
             for each in left],
            statements=[functools.partial(db_maintenance.end_window,
                                          window=window, now=now)]))
    change.carry_out(engine, plan)


def purge(engine: Engine) -> None:
    """Delete windows that ended longer ago than leases are kept."""
    days = engine.conf.leases.retention
    if not days:
        return
    before = engine.clock() - datetime.timedelta(days=days)
    with engine.database.read() as connection:
        over = db_maintenance.read_forgettable(connection, before, _BATCH)
    if over:
        # After a conflict, the next call deletes them.
        retry.write_once(engine, lambda connection: db_maintenance.delete_many(
            connection, over, before))

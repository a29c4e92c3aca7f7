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
"""Moves windows that wait for leases to an earlier start.

A window with ``drain`` is booked after the leases that have its nodes.  If
such a lease ends earlier, or gives a node back, the window of that node moves
to an earlier start, unless the node is booked in between.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools

from oslo_log import log

from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import change
from ironic_reservations.engine import Engine
from ironic_reservations.features.maintenance import holdings
from ironic_reservations.features.maintenance import rows as db_maintenance
from ironic_reservations.model import node_window

LOG = log.getLogger(__name__)

#: An older decision would move a window into the past.
_OLD = datetime.timedelta(minutes=1)


def begin_earlier(engine: Engine) -> None:
    """Move the windows whose nodes are free before their planned start."""
    with engine.database.read() as connection:
        postponed = db_maintenance.read_postponed(connection, engine.clock())
    for there, wanted in postponed:
        try:
            _move(engine, there, wanted)
        except db_connection.Conflict as exc:
            LOG.debug('The window of node %s is looked at again: %s',
                      there.node_uuid, exc)


def _move(engine: Engine, there: node_window.NodeWindow,
          wanted: datetime.datetime) -> None:
    """Move the window of one node, if that is possible.

    :param wanted: the requested start.
    :raises Conflict: the node or the window has changed meanwhile.
    """
    now, uuid = engine.clock(), there.node_uuid
    with engine.database.snapshot() as connection:
        nodes = db_nodes.read_nodes(connection, (uuid,), with_traits=False)
        windows = db_maintenance.read(connection, (there.window_id,))
    if uuid not in nodes or not windows or there not in windows[0].nodes:
        return
    (window,) = windows
    found = holdings.read(engine, engine.snapshot(now), [nodes[uuid]])
    margin = datetime.timedelta(seconds=engine.conf.leases.cleaning_time)
    start = max(wanted, now)
    for each in found.bound[uuid]:
        # A reservation that is used has no end.
        if (each.until is None or each.kind is holdings.Kind.RESERVATION
                or each.until + margin >= there.starts_at):
            return
        start = max(start, each.until + margin)
    others = [*((row.starts_at, row.ends_at)
                for row, _ in found.planned.get(uuid, ())),
              *((each.starts_at, each.ends_at)
                for each in found.windows[uuid]
                if each.window_id != there.window_id)]
    if start >= there.starts_at or any(
            begin < there.starts_at and end > start for begin, end in others):
        return
    end = start + (there.ends_at - there.starts_at)
    moving = change.Change(
        now, found.seen,
        [change.Write(there, dataclasses.replace(
            there, starts_at=start, ends_at=end), change.Cause.STEP)],
        statements=[
            functools.partial(
                db_maintenance.write_end, window=window, ends_at=max([end, *(
                    each.ends_at for each in window.nodes
                    if each != there)]))])
    moving.wrong_after(now + _OLD)
    if not change.carry_out_once(engine, moving):
        raise db_connection.Conflict('its bookings have changed')
    LOG.info('The maintenance window %s of node %s begins earlier, at %s, '
             'since nobody has the node any more', there.window_id, uuid,
             start)

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

"""Moves queued leases to an earlier start as soon as there is room.

A queued lease has a promised start, later than the requested one. Each pass
plans the leases of the queue again, the highest priority first, and in the
order of their creation within a priority. Each lease gets the earliest start
that delays no other lease. So a promised start only becomes earlier, and a
lease overtakes another one only if that one cannot start earlier.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import functools

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.engine import ceiling
from ironic_reservations.engine import change
from ironic_reservations.engine import Engine
from ironic_reservations.engine.leases import find as lease_find
from ironic_reservations.engine.leases import replan as lease_replan
from ironic_reservations.features.queue import long_queue
from ironic_reservations.features.queue import rows as db_queue

LOG = log.getLogger(__name__)


def move_earlier(engine: Engine, continues: Callable[[], bool],
                 queue: long_queue.LongQueue) -> int:
    """Move queued leases to an earlier start where possible.

    All of them are planned, since a project with many leases that cannot start
    earlier would delay all leases behind them.

    :param continues: called before each lease; ``False`` ends the pass.
    :param queue: the results of earlier passes.
    :returns: the number of leases with an earlier start.
    """
    now = engine.clock()
    with engine.database.snapshot() as connection:
        waiting = db_queue.read_waiting(connection, now)
    if not waiting:
        return 0
    try:
        queue.begin(engine.snapshot(now, queue.requirements()))
    except (errors.Contention, db_connection.Conflict) as exc:
        # The next pass tries again.
        LOG.debug('The queue is left alone for now: %s', exc)
        return 0
    earlier = _move_all(engine, waiting, continues, queue)
    queue.end()
    return earlier


def _move_all(engine: Engine, waiting: Sequence[str],
              continues: Callable[[], bool],
              queue: long_queue.LongQueue) -> int:
    """Move some queued leases to an earlier start; return the number moved."""
    earlier = 0
    for lease_id in waiting:
        if not continues():
            break
        if queue.waits(lease_id):
            continue
        try:
            moved = change.carry_out(
                engine, functools.partial(_plan, engine, lease_id, queue))
        except (errors.Contention, errors.LeaseNotFound) as exc:
            # The next pass tries again.
            LOG.debug('The lease %s starts no earlier yet: %s', lease_id, exc)
            continue
        earlier += moved
    return earlier


def _plan(engine: Engine, lease_id: str,
          queue: long_queue.LongQueue) -> change.Planned[bool]:
    """Plan one lease as early as possible.

    :param queue: stores the lease if it cannot start earlier.
    :returns: whether it can start earlier.
    """
    now = engine.clock()
    before = lease_find.get(engine, lease_id)
    if not before.waits or before.queued is None or before.start <= now:
        return change.Planned(False)
    allowed = engine.limits['leases', before.project_id is not None]
    project = ceiling.of_project(engine, allowed, before.project_id, now,
                                 before.id)
    length = before.end - before.start
    # No ladder: its other rungs would start other leases later, or heal once
    # for each lease that waits.
    replanned = lease_replan.earlier(
        engine, before, before.queued.wanted, now, project,
        lambda begin: project.permits_lease(dataclasses.replace(
            before, start=begin, end=begin + length)))
    if replanned is None:
        queue.stays(before)
        return change.Planned(False)
    after = dataclasses.replace(replanned.lease, queued=dataclasses.replace(
        before.queued, promised=replanned.lease.start))
    planned = lease_replan.change_of(before, after, replanned, now,
                                     change.Cause.MOVED_EARLIER)
    planned.wrong_after(after.start)
    return change.Planned(True, planned)

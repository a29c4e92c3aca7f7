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

"""Seeing whether leases still have what they were promised.

Before its start a node that breaks is replaced.  After it none is moved by
itself: the lease is flagged until the node is back, or until its owner asks
for another one.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import lease_work as db_lease_work
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import announce
from ironic_reservations.engine import Engine
from ironic_reservations.engine.leases import heal as lease_heal
from ironic_reservations.planner import instance_standing
from ironic_reservations.planner import lease_cycle
from ironic_reservations.planner import leases

LOG = log.getLogger(__name__)


def watch(engine: Engine) -> None:
    """Replace what has not started and cannot, and flag what is missing.

    :raises Conflict: another transaction was in the way.
    """
    try:
        lease_heal.heal(engine)
    except errors.Contention as exc:
        LOG.info('Other nodes are looked for at the next pass: %s', exc)
    now = engine.clock()
    horizon = engine.timelines.look(engine.database, now)
    missing: set[str] = set()
    for here in horizon.standings:
        if here is None or not here.promised:
            continue
        why = lease_cycle.broken(here.host.node)
        if why is not None:
            missing.update(booking.reservation_id
                           for booking, _ in here.promised
                           if booking.state is leases.BookingState.BOUND)
        missing.update(booking.reservation_id
                       for booking, _ in instance_standing.stranded(here, now))
    with engine.database.read() as connection:
        flags = db_lease_work.read_flags(connection, missing)
    wrong: dict[str, dict[str, bool]] = {}
    degraded = {each.lease_id for key, each in flags.items()
                if key in missing}
    for key, each in flags.items():
        if each.missing != (key in missing):
            wrong.setdefault(each.lease_id, {})[key] = key in missing
        elif each.degraded != (each.lease_id in degraded):
            wrong.setdefault(each.lease_id, {})
    for lease_id, changed in wrong.items():
        _flag(engine, lease_id, changed, lease_id in degraded)


def _flag(engine: Engine, lease_id: str, changed: Mapping[str, bool],
          degraded: bool) -> None:
    """Write flags, unless somebody else changes the lease just now.

    :param changed: whether nodes are missing, by the lease reservation.
    """
    now = engine.clock()
    with engine.database.read() as connection:
        found = db_leases.read(connection, (lease_id,))
    if not found or found[0].status.over:
        return
    before = found[0]
    after = dataclasses.replace(
        before, degraded=degraded, updated_at=now, reservations=tuple(
            dataclasses.replace(each, missing_resources=changed[each.id],
                                updated_at=now)
            if each.id in changed else each for each in before.reservations))
    try:
        with engine.database.write() as connection:
            # NOTE: at once, so that what the lease waits for is looked at.
            if not db_leases.update(connection, before, after, now):
                return
    except db_connection.Conflict:
        return
    if degraded:
        LOG.warning('The lease %s lacks nodes that it was promised', lease_id)
    else:
        LOG.info('The lease %s has all of its nodes again', lease_id)
    engine.announcer.tell_lease(announce.LEASE_UPDATE, after,
                                announce.DEGRADED if degraded else None)

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

"""Delete rows that are no longer needed."""

from __future__ import annotations

import functools

from oslo_log import log

from ironic_reservations.db import changes as db_changes
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine import change
from ironic_reservations.engine import claims
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.engine.leases import purge
from ironic_reservations.engine.reservations import release
from ironic_reservations.model import node_reservation

LOG = log.getLogger(__name__)

#: The number of rows that one transaction deletes; the next pass continues.
_BATCH = 1000
#: The number of node changes that are kept: more than occur in a second.
_CHANGES = 100_000


def sweep(engine: Engine) -> int:
    """Delete expired reservations, old leases, keys and changes.

    :returns: the number of deleted reservations.
    :raises Contention: other requests changed the rows at each attempt.
    """
    def plan() -> change.Planned[list[node_reservation.Reservation]]:
        now = engine.clock()
        with engine.database.read() as connection:
            void = db_reservations.read_expired(connection, now, _BATCH,
                                                acted=False)
        return change.Planned(void, change.Change(
            now, writes=[*map(change.expired, void)]) if void else None)
    void = change.carry_out(engine, plan)
    for reservation in void:
        _log(reservation)
    _put_back(engine)
    purge.purge_expired(engine)
    claims.purge(engine)
    _purge_changes(engine)
    return len(void)


def _put_back(engine: Engine) -> None:
    """End expired reservations whose nodes have to be put back."""
    with engine.database.read() as connection:
        over = db_reservations.read_expired(connection, engine.clock(),
                                            _BATCH, acted=True)
    for reservation in over:
        if release.end_over(engine, reservation):
            _log(reservation)


def _log(reservation: node_reservation.Reservation) -> None:
    LOG.info('The reservation for instance %s on node %s has expired',
             reservation.instance_uuid, reservation.node_uuid)


def _purge_changes(engine: Engine) -> None:
    with engine.database.read() as connection:
        last = db_changes.read_old(connection, _CHANGES, _CHANGES)
    if last is not None:
        # After a conflict, the next call continues.
        retry.write_once(engine, functools.partial(db_changes.delete_until,
                                                   last=last))

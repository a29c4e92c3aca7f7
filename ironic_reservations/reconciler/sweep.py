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

"""Deleting rows that no longer mean anything."""

from __future__ import annotations

from oslo_log import log

from ironic_reservations.db import passages as db_passages
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine import announce
from ironic_reservations.engine import Engine

LOG = log.getLogger(__name__)

#: The rest is for the next pass, so that no transaction gets long.
_BATCH = 1000


def sweep(engine: Engine) -> int:
    """Delete expired reservations and the passages of dead processes.

    :returns: how many reservations.
    """
    now = engine.clock()
    with engine.database.read() as connection:
        void = db_reservations.read_void(connection, now, _BATCH)
    with engine.database.write() as connection:
        if void:
            db_reservations.delete_void(
                connection, [row.id for row in void if row.id is not None],
                now)
        db_passages.delete_expired(connection, now)
    for reservation in void:
        LOG.info('The reservation for instance %s on node %s has expired',
                 reservation.instance_uuid, reservation.node_uuid)
        engine.announcer.tell(announce.DELETE, reservation, announce.EXPIRED)
    return len(void)

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

"""Delete leases that ended long ago.

Their usage stays in ``lease_usage``.  Each batch is one short transaction; of
two processes that delete the same batch, the second reads the next one.
"""

from __future__ import annotations

import datetime

from oslo_log import log

from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry

LOG = log.getLogger(__name__)

#: How many leases one transaction deletes.
BATCH = 200


def purge_expired(engine: Engine) -> int:
    """Delete a batch of leases that are older than the configured time.

    :returns: the number of deleted leases; the rest is left for the next call.
    """
    days = engine.conf.leases.retention
    if not days:
        return 0
    return purge(engine, engine.clock() - datetime.timedelta(days=days),
                 BATCH)


def purge(engine: Engine, before: datetime.datetime, limit: int) -> int:
    """Delete leases that ended before an instant, the oldest first.

    :param limit: the maximum number of leases to delete.
    :returns: the number of deleted leases; 0 if there are no more.
    :raises Contention: other requests changed the leases at each attempt.
    """
    def attempt() -> int:
        with engine.database.read() as connection:
            over = db_leases.read_forgettable(connection, before, limit)
        if over:
            with engine.database.write() as connection:
                if not db_leases.delete_many(connection, over):
                    raise db_connection.Conflict('a lease has changed')
        return len(over)
    deleted = retry.until_committed(attempt, repeatable=True)
    if deleted:
        LOG.info('Deleted %(count)d leases that were over before %(before)s',
                 {'count': deleted, 'before': before.isoformat()})
    return deleted

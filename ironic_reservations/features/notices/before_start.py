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

"""Write notices that leases start soon.

A lease does not change before its start, so there is no transaction with which
the notice could be written. A loop finds leases without their notice.
"""

from __future__ import annotations

import datetime

from ironic_reservations.db import leases as db_leases
from ironic_reservations.db import outbox as db_outbox
from ironic_reservations.engine import Engine
from ironic_reservations.engine.outbox import notice_ids
from ironic_reservations.features.notices import writing as notices

#: The maximum number of notices that one transaction writes.
_BATCH = 100


def write(engine: Engine) -> int:
    """Write a notice for each lease that starts soon and has none.

    A lease whose start is changed gets another one.

    :returns: the number of notices that were written.
    :raises Conflict: another transaction was in the way; try again.
    """
    options, now = engine.conf.notices, engine.clock()
    if not options.before_start_time:
        return 0
    # A notice whose row is purged would be written again.
    until = now + min(datetime.timedelta(seconds=options.before_start_time),
                      datetime.timedelta(days=options.retention))
    with engine.database.read() as connection:
        soon = db_leases.read_starting(connection, now, until)
        rows = {lease_id: {
            notice_ids.of_row(notice_ids.of_notice(
                lease_id, notices.Kind.BEFORE_START, start.isoformat()),
                channel, one)
            for channel, one in notices.receivers(engine.conf, user_id)}
            for lease_id, start, user_id in soon}
        known = db_outbox.read_known(
            connection, [row for each in rows.values() for row in each])
    lacking = [lease_id for lease_id, each in rows.items() if each - known]
    for first in range(0, len(lacking), _BATCH):
        with engine.database.write() as connection:
            now = engine.clock()
            for lease in db_leases.read(connection,
                                        lacking[first:first + _BATCH]):
                # It may have moved, or started, since it was found.
                if lease.start > now and not lease.status.over:
                    notices.write(engine.conf, connection,
                                  notices.Kind.BEFORE_START, lease, now,
                                  occurrence=lease.start.isoformat())
    return len(lacking)

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

"""Record when the nodes of leases are deployed, as the mirror shows them.

The guard records the deploys that it lets through.  This finds the others, and
the ends of all.
"""

from __future__ import annotations

from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import usage_periods as db_usage_periods
from ironic_reservations.engine import Engine


def record(engine: Engine) -> None:
    """Record which nodes of leases are deployed, and which no longer are.

    :raises DatabaseUnavailable: nothing can be read or written.
    """
    now = engine.clock()
    with engine.database.read() as connection:
        begun = db_usage_periods.read_unrecorded(connection, now)
        over = db_usage_periods.read_over(connection)
    if not begun and not over:
        return
    try:
        with engine.database.write() as connection:
            db_usage_periods.begin(connection, begun, now)
            db_usage_periods.finish(connection, over, now)
    except db_connection.Conflict:
        # NOTE: the guard or another process has recorded one of them; the next
        # pass records the others.
        return

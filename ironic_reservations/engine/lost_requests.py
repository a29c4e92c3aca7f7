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

"""Requests in flight that a lost history let through.

The database does not contain these requests any more, but a conductor may
still carry one out. Therefore all nodes are uncertain when a new history
begins, until Ironic has shown twice that they are idle, as after a request
without an answer (:mod:`.in_flight.uncertain`).
"""

from __future__ import annotations

import datetime

from oslo_config import cfg

from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import histories as db_histories


def may_come(database: db_connection.Database, conf: cfg.ConfigOpts,
             now: datetime.datetime, known: int | None = None) -> bool:
    """Write that requests of a lost history may be in flight to all nodes.

    :param known: the generation of the lost history, as for
        :func:`.histories.begin`.
    :returns: ``False`` if another process has written it first.
    """
    with database.write() as connection:
        return db_histories.begin(connection, known, now + datetime.timedelta(
            seconds=conf.guard.in_flight_timeout / 2))

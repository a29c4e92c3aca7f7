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

"""Claims: work that one process does for all, until its claim ends.

They are judged by the database's clock.
"""

from __future__ import annotations

import datetime

from ironic_reservations.db import claims as db_claims
from ironic_reservations.engine import Engine


def take(engine: Engine, name: str, owner: str, ttl: float) -> bool:
    """Take a claim, or keep it; tells whether it is ours.

    :param owner: of one process, and of no other ever.
    :param ttl: for how long, in seconds.
    :raises DatabaseUnavailable: nobody knows.
    :raises Conflict: another process was quicker.
    """
    now = engine.clock()
    with engine.database.write() as connection:
        return db_claims.take(connection, name, owner, now,
                              now + datetime.timedelta(seconds=ttl))


def drop(engine: Engine, name: str, owner: str) -> None:
    """Let another process take a claim over at once.

    :raises DatabaseUnavailable: nobody knows.
    :raises Conflict: another process was quicker.
    """
    with engine.database.write() as connection:
        db_claims.drop(connection, name, owner)

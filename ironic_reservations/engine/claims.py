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

"""Claims: leases on work that only one process may do at a time.

Whether a claim has ended is judged by the clock of the database.
"""

from __future__ import annotations

import datetime
import functools

from ironic_reservations.db import claims as db_claims
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry

#: The claim of the process that follows the nodes of Ironic.
MIRROR = db_claims.MIRROR
#: How many rows one transaction deletes.
_BATCH = 1000


def take(engine: Engine, name: str, owner: str, ttl: float) -> bool:
    """Take or renew a claim.

    :param owner: a name that no other process ever has.
    :param ttl: the duration of the claim in seconds.
    :returns: whether ``owner`` has the claim now.
    :raises DatabaseUnavailable: it is not known whether the owner has it.
    :raises Conflict: another process was quicker.
    """
    now = engine.clock()
    with engine.database.write() as connection:
        return db_claims.take(connection, name, owner, now,
                              now + datetime.timedelta(seconds=ttl))


def drop(engine: Engine, name: str, owner: str) -> None:
    """Release a claim, so that another process can take it at once.

    :raises DatabaseUnavailable: it is not known whether it was released.
    :raises Conflict: another process was quicker.
    """
    with engine.database.write() as connection:
        db_claims.drop(connection, name, owner)


def purge(engine: Engine) -> None:
    """Delete claims, keys of requests and names of queues that have expired.
    """
    now = engine.clock()
    full = True
    while full:
        with engine.database.read() as connection:
            over = db_claims.read_over(connection, now, _BATCH)
        full = len(over) == _BATCH
        # After a conflict, the next call continues.
        if not over or not retry.write_once(engine, functools.partial(
                db_claims.delete_over, names=over, now=now)):
            return

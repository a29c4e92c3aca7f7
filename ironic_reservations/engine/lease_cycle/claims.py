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

"""Claims on leases: whose a lease is, while somebody works on it."""

from __future__ import annotations

from collections.abc import Collection
import dataclasses
import datetime

from ironic_reservations.db import lease_work as db_lease_work
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import Engine
from ironic_reservations.model import leases

Claim = db_lease_work.Claim
Taken = db_lease_work.Taken


@dataclasses.dataclass(frozen=True)
class Task:
    """A claim, and the lease as it was when it was claimed.

    :ivar lease: ``None``: it is gone.
    """

    claim: Claim
    lease: leases.Lease | None


def read_due(engine: Engine, limit: int) -> list[str]:
    """Read which leases are due and nobody's, the oldest first.

    :param limit: how many, at most.
    :raises DatabaseUnavailable: nothing can be read.
    """
    with engine.database.read() as connection:
        return db_lease_work.read_due(connection, engine.clock(), limit)


def take(engine: Engine, lease_ids: Collection[str],
         token: str) -> list[Task]:
    """Claim leases, those that are due and nobody's still.

    :param token: of these claims, and of no others ever.
    :raises DatabaseUnavailable: they may have been claimed all the same.
    :raises Conflict: another process was quicker; the same.
    """
    now = engine.clock()
    with engine.database.write() as connection:
        claims = db_lease_work.take(connection, lease_ids, token, now,
                                    _until(engine, now))
    with engine.database.snapshot() as connection:
        read = {lease.id: lease for lease in db_leases.read(
            connection, [claim.lease_id for claim in claims])}
    return [Task(claim, read.get(claim.lease_id)) for claim in claims]


def extend(engine: Engine, claims: Collection[Claim]
           ) -> Collection[Claim]:
    """Keep claims for longer; tells which of them are held still.

    :raises DatabaseUnavailable: nobody knows.
    :raises Conflict: another process was quicker.
    """
    until = _until(engine, engine.clock())
    with engine.database.write() as connection:
        return db_lease_work.extend(connection, claims, until)


def drop(engine: Engine, claims: Collection[Taken]) -> None:
    """Let other processes take leases over at once.

    :raises DatabaseUnavailable: nobody knows.
    :raises Conflict: another process was quicker.
    """
    with engine.database.write() as connection:
        db_lease_work.drop(connection, claims)


def _until(engine: Engine, now: datetime.datetime) -> datetime.datetime:
    return now + datetime.timedelta(seconds=engine.conf.leases.claim_ttl)

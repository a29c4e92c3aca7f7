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

"""Claims on leases while a worker works on them."""

from __future__ import annotations

from collections.abc import Collection
import dataclasses
import datetime

from ironic_reservations.db import claimed_rows
from ironic_reservations.db import lease_work as db_lease_work
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import Engine
from ironic_reservations.model import leases

Claim = db_lease_work.Claim
Taken = claimed_rows.Taken


@dataclasses.dataclass(frozen=True)
class Task:
    """A claim, and the lease as it was when it was claimed.

    :ivar lease: the lease; ``None`` if it is gone.
    """

    claim: Claim
    lease: leases.Lease | None


def read_due(engine: Engine, limit: int) -> list[str]:
    """Read the leases that are due and not claimed, the oldest first.

    :param limit: how many to read at most.
    """
    with engine.database.read() as connection:
        return db_lease_work.read_due(connection, engine.clock(), limit)


def take(engine: Engine, lease_ids: Collection[str],
         token: str) -> list[Task]:
    """Claim those of some leases that are due and not claimed.

    :param token: a name that no other claims ever have.
    :raises DatabaseUnavailable: they may have been claimed nevertheless.
    :raises Conflict: another process was quicker, or the same.
    """
    now = engine.clock()
    with engine.database.write() as connection:
        claims = db_lease_work.take(connection, lease_ids, token, now,
                                    _until(engine, now))
    with engine.database.snapshot() as connection:
        read = {lease.id: lease for lease in db_leases.read(
            connection, [claim.id for claim in claims])}
    return [Task(claim, read.get(claim.id)) for claim in claims]


def extend(engine: Engine, claims: Collection[Claim]
           ) -> Collection[Claim]:
    """Renew claims.

    :returns: those that are still held.
    :raises DatabaseUnavailable: it is not known which are.
    :raises Conflict: another process was quicker.
    """
    until = _until(engine, engine.clock())
    with engine.database.write() as connection:
        return db_lease_work.extend(connection, claims, until)


def drop(engine: Engine, claims: Collection[Taken]) -> None:
    """Release claims, so that other processes can take the leases at once.

    :raises DatabaseUnavailable: it is not known whether they were given back.
    :raises Conflict: another process was quicker.
    """
    with engine.database.write() as connection:
        db_lease_work.drop(connection, claims)


def _until(engine: Engine, now: datetime.datetime) -> datetime.datetime:
    return now + datetime.timedelta(seconds=engine.conf.leases.claim_ttl)

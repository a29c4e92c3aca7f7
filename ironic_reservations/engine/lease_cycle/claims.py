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

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.db import claimed_rows
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import lease_work as db_lease_work
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import Engine
from ironic_reservations.model import leases

LOG = log.getLogger(__name__)

Claim = db_lease_work.Claim
Taken = claimed_rows.Taken


@dataclasses.dataclass(frozen=True)
class ClaimedLease:
    """A claim, and the lease as it was when it was claimed.

    :ivar lease: the lease; ``None`` if it is gone.
    """

    claim: Claim
    lease: leases.Lease | None


def read_due(engine: Engine, limit: int) -> list[str]:
    """Read the leases that are due and not claimed, the oldest first.

    :param limit: the maximum number of leases.
    """
    with engine.database.read() as connection:
        return db_lease_work.read_due(connection, engine.clock(), limit)


def take(engine: Engine, lease_ids: Collection[str],
         token: str) -> list[ClaimedLease]:
    """Claim leases, except those not due or already claimed.

    :param token: a name that no other claims ever have.
    :raises DatabaseUnavailable: the leases may have been claimed.
    :raises Conflict: another thread or process was quicker.
    """
    now = engine.clock()
    with engine.database.write() as connection:
        claims = db_lease_work.take(connection, lease_ids, token, now,
                                    _until(engine, now))
    ids = [claim.id for claim in claims]
    try:
        read = _read(engine, ids)
    except (errors.DatabaseUnavailable, db_connection.Conflict):
        raise
    except Exception:
        # One lease that cannot be read, such as a lease of a later release,
        # must not block the others.
        read = {}
        for ident in ids:
            try:
                read.update(_read(engine, [ident]))
            except (errors.DatabaseUnavailable, db_connection.Conflict):
                raise
            except Exception:
                LOG.exception('The lease %s cannot be read, and is tried '
                              'again when its claim ends', ident)
                claims = [claim for claim in claims if claim.id != ident]
    return [ClaimedLease(claim, read.get(claim.id)) for claim in claims]


def _read(engine: Engine,
          lease_ids: Collection[str]) -> dict[str, leases.Lease]:
    with engine.database.snapshot() as connection:
        return {lease.id: lease
                for lease in db_leases.read(connection, lease_ids)}


def extend(engine: Engine, claims: Collection[Claim]
           ) -> Collection[Claim]:
    """Renew claims.

    :returns: the claims that this process still has.
    :raises DatabaseUnavailable: it is not known which claims were renewed.
    :raises Conflict: another process was quicker.
    """
    until = _until(engine, engine.clock())
    with engine.database.write() as connection:
        return db_lease_work.extend(connection, claims, until)


def drop(engine: Engine, claims: Collection[Taken]) -> None:
    """Release claims, so that other processes can take the leases at once.

    :raises DatabaseUnavailable: it is not known whether they were released.
    :raises Conflict: another process was quicker.
    """
    with engine.database.write() as connection:
        db_lease_work.drop(connection, claims)


def _until(engine: Engine, now: datetime.datetime) -> datetime.datetime:
    return now + datetime.timedelta(seconds=engine.conf.leases.claim_ttl)

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

"""A request for a lease that is sent twice with one key makes one lease.

That lease may be gone before a copy of the request arrives, which a proxy had
held back; so that the key is kept in a row of its own for a while.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import datetime
import hashlib
import json

from oslo_log import log
import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import claims as db_claims
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import lease_requests as db_requests
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import Engine
from ironic_reservations.engine import request_keys
from ironic_reservations.model import leases

LOG = log.getLogger(__name__)

#: How long a key is kept, whatever becomes of its lease.
KEPT = request_keys.KEPT


def digests(ask: leases.LeaseAsk) -> tuple[str | None, str | None]:
    """Return the digests of the key of a request and of what it asks for.

    Where it has no key, there are none.
    """
    if ask.key is None:
        return None, None
    key = json.dumps([ask.project_id, ask.key])
    written = dataclasses.asdict(ask)
    if ask.flexible is None:
        # NOTE: so that the digests of older requests still match.
        del written['flexible']
    else:
        # NOTE: which is the duration after now, where it starts now.
        del written['end']
    if not ask.queue:
        del written['queue'], written['priority']
    for wish in written['wishes']:
        # NOTE: so that the digests of older requests still match.
        if wish['flavor_id'] is None:
            del wish['flavor_id']
        if wish['instances'] is None:
            del wish['instances']
        elif wish['instances']['flavor'] is None:
            del wish['instances']['flavor']
    request = json.dumps(written, sort_keys=True, default=str)
    return (hashlib.sha256(key.encode()).hexdigest(),
            hashlib.sha256(request.encode()).hexdigest())


def served_before(engine: Engine, key: str | None,
                  digest: str | None) -> leases.Lease | None:
    """Return the lease that a request with a key has made before.

    :param digest: of the request, as of :func:`digests`.
    :raises IdempotencyKeyReused: the key came with another request, or the
        lease is gone.
    """
    if key is None:
        return None
    now = engine.clock()
    with engine.database.snapshot() as connection:
        made = db_requests.read(connection, key)
        if made is not None and made.digest is not None:
            return _served(connection, made, digest)
    if made is None or made.until is None:
        return None
    if made.until > now:
        raise errors.IdempotencyKeyReused(
            'The request with this Idempotency-Key made the lease '
            f'{made.lease_id}, which has been deleted since. To make another '
            'lease, send the request with a new key.')
    _delete(engine, [db_requests.name_of(key)], now)
    return None


def _served(connection: sa.Connection, made: db_requests.Made,
            digest: str | None) -> leases.Lease | None:
    if made.digest != digest:
        raise errors.IdempotencyKeyReused(
            'The same Idempotency-Key was sent with a different request '
            'before. Send each request with its own key.')
    served = db_leases.read(connection, (made.lease_id,))
    return served[0] if served else None


def keep(engine: Engine, connection: sa.Connection, key: str | None,
         lease_id: str, planned_at: datetime.datetime) -> None:
    """Keep the key of a request, in the transaction that makes its lease.

    :param planned_at: when :func:`served_before` had not been served yet.
    :raises Conflict: it may have been served meanwhile.
    :raises oslo_db.exception.DBDuplicateEntry: it has been.
    """
    if key is None:
        return
    now = engine.clock()
    # NOTE: a process that stood still for so long would not find the key of
    # another one any more.
    if planned_at + KEPT <= now:
        raise db_connection.Conflict('it was planned days ago')
    db_requests.insert(connection, key, lease_id, now + KEPT)


def _delete(engine: Engine, names: Sequence[str],
            now: datetime.datetime) -> None:
    try:
        with engine.database.write() as connection:
            db_claims.delete_over(connection, names, now)
    except db_connection.Conflict as exc:
        LOG.debug('Keys of requests are forgotten later: %s', exc)

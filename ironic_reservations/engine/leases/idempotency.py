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

"""A request for a lease that is sent twice with one key makes one lease."""

from __future__ import annotations

import dataclasses
import hashlib
import json

from ironic_reservations import errors
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import Engine
from ironic_reservations.model import leases


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
    :raises IdempotencyKeyReused: the key came with another request.
    """
    if key is None:
        return None
    with engine.database.snapshot() as connection:
        found = db_leases.read_requested(connection, key)
        if found is None:
            return None
        if found[1] != digest:
            raise errors.IdempotencyKeyReused(
                'The same Idempotency-Key was sent with a different request '
                'before. Send each request with its own key.')
        served = db_leases.read(connection, (found[0],))
    return served[0] if served else None

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

"""The key of a request for a lease, and the lease that it has made."""

from __future__ import annotations

import dataclasses

from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import Engine
from ironic_reservations.engine import request_keys
from ironic_reservations.model import leases


def of(ask: leases.LeaseAsk) -> request_keys.Key | None:
    """Return the identity of a request, if it has one."""
    if ask.key is None:
        return None
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
    return request_keys.Key(
        'lease', request_keys.sha256([ask.project_id, ask.key]),
        request_keys.sha256(written))


def served(engine: Engine,
           known: request_keys.Known) -> leases.Lease | None:
    """Return the lease that the same request has made.

    :returns: ``None`` if it has made none, or if the lease has been deleted
        since its key was read.
    :raises IdempotencyKeyReused: it had been deleted before.
    """
    if known.again is None:
        return None
    if known.again.until is not None:
        raise known.ended()
    with engine.database.snapshot() as connection:
        made = db_leases.read(connection, (known.again.ident,))
    return made[0] if made else None

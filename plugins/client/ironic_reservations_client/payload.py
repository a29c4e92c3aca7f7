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

"""Names of headers, and idempotency keys, for requests of all clients."""

from __future__ import annotations

import datetime
from typing import Any
import uuid as uuid_module

from ironic_reservations_client import resources

PROOF_HEADER = 'OpenStack-Baremetal-Reservation'
KEY_HEADER = 'Idempotency-Key'


def once(key: str | None, dry_run: bool = False) -> dict[str, dict[str, str]]:
    """Return the header with the key of a request, or the query of a dry run.

    :param key: the idempotency key; ``None``: a new one, which protects
        retries.
    :param dry_run: whether to check only if the request could be carried out.
    """
    if dry_run:
        return {'params': {'dry_run': 'true'}}
    return {'headers': {KEY_HEADER: key or str(uuid_module.uuid4())}}


def renewal(ttl: int | None, expires_at: str | datetime.datetime | None,
            ) -> list[dict[str, Any]]:
    """Return the JSON patch that renews a reservation.

    :raises ValueError: neither or both of the times were given.
    """
    if (ttl is None) == (expires_at is None):
        raise ValueError('A renewal takes either ttl or expires_at, not both '
                         'and not none.')
    return [{'op': 'replace', 'path': f'/{name}', 'value': value}
            for name, value in resources.RESERVATION.body(
                ttl=ttl, expires_at=expires_at).items()]

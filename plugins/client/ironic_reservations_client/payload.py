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


"""The bodies of the clients' requests, and the names of headers."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import datetime
from typing import Any
import uuid as uuid_module

from ironic_reservations_client import flavors

PROOF_HEADER = 'OpenStack-Baremetal-Reservation'
KEY_HEADER = 'Idempotency-Key'


def once(key: str | None, dry_run: bool = False) -> dict[str, dict[str, str]]:
    """Return header and query of a request that is served once if sent twice.

    :param key: its name; ``None`` for a new one, which protects retries.
    :param dry_run: only ask whether it could be served.
    """
    if dry_run:
        return {'params': {'dry_run': 'true'}}
    return {'headers': {KEY_HEADER: key or str(uuid_module.uuid4())}}


def creation(
    instance_uuid: str,
    node_uuid: str | Iterable[str] | None = None,
    uuid: str | None = None,
    ttl: int | None = None,
    expires_at: str | datetime.datetime | None = None,
    resource_class: str | None = None,
    traits: Iterable[str] | None = None,
    flavor: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the body that asks for a reservation, without what is not set."""
    body = {
        'instance_uuid': instance_uuid, 'uuid': uuid, 'ttl': ttl,
        'node_uuid': _as_list(node_uuid), 'traits': _as_list(traits),
        'expires_at': _as_text(expires_at), 'resource_class': resource_class,
        'flavor': None if flavor is None else flavors.shown(flavor)}
    return {key: value for key, value in body.items() if value is not None}


def renewal(ttl: int | None, expires_at: str | datetime.datetime | None,
            ) -> list[dict[str, Any]]:
    """Return the JSON patch that renews a reservation.

    :raises ValueError: neither or both of the times were given.
    """
    if (ttl is None) == (expires_at is None):
        raise ValueError('A renewal takes either ttl or expires_at, not both '
                         'and not none.')
    if ttl is not None:
        return [{'op': 'replace', 'path': '/ttl', 'value': ttl}]
    return [{'op': 'replace', 'path': '/expires_at',
             'value': _as_text(expires_at)}]


def _as_list(values: str | Iterable[str] | None) -> list[str] | None:
    if values is None:
        return None
    return [values] if isinstance(values, str) else list(values)


def _as_text(when: str | datetime.datetime | None) -> str | None:
    return when.isoformat() if isinstance(when, datetime.datetime) else when

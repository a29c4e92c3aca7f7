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

"""Maintenance windows through openstacksdk.

A window is a dictionary of the fields of the API: ``uuid``, ``name``,
``starts_at``, ``ends_at``, ``state``, ``nodes`` and so on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openstack import connection
from openstack import utils

from ironic_reservations_client import payload
from ironic_reservations_client.sdk import transport

__all__ = ['create', 'end', 'maintenances']

_PATH = '/maintenances'


def create(conn: connection.Connection, body: Mapping[str, Any],
           dry_run: bool = False, key: str | None = None) -> dict[str, Any]:
    """Book nodes for maintenance.

    :param conn: a connection.
    :param body: as the API takes it.
    :param dry_run: only tell what that would do.
    :param key: a name for the request: sent twice, it is served once.  The
        default is a new one, which protects the retries of this call.
    :raises Conflict: somebody is in the way; ``reasons`` say who.
    """
    found: dict[str, Any] = transport.request(
        conn, 'POST', _PATH, json=dict(body),
        **payload.once(key, dry_run)).json()['maintenance']
    return found


def maintenances(conn: connection.Connection) -> list[dict[str, Any]]:
    """List the windows, the first to start first.

    :param conn: a connection.
    """
    found: list[dict[str, Any]] = transport.request(
        conn, 'GET', _PATH).json()['maintenances']
    return found


def end(conn: connection.Connection, uuid: str) -> None:
    """End a window, now or before it has started.

    :param conn: a connection.
    :param uuid: of the window.
    :raises NotFound: there is none.
    """
    transport.request(conn, 'DELETE', utils.urljoin(_PATH, uuid))

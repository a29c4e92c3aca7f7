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

from ironic_reservations_client import maintenance
from ironic_reservations_client.sdk import transport

__all__ = ['create', 'end', 'maintenances']


def _through(conn: connection.Connection) -> Any:
    return maintenance.MaintenanceManager.over(transport.OpenStack(conn))


def create(conn: connection.Connection, body: Mapping[str, Any],
           dry_run: bool = False, key: str | None = None) -> Any:
    """Book nodes for maintenance, as ``MaintenanceManager.post`` does.

    :raises Conflict: somebody is in the way; ``reasons`` say who.
    """
    return _through(conn).post(body, dry_run, key)


def maintenances(conn: connection.Connection) -> Any:
    """List the windows, the first to start first."""
    return _through(conn).list()


def end(conn: connection.Connection, uuid: str) -> None:
    """End a window, now or before it has started.

    :raises NotFound: there is none.
    """
    _through(conn).delete(uuid)

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

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

from openstack import connection
from openstack import exceptions
from openstack import utils
from openstack.baremetal.v1 import _proxy
import requests

from ironic_reservations.client.sdk import transport

__all__ = ['create', 'end', 'maintenances']

_PATH = '/maintenances'


def create(conn: connection.Connection, body: Mapping[str, Any],
           dry_run: bool = False) -> dict[str, Any]:
    """Book nodes for maintenance.

    :param conn: a connection.
    :param body: as the API takes it.
    :param dry_run: only tell what that would do.
    :raises Conflict: somebody is in the way; ``reasons`` say who.
    """
    found: dict[str, Any] = _ask(conn, lambda proxy: proxy.post(
        _PATH, json=dict(body), params={'dry_run': 'true'} if dry_run
        else {})).json()['maintenance']
    return found


def maintenances(conn: connection.Connection) -> list[dict[str, Any]]:
    """List the windows, the first to start first.

    :param conn: a connection.
    """
    found: list[dict[str, Any]] = _ask(
        conn, lambda proxy: proxy.get(_PATH)).json()['maintenances']
    return found


def end(conn: connection.Connection, uuid: str) -> None:
    """End a window, now or before it has started.

    :param conn: a connection.
    :param uuid: of the window.
    :raises NotFound: there is none.
    """
    _ask(conn, lambda proxy: proxy.delete(utils.urljoin(_PATH, uuid)))


def _ask(conn: connection.Connection,
         act: Callable[[_proxy.Proxy], requests.Response]
         ) -> requests.Response:
    def checked(proxy: _proxy.Proxy) -> requests.Response:
        response = act(proxy)
        exceptions.raise_from_response(response)
        return response
    return transport.ask(conn, checked)

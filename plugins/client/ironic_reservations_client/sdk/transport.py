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

"""Asking the service with the connection that a program has."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import copy
from typing import Any
from typing import TypeVar

from openstack import connection
from openstack import exceptions
from openstack.baremetal.v1 import _proxy
import requests

from ironic_reservations_client import lease_payload
from ironic_reservations_client import refusal
from ironic_reservations_client import versions
from ironic_reservations_client.sdk import errors

_T = TypeVar('_T')


def ask(conn: connection.Connection, action: Callable[[_proxy.Proxy], _T],
        *beside: str) -> _T:
    """Act at the newest version of the API that both sides know.

    :param action: what to do with the proxy.
    :param beside: versions of other service types to ask for as well.
    :raises Refused: the service says no.
    """
    try:
        return action(_at_version(conn, ', '.join(
            [_own(conn, versions.LATEST), *beside])))
    except exceptions.HttpException as error:
        told = errors.translated(error)
        served = None
        if (isinstance(told, errors.Refused) and told.response is not None
                and told.code == refusal.VERSION_NOT_ACCEPTABLE):
            served = versions.lower(told.response.headers, versions.LATEST)
        if served is None:
            raise told from None
    try:
        return action(_at_version(conn, ', '.join(
            [_own(conn, served), *beside])))
    except exceptions.HttpException as error:
        raise errors.translated(error) from None


def ask_of_leases(conn: connection.Connection,
                  action: Callable[[_proxy.Proxy], _T]) -> _T:
    """Act at the version of the API of leases and hosts, and at our own.

    :param action: what to do with the proxy.
    :raises Refused: the service says no.
    """
    return ask(conn, action, lease_payload.VERSION)


def request(conn: connection.Connection, method: str, path: str,
            of_leases: bool = False, **kwargs: Any) -> requests.Response:
    """Send a request, and return the response.

    :param of_leases: whether it is about leases or hosts.
    :param kwargs: as for ``request`` of a proxy.
    :raises Refused: the service says no.
    """
    def send(proxy: _proxy.Proxy) -> requests.Response:
        response = proxy.request(path, method, **kwargs)
        exceptions.raise_from_response(response)
        return response
    return ask_of_leases(conn, send) if of_leases else ask(conn, send)


def _at_version(conn: connection.Connection, header: str) -> _proxy.Proxy:
    proxy = twin(conn, {versions.HEADER: header})
    # NOTE: a refusal of ours does not go away by asking again.
    proxy.status_code_retries = 0
    return proxy


def _own(conn: connection.Connection, version: str) -> str:
    return versions.header(version, ', '.join(_beside(conn)))


def _beside(conn: connection.Connection) -> list[str]:
    """Return what the connection says of the versions of other services."""
    return [value for name, value
            in conn.baremetal.additional_headers.items()
            if name.lower() == versions.HEADER.lower()]


def twin(conn: connection.Connection,
         headers: Mapping[str, str]) -> _proxy.Proxy:
    """Return a proxy like the connection's own, with additional headers."""
    # NOTE: on the connection's own proxy a proof would go out with each
    # request from then on, those of other threads included.
    proxy = copy.copy(conn.baremetal)
    ours = {name.lower() for name in headers}
    proxy.additional_headers = {
        **{name: value for name, value
           in conn.baremetal.additional_headers.items()
           if name.lower() not in ours}, **headers}
    return proxy


def ident(thing: Any) -> str:
    """Return the id of something that may be one."""
    return thing if isinstance(thing, str) else str(thing.id)

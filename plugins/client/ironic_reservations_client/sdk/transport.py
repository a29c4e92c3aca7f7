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

"""Sends requests with the connection of openstacksdk."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import copy
from typing import Any

from openstack import connection
from openstack import exceptions
from openstack import resource
from openstack.baremetal.v1 import _proxy
from requests import structures

from ironic_reservations_client import resource as resource_
from ironic_reservations_client import transport
from ironic_reservations_client.sdk import errors


class OpenStack(transport.Transport):
    """Sends requests with a connection of openstacksdk.

    :param conn: a connection.
    :param kind: the class of the returned resources; by default dictionaries.
    """

    foreign = errors.ForeignAnswer

    def __init__(self, conn: connection.Connection, of_leases: bool,
                 kind: type[resource.Resource] | None) -> None:
        super().__init__(conn.baremetal.additional_headers, of_leases)
        self._conn = conn
        self._kind = kind

    def made(self, manager: Any, found: Any) -> Any:
        """Return a resource of openstacksdk, or a dictionary."""
        if self._kind is None:
            return found
        made: Any = self._kind.existing(**found)
        if 'moves' in found:
            made.moves = found['moves']
        return made

    def _send(self, method: str, path: str, **given: Any) -> tuple[Any, Any]:
        if 'body' in given:
            given['json'] = given.pop('body')
        proxy = twin(self._conn, self._version_header())
        # A refusal of ours does not go away by asking again.
        proxy.status_code_retries = 0
        try:
            response = proxy.request(path, method, **given)
            exceptions.raise_from_response(response)
        except exceptions.HttpException as error:
            raise errors.translated(error) from None
        try:
            return response, response.json()
        except ValueError:
            return response, None


def through(conn: connection.Connection, manager: type[resource_.Manager[Any]],
            kind: type[resource.Resource] | None = None) -> Any:
    """Return a manager that sends its requests with a connection.

    :param kind: the class of the returned resources; by default dictionaries.
    """
    return manager.over(OpenStack(
        conn, manager.resource_class.describes.of_leases, kind))


def functions(manager: type[resource_.Manager[Any]], *names: str,
              kind: type[resource.Resource] | None = None
              ) -> list[Callable[..., Any]]:
    """Return methods of a manager as functions, which take a connection first.

    If a method takes an id, its function also accepts a resource.
    """
    def function(name: str) -> Callable[..., Any]:
        method = getattr(manager, name)

        def act(conn: connection.Connection, *given: Any, **more: Any) -> Any:
            return method(through(conn, manager, kind), *(
                each.id if isinstance(each, resource.Resource) else each
                for each in given), **more)
        act.__doc__ = method.__doc__
        return act
    return [function(name) for name in names]


def twin(conn: connection.Connection,
         headers: Mapping[str, str]) -> _proxy.Proxy:
    """Return a copy of the connection's proxy with additional headers."""
    # On the connection's own proxy a proof would go out with each request
    # from then on, those of other threads included.
    proxy = copy.copy(conn.baremetal)
    # With http_basic the library takes the endpoint of clouds.yaml as it is,
    # and sends requests to the root of Ironic.
    found = None if proxy.endpoint_override else proxy.get_endpoint_data()
    if found is not None:
        proxy.endpoint_override = found.service_url
    proxy.additional_headers = structures.CaseInsensitiveDict(
        {**conn.baremetal.additional_headers, **headers})
    return proxy


def ident(thing: Any) -> str:
    """Return the id of a resource; an id is returned as it is."""
    return thing if isinstance(thing, str) else str(thing.id)

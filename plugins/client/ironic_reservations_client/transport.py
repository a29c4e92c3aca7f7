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


"""The base class of the transports, one for each library."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any
from typing import ClassVar

from keystoneauth1 import exceptions as ksa_exceptions
from requests import exceptions as http_exceptions
from requests import structures

from ironic_reservations_client import lease_payload
from ironic_reservations_client import refusal
from ironic_reservations_client import versions


class Transport(abc.ABC):
    """Sends requests with the newest version that both sides support.

    :param configured: the headers that the user has configured in the library.
    :param of_leases: whether to send the version of leases and hosts, too.
    :param version: the version to request; by default the newest one that the
        client supports, or a lower one if the server is older.
    :cvar foreign: the exception for the answer of another service.
    """

    foreign: ClassVar[type[Exception]]

    def __init__(self, configured: Mapping[str, str], of_leases: bool,
                 version: str | None = None) -> None:
        self._beside = structures.CaseInsensitiveDict(configured).get(
            versions.HEADER, '')
        if of_leases:
            self._beside += f', {lease_payload.VERSION}'
        self._version = version or versions.LATEST
        self._may_go_lower = version is None

    def send(self, method: str, path: str, key: str | None = None,
             **given: Any) -> tuple[Any, Any]:
        """Return the response of the library, and its decoded body.

        :param path: the path below ``/v1``.
        :param key: the key of the resource, or of the list, in the body;
            ``None``: the answer has no body.
        :param given: ``body``, ``params`` and ``headers``.
        :raises Refused: the service refuses.
        :raises foreign: the answer is not one of the service.
        """
        try:
            response, found = self._lowering(method, path, **given)
        except ksa_exceptions.UnknownConnectionError as error:
            # Keystoneauth does not follow a redirection to a mere path.
            if (isinstance(error.original, http_exceptions.MissingSchema)
                    and ' for /' in str(error)):
                raise self.foreign(foreign(f'/v1{path}')) from error
            raise
        if response.status_code not in (204, 304) if key is None else (
                response.status_code != 304 and not (
                    isinstance(found, dict)
                    and isinstance(found.get(key), dict | list))):
            raise self.foreign(foreign(
                (*response.history, response)[0].url))
        return response, found

    def _lowering(self, method: str, path: str, **given: Any
                  ) -> tuple[Any, Any]:
        """Send a request, again with a lower version to an older service."""
        try:
            return self._send(method, path, **given)
        except refusal.Refused as refused:
            if (refused.code != refusal.VERSION_NOT_ACCEPTABLE
                    or not self._may_go_lower):
                raise
            served = versions.lower(refused.response.headers, self._version)
            if served is None:
                raise
        self._version = served
        return self._send(method, path, **given)

    def _version_header(self) -> dict[str, str]:
        return {versions.HEADER: versions.header(self._version, self._beside)}

    @abc.abstractmethod
    def _send(self, method: str, path: str, **given: Any) -> tuple[Any, Any]:
        """Send a request with the version header."""

    @abc.abstractmethod
    def made(self, manager: Any, found: Any) -> Any:
        """Return a resource in the class that users of the library expect.

        :param found: its fields.
        """


def foreign(url: str) -> str:
    """Return the sentence about an answer that another service has sent."""
    return (f'The answer of {url} is not one of the reservation service (a '
            'proxy or another service may have sent it). Check the endpoint.')

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


"""python-ironicclient's HTTP session, with additional headers."""

from __future__ import annotations

from collections.abc import Mapping
import time
from typing import Any

from ironicclient import exc
from ironicclient.common import http
from keystoneauth1 import exceptions as ksa_exceptions
from keystoneauth1 import session as ksa_session
import requests

from ironic_reservations_client import errors
from ironic_reservations_client import lease_payload
from ironic_reservations_client import refusal
from ironic_reservations_client import versions

_RETRIABLE = (exc.Conflict, exc.ServiceUnavailable, exc.ConnectionRefused,
              ksa_exceptions.RetriableConnectionFailure)


class TwinSession(http.SessionClient):
    """A copy of a session whose requests have additional headers.

    :param original: the session of an Ironic client.  It is not changed.
    :param headers: the headers that are added to each request.
    """

    def __init__(self, original: http.SessionClient,
                 headers: Mapping[str, str]) -> None:
        # The attributes are taken over, and __init__ of the parent is
        # not called, so that all settings of the original (credentials,
        # interface, region, the version agreed with Ironic) hold here too.
        vars(self).update(vars(original))
        ours = {name.lower() for name in headers}
        self.additional_headers = {
            **{name: value
               for name, value in original.additional_headers.items()
               if name.lower() not in ours}, **headers}

    def _http_request(self, url: str, method: str,
                      **kwargs: Any) -> requests.Response:
        # Ironicclient tries each 409 again for some ten seconds, which
        # helps against the lock of a node and not against a refusal of ours:
        # that one comes back at once.
        left = (http.DEFAULT_MAX_RETRIES if self.conflict_max_retries is None
                else self.conflict_max_retries)
        pause = (http.DEFAULT_RETRY_INTERVAL
                 if self.conflict_retry_interval is None
                 else self.conflict_retry_interval)
        while True:
            try:
                return self._request_once(url, method, **kwargs)
            except _RETRIABLE as error:
                if left <= 0 or _final(error):
                    raise
            left -= 1
            time.sleep(pause)

    def _request_once(self, url: str, method: str,
                      **kwargs: Any) -> requests.Response:
        once = http.SessionClient._http_request.__wrapped__  # type: ignore
        try:
            response: requests.Response = once(self, url, method, **kwargs)
            return response
        except exc.HttpError as error:
            raise errors.translated(error) from None


class ReservationSession(TwinSession):
    """A session that negotiates the version of the reservation API.

    :param original: the session of an Ironic client.
    :param version: the version to request; by default the newest one that the
        client supports, or a lower one if the server is older.
    :param endpoint: the endpoint of the reservation API without ``/v1``; by
        default Ironic's API.
    :param of_leases: whether to send the version of leases and hosts, too.
    """

    version: str

    def __init__(self, original: http.SessionClient,
                 version: str | None = None, endpoint: str | None = None,
                 of_leases: bool = False) -> None:
        super().__init__(original, {})
        self._may_go_lower = version is None
        self._beside = [lease_payload.VERSION] if of_leases else []
        self._speak(version or versions.LATEST)
        if endpoint:
            self.endpoint_trimmed = http._trim_endpoint_api_version(endpoint)
            self.endpoint_override = self.endpoint_trimmed

    def _speak(self, version: str) -> None:
        self.version = version
        beside = [self.additional_headers.pop(name)
                  for name in list(self.additional_headers)
                  if name.lower() == versions.HEADER.lower()]
        self.additional_headers[versions.HEADER] = versions.header(
            version, ', '.join([*beside, *self._beside]))
        self._beside = []

    def negotiate_version(self, conn: ksa_session.Session,
                          resp: requests.Response | None) -> str:
        """Negotiate Ironic's version, unless a 406 is about our own version.

        :raises NotAcceptable: the server does not support the requested
            version of the reservation API.
        """
        if resp is not None:
            refused = refusal.read(resp.content)
            if refused and refused.code == refusal.VERSION_NOT_ACCEPTABLE:
                raise exc.from_response(  # type: ignore[call-arg]
                    resp, refused.sentence)
        return super().negotiate_version(conn, resp)

    def _request_once(self, url: str, method: str,
                      **kwargs: Any) -> requests.Response:
        try:
            return self._asking(url, method, **kwargs)
        except errors.NotAcceptable as error:
            # A response with an error is false.
            served = (None if error.response is None else
                      versions.lower(error.response.headers, self.version))
            if not self._may_go_lower or served is None:
                raise
        self._speak(served)
        return self._asking(url, method, **kwargs)

    def _asking(self, url: str, method: str,
                **kwargs: Any) -> requests.Response:
        # A copy, since the parent writes its headers into the mapping
        # and a second try with another version must not find them there.
        kwargs['headers'] = dict(kwargs.get('headers') or {})
        try:
            return super()._request_once(url, method, **kwargs)
        except exc.NotFound as error:
            if isinstance(error, errors.Refused):
                raise
            raise errors.NotServed(
                f'{self.endpoint_trimmed} does not serve reservations: it '
                f'answered {method} {url} with 404. Check the endpoint, and '
                'ask the operator whether the middleware "reservations" is '
                'set in [api] middleware of ironic.conf.'
            ) from error


def _final(error: Exception) -> bool:
    return (isinstance(error, errors.Refused)
            and error.code != refusal.CONTENTION)

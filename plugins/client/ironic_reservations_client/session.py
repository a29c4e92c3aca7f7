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
from requests import structures

from ironic_reservations_client import errors
from ironic_reservations_client import refusal
from ironic_reservations_client import transport
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
        self.additional_headers = structures.CaseInsensitiveDict(
            {**original.additional_headers, **headers})

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
        unknown: Exception | None = None
        while True:
            try:
                return self._request_once(url, method, **kwargs)
            except _RETRIABLE as error:
                if errors.may_have_arrived(error):
                    unknown = error
                if left <= 0 or _final(error):
                    if unknown in (None, error):
                        raise
                    # Not the last try, but this one may be carried out.
                    raise error from unknown
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
    """A session for the reservation API.

    :param original: the session of an Ironic client.
    :param endpoint: the endpoint of the reservation API without ``/v1``; by
        default Ironic's API.
    """

    def __init__(self, original: http.SessionClient,
                 endpoint: str | None = None) -> None:
        super().__init__(original, {})
        if endpoint:
            self.endpoint_trimmed = http._trim_endpoint_api_version(endpoint)
            self.endpoint_override = self.endpoint_trimmed

    def negotiate_version(self, conn: ksa_session.Session,
                          resp: requests.Response | None) -> str:
        """Negotiate Ironic's version, unless a 406 is about our own version.

        :raises NotAcceptable: the server does not support the requested
            version of the reservation API.
        :raises ForeignAnswer: the answer has no version of Ironic.
        """
        if resp is not None:
            refused = refusal.read(resp.content)
            if refused and refused.code == refusal.VERSION_NOT_ACCEPTABLE:
                raise exc.from_response(  # type: ignore[call-arg]
                    resp, refused.sentence)
        try:
            return super().negotiate_version(conn, resp)
        except (RuntimeError, TypeError) as error:
            # The oldest python-ironicclient compares the missing version.
            raise self._foreign() from error

    def _request_once(self, url: str, method: str,
                      **kwargs: Any) -> requests.Response:
        # Ironicclient repeats a redirection that keystoneauth does not
        # follow: one without a location, or one after many others.
        if not (url or '').startswith('/'):
            raise self._foreign()
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

    def _foreign(self) -> errors.ForeignAnswer:
        return errors.ForeignAnswer(
            transport.foreign(f'{self.endpoint_trimmed}/v1/'))


class Ironic(transport.Transport):
    """Sends requests with the session of an Ironic client.

    :param original: the session of an Ironic client.
    :param endpoint: as for :class:`ReservationSession`.
    """

    foreign = errors.ForeignAnswer

    def __init__(self, original: http.SessionClient, endpoint: str | None,
                 of_leases: bool, version: str | None) -> None:
        super().__init__(original.additional_headers, of_leases, version)
        self._api = ReservationSession(original, endpoint)
        self._api.additional_headers.pop(versions.HEADER, None)

    def _send(self, method: str, path: str, **given: Any) -> tuple[Any, Any]:
        # A new mapping, since the session writes its headers into it and a
        # second try with another version must not find them there.
        given['headers'] = {**given.get('headers', {}),
                            **self._version_header()}
        return self._api.json_request(method, f'/v1{path}', **given)

    def made(self, manager: Any, found: Any) -> Any:
        """Return a resource of ironicclient."""
        return manager.resource_class(manager, found, loaded=True)


def _final(error: Exception) -> bool:
    return (isinstance(error, errors.Refused)
            and error.code != refusal.CONTENTION)

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


"""Refusals as subclasses of python-ironicclient's exceptions."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
from http import client as http_client
import re

from ironicclient import exc
from keystoneauth1 import exceptions as ksa_exceptions

from ironic_reservations_client import refusal as _refusal


class Refused(_refusal.Refused, exc.HttpError):
    """A refusal by the server, with ``code`` and ``reasons`` for programs."""

    def __init__(self, refusal: _refusal.Refusal,
                 cause: exc.HttpError) -> None:
        super().__init__(
            message=refusal.sentence, details=cause.details,
            response=cause.response,
            request_id=refusal.request_id or cause.request_id,
            url=cause.url, method=cause.method, http_status=refusal.status)
        self.refusal = refusal
        self.args = (str(refusal),)

    def name_nodes(self, names: Mapping[str, str]) -> None:
        """Add the names of nodes to the text.

        :param names: the names of nodes by UUID.
        """
        self.refusal = dataclasses.replace(self.refusal, names=names)
        self.args = (str(self.refusal),)

    def reword(self, reworded: Callable[[str], str]) -> None:
        """Change the text; ``refusal`` keeps the words of the service.

        :param reworded: returns the text in other words.
        """
        self.args = (reworded(str(self)),)


class BadRequest(Refused, exc.BadRequest):
    """The request cannot be served as it is."""


class Unauthorized(Refused, exc.Unauthorized):
    """The request carries no valid credentials."""


class Forbidden(Refused, exc.Forbidden):
    """The policy, or the guard of a reserved node, forbids the request."""


class NotFound(Refused, exc.NotFound):
    """No such reservation, lease or host is visible to the caller."""


class NotAcceptable(Refused, exc.NotAcceptable):
    """The server does not support the requested version."""


class Conflict(Refused, exc.Conflict):
    """No node can be promised, or an identifier is already used."""


class ServiceUnavailable(Refused, exc.ServiceUnavailable):
    """The server cannot answer now; a later request may succeed."""


class NotServed(exc.EndpointNotFound):
    """The endpoint answers, but has no API for reservations."""


class ForeignAnswer(exc.ClientException):
    """The answer is not one of the reservation service."""


class NoNodes(exc.EndpointNotFound):
    """The endpoint has reservations, but no nodes of Ironic."""


class NotReachable(exc.ConnectionRefused):
    """No answer came from an address."""


#: Errors of a connection that was open already.
_LATE = (ConnectionResetError, BrokenPipeError, TimeoutError,
         http_client.HTTPException)
_NO_SUCH_PATH = 'request.not_found'
_BY_STATUS: dict[int, type[Refused]] = {
    400: BadRequest, 401: Unauthorized, 403: Forbidden, 404: NotFound,
    406: NotAcceptable, 409: Conflict, 503: ServiceUnavailable,
}


def check_nodes(error: exc.HttpError) -> None:
    """Check that an error for a node of Ironic comes from Ironic.

    :param error: the 404 of a request.
    :raises NoNodes: the standalone service was asked for a node.
    """
    # A response with an error is false.
    if error.response is None or '/v1/nodes' not in str(error.response.url):
        return
    found = _refusal.read(error.response.content)
    if found is not None and found.code == _NO_SUCH_PATH:
        raise NoNodes(
            'This is the standalone service, which has no nodes: use the '
            'UUIDs of nodes, or the endpoint of Ironic.') from error


@contextlib.contextmanager
def reaching() -> Iterator[None]:
    """Convert a failed connection, whose text is for developers of libraries.

    :raises NotReachable: no answer came.
    """
    try:
        yield
    except ksa_exceptions.ConnectionError as error:
        cause = _cause(error)
        url = re.search(r'(?:(?<!Unable )to|for) (\S*[^\s:])', str(error))
        raise NotReachable(
            f'No answer from {url[1] if url else "the service"}: '
            f'{getattr(cause, "strerror", None) or cause}. Check the '
            + ('https in the endpoint, the certificate of the service, and '
               '--os-cacert (OS_CACERT).'
               if isinstance(error, ksa_exceptions.SSLError) else
               'endpoint (OS_ENDPOINT, OS_AUTH_URL or clouds.yaml), and '
               'whether the service runs.')) from error


def may_have_arrived(error: BaseException) -> bool:
    """Return whether a request that failed may have been carried out."""
    return (isinstance(error, exc.BadGateway | exc.GatewayTimeout)
            or isinstance(_cause(error), _LATE))


def _cause(error: BaseException) -> BaseException:
    """Return the first error of those that led to an error."""
    while further := error.__cause__ or error.__context__:
        if isinstance(further, exc.ClientException):
            # The answer to an earlier request.
            break
        error = further
    return error


def translated(error: exc.HttpError) -> exc.HttpError:
    """Return the error with the code and the reasons in its answer.

    :param error: the exception that python-ironicclient raises.
    :returns: the same error if the answer has no code of the service, unless
        it is a 401.
    """
    found: exc.HttpError = _refusal.translated(
        error, _BY_STATUS, Refused)
    return found

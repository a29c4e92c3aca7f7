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

"""Decorates handlers: parses queries and bodies, and builds answers."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
import dataclasses
import functools
import json
from typing import Any
from urllib import parse

from oslo_context import context as oslo_context
import pecan

from ironic_reservations import errors
from ironic_reservations.api import dialects
from ironic_reservations.api import identity
from ironic_reservations.api import versions
from ironic_reservations.api import wsgi
from ironic_reservations.api.middleware import body
from ironic_reservations.api.middleware import front
from ironic_reservations.api.middleware import strict
from ironic_reservations.api.types import basic

JSON = 'application/json'
_MAX_PARAMETERS = 100


@dataclasses.dataclass(frozen=True)
class Call:
    """A parsed request.

    :ivar minor: the version in use.
    :ivar own_minor: the version of our own line, which a request in Blazar's
        format may name beside Blazar's.
    :ivar query: an object of the type that the handler declared.
    :ivar document: the JSON of the body, if the handler takes one.
    """

    environ: wsgi.Environ
    minor: int
    own_minor: int
    query: Any
    document: Any = None

    @property
    def context(self) -> oslo_context.RequestContext:
        """The caller."""
        return self.environ[identity.KEY]


def expose(query: type[basic.Parts] = basic.NoQuery, takes_body: bool = False,
           since: int = versions.SEED,
           repeated: Collection[str] = (),
           content_type: str = JSON) -> Callable[..., Any]:
    """Make a method the handler of an HTTP method.

    The method gets the request and the ids in its path.

    :param query: the WSME type of its query.
    :param takes_body: whether it takes a JSON document; otherwise a request
        with a body is refused, or, in the format of Blazar, the body is
        ignored.
    :param since: the version that added it.
    :param repeated: names of query parameters that may be repeated; their
        values are lists.
    :param content_type: the media type of its answers.
    """
    def decorate(method: Callable[..., pecan.Response]) -> Callable[..., Any]:
        # The handler has no named arguments, so that pecan does not fill them
        # from queries and bodies.
        @pecan.expose(content_type=content_type)
        def handle(self: Any, *_: str) -> pecan.Response:
            environ = pecan.request.environ
            minor = environ[front.MINOR]
            own_minor = environ[front.OWN_MINOR]
            of_blazar = issubclass(query, basic.BlazarQuery)
            read = basic.read(query, _parameters(environ, repeated),
                              own_minor if of_blazar else minor,
                              'query parameter')
            carried = environ[body.KEY]
            document = carried.expect_json() if takes_body else None
            # Blazar ignores a body that is not expected, and its clients send
            # some.
            if not takes_body and dialects.of(
                    environ['PATH_INFO']) is not dialects.BLAZAR:
                carried.expect_nothing()
            return method(self, Call(environ, minor, own_minor, read,
                                     document),
                          *environ[strict.SEGMENTS])
        handle.since = since
        handle.__doc__ = method.__doc__
        return handle
    return decorate


def _parameters(environ: wsgi.Environ,
                repeated: Collection[str]) -> dict[str, Any]:
    """Return the query parameters."""
    try:
        pairs = parse.parse_qsl(
            environ[strict.QUERY], keep_blank_values=True,
            errors='strict', max_num_fields=_MAX_PARAMETERS)
    except ValueError as exc:
        raise errors.Malformed(
            'The query of the URL cannot be read. Send percent-encoded UTF-8, '
            f'and at most {_MAX_PARAMETERS} parameters.') from exc
    once = [pair for pair in pairs if pair[0] not in repeated]
    out: dict[str, Any] = dict(once)
    for name, value in pairs:
        if name in repeated:
            out.setdefault(name, []).append(value)
    if len(out.keys() - set(repeated)) != len(once):
        raise errors.Malformed('A query parameter is given more than once. '
                               'Send each one once.')
    return out


#: Writes a document as compact JSON.
dumps = functools.partial(json.dumps, separators=(',', ':'))


def answer(document: Any, status: int = 200,
           **headers: str) -> pecan.Response:
    """Return an answer with a document of plain values.

    WSME's rendering is not used: for a page of a thousand leases it takes
    longer than all the rest of the request.
    """
    out = pecan.Response(dumps(document).encode(), status=status,
                         content_type=JSON)
    out.headers.update(headers)
    return out


def listing(name: str, documents: Iterable[str],
            **more: str) -> pecan.Response:
    """Return an answer with a list of documents that are already JSON.

    :param name: the key of the list.
    :param more: further keys.
    """
    parts = [f'"{name}":[{",".join(documents)}]',
             *(f'"{key}":{dumps(value)}' for key, value in more.items())]
    return pecan.Response(f'{{{",".join(parts)}}}'.encode(),
                          content_type=JSON)


def empty(status: int = 204, **headers: str) -> pecan.Response:
    """Return an answer without a body."""
    out = pecan.Response(status=status)
    out.content_type = None
    out.headers.update(headers)
    return out

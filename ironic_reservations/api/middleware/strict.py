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

"""Determines the handler of each request before pecan can guess one.

pecan takes methods from queries (``_method``), arguments from queries and
bodies, types from extensions, and handlers from any attribute with the name of
a segment. This layer in front of it matches each request by its whole path and
method, or refuses it; it stores the ids in the path, the query and the body
for the handler.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import io
from typing import Any

from ironic_reservations import errors
from ironic_reservations.api import dialects
from ironic_reservations.api import versions
from ironic_reservations.api import wsgi
from ironic_reservations.api.middleware import body
from ironic_reservations.api.middleware import errors as api_errors
from ironic_reservations.api.middleware import front

#: Matches one segment of a path; the handler gets the segment.
ANY = '*'
#: The keys of the environ for the handler, the query, the matched segments and
#: the methods that are allowed at the path.
HANDLER = 'ironic_reservations.handler'
QUERY = 'ironic_reservations.query'
SEGMENTS = 'ironic_reservations.segments'
ALLOW = 'ironic_reservations.allow'

#: Handlers by HTTP method, in the order of the Allow header; the handler of
#: GET serves HEAD, too.
Handlers = Mapping[str, Any]
#: Handlers by path, in segments.
Routes = Mapping[tuple[str, ...], Handlers]


class Strict:
    """Passes requests with a known path and method to pecan.

    The body is not read here: the handler reads it after it has checked the
    caller's rights.

    :param application: pecan's application.
    :param routes: all paths that are served.
    :param max_body_size: the largest body, in bytes.
    """

    def __init__(self, application: wsgi.Application, routes: Routes,
                 max_body_size: int) -> None:
        self._application = application
        self._routes = routes
        self._longest = max(map(len, routes))
        self._max_body_size = max_body_size

    def __call__(self, environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Iterable[bytes]:
        path, segments = self._find(environ['PATH_INFO'])
        handlers = self._routes[path]
        allow = _check_method(handlers, environ)
        narrowed = {
            **environ,
            # The path has ANY in the place of ids, so that pecan finds no
            # attribute by the text of a client.
            'PATH_INFO': '/' + '/'.join(path),
            'QUERY_STRING': '',
            'CONTENT_LENGTH': '0',
            'wsgi.input': io.BytesIO(),
            HANDLER: handlers[environ['REQUEST_METHOD']],
            SEGMENTS: segments,
            ALLOW: allow,
            QUERY: environ.get('QUERY_STRING', ''),
            body.KEY: body.Body(environ, self._max_body_size)}
        narrowed.pop('HTTP_TRANSFER_ENCODING', None)
        narrowed.pop('CONTENT_TYPE', None)
        answer = wsgi.call(self._application, narrowed)
        refused = narrowed.get('pecan.original_exception')
        if refused is not None:
            raise api_errors.from_pecan(refused)
        return answer.send(start_response)

    def _find(self, path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the path of the route, and the segments that ANY matched."""
        if dialects.lies_below(path, (dialects.FLOATING_IPS,)):
            raise errors.ResourceNotFound(
                'This service does not reserve floating IPs: it promises '
                'nodes of Ironic, and shares of compute hosts.')
        segments = tuple(path.encode('latin-1').decode().split('/')[1:])
        if segments in self._routes and ANY not in segments:
            return segments, ()
        # No route has ANY more than once; a longer path would be costly.
        if len(segments) > self._longest:
            raise _nothing()
        for index in reversed(range(len(segments))):
            pattern = (*segments[:index], ANY, *segments[index + 1:])
            if segments[index] and pattern in self._routes:
                return pattern, (segments[index],)
        raise _nothing()


def _nothing() -> errors.ResourceNotFound:
    return errors.ResourceNotFound('There is nothing at this path.')


def _check_method(handlers: Handlers, environ: wsgi.Environ) -> list[str]:
    """Return the methods that are allowed at a path."""
    method, minor = environ['REQUEST_METHOD'], environ[front.MINOR]
    allow = [each for each, handler in handlers.items()
             if handler.since <= minor]
    if allow == ['OPTIONS']:
        # A path of a later version does not exist.
        since = min(each.since for method, each in handlers.items()
                    if method != 'OPTIONS')
        raise errors.ResourceNotFound(
            'There is nothing at this path in version '
            f'{versions.text(minor)}, which this request uses. It came with '
            f'version {versions.text(since)}: ask for that version, or a '
            f'later one, in the header {versions.HEADER}.')
    if 'GET' in allow:
        allow.insert(allow.index('GET') + 1, 'HEAD')
    if method not in allow:
        later = handlers.get(method)
        raise errors.MethodNotAllowed(
            f'The method {method[:20]!r} is not allowed at this path. '
            f'Allowed here: {", ".join(allow)}.'
            + (f' {method} came with version {versions.text(later.since)}, '
               f'but this request uses version {versions.text(minor)}. Ask '
               'for a later version in the header '
               f'{versions.HEADER}.' if later is not None else ''),
            allow=allow)
    return allow

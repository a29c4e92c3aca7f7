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


"""Requests to the Ironic that is guarded, and their answers."""

from __future__ import annotations

from collections.abc import Mapping
import io
import json
from typing import Any

from ironic_reservations import errors
from ironic_reservations.api import wsgi

VERSION_KEYS = ('HTTP_X_OPENSTACK_IRONIC_API_VERSION',
                'HTTP_OPENSTACK_API_VERSION')
PROOF_HEADER_KEY = 'HTTP_OPENSTACK_BAREMETAL_RESERVATION'
#: The project that has chosen the proof, if a service shows it for one.
PROJECT_HEADER_KEY = 'HTTP_OPENSTACK_BAREMETAL_RESERVATION_PROJECT'
TICKET_KEY = 'HTTP_OPENSTACK_BAREMETAL_RESERVATION_TICKET'
#: Keys that describe the body or the address of another request, or were
#: derived from them.
_STALE = ('RAW_URI', 'REQUEST_URI', 'HTTP_TRANSFER_ENCODING', 'HTTP_EXPECT',
          'wsgi.input_terminated', PROOF_HEADER_KEY, PROJECT_HEADER_KEY,
          TICKET_KEY)
_STALE_PREFIXES = ('webob.', 'pecan.', 'paste.')


def call(app: wsgi.Application, environ: wsgi.Environ) -> wsgi.Answer:
    """Call Ironic in this thread, and return its answer.

    Controllers must never call this, since pecan's state is thread-local.
    """
    return wsgi.call(app, environ)


def succeeded(answer: wsgi.Answer) -> bool:
    """Return whether Ironic accepted a request."""
    return 200 <= answer.status < 300


def document(answer: wsgi.Answer) -> Any:
    """Parse the body of an answer.

    :raises IronicUnavailable: the body is not JSON, so Ironic did not write
        it.
    """
    try:
        return json.loads(answer.body)
    except ValueError as exc:
        raise errors.IronicUnavailable(
            'The answer of Ironic could not be read. Try again later.'
        ) from exc


def rebuilt(environ: wsgi.Environ, path: str, query: str = '',
            method: str | None = None, body: Any = None
            ) -> wsgi.Environ:
    """Return a request that is rebuilt from the parsed parts of another.

    :param path: the path, percent-decoded.
    :param body: the document to send as JSON; ``None``: no body.
    """
    out = {key: value for key, value in environ.items()
           if key not in _STALE and not key.startswith(_STALE_PREFIXES)}
    raw = b'' if body is None else _json(body)
    out.update({
        'PATH_INFO': path, 'QUERY_STRING': query,
        'CONTENT_LENGTH': str(len(raw)), 'wsgi.input': io.BytesIO(raw)})
    if method is not None:
        out['REQUEST_METHOD'] = method
    if body is None:
        out.pop('CONTENT_TYPE', None)
    else:
        out['CONTENT_TYPE'] = 'application/json'
    return out


def _json(document: Any) -> bytes:
    """Serialize JSON no longer than the text that it was parsed from.

    Otherwise Ironic could refuse a body that is within its limit.
    """
    compact = (',', ':')
    try:
        return json.dumps(document, separators=compact,
                          ensure_ascii=False).encode('utf-8')
    except UnicodeEncodeError:
        # Half a surrogate pair can only be written as an escape.
        return json.dumps(document, separators=compact).encode('ascii')


def asking(environ: wsgi.Environ, path: str, query: str = '',
           version: str | None = 'latest') -> wsgi.Environ:
    """Return a GET request with the credentials of another request.

    :param version: the version of Ironic's API; ``None``: without a version.
    """
    out = rebuilt(environ, path, query, 'GET')
    for key in VERSION_KEYS:
        out.pop(key, None)
    if version is not None:
        out[VERSION_KEYS[0]] = version
    # The client's Accept and origin belong to its own request.
    out['HTTP_ACCEPT'] = 'application/json'
    out.pop('HTTP_ORIGIN', None)
    return out


def node_path(ident: str) -> str:
    """Return the canonical path of a node."""
    return f'/v1/nodes/{ident}'


def credentials(environ: wsgi.Environ) -> dict[str, str]:
    """Return the headers with the credentials of a caller."""
    return {name: environ[key] for name, key in (
        ('X-Auth-Token', 'HTTP_X_AUTH_TOKEN'),
        ('Authorization', 'HTTP_AUTHORIZATION'),
        ('X-Service-Token', 'HTTP_X_SERVICE_TOKEN')) if key in environ}


def has_body(environ: Mapping[str, Any]) -> bool:
    """Return whether a request has or may have a body."""
    length = environ.get('CONTENT_LENGTH')
    if length:
        return length != '0'
    return ('HTTP_TRANSFER_ENCODING' in environ
            or bool(environ.get('wsgi.input_terminated')))


def read_body(environ: wsgi.Environ, limit: int) -> bytes:
    """Read the body of a request, and put it back for the next reader.

    :param limit: the largest body, in bytes.
    :raises LengthRequired: the body is chunked.
    :raises TooLarge: the body is larger than the limit.
    :raises Malformed: the length is not a number, or the body is shorter.
    """
    length = environ.get('CONTENT_LENGTH') or ''
    if 'HTTP_TRANSFER_ENCODING' in environ:
        raise _length_required()
    if not length:
        # A server that ends the input itself passes on bodies of unknown
        # length; with any other server, no length means no body.
        if (environ.get('wsgi.input_terminated')
                and environ['wsgi.input'].read(1)):
            raise _length_required()
        body = b''
    else:
        if not (length.isascii() and length.isdigit()):
            raise errors.Malformed('Content-Length must be a number.')
        size = int(length)
        if size > limit:
            raise errors.TooLarge(
                f'The body has {size} bytes; at most {limit} are allowed '
                'here. Send a smaller one.')
        try:
            body = environ['wsgi.input'].read(size) if size else b''
        except OSError:  # Of the server: the client is silent, or gone.
            body = b''
        if len(body) != size:
            raise errors.Malformed(
                f'The body ended after {len(body)} of {size} bytes.')
    environ['wsgi.input'] = io.BytesIO(body)
    return body


def _length_required() -> errors.LengthRequired:
    return errors.LengthRequired(
        'The body of this request must be checked before it is passed on. '
        'Send it with a Content-Length, not in chunks.')

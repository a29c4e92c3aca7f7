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

"""Reads request bodies: one JSON document in UTF-8.

Documents that parsers might interpret in different ways are refused.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from ironic_reservations import errors
from ironic_reservations.api import wsgi
from ironic_reservations.model import nesting

#: The key of the environ for the body.
KEY = 'ironic_reservations.body'

JSON = 'application/json'
JSON_PATCH = 'application/json-patch+json'

#: More than twice the depth of any document of this API.
_MAX_DEPTH = 16
_ESCAPED_SURROGATE = re.compile(r'\\u[dD][89a-fA-F]')
_LENGTH = re.compile(r'[0-9]{1,18}')


class Body:
    """The unread body of a request.

    :param environ: the environ of the request.
    :param max_size: the largest accepted size, in bytes.
    """

    def __init__(self, environ: wsgi.Environ, max_size: int) -> None:
        self._environ = environ
        self._max_size = max_size

    def expect_json(self) -> Any:
        """Return the document.

        :raises ReservationError: there is no document, or it cannot be parsed.
        """
        raw = _read(self._environ, self._max_size)
        if not raw:
            raise errors.Malformed('The request has no body. Send a JSON '
                                   'document.')
        _check_type(self._environ)
        return _load(raw)

    def expect_nothing(self) -> None:
        """Check that there is no body.

        :raises Malformed: there is a body.
        """
        if (self._environ.get('HTTP_TRANSFER_ENCODING')
                or self._environ.get('CONTENT_LENGTH', '').strip('0')):
            raise errors.Malformed('This request takes no body. Send it '
                                   'without one.')


def _read(environ: wsgi.Environ, max_size: int) -> bytes:
    if environ.get('HTTP_TRANSFER_ENCODING'):
        raise errors.LengthRequired(
            'The header Transfer-Encoding does not say how long the body is. '
            'Send a Content-Length instead.')
    stated = environ.get('CONTENT_LENGTH') or '0'
    if not _LENGTH.fullmatch(stated):
        raise errors.Malformed(
            f'The Content-Length {stated[:20]!r} is not a number. Send the '
            'length of the body in bytes.')
    length = int(stated)
    if length > max_size:
        raise errors.TooLarge(
            f'The body has {length} bytes, and the limit is {max_size}. Send '
            'less in one request, for example fewer nodes.')
    chunks = []
    while length:
        # A server may return less than requested.
        try:
            chunk = environ['wsgi.input'].read(length)
        except OSError:  # Of the server: the client is silent, or gone.
            chunk = b''
        if not chunk:
            raise errors.Malformed(
                f'The body is {length} bytes shorter than its Content-Length '
                'says. Send all of it, or correct the header.')
        chunks.append(chunk)
        length -= len(chunk)
    return b''.join(chunks)


def _check_type(environ: wsgi.Environ) -> None:
    stated = environ.get('CONTENT_TYPE', '')
    kind, *parameters = (part.strip().lower() for part in stated.split(';'))
    taken = ([JSON, JSON_PATCH] if environ['REQUEST_METHOD'] == 'PATCH'
             else [JSON])
    if kind not in taken:
        raise errors.UnsupportedMediaType(
            (f'The Content-Type {stated[:80]!r} is not supported.'
             if stated else 'The request has a body but no Content-Type.')
            + f' Send {JSON}.')
    for parameter in parameters:
        name, _, value = parameter.partition('=')
        if name == 'charset' and value.strip('"') not in ('utf-8', 'utf8'):
            raise errors.UnsupportedMediaType(
                f'The charset {value[:40]!r} is not supported. Send UTF-8.')
    encoding = environ.get('HTTP_CONTENT_ENCODING', 'identity')
    if encoding.strip().lower() not in ('', 'identity'):
        raise errors.UnsupportedMediaType(
            f'The Content-Encoding {encoding[:40]!r} is not supported. Send '
            'the body without it.')


def _load(raw: bytes) -> Any:
    try:
        nesting.check(raw, _MAX_DEPTH)
        text = raw.decode('utf-8')
        document = json.loads(text, object_pairs_hook=_object,
                              parse_float=_number, parse_constant=_constant)
        if _ESCAPED_SURROGATE.search(text):
            json.dumps(document, ensure_ascii=False).encode('utf-8')
    except UnicodeError as exc:
        raise errors.Malformed('The body is not valid UTF-8. Send JSON in '
                               'UTF-8.') from exc
    except nesting.TooDeep as exc:
        raise errors.Malformed(
            'The body has more than '
            f'{_MAX_DEPTH} levels of objects and lists inside each other. '
            'No request of this API needs so many.'
        ) from exc
    except ValueError as exc:
        raise errors.Malformed(
            f'The body is not a JSON document: {exc}.') from exc
    return document


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        # Parsers differ in the value that they use.
        raise ValueError('an object has the same key twice')
    return out


def _number(literal: str) -> float:
    value = float(literal)
    if not math.isfinite(value):
        raise ValueError('a number is too large')
    return value


def _constant(literal: str) -> float:
    raise ValueError(f'{literal} is not JSON')

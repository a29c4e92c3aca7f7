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

"""Answers that a client need not be sent again, and small ones."""

from __future__ import annotations

import gzip
import re
from typing import Any

import pecan

from ironic_reservations.api import expose
from ironic_reservations.api import wsgi

_TAG = re.compile(r'(?:W/)?"([^"]*)"')
#: Shorter ones are not worth it.
_SHORT = 1000
#: Beyond it, answers get smaller by little and later by much.
_LEVEL = 5


def has_any(environ: wsgi.Environ) -> bool:
    """Check whether a client has anything that may be as it was."""
    return bool(environ.get('HTTP_IF_NONE_MATCH'))


def has(environ: wsgi.Environ, tag: str) -> bool:
    """Check whether a client has what a tag stands for."""
    header = environ.get('HTTP_IF_NONE_MATCH', '')
    return header.strip() == '*' or tag in _TAG.findall(header)


def unchanged(tag: str) -> pecan.Response:
    """Make the answer for a client that has what a tag stands for."""
    return expose.empty(304, **_headers(tag))


def answer(environ: wsgi.Environ, tag: str, document: Any) -> pecan.Response:
    """Make an answer that a client need not be sent again.

    NOTE: the tag is a weak one: it stands for the same document, compressed
    or not, and not for its bytes.

    :param tag: another text wherever the document is another.
    """
    return _packed(environ, tag, expose.answer(document))


def text(environ: wsgi.Environ, tag: str, body: bytes,
         content_type: str) -> pecan.Response:
    """Make an answer of a text in UTF-8, or tell that it is as it was.

    :param tag: another text wherever the body is another.
    """
    if has(environ, tag):
        return unchanged(tag)
    return _packed(environ, tag, pecan.Response(
        body, content_type=content_type, charset='UTF-8'))


def _packed(environ: wsgi.Environ, tag: str,
            out: pecan.Response) -> pecan.Response:
    out.headers.update(_headers(tag))
    if len(out.body) > _SHORT and _takes_gzip(
            environ.get('HTTP_ACCEPT_ENCODING', '')):
        out.body = gzip.compress(out.body, _LEVEL, mtime=0)
        out.headers['Content-Encoding'] = 'gzip'
    return out


def _headers(tag: str) -> dict[str, str]:
    return {'ETag': f'W/"{tag}"', 'Cache-Control': 'private, no-cache',
            'Vary': 'Accept-Encoding'}


def _takes_gzip(header: str) -> bool:
    """Return whether a client takes compressed answers."""
    weights: dict[str, float] = {}
    for part in header.lower().split(','):
        coding, _, parameters = part.partition(';')
        weights[coding.strip()] = _weight(parameters)
    return weights.get('gzip', weights.get('*', 0)) > 0


def _weight(parameters: str) -> float:
    name, _, value = parameters.partition('=')
    if name.strip() != 'q':
        return 1
    try:
        return float(value)
    except ValueError:
        return 0

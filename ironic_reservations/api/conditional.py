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

"""Answers with an ETag, compressed for clients that accept gzip."""

from __future__ import annotations

import gzip
import re
from typing import Any

import pecan
from webob import acceptparse

from ironic_reservations.api import expose
from ironic_reservations.api import wsgi

_TAG = re.compile(r'(?:W/)?"([^"]*)"')
#: Answers up to this size, in bytes, are not compressed.
_SHORT = 1000
#: The gzip level; higher ones take much longer and save little.
_LEVEL = 5


def has_any(environ: wsgi.Environ) -> bool:
    """Return whether a request is conditional."""
    return bool(environ.get('HTTP_IF_NONE_MATCH'))


def has(environ: wsgi.Environ, tag: str) -> bool:
    """Return whether a client already has the document with a tag."""
    header = environ.get('HTTP_IF_NONE_MATCH', '')
    return header.strip() == '*' or tag in _TAG.findall(header)


def unchanged(tag: str) -> pecan.Response:
    """Return the answer 304."""
    return expose.empty(304, **_headers(tag))


def answer(environ: wsgi.Environ, tag: str, document: Any) -> pecan.Response:
    """Return the answer with a document and its tag.

    The tag is a weak one, since the bytes depend on the compression.

    :param tag: a text that is different for each document.
    """
    return _packed(environ, tag, expose.answer(document))


def text(environ: wsgi.Environ, tag: str, body: bytes,
         content_type: str) -> pecan.Response:
    """Return the answer with a text in UTF-8, or 304 if the client has it.

    :param tag: a text that is different for each body.
    """
    if has(environ, tag):
        return unchanged(tag)
    return _packed(environ, tag, pecan.Response(
        body, content_type=content_type, charset='UTF-8'))


def _packed(environ: wsgi.Environ, tag: str,
            out: pecan.Response) -> pecan.Response:
    out.headers.update(_headers(tag))
    if len(out.body) > _SHORT and takes_gzip(environ):
        out.body = gzip.compress(out.body, _LEVEL, mtime=0)
        out.headers['Content-Encoding'] = 'gzip'
    return out


def _headers(tag: str) -> dict[str, str]:
    return {'ETag': f'W/"{tag}"', 'Cache-Control': 'private, no-cache',
            'Vary': 'Accept-Encoding'}


def takes_gzip(environ: wsgi.Environ) -> bool:
    """Return whether a client accepts gzip."""
    header = acceptparse.create_accept_encoding_header(
        environ.get('HTTP_ACCEPT_ENCODING', ''))
    # WebOb lets an invalid header accept every encoding.
    return (isinstance(header, acceptparse.AcceptEncodingValidHeader)
            and bool(header.acceptable_offers(['gzip'])))

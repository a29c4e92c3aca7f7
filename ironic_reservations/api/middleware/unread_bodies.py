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

"""Closes connections on which a chunked body was not read to its end.

A server that decodes chunks finds their end only by reading them. Cheroot,
Ironic's server, keeps the connection open nevertheless, and would parse the
rest of the body as the next request.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
import errno
from typing import Any

from ironic_reservations.api import wsgi

_TERMINATED = 'wsgi.input_terminated'


class Unread:
    """Closes the connection after an answer if the body was not read."""

    def __init__(self, application: wsgi.Application) -> None:
        self._application = application

    def __call__(self, environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Iterable[bytes]:
        if not (environ.get('HTTP_TRANSFER_ENCODING')
                and environ.get(_TERMINATED)):
            return self._application(environ, start_response)
        watched = _Watched(environ['wsgi.input'])
        environ['wsgi.input'] = watched
        return _until_read(self._application(environ, start_response),
                           watched)


class _Watched:
    """A body that records whether it has been read to its end."""

    def __init__(self, body: Any) -> None:
        self._body = body
        self.ended = False

    def read(self, size: int = -1) -> bytes:
        """Read up to a number of bytes, or all that is left."""
        if size is None or size < 0:
            data: bytes = self._body.read()
            self.ended = True
            return data
        data = self._body.read(size)
        self.ended = self.ended or len(data) < size
        return data

    def readline(self, size: int | None = None) -> bytes:
        """Read a line."""
        data: bytes = (self._body.readline() if size is None
                       else self._body.readline(size))
        self.ended = self.ended or not data and size != 0
        return data

    def readlines(self, hint: int = 0) -> list[bytes]:
        """Read all lines."""
        return list(self)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.readline, b'')


def _until_read(answer: Iterable[bytes], body: _Watched) -> Iterator[bytes]:
    try:
        yield from answer
    finally:
        if hasattr(answer, 'close'):
            answer.close()
    if not body.ended:
        # Servers treat this as a client that has disconnected, and close the
        # connection silently. An application has no other way to do that.
        raise ConnectionResetError(
            errno.ECONNRESET, 'the body in chunks was not read to its end')

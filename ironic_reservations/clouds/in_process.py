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

"""Requests to a WSGI application in this process.

pecan keeps its request in one thread-local for all applications, which a call
from another application's controller on the same thread would overwrite.
Therefore each call is made on another thread.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from concurrent import futures
import io
import json
import os
import sys
from typing import Any
from urllib import parse

WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

_THREADS = 16


class InProcess:
    """A transport for :class:`ironic_reservations.clouds.ironic.Ironic`.

    :param app: the application; it must not call back into this project.
    """

    def __init__(self, app: WsgiApp) -> None:
        self._app = app
        self._pool: futures.ThreadPoolExecutor | None = None
        self._pid: int | None = None

    def send(self, method: str, path: str, headers: Mapping[str, str],
             body: Any = None) -> tuple[int, Any]:
        """Send a request.

        :param path: path and query, quoted.
        :param body: what to send as JSON; ``None``: no body.
        :returns: (status, decoded JSON or ``None``).
        """
        if self._pid != os.getpid():
            # NOTE: a server that forks after loading leaves the threads of
            # the pool in the parent.
            self._pool = futures.ThreadPoolExecutor(
                _THREADS, 'ironic-reservations-call')
            self._pid = os.getpid()
        assert self._pool is not None
        return self._pool.submit(self._call, method, path, dict(headers),
                                 body).result()

    def _call(self, method: str, path: str, headers: dict[str, str],
              body: Any) -> tuple[int, Any]:
        raw, _, query = path.partition('?')
        sent = b'' if body is None else json.dumps(body).encode('ascii')
        environ: dict[str, Any] = {
            'REQUEST_METHOD': method, 'SCRIPT_NAME': '',
            'PATH_INFO': parse.unquote_to_bytes(raw).decode('latin-1'),
            'QUERY_STRING': query, 'SERVER_NAME': '127.0.0.1',
            'SERVER_PORT': '80', 'SERVER_PROTOCOL': 'HTTP/1.1',
            'REMOTE_ADDR': '127.0.0.1',
            'wsgi.version': (1, 0), 'wsgi.url_scheme': 'http',
            'wsgi.input': io.BytesIO(sent), 'wsgi.errors': sys.stderr,
            'wsgi.multithread': True, 'wsgi.multiprocess': False,
            'wsgi.run_once': False}
        if body is not None:
            environ['CONTENT_TYPE'] = 'application/json'
            environ['CONTENT_LENGTH'] = str(len(sent))
        for key, value in headers.items():
            environ['HTTP_' + key.upper().replace('-', '_')] = value
        status: list[int] = []

        def start_response(line: str, headers: Any, exc_info: Any = None
                           ) -> Callable[[bytes], None]:
            status[:] = [int(line.split(' ', 1)[0])]
            return lambda data: None

        chunks = self._app(environ, start_response)
        try:
            answer = b''.join(chunks)
        finally:
            if hasattr(chunks, 'close'):
                chunks.close()
        try:
            return status[0], json.loads(answer) if answer else None
        except ValueError:
            return status[0], None

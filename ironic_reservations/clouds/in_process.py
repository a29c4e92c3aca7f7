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

"""Sends requests to a WSGI application in this process.

pecan keeps its request in one thread-local for all applications, which a call
from another application's controller on the same thread would overwrite.
Therefore each call is made on another thread.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from concurrent import futures
import os
from typing import Any

from oslo_log import log
import webob

from ironic_reservations import log_repeats

LOG = log.getLogger(__name__)

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
        self._repeats = log_repeats.Repeats()

    def send(self, method: str, path: str, headers: Mapping[str, str],
             body: Any = None) -> tuple[int, Any]:
        """Send a request.

        :param path: path and query, quoted.
        :param body: the document to send as JSON; ``None``: no body.
        :returns: (status, decoded JSON or ``None``); 500 if the application
            raises, as its clients get from a server.
        """
        if self._pid != os.getpid():
            # A server that forks after loading leaves the threads of the pool
            # in the parent.
            self._pool = futures.ThreadPoolExecutor(
                _THREADS, 'ironic-reservations-call')
            self._pid = os.getpid()
        assert self._pool is not None
        return self._pool.submit(self._call, method, path, dict(headers),
                                 body).result()

    def _call(self, method: str, path: str, headers: dict[str, str],
              body: Any) -> tuple[int, Any]:
        request = webob.Request.blank(
            path, {'REMOTE_ADDR': '127.0.0.1', 'wsgi.multithread': True},
            headers=headers, method=method)
        if body is not None:
            request.content_type = 'application/json'
            request.json = body
        try:
            answer = request.get_response(self._app, catch_exc_info=True)
        except Exception as exc:
            # The reconciler repeats it, and a traceback has 90 lines.
            if self._repeats.are_due(repr(exc)):
                LOG.exception('%s %s raised in the API of Ironic', method,
                              request.path)
            return 500, None
        try:
            return answer.status_int, answer.json if answer.body else None
        except ValueError:
            return answer.status_int, None

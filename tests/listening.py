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

"""An application that listens on a port of its own."""

import socketserver
import threading
from typing import Any
from wsgiref import simple_server

import fixtures


class _Server(socketserver.ThreadingMixIn, simple_server.WSGIServer):
    daemon_threads = True


class _Quiet(simple_server.WSGIRequestHandler):
    def log_message(self, *args: Any) -> None:
        """Keep the output of the tests clean."""


class Listening(fixtures.Fixture):
    """Serves an application on a free port.

    :ivar url: the URL of its root.
    """

    url: str

    def __init__(self, application: Any) -> None:
        super().__init__()
        self._application = application

    def _setUp(self) -> None:
        server = simple_server.make_server(
            '127.0.0.1', 0, self._application, _Server, _Quiet)
        self.url = f'http://127.0.0.1:{server.server_port}'
        thread = threading.Thread(
            target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)

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

"""The Network service of the tests' cloud, in a thread of a test."""

from __future__ import annotations

import threading
from wsgiref import simple_server

import fixtures

from tools.stack import neutron


class _Handler(simple_server.WSGIRequestHandler):

    def log_message(self, *args: object) -> None:
        """Write nothing."""


class NetworkService(fixtures.Fixture):
    """Listens on a port of its own.

    :ivar network: what it serves.
    """

    def __init__(self) -> None:
        super().__init__()
        self.network = neutron.Network()

    def _setUp(self) -> None:
        self._server = simple_server.make_server(
            '127.0.0.1', 0, self.network, handler_class=_Handler)
        thread = threading.Thread(target=self._server.serve_forever,
                                  kwargs={'poll_interval': 0.05})
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self._server.server_close)
        self.addCleanup(self._server.shutdown)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f'http://127.0.0.1:{self._server.server_port}'

    def writes(self) -> list[neutron.Call]:
        """Return what has been written to ports since the last time."""
        calls, self.network.calls = self.network.calls, []
        return [each for each in calls if each.method != 'GET']

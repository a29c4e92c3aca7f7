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

"""A Galera cluster behind HAProxy, which has one node written to."""

from __future__ import annotations

from collections.abc import Sequence
import contextlib
import http.server
import random
import threading
import time

from tests.processes.database_servers import base
from tests.processes.database_servers import galera
from tools import own_haproxy
from tools import own_server

#: How often it is HAProxy itself that is killed.
_ITSELF = 0.2
#: For how long it is away, in seconds.
_AWAY = (0.0, 3.0)


class Balanced(galera.Galera):
    """Three nodes, of which HAProxy uses the first one that is well.

    It asks a small service beside each node, as clustercheck is one.
    """

    def _setUp(self) -> None:
        super()._setUp()
        checks = [self._check(number) for number in range(galera.SIZE)]
        self._haproxy = self.useFixture(own_haproxy.OwnHaproxy(
            [(base.address(self._cluster.url(number))[1], check)
             for number, check in enumerate(checks)],
            self.folder / 'haproxy.log'))

    @classmethod
    def check_installed(cls) -> None:
        """Check that all programs of the nodes, and HAProxy, are there."""
        super().check_installed()
        own_server.program(own_haproxy.PROGRAM)

    def addresses(self, number: int) -> Sequence[base.Address]:
        """Return where HAProxy is."""
        return (('127.0.0.1', self._haproxy.port),)

    def disturb(self, choice: random.Random, tell: base.Tell) -> None:
        """Let HAProxy fail, or a node."""
        if choice.random() >= _ITSELF:
            super().disturb(choice, tell)
            return
        seconds = choice.uniform(*_AWAY)
        tell('kill-haproxy', seconds=seconds)
        self._haproxy.kill()
        time.sleep(seconds)
        self._haproxy.start()

    def _check(self, number: int) -> int:
        """Start a service that says whether a node is well."""
        cluster = self._cluster

        class Check(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                well = cluster.is_synced(number)
                # NOTE: HAProxy may have given up by then.
                with contextlib.suppress(OSError):
                    self.send_response(200 if well else 503)
                    self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Log nothing."""

        service = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Check)
        threading.Thread(target=service.serve_forever, daemon=True).start()
        self.addCleanup(service.server_close)
        self.addCleanup(service.shutdown)
        return int(service.server_address[1])

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

"""Leases, and the notices about them in the outbox."""

import contextlib
import socket
import threading
from typing import Any

import fixtures

from ironic_reservations.db import tables
from ironic_reservations.features.notices import writing as notices
from tests.inprocess.reconciler import leases


class TestCase(leases.TestCase):
    """A timeline with a receiver of notices."""

    def outbox(self) -> list[dict[str, Any]]:
        """Read the rows, the oldest first."""
        with self.world.engine.database.read() as connection:
            return [dict(row) for row in connection.execute(
                tables.outbox.select().order_by(
                    tables.outbox.c.created_at)).mappings()]

    def outcomes(self) -> list[str | None]:
        """Read what became of each row, the oldest first."""
        return [row['outcome'] for row in self.outbox()]

    def tell(self, lease: Any, kind: notices.Kind, **more: Any) -> None:
        """Write a notice in a transaction of its own."""
        with self.world.engine.database.write() as connection:
            notices.write(self.world.conf, connection, kind, lease,
                          self.world.clock(), **more)


class Dripping(fixtures.Fixture):
    """A server that sends data now and then, without an end.

    :param drop: the data.
    """

    def __init__(self, drop: bytes = b'2') -> None:
        self._drop = drop

    def _setUp(self) -> None:
        self._over = threading.Event()
        self._socket = socket.create_server(('127.0.0.1', 0))
        self.port = self._socket.getsockname()[1]
        self._threads = [threading.Thread(target=self._listen)]
        self._threads[0].start()
        self.addCleanup(self._stop)

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                thread = threading.Thread(target=self._drip, args=(client,))
                thread.start()
                self._threads.append(thread)

    def _drip(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            while not self._over.wait(0.05):
                client.sendall(self._drop)

    def _stop(self) -> None:
        self._over.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for thread in self._threads:
            thread.join()

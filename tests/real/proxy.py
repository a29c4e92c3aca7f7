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

"""A way to a database that loses what is said on it."""

from __future__ import annotations

import contextlib
import enum
import select
import socket
import threading

import fixtures
import sqlalchemy as sa

_CHUNK = 65536
_TICK = 0.05


class Loss(enum.Enum):
    """What is lost of the next COMMIT, and the connection with it."""

    ANSWER = 'the server has committed, and nobody learns of it'
    REQUEST = 'the server never hears of it'


class Proxy(fixtures.Fixture):
    """Passes bytes between clients and one server.

    :param url: of a database.
    :ivar url: of the same, by this way.
    :ivar lost: how many COMMITs have been.
    :ivar asked: how often a client has said something.
    """

    def __init__(self, url: str) -> None:
        super().__init__()
        self._server = sa.make_url(url)
        self.lost = 0
        self.asked = 0
        self._loses: Loss | None = None
        self._then_down = False
        self._down = False
        self._silent = threading.Event()
        self._ended = threading.Event()

    def _setUp(self) -> None:
        self._listener = socket.create_server(('127.0.0.1', 0), backlog=128)
        self.addCleanup(self._listener.close)
        self.addCleanup(self._ended.set)
        made = self._server.set(host='127.0.0.1',
                                port=self._listener.getsockname()[1])
        if made.get_backend_name() == 'postgresql':
            # NOTE: what is said has to be understood here.
            made = made.update_query_dict({'sslmode': 'disable'})
        self.url = made.render_as_string(hide_password=False)
        threading.Thread(target=self._accept, daemon=True).start()

    def lose(self, loss: Loss, then_down: bool = False) -> None:
        """Lose the next COMMIT.

        :param then_down: whether no connection can be had after that.
        """
        self._loses, self._then_down = loss, then_down

    def hang_up(self) -> None:
        """Let nobody through any more."""
        self._down = True

    def let_through(self) -> None:
        """Let everybody through again."""
        self._down = False
        self._silent.clear()

    def fall_silent(self) -> None:
        """Pass nothing on, and keep each connection open.

        As when the host at one end has lost its power: nobody says so.
        """
        self._silent.set()

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._down:
                client.close()
                continue
            threading.Thread(target=self._serve, args=(client,),
                             daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(
                (self._server.host or '127.0.0.1', self._port)) as server:
            with contextlib.suppress(OSError):
                while self._pass(client, server):
                    pass

    @property
    def _port(self) -> int:
        return self._server.port or {'mysql': 3306, 'mariadb': 3306,
                                     'postgresql': 5432}[
            self._server.get_backend_name()]

    def _pass(self, client: socket.socket, server: socket.socket) -> bool:
        """Pass on what has been said; tells whether to go on."""
        ready, _, _ = select.select([client, server], [], [], _TICK)
        if self._ended.is_set():
            return False
        if self._silent.is_set():
            # NOTE: for good; whoever comes later has a way of his own.
            self._ended.wait()
            return False
        for one in ready:
            said = one.recv(_CHUNK)
            if not said:
                return False
            if one is server:
                client.sendall(said)
                continue
            self.asked += 1
            if self._loses is not None and b'COMMIT' in said:
                loss, self._loses = self._loses, None
                self._down = self._then_down
                if loss is Loss.ANSWER:
                    server.sendall(said)
                    server.recv(_CHUNK)
                self.lost += 1
                return False
            server.sendall(said)
        return True

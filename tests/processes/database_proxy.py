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


"""Stands between a process and its database, and fails in all ways.

Each process has one of its own, so that one knows whose COMMIT it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from collections.abc import Sequence
import contextlib
import dataclasses
import threading

from tests.processes import wire

#: COMMIT as the drivers send it, to PostgreSQL and to MariaDB.
_COMMITS = (b'Q\x00\x00\x00\x0bCOMMIT\x00', b'\x07\x00\x00\x00\x03COMMIT')
_ROLLBACKS = (b'Q\x00\x00\x00\x0dROLLBACK\x00',
              b'\x09\x00\x00\x00\x03ROLLBACK')
_CHUNK = 65536

#: What a statement that writes begins with.
_WRITES = (b'UPDATE ', b'INSERT ', b'DELETE ')
_HEAD = 16

#: What is done once, to the next COMMIT.
SWALLOW = 'swallow'
AFTER = 'after'
BEFORE = 'before'
CUT = 'cut-before-commit'
SLOW = 'slow-commit'
MUTE = 'mute'
#: What is done once, to the next statement that writes.
HOLD = 'hold'
CUT_WRITE = 'cut-in-transaction'
_TO_WRITES = (HOLD, CUT_WRITE)


@dataclasses.dataclass(frozen=True)
class _Armed:
    """Something that is to happen once."""

    how: str
    then: Callable[[], None] | None
    seconds: float
    aim: bytes


class DatabaseProxy:
    """A port of its own to the servers of the database.

    :param addresses: returns where a new connection may go, best first; it
        goes to the first one that takes it.
    :ivar port: where the process connects to.
    """

    def __init__(self, net: wire.Wire,
                 addresses: Callable[[], Sequence[tuple[str, int]]]) -> None:
        self._net = net
        self._addresses = addresses
        self._open: set[asyncio.StreamWriter] = set()
        self._refusing = False
        self._at_work: set[asyncio.StreamWriter] = set()
        self._lock = threading.Lock()
        self._armed: list[_Armed] = []
        self._server = net.run(asyncio.start_server(
            self._serve, '127.0.0.1', 0))
        self.port = int(self._server.sockets[0].getsockname()[1])

    def arm(self, how: str, then: Callable[[], None] | None = None,
            seconds: float = 0.0, aim: str = '') -> None:
        """Let something happen to the next COMMIT, or to the next write.

        :param how: :data:`SWALLOW`: the COMMIT is carried out and its answer
            lost, with the connection; :data:`AFTER`: ``then`` is called
            before its answer is passed on; :data:`BEFORE`: before it is
            passed on; :data:`CUT`: the connection is cut instead;
            :data:`SLOW`: its answer comes later; :data:`MUTE`: nothing comes
            any more, and the connection stays; :data:`HOLD`: the statement
            is held back; :data:`CUT_WRITE`: the connection is cut once the
            statement is under way.
        :param then: called when it happens.
        :param seconds: for how long it is held back, or nothing comes.
        :param aim: what its transaction has to have in it; where a
            statement is meant, the statement itself.
        """
        with self._lock:
            self._armed.append(_Armed(how, then, seconds, aim.encode()))

    def disarm(self) -> int:
        """Take back what has not happened; return how much that was."""
        with self._lock:
            left, self._armed = len(self._armed), []
            return left

    @property
    def armed(self) -> int:
        """How much has still to happen."""
        return len(self._armed)

    @property
    def busy(self) -> bool:
        """Whether a statement is under way, or a transaction has written."""
        return bool(self._at_work)

    def cut(self) -> int:
        """Cut all connections; return how many there were."""
        def now() -> int:
            cut = len(self._open)
            for writer in list(self._open):
                wire.abort(writer)
            return cut

        async def run() -> int:
            return now()
        return int(self._net.run(run()))

    def refuse(self, whether: bool) -> None:
        """Take no connections, as a database that restarts."""
        self._refusing = whether

    def _take(self, data: bytes, said: bytearray) -> _Armed | None:
        """Return what is to happen to what a process sends.

        :param said: what has been sent in this transaction; kept here.
        """
        commits = data.endswith(_COMMITS)
        writes = any(word in data[:_HEAD] for word in _WRITES)
        transaction = bytes(said)
        if commits or data.endswith(_ROLLBACKS):
            said.clear()
        elif writes:
            said += data
        with self._lock:
            for index, armed in enumerate(self._armed):
                if (writes and armed.aim in data if armed.how in _TO_WRITES
                        else commits and armed.aim in transaction):
                    return self._armed.pop(index)
        return None

    async def _serve(self, reader: asyncio.StreamReader,
                     writer: asyncio.StreamWriter) -> None:
        if self._refusing:
            wire.abort(writer)
            return
        for address in self._addresses():
            with contextlib.suppress(OSError):
                there, back = await asyncio.open_connection(*address)
                break
        else:
            wire.abort(writer)
            return
        self._open.update((writer, back))
        fate: list[_Armed] = []
        said = bytearray()
        try:
            await asyncio.wait(
                [asyncio.ensure_future(self._forth(reader, back, fate, said)),
                 asyncio.ensure_future(self._back(there, writer, fate, said,
                                                  back))],
                return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._at_work.discard(back)
            self._open -= {writer, back}
            wire.abort(writer)
            wire.abort(back)

    async def _forth(self, reader: asyncio.StreamReader,
                     back: asyncio.StreamWriter, fate: list[_Armed],
                     said: bytearray) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(_CHUNK):
                self._at_work.add(back)
                armed = self._take(data, said)
                if armed is not None and armed.how in (BEFORE, HOLD, CUT):
                    if armed.then is not None:
                        armed.then()
                    if armed.how == CUT:
                        return
                    await asyncio.sleep(armed.seconds)
                elif armed is not None and armed.how != CUT_WRITE:
                    fate.append(armed)
                back.write(data)
                await back.drain()
                if armed is not None and armed.how == CUT_WRITE:
                    if armed.then is not None:
                        armed.then()
                    return

    async def _back(self, there: asyncio.StreamReader,
                    writer: asyncio.StreamWriter, fate: list[_Armed],
                    said: bytearray, back: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await there.read(_CHUNK):
                if fate:
                    armed = fate.pop()
                    if armed.then is not None:
                        armed.then()
                    await asyncio.sleep(armed.seconds)
                    if armed.how in (SWALLOW, MUTE):
                        return
                writer.write(data)
                await writer.drain()
                if not said:
                    self._at_work.discard(back)

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


"""Stands between all clients and the APIs, and delivers late.

One request a connection.  A request that is held back is delivered in the
end, also where its sender has given it up or has died by then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from collections.abc import Sequence
import contextlib
import random
import threading

from tests.processes import wire

_LIMIT = 2 ** 20
_PATIENCE = 90


def writes(request: bytes) -> bool:
    """Tell whether a request may change something."""
    return not request.startswith((b'GET', b'HEAD'))


def anything(request: bytes) -> bool:
    """Take any request."""
    return True


class Balancer:
    """Spreads requests over the APIs that take them.

    :param targets: where those are that it spreads them over.
    :param choice: whose turn it is.
    :param late: called for each request that is held back, with how long.
    :param place: where it listens.
    :param silent: tells of a target whether it has not answered for a while;
        then others come first.
    :ivar port: where clients connect to.
    """

    def __init__(self, net: wire.Wire, targets: Sequence[tuple[str, int]],
                 choice: random.Random,
                 late: Callable[[str, float], None],
                 place: tuple[str, int] = ('127.0.0.1', 0),
                 silent: Callable[[tuple[str, int]], bool] | None = None
                 ) -> None:
        self._net = net
        self._targets = tuple(targets)
        self._choice = choice
        self._late = late
        self._silent = silent or (lambda target: False)
        self._lock = threading.Lock()
        self._holds: list[tuple[float, Callable[[bytes], bool]]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._on_hold = 0
        self._server = net.run(asyncio.start_server(
            self._serve, *place, limit=_LIMIT))
        self.port = int(self._server.sockets[0].getsockname()[1])

    def hold(self, seconds: float,
             which: Callable[[bytes], bool] = writes) -> None:
        """Hold the next request back.

        :param which: tells of a request, head and body, whether it is meant.
        """
        with self._lock:
            self._holds.append((seconds, which))

    def release(self) -> int:
        """Hold back none any more; return how many were still to be."""
        with self._lock:
            left, self._holds = len(self._holds), []
            return left

    @property
    def holds(self) -> bool:
        """Whether a request is being held back right now."""
        return self._on_hold > 0

    def _held(self, request: bytes) -> float:
        with self._lock:
            for index, (seconds, which) in enumerate(self._holds):
                if which(request):
                    del self._holds[index]
                    return seconds
        return 0.0

    async def _serve(self, reader: asyncio.StreamReader,
                     writer: asyncio.StreamWriter) -> None:
        try:
            request = await _read_request(reader)
        except (OSError, ValueError, asyncio.IncompleteReadError):
            wire.abort(writer)
            return
        # NOTE: its own task, so that it lives on when the client hangs up.
        task = asyncio.ensure_future(self._pass_on(request, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _pass_on(self, request: bytes,
                       writer: asyncio.StreamWriter) -> None:
        held = self._held(request)
        if held:
            self._late(request.split(b'\r\n', 1)[0].decode(
                errors='replace')[:120], held)
            self._on_hold += 1
            try:
                await asyncio.sleep(held)
            finally:
                self._on_hold -= 1
        targets = list(self._targets)
        self._choice.shuffle(targets)
        targets.sort(key=self._silent)
        for target in targets:
            try:
                there, back = await asyncio.open_connection(*target)
            except OSError:
                # NOTE: nobody listens, so nothing has been sent.
                continue
            try:
                back.write(request)
                await back.drain()
                async with asyncio.timeout(_PATIENCE):
                    while data := await there.read(65536):
                        with contextlib.suppress(OSError):
                            writer.write(data)
                            await writer.drain()
            except (OSError, TimeoutError):
                wire.abort(writer)
            finally:
                wire.abort(back)
                await wire.close(writer)
            return
        wire.abort(writer)


async def _read_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b'\r\n\r\n')
    lines = head[:-4].split(b'\r\n')
    kept, length = [lines[0]], 0
    for line in lines[1:]:
        name, _, value = line.partition(b':')
        if name.lower() == b'content-length':
            length = int(value)
        elif name.lower() == b'transfer-encoding':
            raise ValueError('Nobody here sends chunks.')
        if name.lower() not in (b'connection', b'expect'):
            kept.append(line)
    body = await reader.readexactly(length) if length else b''
    # NOTE: a connection each: nothing is pipelined, nothing cut when idle.
    return b'\r\n'.join(kept) + b'\r\nConnection: close\r\n\r\n' + body

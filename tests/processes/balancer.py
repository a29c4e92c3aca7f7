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


"""Stands between all clients and the APIs, and fails in all ways.

One request a connection.  A request that is held back is delivered in the
end, also where its sender has given it up or has died by then.
"""

from __future__ import annotations

import asyncio
import collections
from collections.abc import Callable
from collections.abc import Sequence
import contextlib
import dataclasses
import random
import re
import threading

from tests.processes import wire

_LIMIT = 2 ** 20
_PATIENCE = 90
_ID = re.compile(rb'\r\nx-openstack-request-id: *([^\r]*)', re.IGNORECASE)

#: What happens once, to the next request that is meant. It is delivered
#: later; it is lost, and its sender cut off; its answer comes later; its
#: answer is lost; or its answer is lost on the way to the balancer, which
#: delivers it once more.
HOLD = 'late'
CUT = 'cut-request'
SLOW = 'slow-answer'
DROP = 'lost-answer'
REPEAT = 'repeated'


def writes(request: bytes) -> bool:
    """Tell whether a request may change something."""
    return not request.startswith((b'GET', b'HEAD'))


def anything(request: bytes) -> bool:
    """Take any request."""
    return True


@dataclasses.dataclass(frozen=True)
class Happened:
    """Something that has happened to a request.

    :ivar line: the first one of the request.
    :ivar id: that its sender has marked it with.
    """

    how: str
    line: str
    seconds: float
    id: str | None


@dataclasses.dataclass(frozen=True)
class _Armed:
    """Something that is to happen once."""

    how: str
    seconds: float
    which: Callable[[bytes], bool]


class Balancer:
    """Spreads requests over the APIs that take them.

    :param targets: where those are that it spreads them over.
    :param choice: whose turn it is.
    :param tell: called with whatever has happened to a request.
    :param place: where it listens.
    :param silent: tells of a target whether it has not answered for a while;
        then others come first.
    :ivar port: where clients connect to.
    """

    def __init__(self, net: wire.Wire, targets: Sequence[tuple[str, int]],
                 choice: random.Random,
                 tell: Callable[[Happened], None],
                 place: tuple[str, int] = ('127.0.0.1', 0),
                 silent: Callable[[tuple[str, int]], bool] | None = None
                 ) -> None:
        self._net = net
        self._targets = tuple(targets)
        self._choice = choice
        self._tell = tell
        self._silent = silent or (lambda target: False)
        self._lock = threading.Lock()
        self._armed: list[_Armed] = []
        self._at: collections.Counter[int] = collections.Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._on_hold = 0
        self._server = net.run(asyncio.start_server(
            self._serve, *place, limit=_LIMIT))
        self.port = int(self._server.sockets[0].getsockname()[1])

    def arm(self, how: str, seconds: float = 0.0,
            which: Callable[[bytes], bool] = writes) -> None:
        """Let something happen to the next request.

        :param seconds: by which it, or its answer, comes later.
        :param which: tells of a request, head and body, whether it is meant.
        """
        with self._lock:
            self._armed.append(_Armed(how, seconds, which))

    def release(self) -> int:
        """Let all pass from now on; return how much had still to happen."""
        with self._lock:
            left, self._armed = len(self._armed), []
            return left

    @property
    def armed(self) -> int:
        """How much has still to happen."""
        return len(self._armed)

    @property
    def holds(self) -> bool:
        """Whether a request, or an answer, is being held back right now."""
        return self._on_hold > 0

    def busy(self, port: int | None = None) -> bool:
        """Return whether one, or any, is at work on a request."""
        return any(count for at, count in list(self._at.items())
                   if port in (None, at))

    def _take(self, request: bytes) -> _Armed | None:
        with self._lock:
            for index, armed in enumerate(self._armed):
                if armed.which(request):
                    return self._armed.pop(index)
        return None

    def _told(self, armed: _Armed, request: bytes) -> None:
        found = _ID.search(request)
        self._tell(Happened(
            armed.how,
            request.split(b'\r\n', 1)[0].decode(errors='replace')[:120],
            armed.seconds, found and found[1].decode(errors='replace')))

    async def _held(self, seconds: float) -> None:
        self._on_hold += 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self._on_hold -= 1

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
        armed = self._take(request)
        how = armed.how if armed is not None else ''
        if armed is not None and how in (HOLD, CUT):
            self._told(armed, request)
            if how == CUT:
                wire.abort(writer)
                return
            await self._held(armed.seconds)
        if armed is None or how == HOLD:
            await self._deliver(request, writer)
            return
        answer = await self._deliver(request)
        if answer is None:
            wire.abort(writer)
            return
        # NOTE: before any of it can be seen.
        self._told(armed, request)
        if how == DROP:
            wire.abort(writer)
        elif how == REPEAT:
            await self._deliver(request, writer)
        else:
            await self._held(armed.seconds)
            with contextlib.suppress(OSError):
                writer.write(answer)
                await writer.drain()
            await wire.close(writer)

    async def _deliver(self, request: bytes,
                       writer: asyncio.StreamWriter | None = None
                       ) -> bytes | None:
        """Have a request answered; return ``None`` where it is by nobody.

        :param writer: whom the answer is passed on to.
        """
        targets = list(self._targets)
        self._choice.shuffle(targets)
        targets.sort(key=self._silent)
        for target in targets:
            try:
                there, back = await asyncio.open_connection(*target)
            except OSError:
                # NOTE: nobody listens, so nothing has been sent.
                continue
            answer = bytearray()
            self._at[target[1]] += 1
            try:
                back.write(request)
                await back.drain()
                async with asyncio.timeout(_PATIENCE):
                    while data := await there.read(65536):
                        answer += data
                        if writer is not None:
                            with contextlib.suppress(OSError):
                                writer.write(data)
                                await writer.drain()
            except (OSError, TimeoutError):
                if writer is not None:
                    wire.abort(writer)
                return None
            finally:
                self._at[target[1]] -= 1
                wire.abort(back)
                if writer is not None:
                    await wire.close(writer)
            return bytes(answer)
        if writer is not None:
            wire.abort(writer)
        return None


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

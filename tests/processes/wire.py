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


"""What both proxies need of the network: an event loop on a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
import contextlib
import threading
from typing import Any


class Wire:
    """An event loop on a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name='wire',
                                        daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def run(self, what: Coroutine[Any, Any, Any]) -> Any:
        """Run something there, and return what it returns."""
        return asyncio.run_coroutine_threadsafe(what, self.loop).result(60)

    def close(self) -> None:
        """End the loop, with all that runs in it."""
        async def end() -> None:
            tasks = [task for task in asyncio.all_tasks()
                     if task is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        with contextlib.suppress(Exception):
            self.run(end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(10)


async def close(writer: asyncio.StreamWriter) -> None:
    """Close a connection, whatever state it is in."""
    with contextlib.suppress(Exception):
        writer.close()
        await writer.wait_closed()


def abort(writer: asyncio.StreamWriter) -> None:
    """Cut a connection at once."""
    with contextlib.suppress(Exception):
        writer.transport.abort()

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
"""An Ironic whose guard stops itself (SIGSTOP) where a test wants it to."""

from __future__ import annotations

import importlib
import os
import pathlib
import signal
import threading
from typing import Any

from tests.inprocess.guard import keystone_ironic

#: Names an empty file: while it is there, a guard stops that has looked who
#: has a node, and leaves the id of its process in its place.
VARIABLE = 'STOP_AFTER_LOOK'


def main() -> None:
    """Serve, with the arguments of the service."""
    # NOTE: before ours: it chooses how all of the process does its work.
    importlib.import_module('ironic.command')
    from ironic_reservations.engine.in_flight import protect
    wanted = pathlib.Path(os.environ[VARIABLE])
    stopped = wanted.with_suffix('.pid')
    real = protect.look

    def look(*known: Any) -> Any:
        seen = real(*known)
        if wanted.exists():
            wanted.rename(stopped).write_text(str(os.getpid()))
            # NOTE: this thread gets it, and so does not go one line further;
            # the others stop with it.
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
        return seen
    protect.look = look
    keystone_ironic.main()


if __name__ == '__main__':
    main()

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

"""Ports for servers that are started by the number of theirs.

Between the choice of a port and its use by the server, no other program may
get it.  The kernel gives ports of its own range to each connection and to each
server that asks for any, so ours are below that.  A process of ours marks the
ports that it has chosen by names of abstract sockets, which end with it.
"""

from __future__ import annotations

import collections
import pathlib
import random
import socket

_FIRST = 15_000
_KERNEL = pathlib.Path('/proc/sys/net/ipv4/ip_local_port_range')
#: How many are marked at a time: the oldest of them have their servers.
_MARKED = 100
_marks: collections.deque[socket.socket] = collections.deque()


def free_port() -> int:
    """Return a TCP port of 127.0.0.1 that no program has, or will be given."""
    first_of_kernel = int(_KERNEL.read_text().split()[0])
    candidates = list(range(_FIRST, first_of_kernel))
    random.SystemRandom().shuffle(candidates)
    for port in candidates:
        mark = _mark(port)
        if mark is not None and _is_free(port):
            _marks.append(mark)
            if len(_marks) > _MARKED:
                _marks.popleft().close()
            return port
        if mark is not None:
            mark.close()
    raise RuntimeError(
        f'No port from {_FIRST} to {first_of_kernel} is free: the last one is '
        f'given by {_KERNEL}.')


def _mark(port: int) -> socket.socket | None:
    """Return a socket that marks a port; ``None``: another one does."""
    mark = socket.socket(socket.AF_UNIX)
    try:
        mark.bind(f'\0ironic-reservations-port-{port}')
    except OSError:
        mark.close()
        return None
    return mark


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(('127.0.0.1', port))
        except OSError:
            return False
    return True

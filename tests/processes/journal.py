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


"""Records of one machine, one line of JSON each."""

from __future__ import annotations

from collections.abc import Iterator
import json
import os
import pathlib
import time
from typing import Any


class Journal:
    """A file that any number of processes add lines to.

    A line is added whole or not at all, also where its process is killed
    right then: it is one write to a file that was opened for appending.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT,
                             0o644)

    def write(self, kind: str, **record: Any) -> None:
        """Add a record."""
        line = json.dumps({'kind': kind, **record}, default=str) + '\n'
        os.write(self._file, line.encode())

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def now() -> float:
    """Return the time of the one clock that all records are in, in seconds.

    It runs alike in all processes of a machine, whatever their wall clocks
    show.
    """
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def lines(path: pathlib.Path) -> list[str]:
    """Read the lines of a file that another process may be writing.

    A reader may see the first half of a write: what has no end yet is left
    for the next time.
    """
    whole, _, _ = path.read_text(errors='replace').rpartition('\n')
    return whole.splitlines()


def read(*paths: pathlib.Path) -> Iterator[dict[str, Any]]:
    """Read the records of some files, in the order of the lines of each."""
    for path in paths:
        yield from map(json.loads, lines(path))

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


"""A wall clock that is off, in a process whose other clocks run true.

By how much stands in a file, so that a clock is set while its process runs.
"""

from __future__ import annotations

from collections.abc import Callable
import datetime
import mmap
import pathlib
import struct
import time
from typing import Any

VARIABLE = 'STORM_WALL_CLOCK'
_SECONDS = struct.Struct('d')


def put(path: pathlib.Path, seconds: float) -> None:
    """Set the clock of the process that follows a file."""
    with path.open('r+b' if path.exists() else 'w+b') as file:
        file.write(_SECONDS.pack(seconds))


def follow(path: pathlib.Path) -> None:
    """Have the wall clock of this process off by what a file says.

    To be called once all that compares types of dates has been imported:
    no date of another type ever comes to be, only the clock is another.
    """
    with path.open('rb') as file:
        shared = mmap.mmap(file.fileno(), _SECONDS.size,
                           access=mmap.ACCESS_READ)
    _shift(lambda: float(_SECONDS.unpack_from(shared)[0]))


def shift(seconds: float) -> None:
    """Set the wall clock of this process off for good, as :func:`follow`."""
    _shift(lambda: seconds)


def _shift(seconds: Callable[[], float]) -> None:
    real, true_time, true_ns = datetime.datetime, time.time, time.time_ns

    def off() -> datetime.timedelta:
        return datetime.timedelta(seconds=seconds())

    class OfAnyDate(type):
        def __instancecheck__(cls, thing: object) -> bool:
            return isinstance(thing, real)

        def __subclasscheck__(cls, which: type) -> bool:
            return issubclass(which, real)

    class Shifted(real, metaclass=OfAnyDate):
        def __new__(cls, *arguments: Any, **named: Any) -> Any:
            return real(*arguments, **named)

        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return real.now(tz) + off()

        @classmethod
        def utcnow(cls) -> Any:
            return real.now(datetime.UTC).replace(tzinfo=None) + off()

        @classmethod
        def today(cls) -> Any:
            return real.now() + off()

        @classmethod
        def fromisoformat(cls, text: str) -> Any:
            return real.fromisoformat(text)

        @classmethod
        def fromtimestamp(cls, stamp: float,
                          tz: datetime.tzinfo | None = None) -> Any:
            return real.fromtimestamp(stamp, tz)

        @classmethod
        def strptime(cls, text: str, form: str) -> Any:
            return real.strptime(text, form)

        @classmethod
        def combine(cls, *arguments: Any, **named: Any) -> Any:
            return real.combine(*arguments, **named)

    datetime.datetime = Shifted  # type: ignore[misc]
    time.time = lambda: true_time() + seconds()
    time.time_ns = lambda: true_ns() + int(seconds() * 1e9)

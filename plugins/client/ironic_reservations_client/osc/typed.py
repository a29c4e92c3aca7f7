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

"""Parsers for the values of options."""

from __future__ import annotations

import argparse
from collections.abc import Callable
import contextlib
import datetime
import json
import pathlib
import re
import sys
from typing import Any

from ironicclient import exc

from ironic_reservations_client import times

_COUNT = re.compile('([1-9][0-9]{0,6})(-([1-9][0-9]{0,6}))?')


def typed(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a parser whose errors argparse shows.

    :param read: a parser that raises ``ValueError``.
    """
    def reading(text: str) -> Any:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
    return reading


duration = typed(times.seconds)


@typed
def plain_seconds(text: str) -> int:
    """Parse a number of seconds, or a duration such as ``10m``."""
    with contextlib.suppress(ValueError):
        return int(text)
    try:
        return times.seconds(text)
    except ValueError as error:
        raise ValueError(f'{error}, or as a number of seconds') from error


def now() -> datetime.datetime:
    """Return the present time in whole seconds, which are easier to read."""
    return datetime.datetime.now(datetime.UTC).replace(microsecond=0)


@typed
def instant(text: str) -> times.Instant:
    """Parse an instant; ``+4h`` counts from now.

    The result has no zone if the text has none; :mod:`zone` adds it.
    """
    return times.instant(text, now())


@typed
def count(text: str) -> tuple[int, int]:
    """Parse a number of hosts, or a range of numbers."""
    match = _COUNT.fullmatch(text)
    if match is None:
        raise ValueError(f'{text!r} is not a number of hosts. Write it like '
                         '4, or 2-4')
    return int(match[1]), int(match[3] or match[1])


def number(thing: str, most: int | None = None) -> Callable[[str], int]:
    """Return a parser for a number above zero.

    :param thing: the name of the number, for the error.
    """
    @typed
    def read(text: str) -> int:
        if not text.isdigit() or not int(text) or most and int(text) > most:
            raise ValueError(f'{text!r} is not {thing}')
        return int(text)
    return read


def pair(complaint: str) -> Callable[[str], tuple[str, str]]:
    """Return a parser for ``name=value``.

    :param complaint: the end of the error message.
    """
    @typed
    def read(text: str) -> tuple[str, str]:
        name, equals, value = text.partition('=')
        if not (name and equals):
            raise ValueError(f'{text!r} {complaint}')
        return name, value
    return read


def flavor(path: str | None) -> dict[str, Any] | None:
    """Parse a file with the output of ``openstack flavor show -f json``.

    :param path: ``-`` for the standard input; ``None``: no file was named.
    :raises CommandError: the file cannot be read, or has no flavor.
    """
    if path is None:
        return None
    try:
        document = json.loads(sys.stdin.read() if path == '-' else
                              pathlib.Path(path).read_text('utf-8'))
    except OSError as error:
        raise exc.CommandError(
            f'--flavor-file: {path} cannot be read: {error.strerror}.'
        ) from error
    except ValueError as error:
        raise exc.CommandError(
            f'--flavor-file: {path} is not JSON ({error}). Use the output of '
            '"openstack flavor show -f json".') from error
    if not isinstance(document, dict):
        raise exc.CommandError(
            f'--flavor-file: {path} is not the output of "openstack flavor '
            'show -f json".')
    return document

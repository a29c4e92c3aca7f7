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

"""Parses and formats times: ``90s``, ``4h``, ``+2d``, ``2030-01-31 12:00``."""

from __future__ import annotations

import datetime
import re
from typing import Literal

NOW: Literal['now'] = 'now'
Instant = datetime.datetime | Literal['now']

_UNITS = {'s': 1, 'm': 60, 'h': 3600, 'd': 86_400, 'w': 604_800}
_PART = re.compile('([0-9]{1,9})([smhdw])')
_DURATION = re.compile(f'({_PART.pattern})+')


def seconds(text: str) -> int:
    """Parse a duration.

    :param text: ``90s``, ``4h``, ``1h30m``, ``7d`` or ``2w``.
    :raises ValueError: the text is not a duration, has no unit, or is zero.
    """
    if _DURATION.fullmatch(text):
        found = sum(int(number) * _UNITS[unit]
                    for number, unit in _PART.findall(text))
        if found:
            return found
    if text.isascii() and text.isdigit() and int(text):
        raise ValueError(
            f'{text!r} has no unit. Write {text}s (seconds), {text}m '
            f'(minutes), {text}h (hours), {text}d (days) or {text}w (weeks)')
    raise ValueError(f'{text!r} is not a duration. Write it like 30m, 4h, '
                     '1h30m, 7d or 2w')


def instant(text: str, now: datetime.datetime) -> Instant:
    """Parse an instant.

    :param text: ``now``; ``+4h``, from now; or ISO 8601. Without a zone, the
        time is in UTC, and the result has no zone, either.
    :param now: the instant from which ``+4h`` counts.
    :raises ValueError: the text is not an instant, or is outside the range of
        datetime.
    """
    if text == NOW:
        return NOW
    try:
        if text.startswith('+'):
            return now + datetime.timedelta(seconds=seconds(text[1:]))
        moment = datetime.datetime.fromisoformat(text)
        # A time with a zone, such as a local one, becomes UTC.
        return moment if moment.tzinfo is None else utc(moment)
    except (ValueError, OverflowError) as exc:
        raise ValueError(
            f'{text!r} is not a time. Write it like "2030-01-31 12:00" (UTC), '
            '2030-01-31T12:00:00+01:00, +4h, or now') from exc


def utc(moment: datetime.datetime) -> datetime.datetime:
    """Return an instant in UTC; an instant without a zone is in UTC.

    :raises OverflowError: the result is outside the range of datetime.
    """
    return (moment.replace(tzinfo=datetime.UTC) if moment.tzinfo is None
            else moment.astimezone(datetime.UTC))


def written(moment: Instant | str) -> str:
    """Return an instant in the form in which it is sent."""
    return (utc(moment).isoformat() if isinstance(moment, datetime.datetime)
            else moment)


def parsed(text: str) -> datetime.datetime:
    """Parse an instant in the form of the server."""
    return utc(datetime.datetime.fromisoformat(text))


def shown(moment: datetime.datetime, local: bool = False) -> str:
    """Return an instant as a text for people.

    :param local: whether to use the zone of this machine instead of UTC.
    """
    if local:
        return f'{here(moment):%Y-%m-%d %H:%M:%S %Z}'
    return f'{moment:%Y-%m-%d %H:%M:%S} UTC'


def here(moment: datetime.datetime) -> datetime.datetime:
    """Return an instant in the zone of this machine.

    It is not changed if the result would be outside the range of datetime.
    """
    try:
        return moment.astimezone()
    except (OverflowError, ValueError, OSError):
        return moment


def shown_shift(seconds: int) -> str:
    """Return a change of a time in the form ``4h later``."""
    duration = shown_duration(datetime.timedelta(seconds=abs(seconds)))
    return f'{duration} {"later" if seconds > 0 else "earlier"}'


def shown_duration(duration: datetime.timedelta) -> str:
    """Return a duration in the form ``1d4h``."""
    left = round(duration.total_seconds())
    parts = []
    for unit in ('d', 'h', 'm', 's'):
        number, left = divmod(left, _UNITS[unit])
        if number:
            parts.append(f'{number}{unit}')
    return ''.join(parts[:2]) or '0s'

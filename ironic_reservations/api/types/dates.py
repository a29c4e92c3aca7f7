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
"""Dates in the formats of Blazar's clients, all in UTC."""

from __future__ import annotations

import datetime
import re
from typing import Literal

from ironic_reservations.model import instants

NOW: Literal['now'] = 'now'

_DATE = re.compile(
    r'[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}'
    r'(:[0-9]{2}([.][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}(:?[0-5][0-9])?)?')
_SHOWN = 40


def read(text: object) -> datetime.datetime | Literal['now']:
    """Parse a date.

    :param text: ``2050-01-01 10:00``, or with seconds, or with a zone, or
        ``now``; without a zone it is in UTC.
    :raises ValueError: the text is no date, or out of range.
    """
    if text == NOW:
        return NOW
    if isinstance(text, str) and _DATE.fullmatch(text):
        try:
            date = datetime.datetime.fromisoformat(text.upper())
            date = (date.replace(tzinfo=datetime.UTC) if date.tzinfo is None
                    else date.astimezone(datetime.UTC))
        except (ValueError, OverflowError):
            # Refused below.
            pass
        else:
            if instants.FIRST_YEAR <= date.year <= instants.LAST_YEAR:
                return date
            raise ValueError(f'{text} is an invalid date; a year from '
                             f'{instants.FIRST_YEAR} to {instants.LAST_YEAR} '
                             'is expected')
    shown = text[:_SHOWN] if isinstance(text, str) else type(text).__name__
    if isinstance(text, str) and not shown.isprintable():
        shown = ascii(shown)
    # These are Blazar's words, which its clients know.
    raise ValueError(
        f'{shown} is an invalid date. Required format: %Y-%m-%d %H:%M, which '
        'is UTC; or ISO 8601 with seconds and a zone; or "now"')


def in_minutes(text: object) -> bool:
    """Return whether a date has no seconds, as Blazar's clients send it."""
    found = _DATE.fullmatch(text) if isinstance(text, str) else None
    return found is not None and found[1] is None


def write(date: datetime.datetime) -> str:
    """Return the text of a start, an end or the time of an event."""
    return date.isoformat(timespec='microseconds')[:26]


def write_short(date: datetime.datetime | None) -> str | None:
    """Return the text of the time of a row's creation or change."""
    return None if date is None else date.isoformat(' ', 'seconds')[:19]

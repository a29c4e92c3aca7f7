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

"""Formats times for sentences; programs get exact times in other fields."""

from __future__ import annotations

import datetime

_UNITS = (('day', 86_400), ('hour', 3600), ('minute', 60), ('second', 1))


def moment(at: datetime.datetime) -> str:
    """Return a datetime in UTC, with seconds only if there are any."""
    at = at.astimezone(datetime.UTC)
    seconds = at.second or at.microsecond
    return at.strftime('%Y-%m-%d %H:%M' + (':%S' if seconds else '') + ' UTC')


def duration(lasts: datetime.timedelta | float) -> str:
    """Return a duration in words, without fractions of a second.

    :param lasts: a timedelta, or a number of seconds.
    """
    left = int(lasts.total_seconds()
               if isinstance(lasts, datetime.timedelta) else lasts)
    parts = []
    for unit, size in _UNITS:
        number, left = divmod(left, size)
        if number:
            parts.append(f'{number} {unit}{"s" if number > 1 else ""}')
    if len(parts) > 1:
        return f'{" ".join(parts[:-1])} and {parts[-1]}'
    return parts[0] if parts else '0 seconds'

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

"""Instants in the planner: whole microseconds since 1970, in UTC.

The planner compares very many instants. Integers are compared and hashed
several times as fast as zone-aware datetimes, and always have a zone. They are
exact, since a datetime has no more than microseconds.
"""

from __future__ import annotations

import datetime

SECOND = 1_000_000
#: The years of dates, which leave room for computations around them.
FIRST_YEAR, LAST_YEAR = 1970, 9000
#: The latest date in a request.
LAST = datetime.datetime(LAST_YEAR, 12, 31, 23, 59, 59, 999_999,
                         datetime.UTC)

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)


def instant(moment: datetime.datetime) -> int:
    """Return a zone-aware datetime as an instant.

    :raises ValueError: the datetime has no zone.
    """
    if moment.tzinfo is None:
        raise ValueError(
            f'The moment {moment.isoformat()} has no zone, so it is no '
            'instant. Give it one, such as UTC.')
    return (moment - _EPOCH) // _MICROSECOND


def moment(instant: int) -> datetime.datetime:
    """Return an instant as a datetime in UTC."""
    return _EPOCH + instant * _MICROSECOND

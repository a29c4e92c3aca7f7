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

"""How much of what a project may have it has: at once, and in hours ahead."""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
import datetime


@dataclasses.dataclass(frozen=True, slots=True)
class Held:
    """One host, or one instance, that a project has been promised.

    :ivar whole: whether it is a whole host.
    """

    start: datetime.datetime
    end: datetime.datetime
    whole: bool


def most_at_once(held: Iterable[Held], start: datetime.datetime,
                 end: datetime.datetime) -> int:
    """Return how many promises hold at one instant of a window, at most."""
    changes: list[tuple[datetime.datetime, int]] = []
    for each in held:
        if each.start < end and each.end > start:
            changes.append((max(each.start, start), 1))
            changes.append((each.end, -1))
    # NOTE: what ends at an instant is over when another begins there.
    changes.sort()
    now = most = 0
    for _, step in changes:
        now += step
        most = max(most, now)
    return most


def seconds_ahead(held: Iterable[Held], now: datetime.datetime) -> float:
    """Return for how long promises last from now on, all added up."""
    return sum((each.end - max(each.start, now)).total_seconds()
               for each in held if each.end > now)

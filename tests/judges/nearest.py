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

"""The windows nearest to one that cannot be had, found by trying each."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
import dataclasses

from ironic_reservations.planner import bookings
from tests.judges import oracle

Possible = Callable[[oracle.Case], bool]
Demands = tuple[bookings.Demand, ...]


def later(case: oracle.Case, latest: int, possible: Possible,
          least: int = 1, grain: int = 1) -> Demands | None:
    """Return the demands at the first start after their own.

    A multiple of the grain is preferred to those that are rounded up to it.

    :param latest: when the last of them ends at the latest.
    :param least: by how much they start later at least.
    """
    begin = min(demand.start for demand in case.demands)
    end = max(demand.end for demand in case.demands)
    return _first((_shifted(case, shift) for shift in sorted(
        range(least, latest - end + 1),
        key=lambda shift: (-(-(begin + shift) // grain),
                           (begin + shift) % grain))), possible)


def earlier(case: oracle.Case, earliest: int, possible: Possible,
            grain: int = 1) -> Demands | None:
    """Return the demands at the last start before their own.

    A multiple of the grain is preferred to those that are rounded down to it.
    """
    begin = min(demand.start for demand in case.demands)
    return _first((_shifted(case, -shift) for shift in sorted(
        range(1, begin - earliest + 1),
        key=lambda shift: (-((begin - shift) // grain),
                           (shift - begin) % grain))), possible)


def shorter(case: oracle.Case, possible: Possible) -> Demands | None:
    """Return the demands with the latest end before their own."""
    begin = max(demand.start for demand in case.demands)
    end = max(demand.end for demand in case.demands)
    return _first((_cut(case, cut) for cut in range(end - 1, begin, -1)),
                  possible)


def _first(cases: Iterable[oracle.Case],
           possible: Possible) -> Demands | None:
    return next((tuple(case.demands) for case in cases if possible(case)),
                None)


def _with(case: oracle.Case,
          change: Callable[[bookings.Demand], bookings.Demand]
          ) -> oracle.Case:
    return dataclasses.replace(case, demands=tuple(map(change,
                                                       case.demands)))


def _shifted(case: oracle.Case, shift: int) -> oracle.Case:
    return _with(case, lambda each: dataclasses.replace(
        each, start=each.start + shift, end=each.end + shift))


def _cut(case: oracle.Case, end: int) -> oracle.Case:
    return _with(case, lambda each: dataclasses.replace(
        each, end=min(end, each.end)))

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

"""Rows of figures for people."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import statistics


@dataclasses.dataclass(frozen=True)
class Row:
    """One measurement.

    :ivar seconds: how long each request took.
    :ivar wall: how long all of them took, from the first to the last.
    :ivar stuck: how many were never served.
    """

    what: str
    seconds: Sequence[float]
    wall: float
    stuck: int = 0

    @property
    def rate(self) -> float:
        """Return how many were served in a second."""
        return len(self.seconds) / self.wall if self.wall else 0.0


def show(title: str, rows: Sequence[Row]) -> None:
    """Print a table; the median is what to quote."""
    print(f'\n{title}')
    print(f'{"":44} {"served":>7} {"stuck":>6} {"median ms":>10} '
          f'{"p95 ms":>9} {"a second":>9}')
    for row in rows:
        if not row.seconds:
            print(f'{row.what:44} {0:>7} {row.stuck:>6}')
            continue
        ordered = sorted(row.seconds)
        p95 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
        print(f'{row.what:44} {len(ordered):>7} {row.stuck:>6} '
              f'{statistics.median(ordered) * 1000:>10.2f} '
              f'{p95 * 1000:>9.2f} {row.rate:>9.1f}', flush=True)

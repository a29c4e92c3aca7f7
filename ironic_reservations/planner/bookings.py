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

"""What stands on the nodes' timelines, and what is asked for."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Booking:
    """One node promised over the half-open window [start, end).

    :ivar id: opaque; no two bookings of a timeline share one.
    :ivar node: the number of the node that it is on.
    :ivar eligible: the set of nodes that would do, see
        :mod:`~ironic_reservations.planner.fleet`.
    :ivar movable: false once it has started, or where it must stay.
    :ivar margin: for cleaning; nobody has the node for so long after the end.
    """

    id: str
    start: int
    end: int
    node: int
    eligible: int
    movable: bool = True
    margin: int = 0

    @property
    def until(self) -> int:
        """Give the instant from which the node may be promised again."""
        return self.end + self.margin


@dataclasses.dataclass(frozen=True, slots=True)
class Demand:
    """A wish for ``least`` to ``most`` distinct nodes over one window.

    :ivar id: opaque; bookings that serve it are called ``<id>/<count>``.
    :ivar eligible: the set of nodes that would do.
    :ivar preferred: a set of nodes that are taken first where they are free.
    """

    id: str
    start: int
    end: int
    least: int
    most: int
    eligible: int
    margin: int = 0
    preferred: int = 0

    def __post_init__(self) -> None:
        if self.end <= self.start:
            raise ValueError(
                f'The window of the demand {self.id} ends at {self.end}, '
                f'which is not after its start at {self.start}. Give it an '
                'end after the start.')
        if not 0 <= self.least <= self.most or not self.most:
            raise ValueError(
                f'The demand {self.id} is for {self.least} to {self.most} '
                'nodes. Give numbers with 0 <= least <= most, most > 0.')
        if self.margin < 0:
            raise ValueError(
                f'The margin of the demand {self.id} is {self.margin}. Give '
                'zero or more.')

    @property
    def until(self) -> int:
        """Give the instant from which its nodes may be promised again."""
        return self.end + self.margin

    def booking(self, count: int, node: int) -> Booking:
        """Give the booking that serves one of the nodes asked for."""
        return Booking(f'{self.id}/{count}', self.start, self.end, node,
                       self.eligible, True, self.margin)

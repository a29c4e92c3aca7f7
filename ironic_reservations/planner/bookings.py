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

"""Bookings of hosts, and demands for them, in the planner."""

from __future__ import annotations

import dataclasses

from ironic_reservations.model import inventories

#: Later than anything that is planned.
FOREVER = 1 << 62
#: Earlier than anything that is planned, and than ``-FOREVER``.
NEVER = -(1 << 80)


@dataclasses.dataclass(frozen=True, slots=True)
class Booking:
    """A booking of a host, or of a share of one, over [start, end).

    :ivar id: opaque, and unique within a timeline.
    :ivar node: the number of its host.
    :ivar eligible: the set of hosts that would be suitable if they were empty,
        see :mod:`~ironic_reservations.planner.host_sets`. The present host of
        a booking is one of them, even if it is not suitable any more.
    :ivar movable: false once it has started, or if it must stay.
    :ivar margin: the time for cleaning, for which a whole host stays taken
        after the end.
    :ivar amounts: its share of a compute host; ``None``: the whole host. A
        node of Ironic is always booked as a whole.
    :ivar group: the id of the lease reservation of a share.
    :ivar affinity: true: all bookings of the group are on one host; false: all
        are on different ones.
    """

    id: str
    start: int
    end: int
    node: int
    eligible: int
    movable: bool = True
    margin: int = 0
    amounts: inventories.Amounts | None = None
    group: str = ''
    affinity: bool | None = None

    @property
    def until(self) -> int:
        """The instant from which a whole host is free again."""
        return self.end + self.margin


@dataclasses.dataclass(frozen=True, slots=True)
class Demand:
    """A demand for ``least`` to ``most`` hosts or shares over a window.

    :ivar id: opaque; its bookings have the ids ``<id>/<count>``.
    :ivar eligible: the set of hosts that would be suitable if they were empty.
    :ivar preferred: the set of hosts to use first if they have room.
    :ivar amounts: the share of a compute host for each; ``None``: whole hosts,
        all different.
    :ivar affinity: as in :class:`Booking`; true only if ``least`` equals
        ``most``.
    :ivar first: the first count, if an existing group grows.
    :ivar group: the group of the bookings; ``None``: the id.
    :ivar lent: the set of hosts that it can have only as a loan.
    :ivar lent_until: the instant at which loans end.
    """

    id: str
    start: int
    end: int
    least: int
    most: int
    eligible: int
    margin: int = 0
    preferred: int = 0
    amounts: inventories.Amounts | None = None
    affinity: bool | None = None
    first: int = 0
    group: str | None = None
    lent: int = 0
    lent_until: int = FOREVER

    def __post_init__(self) -> None:
        if self.end <= self.start:
            raise ValueError(
                f'The window of the demand {self.id} ends at {self.end}, '
                f'which is not after its start at {self.start}. Give it an '
                'end after the start.')
        if not 0 <= self.least <= self.most or not self.most:
            raise ValueError(
                f'The demand {self.id} is for {self.least} to {self.most}. '
                'Give numbers with 0 <= least <= most, most > 0.')
        if self.amounts is not None and (
                not self.amounts or min(
                    each for _, each in self.amounts) < 1):
            raise ValueError(
                f'An instance of the demand {self.id} needs {self.amounts}. '
                'Give amounts above zero, and at least one.')
        if self.affinity and self.least != self.most:
            raise ValueError(
                f'The demand {self.id} is for {self.least} to {self.most} on '
                'one host. Give one number for both.')
        if self.margin < 0:
            raise ValueError(
                f'The margin of the demand {self.id} is {self.margin}. Give '
                'zero or more.')

    @property
    def until(self) -> int:
        """The instant from which its whole hosts are free again."""
        return self.end + self.margin

    @property
    def family(self) -> str:
        """The group of its bookings."""
        if self.amounts is None:
            return ''
        return self.id if self.group is None else self.group

    def within_loans(self) -> Demand:
        """Return the demand without hosts that are not lent for so long.

        In the result, ``lent`` is the set of eligible hosts that were removed.
        """
        if not self.lent or self.until <= self.lent_until:
            return self
        lent = self.eligible & self.lent
        return dataclasses.replace(self, eligible=self.eligible & ~lent,
                                   lent=lent)

    def booking(self, count: int, node: int) -> Booking:
        """Return one of its bookings."""
        return Booking(f'{self.id}/{self.first + count}', self.start,
                       self.end, node, self.eligible, True, self.margin,
                       self.amounts, self.family, self.affinity)

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

"""Bookings on the timelines of hosts, and demands for them."""

from __future__ import annotations

import dataclasses

from ironic_reservations.model import inventories

#: After everything that is planned.
FOREVER = 1 << 62


@dataclasses.dataclass(frozen=True, slots=True)
class Booking:
    """A host, or a share of one, promised over the window [start, end).

    :ivar id: opaque; no two bookings of a timeline share one.
    :ivar node: the number of the host that it is on.
    :ivar eligible: the set of hosts that would do when they are empty, see
        :mod:`~ironic_reservations.planner.fleet`.
    :ivar movable: false once it has started, or where it must stay.
    :ivar margin: for cleaning; nobody has a whole host for so long after the
        end.
    :ivar amounts: the share that it needs of a compute host; ``None``: all of
        the host.  A node of Ironic is always had whole.
    :ivar group: the id of the lease reservation that a share belongs to.
    :ivar affinity: true where all bookings of the group are on one host,
        false where all of them are on different ones.
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
        """Return the instant from which a whole host is free again."""
        return self.end + self.margin


@dataclasses.dataclass(frozen=True, slots=True)
class Demand:
    """A demand for ``least`` to ``most`` hosts, or shares, over one window.

    :ivar id: opaque; bookings that serve it are called ``<id>/<count>``.
    :ivar eligible: the set of hosts that would do when they are empty.
    :ivar preferred: a set of hosts that are taken first where they have room.
    :ivar amounts: the share of a compute host that each needs; ``None``: all
        of a host, and each a different one.
    :ivar affinity: as in :class:`Booking`; true only where ``least`` is
        ``most``.
    :ivar first: the first count, where the group is there and grows.
    :ivar group: the group that the bookings belong to; ``None``: the id.
    :ivar lent: hosts that it can have as a loan only.
    :ivar lent_until: loans are free again by then.
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
        """Return the instant from which its whole hosts are free again."""
        return self.end + self.margin

    @property
    def family(self) -> str:
        """Return the group of the bookings that serve it."""
        if self.amounts is None:
            return ''
        return self.id if self.group is None else self.group

    def within_loans(self) -> Demand:
        """Return it without the hosts that are not lent for so long.

        Those are what is left in ``lent``: hosts that would do.
        """
        if not self.lent or self.until <= self.lent_until:
            return self
        lent = self.eligible & self.lent
        return dataclasses.replace(self, eligible=self.eligible & ~lent,
                                   lent=lent)

    def booking(self, count: int, node: int) -> Booking:
        """Return one of the bookings that serve it."""
        return Booking(f'{self.id}/{self.first + count}', self.start,
                       self.end, node, self.eligible, True, self.margin,
                       self.amounts, self.family, self.affinity)

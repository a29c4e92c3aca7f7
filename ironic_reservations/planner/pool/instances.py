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

"""Instances on the timelines of hosts, and what is asked for of them.

An instance has a share of a compute host; of a node of Ironic it has the
whole, as every booking does.
"""

from __future__ import annotations

import dataclasses

from ironic_reservations.model import inventories
from ironic_reservations.planner import bookings


@dataclasses.dataclass(frozen=True, slots=True)
class Instance:
    """One instance promised over the half-open window [start, end).

    :ivar id: opaque; no two bookings and instances of a pool share one.
    :ivar node: the number of the host that it is on.
    :ivar eligible: the set of hosts that would do when they are empty.
    :ivar amounts: what it needs of a compute host.
    :ivar group: what it belongs to: the id of its lease reservation.
    :ivar affinity: true where the whole group is on one host, false where
        all of it are on different ones.
    :ivar movable: false once it has started, or where it must stay.
    :ivar margin: for cleaning, where it has a node of Ironic.
    """

    id: str
    start: int
    end: int
    node: int
    eligible: int
    amounts: inventories.Amounts
    group: str
    affinity: bool | None = None
    movable: bool = True
    margin: int = 0


#: What stands on the timeline of a host: all of it, or a share.
Promise = bookings.Booking | Instance


@dataclasses.dataclass(frozen=True, slots=True)
class InstanceDemand:
    """A wish for ``amount`` instances of one size over one window.

    :ivar id: opaque; the instances that serve it are called
        ``<id>/<count>``.
    :ivar eligible: the set of hosts that would do when they are empty.
    :ivar preferred: a set of hosts that are taken first.
    :ivar first: the first count, where the group is there and grows.
    :ivar group: what the instances belong to; ``None``: to the id.
    """

    id: str
    start: int
    end: int
    amount: int
    eligible: int
    amounts: inventories.Amounts
    affinity: bool | None = None
    margin: int = 0
    preferred: int = 0
    first: int = 0
    group: str | None = None

    def __post_init__(self) -> None:
        if self.end <= self.start:
            raise ValueError(
                f'The window of the demand {self.id} ends at {self.end}, '
                f'which is not after its start at {self.start}. Give it an '
                'end after the start.')
        if self.amount < 1:
            raise ValueError(
                f'The demand {self.id} is for {self.amount} instances. Give '
                'one or more.')
        if not self.amounts or min(each for _, each in self.amounts) < 1:
            raise ValueError(
                f'An instance of the demand {self.id} needs {self.amounts}. '
                'Give amounts above zero, and at least one.')
        if self.margin < 0:
            raise ValueError(
                f'The margin of the demand {self.id} is {self.margin}. Give '
                'zero or more.')

    @property
    def until(self) -> int:
        """Give the instant from which its nodes may be promised again."""
        return self.end + self.margin

    @property
    def family(self) -> str:
        """Give what the instances belong to."""
        return self.id if self.group is None else self.group

    def instance(self, count: int, node: int) -> Instance:
        """Give one of the instances asked for."""
        return Instance(f'{self.id}/{self.first + count}', self.start,
                        self.end, node, self.eligible, self.amounts,
                        self.family, self.affinity, True, self.margin)


Wish = bookings.Demand | InstanceDemand

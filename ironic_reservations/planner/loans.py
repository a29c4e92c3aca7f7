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

"""Nodes that projects own and lend.

The owner can always have a node back within the notice period. So another
project gets the node only for windows that end, including cleaning, within
that period from now. When the owner requests the node, no booking of others
lies beyond the period, and no booking has to be broken.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

from ironic_reservations.model import instants
from ironic_reservations.planner import bookings

_MINUTE = 60 * instants.SECOND


@dataclasses.dataclass(frozen=True)
class Loans:
    """The hosts that owners lend, and the ends of the loans.

    :ivar owned: the set of hosts of each project that owns some.
    :ivar until: the instant from which owners can have their hosts back.
    """

    owned: Mapping[str, int] = dataclasses.field(default_factory=dict)
    until: int = bookings.FOREVER

    @property
    def matter(self) -> bool:
        """Whether owners can get their hosts back."""
        return self.until < bookings.FOREVER

    def to(self, project_id: str | None) -> int:
        """Return the set of hosts that a project can have only on loan."""
        found = 0
        if self.matter:
            for owner, hosts in self.owned.items():
                if owner != project_id:
                    found |= hosts
        return found

    def limit(self, demand: bookings.Demand, project_id: str | None,
              kept: int = 0) -> bookings.Demand:
        """Return a demand that gets lent hosts only until the end of the loan.

        :param kept: the set of hosts that it already has for longer.
        """
        lent = self.to(project_id) & ~kept
        return dataclasses.replace(
            demand, lent=lent, lent_until=self.until) if lent else demand


NONE = Loans()


def until(now: int, notice: int) -> int:
    """Return the instant from which owners can have their hosts back.

    It is in whole minutes, since users see it.

    :param notice: the notice period; 0: owners cannot get their hosts back.
    """
    return ((now + notice) // _MINUTE * _MINUTE if notice
            else bookings.FOREVER)


def since(end: int, notice: int) -> int:
    """Return the first instant at which a loan until ``end`` is possible."""
    return -(-end // _MINUTE) * _MINUTE - notice

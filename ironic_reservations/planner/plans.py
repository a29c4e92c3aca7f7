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

"""The results of the planner: a complete plan, or a refusal with reasons."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import enum
import functools

from ironic_reservations.planner import bookings
from ironic_reservations.planner import served as served_module
from ironic_reservations.planner import shares
from ironic_reservations.planner import timeline as timeline_module


@dataclasses.dataclass(frozen=True)
class Move:
    """A move of a booking that has not started.

    :ivar booking: the booking after the move.
    :ivar node: its new host.
    """

    booking: bookings.Booking
    node: int


@dataclasses.dataclass(frozen=True)
class Plan:
    """The complete assignment of all bookings, old and new.

    :ivar draft: a draft with all of these bookings.
    :ivar granted: for each demand, its new bookings.
    :ivar moves: the existing bookings that move.
    :ivar maximal: whether it is proved that no demand can get more, given the
        hosts or shares of the demands before it.
    :ivar settled: whether no search has been cut short, so that more work
        would give the same plan.
    """

    draft: timeline_module.Draft
    granted: tuple[tuple[bookings.Booking, ...], ...]
    moves: tuple[Move, ...] = ()
    maximal: bool = True
    settled: bool = True

    @functools.cached_property
    def timeline(self) -> timeline_module.Timeline:
        """The resulting timeline."""
        # Computed on demand, since it copies the rows of all hosts.
        return self.draft.timeline()


class Cause(enum.StrEnum):
    """The reason for which a demand was refused."""

    #: At one instant, there is too little room beside bookings that must stay.
    SHORTAGE = 'shortage'
    #: Every assignment of the bookings that may move has been ruled out.
    NO_ASSIGNMENT = 'no_assignment'
    #: Not proved: there may be an assignment, but none was found in time.
    SEARCH_LIMIT = 'search_limit'

    @property
    def proved(self) -> bool:
        """Whether it is certain that there is no assignment."""
        return self is not Cause.SEARCH_LIMIT


@dataclasses.dataclass(frozen=True)
class Lacking:
    """The reason why one more unit cannot be placed.

    :ivar at: the instant of a shortage, if it is known.
    :ivar holders: the bookings that hold all suitable hosts then.
    :ivar short: the minimum number of lacking hosts, if it is proved to be
        above one.
    """

    cause: Cause
    at: int | None = None
    holders: tuple[bookings.Booking, ...] = ()
    short: int | None = None


@dataclasses.dataclass(frozen=True)
class HostShortage:
    """The amounts that a host lacks for one more of a demand.

    :ivar room: the number of the requested hosts or shares that fit.
    :ivar spells: the resources that are short for one more, with the periods,
        within the window.
    """

    node: int
    room: int
    spells: tuple[shares.Spell, ...]


@dataclasses.dataclass(frozen=True)
class Refusal:
    """Not all demands can be served, so none is.

    :ivar demand: a demand that cannot be served together with the others.
    :ivar short: the number of its hosts or shares without room.
    :ivar at: the first instant of a shortage.
    :ivar hosts: the shortage of each eligible host; at most
        :data:`MOST_HOSTS`, the hosts with the most room first.
    :ivar blockers: the bookings in the way on these hosts, ordered by start.
    """

    cause: Cause
    demand: bookings.Demand
    short: int
    at: int | None = None
    hosts: tuple[HostShortage, ...] = ()
    blockers: tuple[bookings.Booking, ...] = ()


#: The maximum number of hosts, and of blockers, that a refusal names.
MOST_HOSTS = 100


def compared(now: timeline_module.Timeline, draft: timeline_module.Draft,
             demands: Sequence[served_module.Served],
             maximal: bool, settled: bool) -> Plan:
    """Return a draft as a plan, compared with the timeline before.

    :param maximal: as in :class:`Plan`; ``settled`` likewise.
    """
    wanted = {name: number for number, served in enumerate(demands)
              for name in served.ids()}
    granted: list[list[bookings.Booking]] = [[] for _ in demands]
    moves = []
    for node in timeline_module.differing(draft, now):
        there = {booking.id for booking in now.rows[node]}
        for booking in draft.rows[node]:
            if booking.id in wanted:
                granted[wanted[booking.id]].append(booking)
            elif booking.id not in there:
                moves.append(Move(booking, node))
    return Plan(draft, tuple(tuple(row) for row in granted),
                tuple(moves), maximal, settled)

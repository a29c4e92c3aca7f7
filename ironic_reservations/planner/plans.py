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

"""What the planner answers: a whole plan, or a refusal that says why."""

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
    """A booking that has not started goes to another host.

    :ivar booking: as it is then.
    """

    booking: bookings.Booking
    node: int


@dataclasses.dataclass(frozen=True)
class Plan:
    """The complete assignment of every booking, old and new.

    :ivar draft: with all of it.
    :ivar granted: for each demand, its new bookings, each on its host.
    :ivar moves: what changes for bookings that were there before.
    :ivar maximal: whether it is proved that no demand can get more than it
        gets here, given what those before it get.
    """

    draft: timeline_module.Draft
    granted: tuple[tuple[bookings.Booking, ...], ...]
    moves: tuple[Move, ...] = ()
    maximal: bool = True

    @functools.cached_property
    def timeline(self) -> timeline_module.Timeline:
        """Return it as a value."""
        # NOTE: few ask for it, and to make it copies the rows of all hosts.
        return self.draft.timeline()


class Cause(enum.StrEnum):
    """Why a demand was refused."""

    #: At one instant, bookings that must be there leave too little.
    SHORTAGE = 'shortage'
    #: Every assignment of the bookings that may move has been ruled out.
    NO_ASSIGNMENT = 'no_assignment'
    #: Not proved: there may be an assignment that was not found in time.
    SEARCH_LIMIT = 'search_limit'

    @property
    def proved(self) -> bool:
        """Return whether it is certain that there is no assignment."""
        return self is not Cause.SEARCH_LIMIT


@dataclasses.dataclass(frozen=True)
class Lacking:
    """Why one more could not be had.

    :ivar at: the instant of a shortage, where it is known.
    :ivar holders: who has all of each host that would do then.
    :ivar short: how many are lacking at least, where more than one may be
        and that is proved.
    """

    cause: Cause
    at: int | None = None
    holders: tuple[bookings.Booking, ...] = ()
    short: int | None = None


@dataclasses.dataclass(frozen=True)
class HostShortage:
    """What a host lacks for more of a demand than it has room for.

    :ivar room: how many of the hosts, or of the shares, that were asked for
        there is room for.
    :ivar spells: what is short for one more, and from when to when, within
        the window.
    """

    node: int
    room: int
    spells: tuple[shares.Spell, ...]


@dataclasses.dataclass(frozen=True)
class Refusal:
    """Not all demands can be served, so none is.

    :ivar demand: a demand that cannot be, together with the others.
    :ivar short: for how many of its hosts or shares there is no room.
    :ivar at: the first instant of a shortage.
    :ivar hosts: for each eligible host what it lacks, as the others' plans
        stand; at most :data:`MOST_HOSTS`, those with the most room first.
    :ivar blockers: the bookings in the way there, by their starts.
    """

    cause: Cause
    demand: bookings.Demand
    short: int
    at: int | None = None
    hosts: tuple[HostShortage, ...] = ()
    blockers: tuple[bookings.Booking, ...] = ()


#: How many hosts, and how many of what is in the way, a refusal names.
MOST_HOSTS = 100


def compared(now: timeline_module.Timeline, draft: timeline_module.Draft,
             demands: Sequence[served_module.Served],
             maximal: bool) -> Plan:
    """Return what has been drafted as a plan, beside what was there.

    :param maximal: as in :class:`Plan`.
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
                tuple(moves), maximal)

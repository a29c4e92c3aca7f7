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

import dataclasses
import enum

from ironic_reservations.planner import bookings
from ironic_reservations.planner import timeline


@dataclasses.dataclass(frozen=True)
class Move:
    """A booking that has not started goes to another node."""

    booking: bookings.Booking
    node: int


@dataclasses.dataclass(frozen=True)
class Plan:
    """The complete assignment of every booking, old and new.

    :ivar granted: for each demand, its new bookings, each on its node.
    :ivar moves: what changes for bookings that were there before.
    :ivar most: whether it is proved that no demand can get more than it
        gets here, given what those before it get.
    """

    timeline: timeline.Timeline
    granted: tuple[tuple[bookings.Booking, ...], ...]
    moves: tuple[Move, ...] = ()
    most: bool = True


class Cause(enum.StrEnum):
    """Why a demand was refused."""

    #: At one instant, bookings that must be there hold every node.
    SHORTAGE = 'shortage'
    #: Every assignment of the bookings that may move has been ruled out.
    NO_ASSIGNMENT = 'no_assignment'
    #: Not proved: there may be an assignment that was not found in time.
    SEARCH_LIMIT = 'search_limit'

    @property
    def proved(self) -> bool:
        """Tell whether it is certain that there is no assignment."""
        return self is not Cause.SEARCH_LIMIT


@dataclasses.dataclass(frozen=True)
class Refusal:
    """Not all demands can be served, so none is.

    :ivar demand: the first demand that cannot be.
    :ivar short: how many of its nodes were not found.
    :ivar at: the instant of the shortage.
    :ivar blockers: the bookings in the way, by their starts.
    """

    cause: Cause
    demand: bookings.Demand
    short: int
    at: int | None = None
    blockers: tuple[bookings.Booking, ...] = ()

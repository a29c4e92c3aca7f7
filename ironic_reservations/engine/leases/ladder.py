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

"""The ladder: ways to plan a request, tried one after another.

#. The request alone: all other leases keep their dates, and may get other
hosts.
#. Heal: bookings that cannot start on their hosts get other ones first.
#. The rungs of features, in the order of the features: leases with open dates
   start at another time; the request waits for a later start.

A dry run climbs the same ladder; only the commit is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
from typing import Protocol
from typing import TypeVar

from ironic_reservations.db import connection as db_connection
from ironic_reservations.engine import change
from ironic_reservations.engine import Engine
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import heal
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from ironic_reservations.model import requirements
from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_states
from ironic_reservations.planner import plans
from ironic_reservations.planner import timeline

_T = TypeVar('_T')

#: Starts in whole minutes are preferred.
GRAIN = 60 * instants.SECOND
#: A lease as limits count it, and as it was read.
Own = tuple[leases.Lease, leases.Lease]
#: How far ahead a later start is searched if the operator sets no horizon.
_AHEAD = datetime.timedelta(days=366)


@dataclasses.dataclass(frozen=True)
class Asked:
    """A request, as the planner and the rungs of features need it.

    :ivar now: the time of the plan.
    :ivar allowed: the limits of the caller.
    :ivar first: its earliest start.
    :ivar last: its latest start.
    :ivar until: its latest end.
    :ivar is_open: whether its dates are open.
    :ivar may_wait: whether it accepts a later start.
    :ivar lease_id: the lease that is made or changed, if any.
    """

    now: datetime.datetime
    allowed: limits.Limits
    first: datetime.datetime
    last: datetime.datetime
    until: datetime.datetime
    is_open: bool = False
    may_wait: bool = False
    lease_id: str | None = None


@dataclasses.dataclass(frozen=True)
class Room:
    """A plan for a request, with leases that get other dates for it.

    :ivar start: the start that the request gets.
    :ivar plan: the plan; it grants only the demands of the request.
    :ivar writes: the leases that get other dates.
    """

    start: int
    plan: plans.Plan
    writes: Sequence[change.Write[leases.Lease]] = ()


class Others(Protocol):
    """Leases whose dates may change, as a feature has read them."""

    @property
    def wanted(self) -> Mapping[str, requirements.Requirement]:
        """The requirement of each of their reservations, by its id."""

    def find_room(self, snapshot: snapshots.Snapshot, free: timeline.Timeline,
                  demands: Sequence[bookings.Demand],
                  own: Own | None, leaving: Mapping[bookings.Demand, str]
                  ) -> Room | bool:
        """Plan a request, with other dates for these leases.

        :param free: the timeline without the bookings that the demands
            replace.
        :param own: the lease that the request is for, if any.
        :param leaving: the lease reservations of others that need other hosts,
            by the demand for another host. The demand is not needed if the
            lease gets other dates.
        :returns: a plan; or, without one, whether it is proved that there is
            no plan.
        :raises Conflict: a lease has changed since it was read.
        """


@dataclasses.dataclass(frozen=True)
class Terms:
    """The terms that one rung grants a request.

    :ivar others: leases that may get other dates for it.
    :ivar latest_end: the latest end of a lease that waits; ``None``: it does
        not wait.
    """

    others: Others | None = None
    latest_end: datetime.datetime | None = None


class Ladder:
    """The ladder of one request, with its memory between attempts."""

    def __init__(self, engine: Engine, dry_run: bool = False) -> None:
        self._engine = engine
        self._tried = dry_run
        self._healed = False

    def is_compared(self) -> bool:
        """Return whether this attempt needs a snapshot that was compared.

        The first attempt does not: if its snapshot is outdated, the commit
        fails. A dry run has no commit, so it needs one.
        """
        compared, self._tried = self._tried, True
        return compared

    def for_offers(self) -> Ladder:
        """Return the ladder for offers: attempts without a commit."""
        self._tried = True
        return self

    def climb(self, plan: Callable[[Terms, _T | None], _T],
              served: Callable[[_T], bool],
              asked: Callable[[_T], Asked]) -> _T:
        """Plan a request on each rung until it is served.

        :param plan: plans it with the terms of a rung, given the plan of the
            rung before, if any.
        :param served: returns whether a plan serves the request.
        :param asked: returns the request, given the plan without other terms.
        :returns: the last plan.
        :raises Conflict: other bookings have moved, so the request has to be
            planned again.
        """
        found = plan(Terms(), None)
        if served(found):
            return found
        if not self._healed:
            self._healed = True
            if heal.heal_blocked(self._engine):
                raise db_connection.Conflict(
                    'bookings without a usable host have been planned anew')
        request = asked(found)
        for feature in self._engine.features:
            for terms in feature.rungs(self._engine, request):
                found = plan(terms, found)
                if served(found):
                    return found
        return found


def search_end(end: datetime.datetime) -> datetime.datetime:
    """Return the latest end of other dates for a request.

    :param end: the end of the request, or the present time if that is later.
    """
    return min(end + _AHEAD, instants.LAST)


def replaced(writes: Sequence[change.Write[leases.Lease]]
             ) -> list[leases.NodeBooking]:
    """Return the bookings of leases before they got other dates."""
    return [row for before, _ in change.slid(writes)
            for row in before.bookings]


def names(writes: Sequence[change.Write[leases.Lease]]) -> frozenset[str]:
    """Return the planner's names of the bookings that are replaced."""
    return frozenset(map(host_states.name, replaced(writes)))

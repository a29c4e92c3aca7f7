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

"""The refusal of an attempt to plan a lease."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import datetime

from ironic_reservations import errors
from ironic_reservations.engine import hard_requests
from ironic_reservations.engine.leases import ladder
from ironic_reservations.engine.leases import refusal_messages
from ironic_reservations.engine.leases import request_checks
from ironic_reservations.engine.leases.replan import attempt as attempts
from ironic_reservations.model import instants
from ironic_reservations.planner import bookings
from ironic_reservations.planner import offers
from ironic_reservations.planner import plans
from ironic_reservations.planner import timeline


@dataclasses.dataclass(frozen=True)
class Refused:
    """A lease for which an attempt has found no room.

    :ivar refusal: the reason; with open dates, the one at the first start.
    :ivar free: the timeline on which it was planned.
    :ivar demands: its demands, from which other dates are offered; empty if
        none can be offered.
    """

    attempt: attempts.Attempt
    refusal: plans.Refusal
    free: timeline.Timeline
    demands: Sequence[bookings.Demand]

    @property
    def begun(self) -> int:
        """The part of the window that is over, and is not in the demands."""
        return max(0, instants.instant(self.attempt.snapshot.now)
                   - instants.instant(self.attempt.after.start))

    def error(self) -> errors.LeaseRefused:
        """Return the error for a lease that cannot be changed like this."""
        attempt = self.attempt
        place = attempt.place(attempts.reservation_of(self.refusal.demand))
        if attempt.asked.is_open:
            return refusal_messages.of_open_dates(
                attempt.snapshot, attempt.before.project_id, place,
                self.refusal, (attempt.asked.first, attempt.asked.last),
                attempt.after, self._later_end())
        return refusal_messages.of_change(
            attempt.snapshot, attempt.before.project_id, place,
            attempt.after.reservations, self.refusal, self._latest_end(),
            self._other_windows())

    def _later_end(self) -> datetime.datetime | None:
        """Return a later end of its window with which it could be planned."""
        attempt, asked = self.attempt, self.attempt.asked
        # An offer has other dates only, and no other hosts.
        if attempt.changes.opened is None or attempt.changes.reservations:
            return None
        hard_requests.unlock_offers()
        later = attempt.earliest(self.free, self.demands,
                                 self._latest_offer(asked.until))
        return None if later is None else later + (
            attempt.after.end - attempt.after.start)

    def _latest_end(self) -> datetime.datetime | None:
        """Return the latest end of an extension, if it is known."""
        attempt = self.attempt
        before, after = attempt.before, attempt.after
        if after.end <= before.end or not self.demands:
            return None
        for offer in offers.offers(
                self.free, self.demands,
                instants.instant(attempt.snapshot.now),
                instants.instant(after.end), hard_requests.unlock_offers(),
                (offers.Kind.SHORTER,)):
            end = min(attempt.until, instants.moment(max(
                demand.end for demand in offer.demands)))
            return end if end > before.end else None
        return None

    def _other_windows(self) -> list[tuple[str, datetime.datetime,
                                           datetime.datetime]]:
        """Return the nearest windows that a lease could be moved to.

        :returns: the windows, each with the kind of its offer.
        """
        attempt = self.attempt
        before, after = attempt.before, attempt.after
        if after.start == before.start or not self.demands:
            return []
        found = []
        for offer in offers.offers(
                self.free, self.demands,
                instants.instant(attempt.snapshot.now),
                instants.instant(self._latest_offer(after.end)),
                hard_requests.unlock_offers(),
                (offers.Kind.LATER, offers.Kind.EARLIER), instants.SECOND,
                self.begun):
            start, end = (instants.moment(each) for each in (
                offer.demands[0].start, offer.demands[0].end))
            if attempt.project.permits_lease(dataclasses.replace(
                    after, start=start, end=end), before):
                found.append((offer.kind.value, start, end))
        return found

    def _latest_offer(self, end: datetime.datetime) -> datetime.datetime:
        """Return the latest end that may be offered instead of an end."""
        return min(filter(None, (
            ladder.search_end(end), request_checks.latest_end(
                self.attempt.asked.allowed, self.attempt.snapshot.now))))

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

"""The starts that a request for a lease allows."""

from __future__ import annotations

import dataclasses
import datetime

from ironic_reservations.engine import limits
from ironic_reservations.engine.leases import terms as lease_terms
from ironic_reservations.model import leases


@dataclasses.dataclass(frozen=True)
class Starts:
    """A request, and between which instants its lease may start.

    :ivar ask: the request.
    :ivar first: the earliest start.
    :ivar last: the latest start; the same as ``first`` unless the dates of the
        lease are open. A lease that waits in the queue may start later still.
    """

    ask: leases.LeaseAsk
    first: datetime.datetime
    last: datetime.datetime

    @property
    def fixed(self) -> bool:
        """Whether the lease can only start at ``first``."""
        return self.first == self.last

    def at(self, start: datetime.datetime) -> leases.LeaseAsk:
        """Return the request as if it had asked for this start only.

        The lease lasts as long as it would from ``first`` on.
        """
        ask = self.ask
        if ask.flexible is not None:
            return dataclasses.replace(
                ask, start=start, end=start + ask.flexible.duration,
                flexible=None)
        if not ask.queue or start <= self.first:
            return ask
        later = start - self.first
        return dataclasses.replace(
            ask, start=start, end=ask.end + later,
            before_end=None if ask.before_end is None
            else ask.before_end + later)

    def queued(self, start: datetime.datetime) -> leases.Queued | None:
        """Return what a lease waits for that is planned at ``start``.

        :returns: ``None`` if it does not wait.
        """
        if not self.ask.queue or start <= self.first:
            return None
        return leases.Queued(self.first, start, self.ask.priority)


def of(ask: leases.LeaseAsk, allowed: limits.Limits,
       now: datetime.datetime) -> Starts:
    """Return the starts that a request allows at a given time.

    :param allowed: the limits of the caller; no lease may end beyond the
        horizon.
    :raises InvalidValue: the start has passed.
    """
    flexible = ask.flexible
    if flexible is None:
        first = lease_terms.start(ask.start, now)
        return Starts(ask, first, first)
    first = max(ask.start or now, now)
    horizon = lease_terms.latest_end(allowed, now)
    latest_end = (flexible.latest if horizon is None
                  else min(flexible.latest, horizon))
    return Starts(ask, first, max(first, latest_end - flexible.duration))

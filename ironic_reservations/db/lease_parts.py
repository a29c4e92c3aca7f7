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

"""Caches listed leases until they change."""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
import datetime
import threading
from typing import NamedTuple

from ironic_reservations.model import leases

#: The size of the cache in kilobytes: 5000 leases of one node each.
_MOST = 35_000


class Brief(NamedTuple):
    """The values of a booking that can change, with times without a zone."""

    id: int
    node_uuid: str
    starts_at: datetime.datetime
    ends_at: datetime.datetime
    state: str
    lessee: str | None
    lessee_before: str | None


def brief(booking: leases.NodeBooking) -> Brief:
    """Return the values of a booking that are compared with its row."""
    return Brief(booking.id, booking.node_uuid,
                 booking.starts_at.replace(tzinfo=None),
                 booking.ends_at.replace(tzinfo=None), booking.state.value,
                 booking.lessee, booking.lessee_before)


@dataclasses.dataclass(frozen=True, slots=True)
class Listed:
    """A lease as it was last listed.

    Each change of a lease raises its generation, except for changes of
    ``waiting``, and of its bookings, which other requests move. Both are read
    again and compared, so that no page shows stale values.
    """

    lease: leases.Lease
    bookings: frozenset[Brief]

    @classmethod
    def of(cls, lease: leases.Lease) -> Listed:
        """Return the entry for a lease that was just read."""
        return cls(lease, frozenset(map(brief, lease.bookings)))


class KnownParts:
    """A cache of the leases that were listed last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, Listed] = {}
        self._kilobytes = 0

    def find(self, generations: Iterable[tuple[str, int]]
             ) -> dict[str, Listed]:
        """Return the cached leases whose generation is unchanged.

        Their bookings and ``waiting`` still have to be compared.

        :param generations: ids and generations of leases, as read from their
            rows.
        """
        found = {}
        with self._lock:
            for lease_id, generation in generations:
                known = self._known.get(lease_id)
                if known is not None and known.lease.generation == generation:
                    found[lease_id] = known
        return found

    def keep(self, listed: Iterable[Listed]) -> None:
        """Store leases, each read with its bookings at one moment."""
        with self._lock:
            for each in listed:
                self._forget(each.lease.id)
                self._known[each.lease.id] = each
                self._kilobytes += each.lease.kilobytes
            while self._kilobytes > _MOST:
                self._forget(next(iter(self._known)))

    def _forget(self, lease_id: str) -> None:
        known = self._known.pop(lease_id, None)
        if known is not None:
            self._kilobytes -= known.lease.kilobytes

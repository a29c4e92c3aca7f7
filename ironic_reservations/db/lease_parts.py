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

"""What belongs to leases, kept for as long as they do not change."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import threading
from typing import Any

from ironic_reservations.model import instance_reservations
from ironic_reservations.model import leases

#: Of so many leases; two kilobytes each.
_MOST = 5000


@dataclasses.dataclass(frozen=True, slots=True)
class Parts:
    """What belongs to a lease and changes only with its generation.

    NOTE: not its bookings, which others move without changing the lease.

    :ivar reservations: the fields of each up to its bookings, and what is
        asked of each instance.
    """

    reservations: tuple[tuple[
        tuple[Any, ...],
        instance_reservations.InstanceReservation | None], ...]
    events: tuple[leases.Event, ...]


class KnownParts:
    """Keeps the parts of leases that were read last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, tuple[int, Parts]] = {}

    def find(self, generations: Iterable[tuple[str, int]]
             ) -> dict[str, Parts]:
        """Return the parts that are known of leases.

        :param generations: of leases, as their rows say.
        """
        found = {}
        with self._lock:
            for lease_id, generation in generations:
                known = self._known.get(lease_id)
                if known is not None and known[0] == generation:
                    found[lease_id] = known[1]
        return found

    def keep(self, generations: Mapping[str, int],
             parts: Mapping[str, Parts]) -> None:
        """Keep the parts of leases.

        :param generations: of the leases, read at the same moment.
        """
        with self._lock:
            for lease_id, each in parts.items():
                self._known.pop(lease_id, None)
                self._known[lease_id] = generations[lease_id], each
            for lease_id in list(self._known)[:-_MOST]:
                del self._known[lease_id]

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

"""Count rows for metrics and for the health check."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

from ironic_reservations.db import claims as db_claims
from ironic_reservations.db import in_flight_requests as db_in_flight
from ironic_reservations.db import lease_work as db_lease_work
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine import Engine
from ironic_reservations.model import leases
from ironic_reservations.model import node_reservation


@dataclasses.dataclass(frozen=True)
class Live:
    """The numbers of live reservations, leases and requests.

    :ivar reservations: the number by state.
    :ivar leases: the number of leases, and the number of waiting ones, by
        status.
    :ivar uncertain: the number of requests to Ironic whose outcome is unknown.
    :ivar uncertain_for: the seconds for which the answer to the oldest of
        these requests is overdue.
    :ivar followed: whether a process mirrors the nodes of Ironic.
    """

    reservations: Mapping[node_reservation.State, int]
    leases: Mapping[leases.LeaseStatus, tuple[int, int]]
    uncertain: int
    uncertain_for: float
    followed: bool


def live(engine: Engine) -> Live:
    """Count reservations, leases and requests.

    :raises DatabaseUnavailable: the database does not answer.
    """
    now = engine.clock()
    with engine.database.read() as connection:
        reservations = db_reservations.count_live(connection, now)
        standing = db_lease_work.count(connection)
        overdue, since = db_in_flight.count_overdue(connection, now)
        followed = db_claims.is_live(connection, db_claims.MIRROR, now)
    return Live(reservations, standing, overdue,
                0 if since is None else (now - since).total_seconds(),
                followed)

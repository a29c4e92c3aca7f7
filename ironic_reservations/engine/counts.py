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

from ironic_reservations.db import in_flight_requests as db_in_flight
from ironic_reservations.db import lease_work as db_lease_work
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine import Engine
from ironic_reservations.features.maintenance import rows as db_maintenance
from ironic_reservations.features.notices import outbox_rows as db_outbox
from ironic_reservations.features.placement import drift as placement_drift
from ironic_reservations.features.placement import hold_rows as db_holds
from ironic_reservations.features.placement.decisions import hold_audit
from ironic_reservations.features.placement.decisions import holds
from ironic_reservations.features.usage import periods as db_usage_periods
from ironic_reservations.model import leases
from ironic_reservations.model import node_reservation
from ironic_reservations.model import notices as model_notices


@dataclasses.dataclass(frozen=True)
class Live:
    """The numbers of what is not over.

    :ivar reservations: the number by state.
    :ivar leases: the number, and how many of these wait for something, by
        status.
    :ivar uncertain: the number of requests to Ironic whose outcome is unknown.
    :ivar uncertain_for: seconds since the oldest of these should have been
        answered.
    :ivar leased: the number of nodes that leases have, and how many of these
        are deployed, by resource class.
    :ivar draining: the number of nodes that should be in maintenance and are
        not yet.
    """

    reservations: Mapping[node_reservation.State, int]
    leases: Mapping[leases.LeaseStatus, tuple[int, int]]
    uncertain: int
    uncertain_for: float
    leased: Mapping[str, tuple[int, int]]
    draining: int


@dataclasses.dataclass(frozen=True)
class Held:
    """The numbers of holds in Placement.

    :ivar holds: the number by state.
    :ivar drift: the number of findings of the last audit, by kind.
    """

    holds: Mapping[holds.HoldState, int]
    drift: Mapping[hold_audit.Kind, placement_drift.Drift]


@dataclasses.dataclass(frozen=True)
class Notices:
    """The numbers of notices over one channel.

    :ivar waiting: the number that have not been sent.
    :ivar oldest: seconds that the oldest of these has waited.
    :ivar given_up: the number that were given up and are still kept.
    """

    waiting: int
    oldest: float
    given_up: int


def live(engine: Engine) -> Live:
    """Count reservations, leases and requests.

    :raises DatabaseUnavailable: it cannot be known.
    """
    now = engine.clock()
    with engine.database.read() as connection:
        reservations = db_reservations.count_live(connection, now)
        standing = db_lease_work.count(connection)
        overdue, since = db_in_flight.count_overdue(connection, now)
        leased = db_usage_periods.count_now(connection, now)
        draining = db_maintenance.count_late(connection, now)
    return Live(reservations, standing, overdue,
                0 if since is None else (now - since).total_seconds(),
                leased, draining)


def held(engine: Engine) -> Held:
    """Count holds, and read what the last audit of Placement has found.

    :raises DatabaseUnavailable: it cannot be known.
    """
    with engine.database.read() as connection:
        return Held(db_holds.count(connection),
                    placement_drift.read(connection))


def notices(engine: Engine) -> Mapping[model_notices.Channel, Notices]:
    """Count notices, by how they are sent.

    :raises DatabaseUnavailable: it cannot be known.
    """
    now = engine.clock()
    with engine.database.read() as connection:
        waiting = db_outbox.count_waiting(connection)
        given_up = db_outbox.count_given_up(connection)
    counted = {}
    for channel in model_notices.Channel:
        there = waiting.get(channel, db_outbox.Waiting(0, None))
        counted[channel] = Notices(
            there.count, 0 if there.since is None
            else (now - there.since).total_seconds(),
            given_up.get(channel, 0))
    return counted

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

"""Leases that processes work on, one pass at a time."""

import collections
import dataclasses
from typing import Any

import sqlalchemy as sa

from ironic_reservations.engine import announce
from ironic_reservations.engine import audit_trail
from ironic_reservations.engine.lease_cycle import health as lease_health
from ironic_reservations.model import leases
from ironic_reservations.reconciler import lease_workers
from tests import leasing
from tests import world

STATUS = leases.LeaseStatus
EVENT = leases.EventType


class Heard(announce.Announcer):
    """Remembers what was told."""

    def __init__(self) -> None:
        super().__init__(None, audit_trail.AuditTrail())
        self.sends = True
        self.told: list[tuple[str, leases.Lease, str | None]] = []

    def notify(self, event: str, reservation: Any,
               reason: str | None = None) -> None:
        pass

    def notify_lease(self, event: str, lease: leases.Lease,
                     reason: str | None = None) -> None:
        self.told.append((event, lease, reason))

    def count(self) -> dict[str, int]:
        """Count what was told, by the event."""
        return dict(collections.Counter(event for event, _, _ in self.told))


class TestCase(world.TestCase):
    """Leases, a crew that works on them, and whoever listens."""

    options: dict[str, Any] = {}

    def setUp(self) -> None:
        super().setUp()
        self.begin()

    def begin(self) -> None:
        """Begin with nothing, once more where a test tries many things."""
        self.world = self.new_world(**self.options)
        self.heard = Heard()
        self.world.engine = dataclasses.replace(self.world.engine,
                                                announcer=self.heard)
        self.engine = self.world.engine
        self.ironic = self.world.ironic
        self.leasing = leasing.Leasing(self.world)
        self.crew = lease_workers.LeaseWorkers(self.engine)

    def another_crew(self) -> lease_workers.LeaseWorkers:
        """Return the crew of another process."""
        return lease_workers.LeaseWorkers(dataclasses.replace(
            self.world.another_engine(), announcer=self.heard))

    def at(self, hours: float) -> None:
        """Move the clock, to hours after noon."""
        self.world.clock.now = leasing.at(hours)

    def work(self, crew: lease_workers.LeaseWorkers | None = None) -> int:
        """Have all be worked on that is due."""
        return (crew or self.crew).one_pass()

    def work_at(self, hours: float,
                crew: lease_workers.LeaseWorkers | None = None) -> int:
        """Have all be worked on that is due at an hour."""
        self.at(hours)
        return self.work(crew)

    def started(self, count: int = 1, end: float = 4,
                **known: Any) -> leases.Lease:
        """Return a lease that has started at one, on new hosts."""
        self.leasing.hosts(count, **known)
        made = self.leasing.create(1, end, leasing.wish(count))
        self.work_at(1)
        self.assert_status(STATUS.ACTIVE, made)
        return made

    def execute(self, *statements: sa.Executable) -> None:
        """Change rows behind everybody's back."""
        self.world.derived.stop()
        with self.world.engine.database.write() as connection:
            for statement in statements:
                connection.execute(statement)

    def soon(self, seconds: float = 400, times: int = 1) -> int:
        """Have all be worked on that has been put off.

        :param times: how often time passes, and all is worked on.
        """
        for _ in range(times):
            self.world.clock.advance(seconds)
            worked_on = self.work()
        return worked_on

    def watch(self) -> None:
        """Have the mirror read Ironic, and the leases be watched."""
        self.leasing.refresh()
        lease_health.check(self.engine)

    def lease(self, lease: leases.Lease) -> leases.Lease:
        """Read a lease as its rows are."""
        return self.leasing.reload(lease)

    def assert_status(self, status: leases.LeaseStatus,
                      lease: leases.Lease) -> None:
        """Check the status of a lease."""
        self.assertEqual(status, self.lease(lease).status)

    def flags(self, lease: leases.Lease) -> tuple[bool, bool]:
        """Return whether a lease, and its first reservation, lack a node."""
        lease = self.lease(lease)
        return lease.degraded, lease.reservations[0].missing_resources

    def due(self, lease: leases.Lease) -> Any:
        """Read when a lease is looked at next."""
        return self.row(lease)['due_at']

    def row(self, lease: leases.Lease) -> dict[str, Any]:
        """Read the row of a lease."""
        return self.world.lease_rows()[lease.id]

    def happened(self, lease: leases.Lease) -> dict[str, str]:
        """Return the statuses of the events of a lease."""
        return {event.type.value: event.status.value
                for event in self.lease(lease).events}

    def node_of(self, lease: leases.Lease) -> str:
        """Return the node of a lease that has one."""
        (booking,) = self.lease(lease).bookings
        return booking.node_uuid

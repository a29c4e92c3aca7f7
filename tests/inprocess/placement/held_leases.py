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

"""Leases of nodes that are held in Placement."""

import dataclasses
from typing import Any

from ironic_reservations.engine import hosts
from ironic_reservations.features.placement import sync as placement_sync
from ironic_reservations.model import leases
from ironic_reservations.reconciler import lease_workers
from tests import leasing
from tests.inprocess.placement import ground


class TestCase(ground.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.leasing = leasing.Leasing(self.world, self.engine)
        self.ironic = self.world.ironic
        self.crew = lease_workers.LeaseWorkers(self.engine)

    def host(self) -> str:
        """Return a node that is open to leases, and known to Placement."""
        node = self.enrol()
        hosts.add(self.engine, node, {})
        return node

    def work(self, hours: float | None = None) -> None:
        """Have all be worked on that is due then."""
        if hours is not None:
            self.world.clock.now = leasing.at(hours)
        self.crew.one_pass()

    def soon(self, seconds: float = 400) -> None:
        """Have all be worked on that has been put off."""
        self.world.clock.advance(seconds)
        self.crew.one_pass()

    def started(self, count: int = 1) -> leases.Lease:
        """Return a lease that has started on new hosts, from 1 to 4."""
        lease = self.planned(count, leasing.wish(count))
        self.work(1)
        return self.leasing.reload(lease)

    def planned(self, count: int,
                *wishes: leases.LeaseReservationRequest) -> leases.Lease:
        """Return a lease from 1 to 4, with so many hosts to choose from."""
        for _ in range(count):
            self.host()
        return self.leasing.create(1, 4, *wishes)

    def waiting(self, lease: leases.Lease) -> str:
        """Read what a lease waits for."""
        return self.world.lease_rows()[lease.id]['waiting'] or ''

    def status(self, lease: leases.Lease) -> leases.LeaseStatus:
        """Read where a lease stands."""
        return self.leasing.reload(lease).status

    def states(self, lease: leases.Lease) -> list[leases.BookingState]:
        """Read where its bookings stand."""
        return [each.state for each in self.leasing.reload(lease).bookings]

    def go_on(self, **changed: Any) -> None:
        """Go on with an engine that has something else, or lacks it."""
        self.engine = dataclasses.replace(self.engine, **changed)
        self.leasing = leasing.Leasing(self.world, self.engine)
        self.crew = lease_workers.LeaseWorkers(self.engine)

    def others(self) -> None:
        """Have others come by, until everything is as it should be."""
        for _ in range(2):
            self.wait()
            placement_sync.recover(self.engine)
            self.soon()
        placement_sync.recover(self.engine)

    def held_nodes(self) -> list[str]:
        """Return which nodes are held, as Placement says."""
        return sorted(row.node_uuid for row in self.rows()
                      if row.consumer_uuid in self.consumers(row.node_uuid))

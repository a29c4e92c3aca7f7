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

"""Leases of instances, with what they have in Placement and Nova."""

from collections.abc import Mapping
import dataclasses
from typing import Any

from ironic_reservations.features.placement.lease_providers import machine
from ironic_reservations.model import leases
from tests import leasing
from tests.inprocess.placement import held_leases
from tests.inprocess.placement import reserved

STATUS = leases.LeaseStatus
WISH = leasing.instances(2, 2, 512, 5)
FLAVOR = machine.DesiredFlavor(2, 512, 5)


class TestCase(held_leases.TestCase, reserved.TestCase):

    def enrol(self, **inventory: Any) -> str:
        """Add a node that is large enough, with the slot that Nova needs."""
        uuid, = self.world.enrol(resource_class='gold',
                                 properties=leasing.sizes(4))
        self.nodes.add(uuid, **inventory)
        self.nodes.offer_also(uuid, reserved.SLOT)
        return uuid

    def started(self, count: int = 2) -> leases.Lease:
        """Return a lease of instances that has started, from 1 to 4."""
        lease = self.planned(count, dataclasses.replace(
            WISH, least=count, most=count))
        self.work(1)
        lease = self.leasing.reload(lease)
        self.assertIs(STATUS.ACTIVE, lease.status, lease.waiting)
        return lease

    def had(self, lease: leases.Lease,
            counts: Mapping[str, int] | None = None) -> machine.Desired:
        """Return what the first reservation of a lease is to have."""
        return self.wanted(
            dict.fromkeys(self.leasing.nodes(lease), 1)
            if counts is None else counts, flavor=FLAVOR,
            reservation_id=lease.reservations[0].id,
            project_id=leasing.PROJECT)

    def assert_whole(self, lease: leases.Lease) -> None:
        """Check that a lease has all that it is to have, and no other any."""
        self.assertIs(STATUS.ACTIVE, self.status(lease), self.waiting(lease))
        self.assert_active(self.had(lease))
        self.assert_clean()

    def assert_over(self, lease: leases.Lease) -> None:
        """Check that a lease has ended, and has left nothing."""
        self.assertIs(STATUS.TERMINATED, self.status(lease))
        self.assert_nothing()
        self.assert_clean()

    def assert_gone(self, lease: leases.Lease) -> None:
        """Check that a lease is no more, and has left nothing."""
        self.assertNotIn(lease.id, self.world.lease_rows())
        self.assert_nothing()

    def undeployed(self) -> set[str]:
        """Return which nodes were undeployed through Ironic."""
        return {node for what, node in self.ironic.changed
                if what == 'undeploy'}

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

"""Compute hosts, and leases of instances that share them."""

from collections.abc import Mapping
from typing import Any

from ironic_reservations import engine as engine_module
from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import leases as db_leases
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import hosts
from ironic_reservations.engine import seen
from ironic_reservations.features.placement.holds import rows as db_holds
from ironic_reservations.features.placement.holds import values
from ironic_reservations.features.placement.lease_providers import machine
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import inventories
from ironic_reservations.model import leases
from tests import leasing
from tests import world
from tests.inprocess.placement import in_memory
from tests.inprocess.placement import instance_leases

SIZES = (2, 512, 5)
FLAVOR = machine.DesiredFlavor(*SIZES)
AMOUNTS = dict(inventories.of_sizes(*SIZES))


def write_lease(engine: engine_module.Engine, counts: Mapping[str, int],
                start: float = 1, end: float = 4,
                sizes: instance_reservations.Sizes = SIZES) -> leases.Lease:
    """Write a lease of instances on these hosts, whoever has planned it.

    :param counts: how many instances, by host.
    :param start: in hours after noon, as the end.
    """
    now, ident = engine.clock(), world.new_uuid()
    placed = [host for host, count in counts.items() for _ in range(count)]
    asked = instance_reservations.InstanceReservation(
        world.new_uuid(), ident, *sizes, len(placed))
    bookings = tuple(leases.NodeBooking(
        0, ident, place, host, leasing.at(start), leasing.at(end),
        project_id=leasing.PROJECT) for place, host in enumerate(placed))
    lease = leases.Lease(
        world.new_uuid(), f'from {start} to {end}', leasing.at(start),
        leasing.at(end), leases.LeaseStatus.PENDING, now,
        project_id=leasing.PROJECT, reservations=(leases.LeaseReservation(
            ident, leases.ReservationStatus.PENDING, len(placed),
            len(placed), now, asked.id, bookings=bookings, instances=asked,
            resource_type=instance_reservations.VIRTUAL_INSTANCE),),
        events=tuple(leases.Event(
            world.new_uuid(), kind, leasing.at(when),
            leases.EventStatus.UNDONE, now) for kind, when in (
                (leases.EventType.START, start),
                (leases.EventType.BEFORE_END, end),
                (leases.EventType.END, end))))
    if engine.nova is not None:
        lease = leases.with_flavors(lease)
    with engine.database.write() as opened:
        seen.advance(opened, seen.read(opened, counts.keys()), now)
        db_leases.insert(opened, lease, lease.start, None, None)
        db_bookings.insert_many(opened, bookings, 'me', now)
    return lease


class TestCase(instance_leases.TestCase):
    """With a Placement, a Nova, and hosts that instances share."""

    def host(self, **there: Any) -> str:
        """Return a compute host that is open to leases."""
        host = self.nodes.add_host(**there)
        hosts.add(self.engine, host, {})
        return host

    def lease(self, counts: Mapping[str, int], start: float = 1,
              end: float = 4, sizes: instance_reservations.Sizes = SIZES
              ) -> leases.Lease:
        """Return a lease of instances on these hosts."""
        lease = write_lease(self.engine, counts, start, end, sizes)
        return self.leasing.reload(lease)

    def promised(self, counts: Mapping[str, int]) -> list[values.Promise]:
        """Return what a lease is to have held that starts now."""
        lease = self.lease(counts, 0)
        with self.engine.database.read() as opened:
            return [*db_holds.read_promises_of(opened, [
                booking.id for booking in lease.bookings]).values()]

    def given(self, counts: Mapping[str, int], **more: Any) -> leases.Lease:
        """Return a lease that has started, on these hosts."""
        lease = self.lease(counts, **more)
        self.work(more.get('start', 1))
        lease = self.leasing.reload(lease)
        self.assertIs(instance_leases.STATUS.ACTIVE, lease.status,
                      lease.waiting)
        return lease

    def had(self, lease: leases.Lease,
            counts: Mapping[str, int] | None = None) -> machine.Desired:
        """Return what the reservation of a lease is to have."""
        if counts is None:
            found: dict[str, int] = {}
            for booking in self.leasing.reload(lease).bookings:
                found[booking.node_uuid] = found.get(booking.node_uuid, 0) + 1
            counts = found
        asked = lease.reservations[0].instances
        assert asked is not None
        return self.wanted(
            counts, flavor=machine.DesiredFlavor(
                *asked.sizes, shared=any(map(self.is_shared, counts))),
            reservation_id=lease.reservations[0].id,
            project_id=leasing.PROJECT)

    def slot(self, host: str) -> str:
        return (in_memory.LEASE_SLOT if self.is_shared(host)
                else super().slot(host))

    def is_shared(self, host: str) -> bool:
        """Tell whether a host is a compute host."""
        with self.engine.database.read() as opened:
            return db_nodes.read_nodes(opened, (host,))[host].compute

    def usage(self, host: str) -> dict[str, int]:
        """Read what is used of a host, without what is not."""
        return {name: used for name, used
                in (self.client.usages(host) or {}).items() if used}

    def assert_active_and_held(self, lease: leases.Lease,
                               counts: Mapping[str, int]) -> None:
        """Check that a lease has all of its instances, and no other any."""
        self.assertIs(instance_leases.STATUS.ACTIVE, self.status(lease),
                      self.waiting(lease))
        self.assert_active(self.had(lease, counts))
        self.assertEqual({host: times(count)
                          for host, count in counts.items()},
                         {host: self.usage(host) for host in counts})
        self.assert_clean()

    def holding(self, host: str) -> int:
        """Count what is held of a host."""
        return sum(row.consumer_uuid in self.consumers(host)
                   for row in self.rows() if row.node_uuid == host)


def times(count: int) -> dict[str, int]:
    """Return what so many instances have."""
    return {name: amount * count for name, amount in AMOUNTS.items()}

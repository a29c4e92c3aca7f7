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

"""Reservations of instances, in requests and in rows.

The names are Blazar's: ``virtual:instance`` has sizes, and ``flavor:instance``
names a flavor of Nova.
"""

from __future__ import annotations

import dataclasses
import functools

from ironic_reservations.model import flavors
from ironic_reservations.model import instance_flavors
from ironic_reservations.model import inventories

VIRTUAL_INSTANCE = 'virtual:instance'
FLAVOR_INSTANCE = 'flavor:instance'
KINDS = (VIRTUAL_INSTANCE, FLAVOR_INSTANCE)

#: The sizes of an instance: vcpus, memory_mb and disk_gb.
Sizes = tuple[int, int, int]


@dataclasses.dataclass(frozen=True)
class Need:
    """The requirements of one instance.

    :ivar request: the request of the flavor; ``None``: there are only the
        sizes.
    """

    sizes: Sizes
    request: flavors.Request | None = None

    # Cached, since it is used for each instance on a host.
    @functools.cached_property
    def amounts(self) -> inventories.Amounts:
        """The amounts of each class for one instance.

        :raises ValueError: the instance needs nothing, or several providers.
        """
        if self.request is not None:
            return inventories.of_request(self.request)
        return inventories.of_sizes(*self.sizes)

    def met_by(self, there: inventories.Inventories,
               traits: frozenset[str]) -> bool:
        """Return whether an empty host is suitable.

        :param there: the result of :func:`~.host_inventories.of`.
        """
        if self.request is not None:
            return inventories.suits(self.request, there, traits)
        return inventories.has_room(there, self.amounts)


@dataclasses.dataclass(frozen=True)
class InstanceRequest:
    """The requested instances of a new reservation.

    :ivar affinity: true: all on one host; false: all on different hosts.
    :ivar source_flavor_id: the requested flavor, if there is one.
    :ivar flavor: the requested flavor, if it is known; the sizes are then
        the ones of the flavor.
    """

    vcpus: int
    memory_mb: int
    disk_gb: int
    affinity: bool | None = None
    source_flavor_id: str | None = None
    flavor: flavors.Flavor | None = None

    @classmethod
    def of_flavor(cls, ident: str, flavor: flavors.Flavor) -> InstanceRequest:
        """Return the request for instances of a flavor."""
        return cls(flavor.vcpus, flavor.ram_mb, flavor.disk_gb,
                   source_flavor_id=ident, flavor=flavor)

    @property
    def sizes(self) -> Sizes:
        """The sizes of one instance."""
        return self.vcpus, self.memory_mb, self.disk_gb

    @functools.cached_property
    def request(self) -> flavors.Request | None:
        """The request of the flavor; ``None``: there are only the sizes.

        :raises FlavorRefused: the flavor cannot be parsed.
        """
        return None if self.flavor is None else (
            instance_flavors.request(self.flavor))

    @property
    def need(self) -> Need:
        """The requirements of one instance.

        :raises FlavorRefused: the flavor cannot be parsed.
        """
        return Need(self.sizes, self.request)

    def reserved(self, ident: str, reservation_id: str,
                 amount: int) -> InstanceReservation:
        """Return the instance reservation for this request."""
        return InstanceReservation(
            ident, reservation_id, self.vcpus, self.memory_mb, self.disk_gb,
            amount, self.affinity, source_flavor_id=self.source_flavor_id,
            request=self.request, flavor=self.flavor)


@dataclasses.dataclass(frozen=True)
class InstanceChange:
    """A change of the instances of a reservation; ``None``: unchanged.

    :ivar keeps_affinity: whether ``affinity`` is unchanged.
    """

    vcpus: int | None = None
    memory_mb: int | None = None
    disk_gb: int | None = None
    affinity: bool | None = None
    keeps_affinity: bool = True


@dataclasses.dataclass(frozen=True)
class InstanceReservation:
    """A number of instances of one size, over the window of a lease.

    :ivar id: the ``resource_id`` of the reservation.
    :ivar affinity: true: all on one host; false: all on different hosts.
    :ivar flavor_id: the private flavor of its instances.
    :ivar aggregate_id: set by Blazar only, like ``server_group_id``.
    :ivar source_flavor_id: the requested flavor.
    :ivar request: the request of the flavor; ``None``: there are only the
        sizes.
    :ivar flavor: a copy of that flavor, if it is known.
    """

    id: str
    reservation_id: str
    vcpus: int
    memory_mb: int
    disk_gb: int
    amount: int
    affinity: bool | None = None
    flavor_id: str | None = None
    aggregate_id: int | None = None
    server_group_id: str | None = None
    source_flavor_id: str | None = None
    request: flavors.Request | None = None
    flavor: flavors.Flavor | None = dataclasses.field(default=None,
                                                      hash=False)

    @property
    def sizes(self) -> Sizes:
        """The sizes of one instance."""
        return self.vcpus, self.memory_mb, self.disk_gb

    def changed(self, change: InstanceChange,
                amount: int) -> InstanceReservation:
        """Return the instance reservation after a change."""
        return dataclasses.replace(
            self, amount=amount,
            vcpus=self.vcpus if change.vcpus is None else change.vcpus,
            memory_mb=(self.memory_mb if change.memory_mb is None
                       else change.memory_mb),
            disk_gb=self.disk_gb if change.disk_gb is None
            else change.disk_gb,
            affinity=(self.affinity if change.keeps_affinity
                      else change.affinity))

    @functools.cached_property
    def need(self) -> Need:
        """The requirements of one instance."""
        return Need(self.sizes, self.request)

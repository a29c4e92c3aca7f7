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

"""Inventories of hosts, and the amounts that instances need.

A host's inventories are those of its provider in Placement. A node of Ironic
has sizes, too, but is only booked as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

from ironic_reservations.model import flavors

#: Pairs of a class and an amount above zero, ordered by class.
Amounts = tuple[tuple[str, int], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Inventory:
    """An inventory of one class, as in Placement.

    :ivar reserved: the amount that nobody can use.
    :ivar allocation_ratio: the overcommit of the rest.
    :ivar min_unit: the minimum for one instance; ``max_unit`` and
        ``step_size`` are for one instance, too.
    :ivar used: the amount in use outside of leases.
    """

    total: int
    reserved: int = 0
    allocation_ratio: float = 1.0
    min_unit: int = 1
    max_unit: int = flavors.MAX_AMOUNT
    step_size: int = 1
    used: int = 0

    @property
    def capacity(self) -> int:
        """The amount of the class that is available to leases."""
        # Placement compares whole numbers with this product, so the fraction
        # does not matter.
        return max(0, int((self.total - self.reserved)
                          * self.allocation_ratio) - self.used)


Inventories = Mapping[str, Inventory]


def amounts(wanted: Mapping[str, int]) -> Amounts:
    """Return the amounts that an instance needs, without zeros.

    :raises ValueError: an amount is below zero, or all are zero.
    """
    for name, amount in wanted.items():
        if amount < 0:
            raise ValueError(f'The amount of {name} is {amount}. Write zero '
                             'or more.')
    found = tuple(sorted((name, amount) for name, amount in wanted.items()
                         if amount))
    if not found:
        raise ValueError('The instance needs no resources, so that a host '
                         'would have room for any number of them. Write at '
                         'least one amount above zero.')
    return found


def of_sizes(vcpus: int, memory_mb: int, disk_gb: int) -> Amounts:
    """Return the amounts for a ``virtual:instance``.

    :raises ValueError: a size is below zero, or all of them are zero.
    """
    return amounts({flavors.VCPU: vcpus, flavors.MEMORY_MB: memory_mb,
                    flavors.DISK_GB: disk_gb})


def of_request(request: flavors.Request) -> Amounts:
    """Return the amounts for an instance of a flavor on one host.

    :raises FlavorRefused: the request needs several providers.
    """
    named = [group.suffix for group in request.groups if group.suffix]
    if request.group_policy == 'isolate' and len(named) > 1:
        raise flavors.FlavorRefused(flavors.GROUP_POLICY, (
            f"The flavor requests the groups {', '.join(named)} from "
            'different providers. A reservation gets its resources from one '
            'provider; write none as the group_policy.'))
    return amounts(request.totals())


def has_room(inventories: Inventories, wanted: Amounts) -> bool:
    """Return whether an empty host has room for an instance."""
    return all(
        (here := inventories.get(name)) is not None
        and here.min_unit <= amount <= min(here.max_unit, here.capacity)
        and amount % here.step_size == 0 for name, amount in wanted)


def suits(request: flavors.Request, inventories: Inventories,
          traits: frozenset[str]) -> bool:
    """Return whether an empty host is suitable for an instance of a flavor."""
    return all(
        group.required <= traits and not group.forbidden & traits
        and has_room(inventories, group.resources)
        for group in request.groups) and all(
            amount <= inventories[name].capacity
            for name, amount in request.totals().items())


def capacities(inventories: Inventories) -> dict[str, int]:
    """Return the capacity of each class."""
    return {name: here.capacity for name, here in inventories.items()}

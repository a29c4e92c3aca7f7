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

"""Compute hosts of Nova, as Placement describes them.

A compute host is the root of a tree of providers, and has a uuid and a name
there; what it has, and what others than leases use of it, follows.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any
import uuid as uuid_module

from ironic_reservations.clouds import placement
from ironic_reservations.engine import Engine
from ironic_reservations.engine.placement import consumers
from ironic_reservations.engine.placement import hold_calls
from ironic_reservations.model import facts
from ironic_reservations.model import flavors
from ironic_reservations.model import inventories

#: By which the hosts of instances are told from all other providers.
MARK = flavors.VCPU
#: The classes that servers have of their hosts.
SIZES = (flavors.VCPU, flavors.MEMORY_MB, flavors.DISK_GB)
#: Nova gives it to a host whose service is disabled.
DISABLED = 'COMPUTE_STATUS_DISABLED'


def find(engine: Engine, ident: str) -> facts.Node | None:
    """Find a compute host by its name, or its uuid in Placement.

    :returns: ``None`` where there is none, also where a node of Ironic or
        something else is called so.
    :raises PlacementUnavailable: it cannot be known.
    :raises IronicUnavailable: it cannot be known.
    """
    if engine.placement is None:
        return None
    for provider in _called(engine.placement, ident):
        node = None if provider.parent is not None else read(engine, provider)
        if node is not None and MARK in dict(node.inventories or ()) and (
                engine.ironic is None
                or engine.ironic.node(node.uuid) is None):
            return node
    return None


def _called(client: placement.Placement,
            ident: str) -> list[placement.Provider]:
    try:
        found = client.provider(str(uuid_module.UUID(ident)))
    except ValueError:
        found = None
    return client.providers(name=ident) if found is None else [found]


def read(engine: Engine,
         provider: placement.Provider) -> facts.Node | None:
    """Read what a compute host has, in three calls.

    :returns: ``None`` where it is gone.
    :raises PlacementUnavailable: it cannot be known.
    """
    client = hold_calls.client(engine)
    there = client.inventories(provider.uuid)
    traits = client.traits(provider.uuid)
    # NOTE: last, so that what is allocated meanwhile is counted.
    held = client.consumers_on(provider.uuid)
    if there is None or traits is None or held is None:
        return None
    used = _used_by_others(held)
    return facts.Node(
        provider.uuid, name=provider.name, provision_state=None,
        maintenance=DISABLED in traits, traits=traits,
        inventories=tuple(
            (name, _inventory(offer, used.get(name, 0)))
            for name, offer in sorted(there.by_class.items())))


def _used_by_others(held: Mapping[str, placement.Resources]
                    ) -> dict[str, int]:
    """Sum up what consumers have that are not ours.

    NOTE: the consumers themselves say whose they are, so that it does not
    matter what is held or let go at the same time.
    """
    used: dict[str, int] = {}
    for consumer, resources in held.items():
        if not consumers.is_ours(consumer):
            for name, amount in resources.items():
                used[name] = used.get(name, 0) + amount
    return used


def _inventory(offer: Mapping[str, Any], used: int) -> inventories.Inventory:
    return inventories.Inventory(
        offer['total'], offer['reserved'], offer['allocation_ratio'],
        offer['min_unit'], offer['max_unit'], offer['step_size'], used)


def usages(engine: Engine,
           uuids: Iterable[str]) -> dict[str, dict[str, int]]:
    """Read what is used of compute hosts, in a few calls for all of them.

    NOTE: a server that is deleted changes nothing else about its host.

    :returns: by host and class; a host of which nothing is left is absent,
        and one that takes nothing so small.
    :raises PlacementUnavailable: it cannot be known.
    """
    wanted, found = set(uuids), dict[str, dict[str, int]]()
    for name in SIZES:
        if wanted <= found.keys():
            break
        found.update(hold_calls.client(engine).with_room(name))
    return {uuid: found[uuid] for uuid in sorted(wanted & found.keys())}

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

"""Reads compute hosts of Nova from Placement.

A compute host is the root of a tree of providers, and is identified by the
uuid or name of that provider. Its inventories, and its usage by other
consumers than leases, are read periodically.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import Any
import uuid as uuid_module

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.clouds import placement
from ironic_reservations.engine import Engine
from ironic_reservations.features.placement.holds import calls as hold_calls
from ironic_reservations.features.placement.holds import consumers
from ironic_reservations.model import flavors
from ironic_reservations.model import inventories
from ironic_reservations.model import mirrored_node

LOG = log.getLogger(__name__)

#: The class that distinguishes compute hosts from other providers.
MARK = flavors.VCPU
#: The classes that servers allocate on their hosts.
SIZES = (flavors.VCPU, flavors.MEMORY_MB, flavors.DISK_GB)
#: The trait that Nova sets on hosts whose service is disabled.
DISABLED = 'COMPUTE_STATUS_DISABLED'


def find(engine: Engine, name: str) -> mirrored_node.Node | None:
    """Return a compute host by its name, or its uuid in Placement.

    :returns: ``None`` if there is none, also if a node of Ironic or another
        provider has that name.
    """
    for provider in _called(hold_calls.client(engine), name):
        node = (None if provider.parent is not None else read(
            engine, provider, bool(is_unusable(engine, provider.uuid))))
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


@dataclasses.dataclass(frozen=True)
class Services:
    """The states of the nova-compute services of hosts.

    :ivar disabled: the hosts whose services are disabled.
    :ivar down: the other hosts whose services are down.
    :ivar outage: whether so many are down that there may be a common cause,
        such as a restart of RabbitMQ.
    """

    disabled: frozenset[str]
    down: frozenset[str]
    outage: bool


def services(engine: Engine, uuids: Collection[str]) -> Services | None:
    """Return the states of the services of compute hosts in Nova.

    :param uuids: all compute hosts that are open to leases.
    :returns: ``None``: Nova does not answer, or is not configured.
    """
    if engine.nova is None:
        return None
    try:
        there = [each for each in engine.nova.hypervisors()
                 if each.uuid in uuids]
    except errors.NovaUnavailable as exc:
        LOG.warning('Nova does not say which compute hosts are down: %s', exc)
        return None
    enabled = [each for each in there if each.enabled]
    down = frozenset(each.uuid for each in enabled if not each.up)
    return Services(
        frozenset(each.uuid for each in there if not each.enabled), down,
        len(enabled) > 1 and len(enabled) - len(down)
        < engine.conf.nova.min_up_ratio * len(enabled))


def is_unusable(engine: Engine, uuid: str) -> bool | None:
    """Return whether the nova-compute of one host is down or disabled.

    :returns: ``None``: Nova does not answer, or is not configured.
    """
    if engine.nova is None:
        return None
    try:
        found = engine.nova.hypervisor(uuid)
    except errors.NovaUnavailable as exc:
        LOG.warning('Nova does not say whether the compute host %s is down: '
                    '%s', uuid, exc)
        return None
    return found is not None and not (found.up and found.enabled)


def read(engine: Engine, provider: placement.Provider,
         down: bool = False) -> mirrored_node.Node | None:
    """Return a compute host, with three requests.

    :param down: whether its nova-compute is down or disabled, by Nova.
    :returns: ``None`` if it is gone.
    """
    client = hold_calls.client(engine)
    there = client.inventories(provider.uuid)
    traits = client.traits(provider.uuid)
    # Last, so that concurrent allocations are counted.
    held = client.consumers_on(provider.uuid)
    if there is None or traits is None or held is None:
        return None
    used = _used_by_others(held)
    return mirrored_node.Node(
        provider.uuid, name=provider.name, provision_state=None,
        maintenance=down or DISABLED in traits, traits=traits,
        inventories=tuple(
            (name, _inventory(offer, used.get(name, 0)))
            for name, offer in sorted(there.by_class.items())))


def _used_by_others(held: Mapping[str, placement.Resources]
                    ) -> dict[str, int]:
    """Sum up the allocations of consumers that are not ours.

    Our consumers are recognized by the uuid alone, so that concurrent changes
    of holds do not matter.
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
    """Return the usages of compute hosts, with a few requests for all of them.

    NOTE: if a server is deleted, only the usage of its host changes.

    :returns: the usages by host and class; hosts that
        are full, or do not accept an allocation of 1, are left out.
    """
    wanted, found = set(uuids), dict[str, dict[str, int]]()
    for name in SIZES:
        if wanted <= found.keys():
            break
        found.update(hold_calls.client(engine).with_room(name))
    return {uuid: found[uuid] for uuid in sorted(wanted & found.keys())}

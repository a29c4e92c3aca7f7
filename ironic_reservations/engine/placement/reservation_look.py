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

"""Looking at what a lease of instances has in Placement and in Nova."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import uuid as uuid_module

from ironic_reservations.clouds import nova as nova_client
from ironic_reservations.engine import Engine
from ironic_reservations.engine.placement import hold_calls
from ironic_reservations.lifecycle.placement import (
    reservation_providers as planner,
)

_NAMESPACE = uuid_module.UUID('5d6c3f9a-3a50-4c8e-9d0e-6b0f6f6c1e52')


def child_of(host: str) -> str:
    """Give the uuid of the reservation provider of a host.

    NOTE: it follows from the host, so that whoever makes it twice makes one,
    and nobody else's is taken for it.

    :param host: the uuid of its own provider.
    """
    return str(uuid_module.uuid5(_NAMESPACE, host))


def look(engine: Engine, wanted: planner.Wanted,
         hosts: Iterable[str] = ()) -> planner.Seen:
    """Look at what there is of a lease reservation.

    :param hosts: where to look besides.
    :raises PlacementUnavailable: it cannot be known.
    :raises NovaUnavailable: it cannot be known.
    """
    client = hold_calls.client(engine)
    children = {host: _child(engine, wanted, host)
                for host in sorted({*wanted.counts, *hosts})}
    there = client.class_there(wanted.class_name)
    if engine.nova is None or (wanted.active and wanted.flavor is None):
        return planner.Seen(there, children)
    flavor = _flavor(engine.nova, wanted.reservation_id)
    if wanted.active:
        return planner.Seen(there, children, True, flavor)
    servers, strangers = _servers(engine.nova, wanted, children)
    return planner.Seen(there, children, True, flavor, servers, strangers)


def find_hosts(engine: Engine, class_name: str) -> list[str]:
    """Find all hosts that offer a class, one by one.

    :raises PlacementUnavailable: it cannot be known.
    """
    client = hold_calls.client(engine)
    found = []
    for provider in client.providers():
        host = provider.parent
        if host is not None and provider.uuid == child_of(host):
            there = client.inventories(provider.uuid)
            if there is not None and class_name in there.by_class:
                found.append(host)
    return found


def _child(engine: Engine, wanted: planner.Wanted,
           host: str) -> planner.Child:
    client, uuid = hold_calls.client(engine), child_of(host)
    there = client.inventories(uuid)
    if there is None:
        return planner.Child(False)
    offer = there.by_class.get(wanted.class_name)
    consumers: dict[str, int] = {}
    if offer is not None and not (wanted.active and wanted.counts.get(host)):
        consumers = {
            consumer: resources[wanted.class_name] for consumer, resources
            in (client.consumers_on(uuid) or {}).items()
            if wanted.class_name in resources}
    return planner.Child(True, offer, consumers)


def _flavor(nova: nova_client.Nova,
            ident: str) -> planner.FlavorSeen | None:
    found = nova.flavor(ident)
    projects = None if found is None else nova.projects_of(ident)
    if found is None or projects is None:
        return None
    return planner.FlavorSeen(found.vcpus, found.ram_mb, found.disk_gb,
                              found.extra_specs, projects,
                              found.ephemeral_gb, found.swap_mb)


def _servers(nova: nova_client.Nova, wanted: planner.Wanted,
             children: Mapping[str, planner.Child]
             ) -> tuple[tuple[planner.ServerSeen, ...], frozenset[str]]:
    """Find the servers of a lease, by the flavor and by what they have."""
    found = {each.uuid: each for each
             in nova.servers(flavor=wanted.reservation_id)}
    strangers = set()
    for child in children.values():
        for consumer in child.consumers.keys() - found.keys():
            server = nova.server(consumer)
            if server is None:
                strangers.add(consumer)
            else:
                found[consumer] = server
    return tuple(planner.ServerSeen(uuid, each.going, each.kept)
                 for uuid, each in sorted(found.items())), (
        frozenset(strangers))

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

"""Compares Placement with our rows, in both directions.

Cheap requests come first: all providers in one, the providers with room in
each resource class of nodes, and the usages of compute hosts in three. A host
that was in order is still in order if neither its provider nor its bookings
have changed since. Only the other hosts are checked one by one.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import TypeVar

from ironic_reservations.clouds import placement
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.features.placement import compute_hosts
from ironic_reservations.features.placement.audit import compare_hosts
from ironic_reservations.features.placement.audit import differences
from ironic_reservations.features.placement.audit import lease_providers
from ironic_reservations.features.placement.audit import providers_seen
from ironic_reservations.features.placement.audit import servers
from ironic_reservations.features.placement.holds import calls as hold_calls
from ironic_reservations.features.placement.holds import consumers
from ironic_reservations.features.placement.holds import rows as db_holds
from ironic_reservations.features.placement.holds import values
from ironic_reservations.model import mirrored_node

Difference = differences.Difference

#: The usage of a host by class, as far as requests for all hosts show it.
_Used = Mapping[str, int]
#: The usage of a node that is free, or not known to be used.
_FREE: _Used = {}
_Seen = dict[str, providers_seen.Seen]
_Row = TypeVar('_Row', values.Hold, values.Promise)


@dataclasses.dataclass(frozen=True)
class Report:
    """The result of an audit.

    :ivar nodes: the number of nodes.
    :ivar looked_at: the number of nodes that were checked one by one.
    :ivar in_work: the number of these that are being changed, so that they
        could not be compared.
    :ivar repairs: the reason for which each difference remains, in words;
        empty if it is repaired; ``None``: no repairs were requested.
    """

    nodes: int
    looked_at: int
    in_work: int
    differences: tuple[Difference, ...]
    repairs: Mapping[Difference, str] | None = None

    @property
    def remaining(self) -> tuple[Difference, ...]:
        """The differences that are not repaired."""
        return tuple(each for each in self.differences
                     if self.repairs is None or self.repairs[each])


def audit(engine: Engine, everything: bool = False) -> Report:
    """Compare all hosts, and the instances of leases on them.

    :param everything: check each host, also if it was in order.
    """
    seen, hosts = _read(engine)
    there = {found.uuid: found
             for found in hold_calls.client(engine).providers()}
    # Hosts that are no longer mirrored, but still in Placement.
    for uuid in seen.keys() & there.keys() - hosts.keys():
        if seen[uuid].kind is not providers_seen.Kind.LEASE_PROVIDER:
            hosts[uuid] = compare_hosts.Host(
                uuid, seen[uuid].kind is providers_seen.Kind.NODE)
    used = _used(engine, hosts, there)
    suspects = [uuid for uuid in sorted(hosts) if everything or _suspect(
        hosts[uuid], there.get(uuid), used.get(uuid), seen.get(uuid))]
    found: list[Difference] = []
    now: _Seen = {}
    in_work = 0
    for uuid in suspects:
        view = check_host(engine, uuid, hosts[uuid].exclusive)
        of_host = compare_hosts.compare(view)
        found += of_host
        in_work += bool(view.in_work)
        if uuid in there and not of_host and not view.in_work and (
                view.host.class_name is not None or not view.host.exclusive):
            now[uuid] = _as_seen(view.host, there[uuid], used.get(uuid))
    of_leases, children = lease_providers.find(engine, there, seen,
                                               everything)
    found += of_leases
    found += servers.find(engine, {
        uuid: host.node.name for uuid, host in hosts.items()
        if not host.exclusive and host.node is not None and host.node.name})
    _remember(engine, {uuid: one for uuid, one in {**now, **children}.items()
                       if seen.get(uuid) != one}, seen.keys() - there.keys())
    return Report(sum(host.node is not None for host in hosts.values()),
                  len(suspects), in_work, tuple(found))


def check_host(engine: Engine, uuid: str,
               exclusive: bool) -> compare_hosts.View:
    """Check one host.

    :param exclusive: whether it is, or was, a node of Ironic.
    """
    before = read_host(engine, uuid, exclusive)
    view = _view(engine, before)
    if compare_hosts.compare(view):
        # The reads are not of one moment, so a difference has to be found
        # twice.
        view = _view(engine, before)
        after = read_host(engine, uuid, exclusive)
        changed = {row.owner for row in {*before.held} ^ {*after.held}} | {
            row.owner for row in {*before.promises} ^ {*after.promises}}
        if exclusive and before.node != after.node:
            changed.add(uuid)
        if changed:
            view = dataclasses.replace(
                view, in_work=view.in_work | changed, usages={},
                strays=view.strays - {row.consumer_uuid
                                      for row in after.held})
    return view


def read_host(engine: Engine, uuid: str,
              exclusive: bool) -> compare_hosts.Host:
    """Return the present state of a host in our database.

    :param exclusive: whether it is, or was, a node of Ironic.
    """
    with engine.database.read() as connection:
        return _host(uuid, exclusive, db_nodes.read_nodes(
            connection, [uuid], with_traits=False).get(uuid),
            db_holds.read_of_node(connection, uuid),
            db_holds.read_promises(connection, engine.clock(), uuid))


def _host(uuid: str, exclusive: bool, node: mirrored_node.Node | None,
          held: Iterable[values.Hold],
          promises: Iterable[values.Promise]) -> compare_hosts.Host:
    return compare_hosts.Host(
        uuid, exclusive,
        None if node is None or node.compute is exclusive else node,
        tuple(held), tuple(promise for promise in promises
                           if promise.exclusive is exclusive))


def _read(engine: Engine) -> tuple[_Seen, dict[str, compare_hosts.Host]]:
    with engine.database.snapshot() as connection:
        seen = providers_seen.read(connection)
        held = _by_host(db_holds.read_all(connection))
        nodes = db_nodes.read_nodes(connection, with_traits=False)
        promises = _by_host(db_holds.read_promises(connection,
                                                   engine.clock()))
    return seen, {
        uuid: _host(uuid, (not nodes[uuid].compute if uuid in nodes
                           else held[uuid][0].exclusive),
                    nodes.get(uuid), held.get(uuid, ()),
                    promises.get(uuid, ()))
        for uuid in nodes.keys() | held.keys()}


def _by_host(rows: Iterable[_Row]) -> dict[str, list[_Row]]:
    found: dict[str, list[_Row]] = {}
    for row in rows:
        found.setdefault(row.node_uuid, []).append(row)
    return found


def _used(engine: Engine, hosts: Mapping[str, compare_hosts.Host],
          there: Collection[str]) -> dict[str, _Used]:
    """Return usages; for nodes, whether they are free, class by class."""
    found: dict[str, _Used] = {}
    for name in sorted({host.class_name for host in hosts.values()
                        if host.class_name is not None}):
        for one in hold_calls.client(engine).providers(resources=f'{name}:1'):
            host = hosts.get(one.uuid)
            if host is not None and host.class_name == name:
                found[one.uuid] = _FREE
    shared = {uuid for uuid, host in hosts.items() if not host.exclusive}
    if shared:
        found.update(compute_hosts.usages(engine, shared & {*there}))
    return found


def _view(engine: Engine, host: compare_hosts.Host) -> compare_hosts.View:
    if host.exclusive and host.in_work:
        return compare_hosts.View(host, host.in_work)
    client = hold_calls.client(engine)
    allocated = client.allocated(host.uuid)
    if allocated is None:
        return compare_hosts.View(host, host.in_work)
    # The servers on a compute host may change while it is read.
    usages = (allocated.usages if allocated.steady or host.exclusive else {})
    known = {row.consumer_uuid for row in host.held}
    return compare_hosts.View(
        host, host.in_work, allocated.consumers,
        consumers.strays(engine, allocated.consumers.keys() - known), usages,
        _totals(client, host, usages))


def _totals(client: placement.Placement, host: compare_hosts.Host,
            usages: _Used) -> dict[str, int]:
    """Return the inventory totals by class.

    NOTE: Nova reserves everything of a node in use, so that its usage is
    compared with its full inventory.
    """
    if host.exclusive and max(usages.values(), default=0) <= 1:
        return {}
    offered = client.inventories(host.uuid)
    return {} if offered is None else {
        name: offer['total'] if host.exclusive else int(
            (offer['total'] - offer['reserved']) * offer['allocation_ratio'])
        for name, offer in offered.by_class.items()}


def _suspect(host: compare_hosts.Host, provider: placement.Provider | None,
             used: _Used | None, seen: providers_seen.Seen | None) -> bool:
    """Return whether a host has to be checked."""
    if provider is None:
        return bool(host.held) or host.needed
    if host.exclusive:
        if host.node is None or len(host.held) > 1:
            return True
        if host.class_name is None or used is _FREE:
            return bool(host.held or (host.class_name and host.promises))
    return bool(host.in_work) or seen != _as_seen(host, provider, used)


def _as_seen(host: compare_hosts.Host, provider: placement.Provider,
             used: _Used | None) -> providers_seen.Seen:
    """Return the state of a host that is in order.

    It includes the usage, since the deletion of a hold changes nothing else.
    """
    state = (host.class_name,
             sorted((hold.consumer_uuid, hold.amounts)
                    for hold in host.held),
             sorted((promise.owner, promise.amounts)
                    for promise in host.promises),
             None if used is None else sorted(used.items()))
    return providers_seen.Seen.of(
        provider.generation,
        (providers_seen.Kind.NODE if host.exclusive
         else providers_seen.Kind.COMPUTE_HOST), state)


def _remember(engine: Engine, seen: Mapping[str, providers_seen.Seen],
              gone: Collection[str]) -> None:
    if seen or gone:
        retry.write(engine, lambda connection: providers_seen.write(
            connection, seen, gone, engine.clock()))

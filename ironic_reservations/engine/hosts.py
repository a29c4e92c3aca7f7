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

"""Hosts: nodes and compute hosts that are open to leases."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import datetime
import functools

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import hosts as db_hosts
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import change as change_module
from ironic_reservations.engine import Engine
from ironic_reservations.engine import feature
from ironic_reservations.engine import leasable
from ironic_reservations.engine import retry
from ironic_reservations.engine import seen as seen_module
from ironic_reservations.model import leases
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition
from ironic_reservations.model import requirements
from ironic_reservations.model import uuids

Property = db_hosts.Property

#: The longest name and the longest value of a capability.
_NAME, _VALUE = 64, 10_000


def add(engine: Engine, name: str,
        capabilities: Mapping[str, str]) -> leases.Host:
    """Open one node of Ironic to leases, or one compute host of Nova.

    :param name: the name or uuid of the node, or the name of the provider of
        the compute host in Placement.
    :raises HostNotFound: there is no such node or compute host.
    :raises HostExists: the node is a host already.
    :raises InvalidValue: the name of a capability is reserved, or the node is
        a part of another one.
    """
    asked_at, name = engine.clock(), uuids.canonical(name)
    node = engine.ironic.node(name) if engine.ironic is not None else None
    node = node or feature.first(each.find_host(engine, name)
                                 for each in engine.features)
    if node is None:
        raise errors.HostNotFound(
            f'Ironic has no node {name}. Send the name or the uuid of a node.'
            if engine.placement is None else
            f'Ironic has no node {name}, and Placement has no compute host (a '
            'root provider with VCPUs) of that name. Send the name or the '
            'uuid of one.')
    if node.part_of_node:
        raise errors.InvalidValue(
            f'The node {name} is a part of node {node.parent_node}, whose '
            'power it shares, so it is not promised on its own. Open that '
            'one.')
    made = _open(engine, [node], capabilities, asked_at)
    if not made:
        raise errors.HostExists(
            f'The {"compute host" if node.compute else "node"} {name} is a '
            'host already.')
    return made[0]


def add_class(engine: Engine, resource_class: str,
              capabilities: Mapping[str, str]) -> list[leases.Host]:
    """Open all nodes of a resource class that are not open yet.

    :raises HostNotFound: Ironic has no node of that class.
    :raises InvalidValue: the name of a capability is reserved.
    """
    asked_at = engine.clock()
    nodes = ([] if engine.ironic is None else [
        node for node in engine.ironic.nodes(resource_class=resource_class)
        if not node.part_of_node])
    if not nodes:
        raise errors.HostNotFound(
            f'Ironic has no node of the resource class {resource_class} that '
            'stands alone.')
    return _open(engine, nodes, capabilities, asked_at)


def _check(capabilities: Mapping[str, str | None]) -> None:
    for name, value in capabilities.items():
        if name in requirements.BUILTIN:
            raise errors.InvalidValue(
                f'Every host has the property {name!r}, which comes from '
                'Ironic. Choose another name for the capability.')
        if not 0 < len(name) <= _NAME or len(value or '') > _VALUE:
            raise errors.InvalidValue(
                f'The name of a capability has at most {_NAME} characters, '
                f'and its value at most {_VALUE}.')


def _open(engine: Engine, nodes: Sequence[mirrored_node.Node],
          capabilities: Mapping[str, str], asked_at: datetime.datetime
          ) -> list[leases.Host]:
    _check(capabilities)
    uuids = [node.uuid for node in nodes]
    decided = leasable.rules(engine.conf)

    def plan() -> change_module.Planned[list[int]]:
        ids: list[int] = []
        now = engine.clock()
        with engine.database.snapshot() as connection:
            known = db_nodes.read_nodes(connection, uuids)
            open_already = {row.node_uuid for row in db_hosts.read(
                connection, node_uuids=uuids)}
        new = [node for node in nodes if node.uuid not in open_already]
        if not new:
            return change_module.Planned([])
        mirrored = [node for node in new if node.uuid in known]

        def write(connection: sa.Connection) -> None:
            # Ironic's answer may be newer than the mirror.
            db_nodes.update_facts(connection, mirrored, asked_at)
            db_nodes.replace_traits(connection, [
                node for node in mirrored
                if node.traits != known[node.uuid].traits], asked_at)
            for node in new:
                if node.uuid not in known:
                    db_nodes.insert_in_any_case(connection, node, asked_at)
            ids[:] = [db_hosts.insert(connection, node.uuid, now,
                                      decided.is_closed(node)) for node in new]
            db_hosts.write_capabilities(connection, ids, capabilities, now)
        here = seen_module.of_nodes(known.values()).only(
            [node.uuid for node in mirrored])
        return change_module.Planned(ids, change_module.Change(
            now, here, opaque=True, statements=[write]))
    ids = change_module.carry_out(engine, plan)
    if not ids:
        return []
    with retry.committed():
        return page(engine, ids=ids)


def page(engine: Engine, limit: int | None = None, marker: int | None = None,
         ids: Collection[int] | None = None) -> list[leases.Host]:
    """Read hosts, in the order of their ids.

    :param marker: the id of the last host of the previous page.
    """
    with engine.database.snapshot() as connection:
        return _whole(connection, db_hosts.read(
            connection, ids=ids, after=marker, limit=limit))


def _whole(connection: sa.Connection,
           rows: Sequence[db_hosts.Row]) -> list[leases.Host]:
    nodes = db_nodes.read_nodes(connection,
                                [row.node_uuid for row in rows])
    return [row.with_node(nodes[row.node_uuid]) for row in rows]


def get(engine: Engine, host_id: int) -> leases.Host:
    """Read one host.

    :raises HostNotFound: there is no such host.
    """
    found = page(engine, ids=(host_id,))
    if not found:
        raise _unknown(host_id)
    return found[0]


def _unknown(ident: int | str) -> errors.HostNotFound:
    # A path may contain control characters, and any number of characters.
    return errors.HostNotFound(
        f'There is no host {ascii(ident)[:80]}. "GET /v1/os-hosts" lists the '
        'hosts.')


def find(engine: Engine, ident: str) -> leases.Host:
    """Read one host by its id, or by the uuid or the name of its node.

    If a machine has replaced another one with the same name, the name belongs
    to the new one.

    :raises HostNotFound: there is no such host.
    :raises InvalidValue: several hosts have the name.
    """
    ident = uuids.canonical(ident)
    if ident.isascii() and ident.isdigit() and len(ident) < 10:
        return get(engine, int(ident))
    named = []
    for host in page(engine):
        if ident == host.node.uuid:
            return host
        if ident == host.node.name:
            named.append(host)
    there = [host for host in named
             if host.node.provision_state != node_condition.GONE]
    if len(there) > 1:
        raise errors.InvalidValue(
            f'{len(there)} hosts have the name {ident}: '
            + ', '.join(str(host.id) for host in there)
            + '. Use the id of one of them.')
    if there:
        return there[0]
    if not named:
        raise _unknown(ident)
    _check_not_replaced(engine, named[-1], ident)
    return named[-1]


def _check_not_replaced(engine: Engine, host: leases.Host,
                        name: str) -> None:
    """Check that no other node has taken the name of a deleted node.

    :raises HostNotFound: Ironic has another node of that name.
    """
    node = engine.ironic.node(name) if engine.ironic is not None else None
    if node is not None and node.uuid != host.node.uuid:
        raise errors.HostNotFound(
            f'The node {name} in Ironic is {node.uuid}, which is not open to '
            f'leases. Host {host.id} is of a node that had the same name, '
            f'{host.node.uuid}, and is gone from Ironic. Open the new one, or '
            'use the id of the host.')


def change(engine: Engine, host_id: int, changes: Mapping[str, str | None],
           reservable: bool | None = None) -> leases.Host:
    """Change the capabilities of a host, or close it to new leases.

    If the host is closed, leases on it that have not started are planned
    again; all others stay.

    :param changes: new values; ``None`` removes a capability.
    :raises HostNotFound: there is no such host.
    :raises HostDecided: the configuration closes it.
    :raises InvalidValue: the name of a capability is reserved.
    """
    _check(changes)

    def plan() -> change_module.Planned[None]:
        now, host = engine.clock(), get(engine, host_id)
        if reservable and host.excluded:
            raise errors.HostDecided(
                f'Host {host_id} is closed by the configuration: '
                '"closed_nodes" or "closed_traits" in the section [leases] of '
                'ironic-reservations.conf has its name, its UUID or one of '
                'its traits. Change that to open it.')
        return change_module.Planned(None, change_module.Change(
            now, seen_module.of_nodes([host.node]), opaque=True, statements=[
                lambda connection: db_hosts.update(
                    connection, host_id, host.node.uuid, now, reservable),
                lambda connection: db_hosts.write_capabilities(
                    connection, (host_id,), changes, now)]))
    change_module.carry_out(engine, plan)
    with retry.committed():
        return get(engine, host_id)


def remove(engine: Engine, host_id: int) -> None:
    """Delete a host, so that its node is no longer open to leases.

    :raises HostNotFound: there is no such host.
    :raises HostInUse: the host is promised to leases.
    :raises HostDecided: the configuration opens it.
    """
    def plan() -> change_module.Planned[None]:
        host = get(engine, host_id)
        if (leasable.rules(engine.conf).is_always_open(host.node)
                and host.node.provision_state != node_condition.GONE):
            raise errors.HostDecided(
                f'Host {host_id} cannot be deleted, since all nodes are '
                'hosts: "hosts" in the section [leases] of '
                'ironic-reservations.conf is "all". Set "reservable" to false '
                'to close it to new leases.')
        with engine.database.read() as connection:
            promised = db_bookings.read_of_hosts(connection,
                                                 node_uuid=host.node.uuid)
        if promised:
            raise errors.HostInUse(
                f"Can't delete host {host_id}. The host is reserved. Set "
                '"reservable" to false, which moves leases that have not '
                'started to other hosts where that is possible, and try '
                'again.')
        return change_module.Planned(None, _removing(engine, host))
    change_module.carry_out(engine, plan)


def _removing(engine: Engine, host: leases.Host) -> change_module.Change:
    """Return the change that removes a host."""
    uuid, here = host.node.uuid, seen_module.of_nodes([host.node])
    removing = change_module.Change(
        engine.clock(), here, opaque=True,
        statements=[functools.partial(db_hosts.delete, host_id=host.id,
                                      node_uuid=uuid)])
    if host.node.compute:
        # Only this row mirrors a compute host.  Its reservation provider
        # stays, since nova-compute may know it.
        removing.statements.append(functools.partial(
            db_nodes.delete_node, uuid=uuid,
            generation=here.raised()[uuid]))
    return removing


def allocations(engine: Engine, lease_id: str | None = None,
                reservation_id: str | None = None,
                host: leases.Host | None = None
                ) -> list[tuple[leases.Host,
                                list[tuple[leases.NodeBooking, str]]]]:
    """Read hosts with their bookings, and the id of the lease of each.

    :param lease_id: show bookings of this lease only; all hosts are shown.
    :param reservation_id: show bookings of this lease reservation only.
    :param host: show this host only.
    """
    with engine.database.snapshot() as connection:
        hosts = ([host] if host is not None
                 else _whole(connection, db_hosts.read(connection)))
        promised: dict[str, list[tuple[leases.NodeBooking, str]]] = {}
        for booking, of_lease in db_bookings.read_of_hosts(
                connection, lease_id, reservation_id,
                None if host is None else host.node.uuid):
            promised.setdefault(booking.node_uuid, []).append(
                (booking, of_lease))
    return [(each, promised.get(each.node.uuid, [])) for each in hosts]


def properties(engine: Engine, with_private: bool) -> list[Property]:
    """Read the names of all capabilities, with their values.

    :param with_private: whether to include the names that are hidden from
        users.
    """
    with engine.database.read() as connection:
        return [each for each in db_hosts.read_properties(connection)
                if with_private or not each.private]


def set_private(engine: Engine, name: str, private: bool) -> Property:
    """Hide a capability from users, or make it visible.

    :raises PropertyNotFound: no host has it.
    """
    now = engine.clock()
    with engine.database.write() as connection:
        db_hosts.update_private(connection, name, private, now)
        found = db_hosts.read_properties(connection, name)
        # The row of a capability stays when no host has it any more.
        if not found:
            raise errors.PropertyNotFound(
                f'No host has a capability {name!r}. "GET '
                '/v1/os-hosts/properties" lists the capabilities.')
    return found[0]

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

"""Hosts and their promises, as in the rows of the database."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import datetime

import sqlalchemy as sa

from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import host_views as db_host_views
from ironic_reservations.db import hosts as db_hosts
from ironic_reservations.db import in_flight_requests as db_in_flight
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import leases
from ironic_reservations.model import requirements
from ironic_reservations.planner import host_states

#: By node, its bookings with their requirements.
_Promised = dict[str, list[tuple[leases.NodeBooking,
                                 requirements.Requirement]]]
#: By node, the instance reservations with bookings there, by their ids.
_Asked = dict[str, dict[str, instance_reservations.InstanceReservation]]

#: If more nodes than this have changed, all nodes are read.
FEW = 500


def read(connection: sa.Connection, now: datetime.datetime,
         uuids: Collection[str],
         known: Mapping[str, host_states.HostState]
         ) -> dict[str, host_states.HostState]:
    """Return hosts by the uuids of their nodes.

    :param uuids: the nodes to read; for many nodes, all are read.
    :param known: hosts as they were; if the generation of a node is still the
        same, so are its bookings, and they are not read again.
    """
    few = _few(uuids)
    hosts = {row.node_uuid: row for row in
             db_hosts.read(connection, node_uuids=few)}
    if not hosts:
        return {}
    nodes = db_nodes.read_nodes(connection, few)
    same = {uuid: here for uuid in hosts
            if (here := known.get(uuid)) is not None
            and here.host.node.generation == nodes[uuid].generation}
    promised, asked = _read_bookings(connection, hosts.keys() - same.keys())
    held, maintained = db_host_views.read_unleased(connection, few)
    busy = db_in_flight.read_used(connection, few)
    return {uuid: host_states.HostState(
        row.with_node(nodes[uuid]),
        same[uuid].promised if uuid in same
        else tuple(promised.get(uuid, ())),
        held[uuid] if uuid in held and held[uuid].live(now) else None,
        uuid in busy,
        same[uuid].instances if uuid in same else asked.get(uuid, {}),
        maintained.get(uuid, ()))
        for uuid, row in hosts.items()}


def _few(uuids: Collection[str]) -> Collection[str] | None:
    return uuids if len(uuids) <= FEW else None


def _read_bookings(connection: sa.Connection, uuids: Collection[str]
                   ) -> tuple[_Promised, _Asked]:
    promised: _Promised = {}
    asked: _Asked = {}
    if not uuids:
        return promised, asked
    wanted: dict[str, requirements.Requirement] = {}
    for booking, (hypervisor, resource, each) in db_bookings.read_with_wants(
            connection, _few(uuids)):
        ident = booking.reservation_id
        if each is not None:
            asked.setdefault(booking.node_uuid, {})[ident] = each
        # A reservation may have thousands of bookings.
        if ident not in wanted:
            wanted[ident] = requirements.parse(
                hypervisor, resource, None if each is None else each.need)
        promised.setdefault(booking.node_uuid, []).append(
            (booking, wanted[ident]))
    return promised, asked

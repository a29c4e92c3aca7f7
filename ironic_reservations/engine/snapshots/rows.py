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

"""Hosts and what they are promised to, as the rows of the database have it."""

from __future__ import annotations

from collections.abc import Collection
import datetime

import sqlalchemy as sa

from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import hosts as db_hosts
from ironic_reservations.db import maintenance as db_maintenance
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.db import passages as db_passages
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import leases
from ironic_reservations.model import requirements
from ironic_reservations.planner import standing


def read(connection: sa.Connection, now: datetime.datetime,
         uuids: Collection[str] | None) -> dict[str, standing.Standing]:
    """Return hosts by the uuids of their nodes.

    :param uuids: of which; ``None`` for all.
    """
    hosts = {row.node_uuid: row for row in
             db_hosts.read(connection, node_uuids=uuids)}
    if not hosts:
        return {}
    nodes = db_nodes.read_nodes(connection, uuids)
    promised: dict[str, list[tuple[leases.NodeBooking,
                                   requirements.Requirement]]] = {}
    asked: dict[str, dict[
        str, instance_reservations.InstanceReservation]] = {}
    for booking, (hypervisor, resource, each) in db_bookings.read_with_wants(
            connection, uuids):
        if each is not None:
            asked.setdefault(booking.node_uuid, {})[
                booking.reservation_id] = each
        promised.setdefault(booking.node_uuid, []).append(
            (booking, requirements.parse(
                hypervisor, resource, None if each is None else each.need)))
    held = db_reservations.read_of_nodes(connection, uuids)
    busy = db_passages.read_busy(connection, uuids)
    maintained = db_maintenance.read_of_nodes(connection, uuids)
    return {uuid: standing.Standing(
        row.with_node(nodes[uuid]), tuple(promised.get(uuid, ())),
        held[uuid] if uuid in held and held[uuid].live(now) else None,
        uuid in busy, asked.get(uuid, {}), maintained.get(uuid, ()))
        for uuid, row in hosts.items()}

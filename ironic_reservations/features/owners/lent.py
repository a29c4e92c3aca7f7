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

"""The nodes that leases have only as a loan, and the ends of these loans."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import datetime

from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import Engine
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.planner import loans


def read(engine: Engine, found: Collection[leases.Lease]
         ) -> dict[str, Mapping[str, datetime.datetime]]:
    """Read the ends of the loans of nodes of other projects, as of now.

    That is the instant at which the owner can have the node back; or the end
    of the lease, if it was promised the node for longer.

    :returns: the ends by lease id and node; leases without such nodes are left
        out.
    """
    conf = engine.conf.leases
    nodes = {booking.node_uuid for lease in found
             for booking in lease.bookings}
    if not conf.owner_notice or not nodes:
        return {}
    with engine.database.read() as connection:
        owners = db_nodes.read_owners(connection, nodes)
    until = instants.moment(loans.until(
        instants.instant(engine.clock()),
        conf.owner_notice * instants.SECOND)) - datetime.timedelta(
            seconds=conf.cleaning_time)
    ends = {lease.id: {
        booking.node_uuid: max(until, lease.end)
        for booking in lease.bookings
        if owners.get(booking.node_uuid) not in (None, lease.project_id)}
        for lease in found}
    return {ident: lent for ident, lent in ends.items() if lent}

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

"""Whose the nodes of a lease are, in Ironic, for as long as it lasts.

Somebody may write another lessee by hand, and a request may come late.  What
stands in Ironic is compared with what should, again and again.
"""

from __future__ import annotations

from oslo_log import log

from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import mirror
from ironic_reservations.engine.lease_cycle import context as lease_context
from ironic_reservations.lifecycle import lease_cycle
from ironic_reservations.model import leases

LOG = log.getLogger(__name__)


def keep(context: lease_context.Context,
         lease: leases.Lease) -> lease_context.Outcome:
    """Write the lessee again on the nodes that have lost it.

    NOTE: what was there before the lease stays what is restored at its end.

    :raises Conflict: somebody has changed the lease meanwhile.
    :raises Lost: the lease is another worker's.
    :raises IronicUnavailable: Ironic does not answer.
    """
    given = {booking.node_uuid: booking for booking in lease.bookings
             if lease_cycle.gives_lessee(booking)}
    if lease.status is not leases.LeaseStatus.ACTIVE or not given:
        return lease_context.Outcome()
    with context.engine.database.read() as connection:
        known = db_nodes.read_nodes(connection, given, with_traits=False)
    waits = []
    for uuid, node in known.items():
        if lease_cycle.lacks_lessee(given[uuid], node):
            why = _write(context, given[uuid])
            if why is not None:
                waits.append(lease_context.about(node, uuid, why))
    return lease_context.Outcome(waits=tuple(waits))


def _write(context: lease_context.Context,
           booking: leases.NodeBooking) -> str | None:
    """Write the lessee, if Ironic shows another; gives why it could not."""
    node = context.ironic.node(booking.node_uuid)
    if node is not None and lease_cycle.lacks_lessee(booking, node):
        try:
            context.write_lessee(booking, booking.lessee)
        except ironic_client.Refused as exc:
            return f'has lost its lessee: {exc}'
        LOG.warning('Node %s had the lessee %s in the middle of the lease '
                    '%s; it is %s again', booking.node_uuid, node.lessee,
                    context.lease_id, booking.lessee)
    # NOTE: so that nobody comes back because of an old mirror.
    mirror.refresh_node(context.engine, booking.node_uuid)
    return None

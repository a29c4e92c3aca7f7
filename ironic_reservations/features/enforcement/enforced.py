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

"""Asks the operator's enforcement service about leases, with their hosts."""

from __future__ import annotations

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.db import connection
from ironic_reservations.db import hosts as db_hosts
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import Engine
from ironic_reservations.features.enforcement import client as enforcement
from ironic_reservations.model import leases

LOG = log.getLogger(__name__)


def check(engine: Engine, before: leases.Lease | None,
          after: leases.Lease) -> None:
    """Check that a new lease, or a change of a lease, is permitted.

    :raises LeaseNotPermitted: see :func:`.client.check`.
    """
    known = (after,) if before is None else (before, after)
    enforcement.check(engine.conf, before, after, _hosts(engine, *known))


def on_end(engine: Engine, lease: leases.Lease) -> None:
    """Report the end of a lease; a failure is only logged."""
    try:
        hosts = _hosts(engine, lease)
    except (errors.DatabaseUnavailable, errors.Contention,
            connection.Conflict) as exc:
        LOG.warning('The hosts of the lease %s cannot be read for the '
                    'enforcement service: %s', lease.id, exc)
        hosts = {}
    enforcement.on_end(engine.conf, lease, hosts)


def _hosts(engine: Engine, *of: leases.Lease) -> dict[str, leases.Host]:
    """Read the hosts of leases, by the uuids of their nodes."""
    uuids = {booking.node_uuid for lease in of for booking in lease.bookings}
    if engine.conf.leases.enforcement_url is None or not uuids:
        return {}
    with engine.database.snapshot() as reading:
        nodes = db_nodes.read_nodes(reading, uuids)
        return {row.node_uuid: row.with_node(nodes[row.node_uuid])
                for row in db_hosts.read(reading, node_uuids=uuids)}

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

"""Leases, hosts and what is free, through openstacksdk.

Each function takes a connection and uses its bare metal service::

    conn = openstack.connect(cloud='metal')
    made = leases.lease(conn, 'training', end, [lease_payload.hosts(4)])
    leases.end(conn, made)

The other arguments are those of the managers for python-ironicclient.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openstack import connection

from ironic_reservations_client import availability as _availability
from ironic_reservations_client import calendar as _calendar
from ironic_reservations_client import host as _host
from ironic_reservations_client import lease as _lease
from ironic_reservations_client.sdk import transport
from ironic_reservations_client.sdk.resource import Host
from ironic_reservations_client.sdk.resource import Lease

__all__ = ['Host', 'Lease', 'availability', 'calendar', 'change',
           'change_host', 'close_host', 'end', 'get', 'get_host', 'hosts',
           'lease', 'leases', 'open_host', 'post']


def _leases(conn: connection.Connection) -> Any:
    return _lease.LeaseManager.over(
        transport.OpenStack(conn, Lease, of_leases=True))


def _hosts(conn: connection.Connection) -> Any:
    return _host.HostManager.over(
        transport.OpenStack(conn, Host, of_leases=True))


def lease(conn: connection.Connection, *given: Any, **more: Any) -> Any:
    """Ask for a lease, as ``LeaseManager.create`` does.

    :raises Conflict: it cannot be had; ``reasons`` say why, and ``offers``
        have what would be accepted.
    """
    return _leases(conn).create(*given, **more)


def post(conn: connection.Connection, body: Mapping[str, Any],
         dry_run: bool = False, key: str | None = None) -> Any:
    """Ask for a lease in the words of the API, such as those of an offer.

    :raises Conflict: as for ``lease``.
    """
    return _leases(conn).post(body, dry_run, key)


def leases(conn: connection.Connection, project: str | None = None) -> Any:
    """List the leases that the caller may see, the oldest first.

    :param project: only those of this project.
    """
    return _leases(conn).list(project)


def get(conn: connection.Connection, lease: str | Lease) -> Any:
    """Get one lease.

    :param lease: its id, or a lease to read again.
    :raises NotFound: no lease of that id is visible.
    """
    return _leases(conn).get(transport.ident(lease))


def change(conn: connection.Connection, lease: str | Lease,
           **changes: Any) -> Any:
    """Change a lease, as ``LeaseManager.change`` does.

    :param lease: the lease, or its id.
    :raises Conflict: it cannot be done; ``reasons`` say why.
    """
    return _leases(conn).change(transport.ident(lease), **changes)


def end(conn: connection.Connection, lease: str | Lease) -> None:
    """End a lease at once, or cancel it before it starts.

    :param lease: the lease, or its id.
    :raises NotFound: no lease of that id is visible.
    """
    _leases(conn).delete(transport.ident(lease))


def availability(conn: connection.Connection, **asked: Any) -> Any:
    """Count the free hosts, and find the earliest start.

    :param asked: as for ``lease_payload.look``.
    :returns: ``classes``, each with its ``spans``, ``earliest``, and
        ``slots`` if they were asked for.
    """
    return _availability.AvailabilityManager.over(
        transport.OpenStack(conn, of_leases=True)).look(**asked)


def calendar(conn: connection.Connection, *given: Any, **more: Any) -> Any:
    """Return the calendar, as ``CalendarManager.look`` does.

    :raises NotFound: the service is older than version 1.7 of the API.
    """
    return _calendar.CalendarManager.over(
        transport.OpenStack(conn)).look(*given, **more)


def hosts(conn: connection.Connection) -> Any:
    """List all hosts."""
    return _hosts(conn).list()


def get_host(conn: connection.Connection, host: str | Host) -> Any:
    """Get one host.

    :param host: its id, or the name or the UUID of its node; or a host to
        read again.
    :raises NotFound: there is none.
    """
    return _hosts(conn).get(transport.ident(host))


def open_host(conn: connection.Connection, name: str,
              capabilities: Mapping[str, str] | None = None) -> Any:
    """Open a node to leases, as ``HostManager.create`` does.

    :raises NotFound: Ironic has no such node.
    :raises Conflict: it is a host already.
    """
    return _hosts(conn).create(name, capabilities)


def change_host(conn: connection.Connection, host: str | Host,
                *given: Any, **more: Any) -> Any:
    """Change a host, as ``HostManager.change`` does.

    :param host: the host, its id, or the name or the UUID of its node.
    :raises NotFound: there is none.
    """
    return _hosts(conn).change(transport.ident(host), *given, **more)


def close_host(conn: connection.Connection, host: str | Host) -> None:
    """Close a host to leases for good.

    :param host: the host, its id, or the name or the UUID of its node.
    :raises NotFound: there is none.
    :raises Conflict: leases have been promised it.
    """
    _hosts(conn).delete(transport.ident(host))

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

"""Leases, hosts and availability, through openstacksdk.

Each function takes a connection and uses its bare metal service::

    conn = openstack.connect(cloud='metal')
    made = leases.lease(conn, 'training', end, [lease_payload.hosts(4)])
    leases.end(conn, made)

The other arguments are those of the methods of the managers for
python-ironicclient: ``LeaseManager``, ``HostManager``, ``AvailabilityManager``
and ``CalendarManager``. The exceptions are those of
:mod:`ironic_reservations_client.sdk.errors`.
"""

from __future__ import annotations

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

lease, post, leases, get, change, end = transport.functions(
    _lease.LeaseManager, 'create', 'post', 'list', 'get', 'change', 'delete',
    kind=Lease)
hosts, get_host, open_host, change_host, close_host = transport.functions(
    _host.HostManager, 'list', 'get', 'create', 'change', 'delete', kind=Host)
availability, = transport.functions(_availability.AvailabilityManager, 'get')
calendar, = transport.functions(_calendar.CalendarManager, 'get')

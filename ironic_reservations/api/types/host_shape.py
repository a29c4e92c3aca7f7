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
"""Hosts in the format of Blazar, with our additions."""

from __future__ import annotations

from collections.abc import Container
from collections.abc import Sequence
from typing import Any
import uuid

from ironic_reservations.api.types import dates
from ironic_reservations.model import host_document
from ironic_reservations.model import leases

#: The attributes of a host; no capability may have such a name.
KEYS = frozenset((
    'id', 'vcpus', 'cpu_info', 'hypervisor_type', 'hypervisor_version',
    'hypervisor_hostname', 'service_name', 'memory_mb', 'local_gb', 'status',
    'availability_zone', 'trust_id', 'reservable', 'created_at',
    'updated_at', 'node_uuid', 'name', 'resource_class'))


def shape(host: leases.Host,
          public: Container[str] | None = None) -> dict[str, Any]:
    """Return a host as clients see it, with its capabilities.

    :param public: names of capabilities; others are omitted. ``None``: all.
    """
    return {
        **{name: value for name, value in host.capabilities.items()
           if public is None or name in public},
        **host_document.of(host),
        'created_at': dates.write_short(host.created_at),
        'updated_at': dates.write_short(host.updated_at),
        'node_uuid': host.node.uuid,
        'name': host.node.name,
        'resource_class': host.node.resource_class,
    }


def shape_allocation(
        host: leases.Host,
        bookings: Sequence[tuple[leases.NodeBooking, str]]) -> dict[str, Any]:
    """Return the bookings of a host as clients see them.

    :param bookings: each booking with the id of its lease.
    """
    return {
        'resource_id': str(host.id),
        'reservations': [
            {'id': booking.reservation_id, 'lease_id': lease_id,
             'start_date': dates.write(booking.starts_at),
             'end_date': dates.write(booking.ends_at)}
            for booking, lease_id in bookings]}


def shape_times(
        host: leases.Host,
        bookings: Sequence[tuple[leases.NodeBooking, str]]) -> dict[str, Any]:
    """Return the bookings of a host for callers who may not see leases.

    The id of a reservation is a proof. The shown id is another one, which is
    the same on all hosts of the reservation, and from which the proof cannot
    be computed.
    """
    shown = shape_allocation(host, bookings)
    return {**shown, 'reservations': [
        {**each, 'lease_id': None,
         'id': str(uuid.uuid5(uuid.UUID(each['id']), 'allocation'))}
        for each in shown['reservations']]}

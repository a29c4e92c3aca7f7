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
"""Leases as clients of Blazar read them, with what is ours beside it.

NOTE: plain dictionaries, written out: a page has a thousand of them, and
anything cleverer would take longer than reading them from the database.
"""

from __future__ import annotations

from typing import Any

from ironic_reservations.api import dates
from ironic_reservations.planner import leases


def shape(lease: leases.Lease) -> dict[str, Any]:
    """Give what clients get of a lease."""
    updated = lease.updated_at
    return {
        'id': lease.id,
        'name': lease.name,
        'user_id': lease.user_id,
        'project_id': lease.project_id,
        'start_date': dates.write(lease.start),
        'end_date': dates.write(lease.end),
        # NOTE: Blazar acts with a trust of the user's; we have no need to.
        'trust_id': None,
        'status': lease.status.value,
        'degraded': lease.degraded,
        'created_at': dates.write_short(lease.created_at),
        'updated_at': None if updated is None else dates.write_short(updated),
        'reservations': [_reservation(lease.id, each)
                         for each in lease.reservations],
        'events': [_event(lease.id, each) for each in lease.events],
        'waiting': lease.waiting,
    }


def _reservation(lease_id: str,
                 reservation: leases.LeaseReservation) -> dict[str, Any]:
    updated = reservation.updated_at
    return {
        'id': reservation.id,
        'lease_id': lease_id,
        'resource_id': reservation.resource_id,
        'resource_type': reservation.resource_type,
        'status': reservation.status.value,
        'missing_resources': reservation.missing_resources,
        'resources_changed': reservation.resources_changed,
        'created_at': dates.write_short(reservation.created_at),
        'updated_at': None if updated is None else dates.write_short(updated),
        'hypervisor_properties': reservation.hypervisor_properties,
        'resource_properties': reservation.resource_properties,
        'before_end': reservation.before_end,
        'min': reservation.least,
        'max': reservation.most,
        'nodes': [{'uuid': each.node_uuid, 'state': each.state.value}
                  for each in reservation.bookings],
    }


def _event(lease_id: str, event: leases.Event) -> dict[str, Any]:
    updated = event.updated_at
    return {
        'id': event.id,
        'lease_id': lease_id,
        'event_type': event.type.value,
        'time': dates.write(event.time),
        'status': event.status.value,
        'created_at': dates.write_short(event.created_at),
        'updated_at': None if updated is None else dates.write_short(updated),
    }

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

"""A lease as notifications contain it.

Keys of Blazar's notifications have the same names and meanings here.
"""

from __future__ import annotations

from typing import Any

from oslo_versionedobjects import base
from oslo_versionedobjects import fields

from ironic_reservations.model import leases


class _Carried(base.VersionedObject):  # type: ignore[misc]
    OBJ_PROJECT_NAMESPACE = 'ironic_reservations'
    OBJ_SERIAL_NAMESPACE = 'ironic_reservations_object'


@base.VersionedObjectRegistry.register
class LeaseReservationPayload(_Carried):
    """One reservation of a lease.

    The id is a proof: the message bus has to be as trusted as the database.
    """

    # Version 1.0: Initial version
    VERSION = '1.0'

    fields = {
        'id': fields.UUIDField(),
        'resource_type': fields.StringField(),
        'status': fields.StringField(),
        'missing_resources': fields.BooleanField(),
        'resources_changed': fields.BooleanField(),
        'node_uuids': fields.ListOfStringsField(),
    }


@base.VersionedObjectRegistry.register
class NodeLeasePayload(_Carried):
    """A lease and its nodes."""

    # Version 1.0: Initial version
    VERSION = '1.0'

    fields = {
        'lease_id': fields.UUIDField(),
        'name': fields.StringField(),
        'project_id': fields.StringField(nullable=True),
        'user_id': fields.StringField(nullable=True),
        'start_date': fields.DateTimeField(),
        'end_date': fields.DateTimeField(),
        'status': fields.StringField(),
        'degraded': fields.BooleanField(),
        'reason': fields.StringField(nullable=True),
        'reservations': fields.ListOfObjectsField('LeaseReservationPayload'),
    }


def payload(lease: leases.Lease, reason: str | None = None) -> dict[str, Any]:
    """Return a lease as the body of a notification.

    :param reason: the reason of a change that no request has made.
    """
    carried = NodeLeasePayload(
        lease_id=lease.id, name=lease.name, project_id=lease.project_id,
        user_id=lease.user_id, start_date=lease.start, end_date=lease.end,
        status=lease.status.value, degraded=lease.degraded, reason=reason,
        reservations=[LeaseReservationPayload(
            id=each.id, resource_type=each.resource_type,
            status=each.status.value,
            missing_resources=each.missing_resources,
            resources_changed=each.resources_changed,
            node_uuids=[booking.node_uuid for booking in each.bookings])
            for each in lease.reservations])
    primitive: dict[str, Any] = carried.obj_to_primitive()
    return primitive

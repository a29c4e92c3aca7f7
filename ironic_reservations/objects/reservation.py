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

"""A reservation as notifications contain it."""

from __future__ import annotations

from typing import Any

from oslo_versionedobjects import base
from oslo_versionedobjects import fields

from ironic_reservations.model import node_reservation


@base.VersionedObjectRegistry.register
class NodeReservationPayload(base.VersionedObject):  # type: ignore[misc]
    """One node promised to one instance.

    The uuid is a proof: the message bus has to be as trusted as the database.
    """

    # Version 1.0: Initial version
    VERSION = '1.0'
    OBJ_PROJECT_NAMESPACE = 'ironic_reservations'
    OBJ_SERIAL_NAMESPACE = 'ironic_reservations_object'

    fields = {
        'uuid': fields.UUIDField(),
        'node_uuid': fields.UUIDField(),
        'instance_uuid': fields.UUIDField(),
        'state': fields.StringField(),
        'project_id': fields.StringField(nullable=True),
        'user_id': fields.StringField(nullable=True),
        'created_at': fields.DateTimeField(),
        'updated_at': fields.DateTimeField(nullable=True),
        'expires_at': fields.DateTimeField(),
        'reason': fields.StringField(nullable=True),
    }


def payload(reservation: node_reservation.Reservation,
            reason: str | None = None) -> dict[str, Any]:
    """Return a reservation as the body of a notification.

    :param reason: the reason of a change that no request has made.
    """
    carried = NodeReservationPayload(
        uuid=reservation.uuid, node_uuid=reservation.node_uuid,
        instance_uuid=reservation.instance_uuid,
        state=reservation.state.value, project_id=reservation.project_id,
        user_id=reservation.user_id, created_at=reservation.created_at,
        updated_at=reservation.updated_at, expires_at=reservation.expires_at,
        reason=reason)
    primitive: dict[str, Any] = carried.obj_to_primitive()
    return primitive

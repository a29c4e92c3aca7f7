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


"""A reservation as a resource of openstacksdk."""

from __future__ import annotations

from typing import Any

from keystoneauth1 import adapter
from openstack import resource
from openstack import utils

from ironic_reservations_client import payload


class Reservation(resource.Resource):
    """One node, promised for a time."""

    resource_key = 'reservation'
    resources_key = 'reservations'
    base_path = '/reservations'

    allow_fetch = True
    allow_delete = True
    allow_list = True

    _query_mapping = resource.QueryParameters(
        'node', 'instance', 'project', 'sort_key', 'sort_dir',
        fields={'format': 'csv'})

    #: The UUID, which is also the proof.
    id = resource.Body('uuid', alternate_id=True)
    #: The node that is reserved.
    node_id = resource.Body('node_uuid')
    #: For whom it is reserved.
    instance_id = resource.Body('instance_uuid')
    #: ``reserved``, or ``in_use`` once the node is deployed for it.
    state = resource.Body('state')
    #: When the reservation ends; ``None`` while it is in use.
    expires_at = resource.Body('expires_at')
    #: When it was made.
    created_at = resource.Body('created_at')
    #: When it was last changed.
    updated_at = resource.Body('updated_at')
    #: The project that it belongs to.
    project_id = resource.Body('project_id')
    #: Who made it.
    user_id = resource.Body('user_id')
    #: Whether it waits to be used and cannot be used now; ``None``: the
    #: service is older.
    is_suspended = resource.Body('suspended', type=bool)
    #: Why: ``maintenance``, or ``retired``.
    suspended_reason = resource.Body('suspended_reason')
    #: Links to the reservation itself.
    links = resource.Body('links', type=list)

    @classmethod
    def reserve(cls, session: adapter.Adapter,
                body: dict[str, Any], key: str) -> Reservation:
        """Make a reservation.

        :param session: the adapter to use.
        :param body: as the API takes it; unlike its answer it names several
            nodes and has no envelope.
        :param key: a name for the request.
        """
        made = cls.new()
        made._translate_response(session.post(
            cls.base_path, json=body, headers={payload.KEY_HEADER: key}))
        return made

    def renew(self, session: adapter.Adapter,
              patch: list[dict[str, Any]]) -> Reservation:
        """Set anew when the reservation expires.

        :param session: the adapter to use.
        :param patch: a JSON patch.
        """
        self._translate_response(session.patch(
            utils.urljoin(self.base_path, self.id), json=patch))
        return self

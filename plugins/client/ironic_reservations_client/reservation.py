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


"""Reservations through python-ironicclient."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from collections.abc import Mapping
import datetime
from typing import Any
from typing import cast
from urllib import parse
import uuid as uuid_module

from ironicclient.common import base
from ironicclient.v1 import client as ironic_client
from ironicclient.v1 import node
from ironicclient.v1 import utils as v1_utils

from ironic_reservations_client import payload
from ironic_reservations_client import resource
from ironic_reservations_client import session
from ironic_reservations_client import waiting


class Reservation(resource.Resource):
    """One node, promised for a time.

    Its attributes are those of the API: ``uuid``, ``node_uuid``,
    ``instance_uuid``, ``state``, ``expires_at`` and so on.
    """

    envelope = 'reservation'


class ReservationManager(base.Manager):
    """The operations on reservations.

    :param client: an Ironic client, as ``ironicclient.client.get_client``
        gives it.  Its session, credentials and settings are used.
    :param version: the version of the reservation API to insist on, ``1.0``
        for one; by default the newest that both sides know.
    :param endpoint: where reservations are served, if not at the endpoint
        of the Ironic client.
    """

    resource_class: type[Reservation] = Reservation
    _resource_name: str = 'reservations'

    def __init__(self, client: ironic_client.Client,
                 version: str | None = None,
                 endpoint: str | None = None) -> None:
        super().__init__(session.ReservationSession(
            client.http_client, version, endpoint))
        self._ironic = client

    def create(
        self,
        instance_uuid: str,
        node_uuid: str | Iterable[str] | None = None,
        uuid: str | None = None,
        ttl: int | None = None,
        expires_at: str | datetime.datetime | None = None,
        resource_class: str | None = None,
        traits: Iterable[str] | None = None,
        flavor: Mapping[str, Any] | None = None,
        wait: float | None = None,
        os_ironic_api_version: str | None = None,
        global_request_id: str | None = None,
        key: str | None = None,
    ) -> Reservation:
        """Reserve a node.

        :param instance_uuid: for whom; asking again for the same one gives
            the same reservation.
        :param node_uuid: UUIDs of nodes in the order of preference.  Without
            them any node of the class and with the traits will do.
        :param uuid: for the reservation; made up by the server by default.
        :param ttl: seconds until the reservation expires.
        :param expires_at: when it expires, instead of ``ttl``.
        :param resource_class: only nodes of this class.
        :param traits: only nodes with all of these traits.
        :param flavor: only nodes that this flavor of Nova can be put on,
            instead of a class and traits; as Nova's API shows it, or as
            ``openstack flavor show -f json`` prints it.
        :param wait: seconds to wait for a node to become free; 0 waits for
            ever, ``None`` not at all.
        :param os_ironic_api_version: Ironic's API version for the request.
        :param global_request_id: sent as the global request id.
        :param key: a name for the request: once its reservation has ended, the
            same request is refused.  The default is a new one, which protects
            the retries of this call.
        :raises Conflict: no node can be reserved; ``reasons`` say why.
        """
        body = payload.creation(
            instance_uuid=instance_uuid, node_uuid=node_uuid, uuid=uuid,
            ttl=ttl, expires_at=expires_at, resource_class=resource_class,
            traits=traits, flavor=flavor)
        headers = {
            payload.KEY_HEADER: key or str(uuid_module.uuid4()),
            'X-OpenStack-Ironic-API-Version': os_ironic_api_version,
            'X-Openstack-Request-Id': global_request_id}

        def attempt() -> Reservation:
            _response, made = self.api.json_request(
                'POST', self._path(), body=body,
                headers={name: value for name, value in headers.items()
                         if value is not None})
            return Reservation(self, cast(dict[str, Any], made))

        return (attempt() if wait is None
                else waiting.until_free(attempt, wait))

    def get(
        self,
        reservation_id: str,
        fields: builtins.list[str] | None = None,
        os_ironic_api_version: str | None = None,
        global_request_id: str | None = None,
    ) -> Reservation:
        """Get one reservation.

        :param reservation_id: its UUID.
        :param fields: only these.
        :param os_ironic_api_version: Ironic's API version for the request.
        :param global_request_id: sent as the global request id.
        :raises NotFound: no live reservation of that UUID is visible.
        """
        return cast(Reservation, self._get(
            parse.quote(reservation_id, safe=''), fields=fields,
            os_ironic_api_version=os_ironic_api_version,
            global_request_id=global_request_id))

    def list(
        self,
        node: str | None = None,
        instance: str | None = None,
        project: str | None = None,
        limit: int | None = None,
        marker: str | None = None,
        sort_key: str | None = None,
        sort_dir: str | None = None,
        fields: builtins.list[str] | None = None,
        os_ironic_api_version: str | None = None,
        global_request_id: str | None = None,
    ) -> builtins.list[Reservation]:
        """List the live reservations that the caller may see.

        :param node: only that of the node with this UUID.
        :param instance: only that for this instance.
        :param project: only those of this project.
        :param limit: the largest number to give; 0 gives all, ``None`` as
            many as the server gives in one answer.
        :param marker: start after the reservation of this UUID.
        :param sort_key: the field to sort by.
        :param sort_dir: ``asc`` or ``desc``.
        :param fields: only these.
        :param os_ironic_api_version: Ironic's API version for the request.
        :param global_request_id: sent as the global request id.
        """
        query = {
            'node': node, 'instance': instance, 'project': project,
            'limit': limit or None, 'marker': marker, 'sort_key': sort_key,
            'sort_dir': sort_dir, 'fields': ','.join(fields or ()) or None}
        query = {key: value for key, value in query.items()
                 if value is not None}
        path = self._path() + ('?' + parse.urlencode(query, safe=',')
                               if query else '')
        if limit is None:
            return self._list(
                path, 'reservations',
                os_ironic_api_version=os_ironic_api_version,
                global_request_id=global_request_id)
        return self._list_pagination(
            path, 'reservations', limit=limit,
            os_ironic_api_version=os_ironic_api_version,
            global_request_id=global_request_id)

    def renew(
        self,
        reservation_id: str,
        ttl: int | None = None,
        expires_at: str | datetime.datetime | None = None,
        os_ironic_api_version: str | None = None,
        global_request_id: str | None = None,
    ) -> Reservation:
        """Set anew when a reservation expires.

        :param reservation_id: its UUID.
        :param ttl: seconds from now.
        :param expires_at: the time, instead of ``ttl``.
        :param os_ironic_api_version: Ironic's API version for the request.
        :param global_request_id: sent as the global request id.
        :raises ValueError: neither or both of the times were given.
        :raises NotFound: it has expired, or there is none.
        """
        return self._update(
            parse.quote(reservation_id, safe=''),
            payload.renewal(ttl, expires_at),
            os_ironic_api_version=os_ironic_api_version,
            global_request_id=global_request_id)

    def delete(
        self,
        reservation_id: str,
        os_ironic_api_version: str | None = None,
        global_request_id: str | None = None,
    ) -> None:
        """Delete a reservation.

        :param reservation_id: the UUID of its reservation.
        :param os_ironic_api_version: Ironic's API version for the request.
        :param global_request_id: sent as the global request id.
        :raises NotFound: it has expired, or there is none.
        """
        self._delete(parse.quote(reservation_id, safe=''),
                     os_ironic_api_version=os_ironic_api_version,
                     global_request_id=global_request_id)

    def deploy(
        self,
        reservation_id: str,
        configdrive: Any = None,
        deploysteps: builtins.list[dict[str, Any]] | None = None,
        wait: float | None = None,
        node: str | None = None,
        instance_info: Mapping[str, str] | None = None,
    ) -> Reservation:
        """Deploy the reserved node, with the reservation as the proof.

        :param reservation_id: the UUID of the reservation.
        :param configdrive: as for ``node.set_provision_state``.
        :param deploysteps: as for ``node.set_provision_state``.
        :param wait: seconds to wait for the node to be active; 0 waits for
            ever, ``None`` not at all.
        :param node: the UUID of the node, where the reservation is one of a
            lease, which may have several.
        :param instance_info: set on the node before: ``image_source`` and
            so on.
        :returns: the reservation; of a lease, its ``uuid`` and
            ``node_uuid`` only.
        :raises Forbidden: the proof is not accepted.
        :raises ironicclient.exc.StateTransitionFailed: the deployment
            failed while it was waited for.
        """
        reservation = (self.get(reservation_id) if node is None else
                       Reservation(self, {'uuid': reservation_id,
                                          'node_uuid': node}, loaded=True))
        nodes = with_proof(self._ironic, reservation.uuid)
        deploy_node(nodes, reservation.node_uuid, instance_info, configdrive,
                    deploysteps)
        if wait is not None:
            self._ironic.node.wait_for_provision_state(
                reservation.node_uuid, timeout=wait,
                **v1_utils.PROVISION_ACTIONS['active'])
        return reservation


def deploy_node(nodes: node.NodeManager, node_uuid: str,
                instance_info: Mapping[str, str] | None = None,
                configdrive: Any = None, deploysteps: Any = None) -> None:
    """Ask Ironic to deploy a node.

    :param nodes: a manager whose requests show the proof.
    :param instance_info: set on the node before.
    :param configdrive: as for ``node.set_provision_state``.
    :param deploysteps: as for ``node.set_provision_state``.
    """
    if instance_info:
        nodes.update(node_uuid, [
            {'op': 'add', 'path': f'/instance_info/{name}', 'value': value}
            for name, value in instance_info.items()])
    nodes.set_provision_state(node_uuid, 'active', configdrive=configdrive,
                              deploysteps=deploysteps)


def with_proof(client: ironic_client.Client,
               reservation_id: str) -> node.NodeManager:
    """Return a node manager whose requests show a reservation as the proof.

    :param client: an Ironic client; its own ``node`` is left as it is.
    :param reservation_id: the UUID of a reservation.
    """
    return node.NodeManager(session.TwinSession(
        client.http_client, {payload.PROOF_HEADER: reservation_id}))

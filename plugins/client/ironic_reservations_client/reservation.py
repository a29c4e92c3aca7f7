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
from typing import Any

from ironicclient.v1 import client as ironic_client
from ironicclient.v1 import node
from ironicclient.v1 import utils as v1_utils

from ironic_reservations_client import fields as fields_
from ironic_reservations_client import payload
from ironic_reservations_client import resource
from ironic_reservations_client import resources
from ironic_reservations_client import session
from ironic_reservations_client import waiting


class Reservation(resource.Resource):
    """A node that is promised to an instance for a time.

    Its attributes are those of the API: ``uuid``, ``node_uuid``,
    ``instance_uuid``, ``state``, ``expires_at`` and so on.
    """

    describes = resources.RESERVATION


class ReservationManager(resource.Collection[Reservation]):
    """The operations on reservations.

    Each also accepts ``os_ironic_api_version`` and ``global_request_id``, like
    ironicclient's own managers.

    :param client: an Ironic client, as ``ironicclient.client.get_client``
        returns it.  Its session, credentials and settings are used.
    :param version: the required version of the reservation API, such as
        ``1.0``; by default the newest one that both sides support.
    :param endpoint: the endpoint of the reservation API; by default that of
        the Ironic client.
    """

    resource_class = Reservation

    def create(self, instance_uuid: str,
               node_uuid: str | Iterable[str] | None = None, *,
               wait: float | None = None, key: str | None = None,
               os_ironic_api_version: str | None = None,
               global_request_id: str | None = None,
               **wanted: Any) -> Reservation:
        """Reserve a node.

        :param instance_uuid: the instance for which the node is reserved;
            another request for the same instance returns the same reservation.
        :param node_uuid: UUIDs of nodes in the order of preference; by default
            any node with the class and the traits.
        :param wait: the seconds to wait for a free node; 0: for ever,
            ``None``: not at all.
        :param key: the idempotency key: after its reservation has ended, the
            same request is refused. The default is a new key, which protects
            the retries of this call.
        :param wanted: ``uuid``, the uuid of the reservation, by default chosen
            by the server; ``ttl``, the seconds until it expires, or
            ``expires_at``, the time; ``resource_class`` and ``traits``,
            requirements on the node; ``flavor``, a flavor of Nova that the
            node must be able to serve, as Nova's API shows it, or as
            ``openstack flavor show -f json`` prints it.
        :raises Conflict: no node can be reserved; ``reasons`` has the reason
            for each node.
        """
        body = resources.RESERVATION.body(
            instance_uuid=instance_uuid, node_uuid=node_uuid, **wanted)
        once = payload.once(key)['headers']

        def attempt() -> Reservation:
            return self._ask('POST', self._path(), body=body, headers={
                **_headers(os_ironic_api_version, global_request_id), **once})

        return (attempt() if wait is None
                else waiting.until_free(attempt, wait))

    def get(self, ident: str, fields: builtins.list[str] | None = None,
            **ironic: Any) -> Reservation:
        """Get one reservation.

        :param ident: its UUID.
        :param fields: the fields to return; by default all.
        :raises NotFound: no live reservation of that UUID is visible.
        """
        return self._ask(
            'GET', self._path_of(ident), headers=_headers(**ironic),
            params=({} if fields is None else
                    {'fields': ','.join(fields_.several(fields))}))

    def list(self, *, limit: int | None = None,
             fields: builtins.list[str] | None = None,
             os_ironic_api_version: str | None = None,
             global_request_id: str | None = None,
             **query: str | None) -> builtins.list[Reservation]:
        """List the live reservations that the caller may see.

        :param limit: the maximum number of reservations; 0: all, ``None``: as
            many as the server returns in one answer.
        :param fields: the fields to return; by default all.
        :param query: the filters ``node``, ``instance`` and ``project``;
            ``marker``, the UUID of the last reservation of the previous page;
            ``sort_key`` and ``sort_dir`` (``asc`` or ``desc``), the order.
        """
        return self._list(
            {**query, 'limit': limit or None,
             'fields': ','.join(fields_.several(fields or ())) or None},
            limit, pages=limit is not None,
            headers=_headers(os_ironic_api_version, global_request_id))

    def renew(self, ident: str, ttl: int | None = None,
              expires_at: Any = None, **ironic: Any) -> Reservation:
        """Set the time at which a reservation expires.

        :param ident: its UUID.
        :param ttl: the seconds from now.
        :param expires_at: the time, instead of ``ttl``.
        :raises ValueError: neither or both of the times were given.
        :raises NotFound: the reservation has expired, or does not exist.
        """
        return self._ask('PATCH', self._path_of(ident),
                         body=payload.renewal(ttl, expires_at),
                         headers=_headers(**ironic))

    def delete(self, ident: str, **ironic: Any) -> None:
        """Delete a reservation.

        :param ident: its UUID.
        :raises NotFound: the reservation has expired, or does not exist.
        """
        self._transport.send('DELETE', self._path_of(ident),
                             headers=_headers(**ironic))

    def deploy(
        self,
        reservation_id: str,
        configdrive: Any = None,
        deploysteps: builtins.list[dict[str, Any]] | None = None,
        wait: float | None = None,
        node: str | None = None,
        instance_info: Mapping[str, str] | None = None,
    ) -> Reservation:
        """Deploy a reserved node, with the reservation as the proof.

        :param reservation_id: the UUID of the reservation.
        :param configdrive: as for ``node.set_provision_state``.
        :param deploysteps: as for ``node.set_provision_state``.
        :param wait: the seconds to wait until the node is active; 0: for ever,
            ``None``: not at all.
        :param node: the UUID of the node, for a lease reservation, which may
            have several nodes.
        :param instance_info: written to the node before the deployment:
            ``image_source`` and so on.
        :returns: the reservation; for a lease reservation, only ``uuid`` and
            ``node_uuid``.
        :raises Forbidden: the proof is not accepted.
        :raises ironicclient.exc.StateTransitionFailed: the deployment failed
            during the wait.
        """
        reservation = (self.get(reservation_id) if node is None else
                       self._transport.made(self, {'uuid': reservation_id,
                                                   'node_uuid': node}))
        nodes = with_proof(self._ironic, reservation.uuid)
        deploy_node(nodes, reservation.node_uuid, instance_info, configdrive,
                    deploysteps)
        if wait is not None:
            active: Any = v1_utils.PROVISION_ACTIONS['active']
            self._ironic.node.wait_for_provision_state(
                reservation.node_uuid, timeout=wait, **active)
        return reservation


def deploy_node(nodes: node.NodeManager, node_uuid: str,
                instance_info: Mapping[str, str] | None = None,
                configdrive: Any = None, deploysteps: Any = None) -> None:
    """Ask Ironic to deploy a node.

    :param nodes: a manager whose requests show the proof.
    :param instance_info: written to the node before the deployment.
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

    :param client: an Ironic client; its own ``node`` manager is not changed.
    :param reservation_id: the UUID of a reservation.
    """
    return node.NodeManager(session.TwinSession(
        client.http_client, {payload.PROOF_HEADER: reservation_id}))


def _headers(os_ironic_api_version: str | None = None,
             global_request_id: str | None = None) -> dict[str, str]:
    return {name: value for name, value in (
        ('X-OpenStack-Ironic-API-Version', os_ironic_api_version),
        ('X-Openstack-Request-Id', global_request_id)) if value is not None}

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


"""Reservations through openstacksdk.

Each function takes a connection and uses its bare metal service::

    conn = openstack.connect(cloud='metal')
    held = sdk.reserve(conn, ['6f8a...', '1c2d...'], ttl=900)
    sdk.deploy(conn, held, wait=True)
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import datetime
from typing import Any
import uuid

from openstack import connection
from openstack import exceptions
from openstack.baremetal.v1 import node as _node

from ironic_reservations_client import payload
from ironic_reservations_client import waiting
from ironic_reservations_client.sdk import errors
from ironic_reservations_client.sdk import transport
from ironic_reservations_client.sdk.reservation import Reservation

__all__ = ['Reservation', 'deploy', 'get', 'limits', 'release', 'renew',
           'reservations', 'reserve']


def reserve(
    conn: connection.Connection,
    nodes: Iterable[str | _node.Node] | None = None,
    instance_id: str | None = None,
    reservation_id: str | None = None,
    ttl: int | None = None,
    expires_at: str | datetime.datetime | None = None,
    resource_class: str | None = None,
    traits: Iterable[str] | None = None,
    flavor: Mapping[str, Any] | None = None,
    wait: float | None = None,
    key: str | None = None,
) -> Reservation:
    """Reserve a node.

    :param conn: a connection.
    :param nodes: UUIDs of nodes, or nodes, in the order of preference.
        Without them any node of the class and with the traits will do.
    :param instance_id: for whom; made up by default.  Asking again for the
        same one gives the same reservation.
    :param reservation_id: for the reservation; made up by default.
    :param ttl: seconds until the reservation expires.
    :param expires_at: when it expires, instead of ``ttl``.
    :param resource_class: only nodes of this class.
    :param traits: only nodes with all of these traits.
    :param flavor: only nodes that this flavor of Nova can be put on,
        instead of a class and traits; as Nova's API shows it, or as
        ``openstack flavor show -f json`` prints it.
    :param wait: seconds to wait for a node to become free; 0 waits for
        ever, ``None`` not at all.
    :param key: a name for the request: once its reservation has ended, the
        same request is refused.  The default is a new one, which protects the
        retries of this call.
    :raises Conflict: no node can be reserved; ``reasons`` say why.
    """
    body = payload.creation(
        instance_uuid=instance_id or str(uuid.uuid4()), uuid=reservation_id,
        node_uuid=None if nodes is None else map(transport.ident, nodes),
        ttl=ttl, expires_at=expires_at, resource_class=resource_class,
        traits=traits, flavor=flavor)
    sent = key or str(uuid.uuid4())

    def attempt() -> Reservation:
        return transport.ask(
            conn, lambda proxy: Reservation.reserve(proxy, body, sent))

    return attempt() if wait is None else waiting.until_free(attempt, wait)


def reservations(conn: connection.Connection,
                 **query: Any) -> list[Reservation]:
    """List the live reservations that the caller may see.

    :param conn: a connection.
    :param query: ``node``, ``instance`` and ``project`` select; ``limit``
        (of one page), ``marker``, ``sort_key``, ``sort_dir`` and ``fields``
        are those of the API.
    """
    return transport.ask(
        conn, lambda proxy: list(Reservation.list(proxy, **query)))


def get(conn: connection.Connection,
        reservation: str | Reservation) -> Reservation:
    """Get one reservation.

    :param conn: a connection.
    :param reservation: its UUID, or a reservation to look at again.
    :raises NotFound: no live reservation of that UUID is visible.
    """
    wanted = Reservation.new(id=transport.ident(reservation))
    return transport.ask(conn, lambda proxy: wanted.fetch(proxy))


def limits(conn: connection.Connection,
           project_id: str | None = None) -> dict[str, Any]:
    """Get what a project may have, and what of it is used.

    :param conn: a connection.
    :param project_id: of the project, for administrators; by default the
        limits are those that hold for the caller.
    :returns: ``project_id``, and ``absolute``, a list with ``limit``,
        ``allowed``, ``used`` and ``unit`` of each.
    :raises NotFound: the service is older than version 1.6 of the API.
    """
    asked = {} if project_id is None else {'project': project_id}
    found: dict[str, Any] = transport.request(
        conn, 'GET', '/limits', params=asked).json()['limits']
    return found


def renew(conn: connection.Connection, reservation: str | Reservation,
          ttl: int | None = None,
          expires_at: str | datetime.datetime | None = None) -> Reservation:
    """Set anew when a reservation expires.

    :param conn: a connection.
    :param reservation: the reservation, or its UUID.
    :param ttl: seconds from now.
    :param expires_at: the time, instead of ``ttl``.
    :raises ValueError: neither or both of the times were given.
    :raises NotFound: it has expired, or there is none.
    """
    patch = payload.renewal(ttl, expires_at)
    wanted = Reservation.new(id=transport.ident(reservation))
    return transport.ask(conn, lambda proxy: wanted.renew(proxy, patch))


def release(conn: connection.Connection,
            reservation: str | Reservation) -> None:
    """Delete a reservation.

    :param conn: a connection.
    :param reservation: its reservation, or the UUID of that.
    :raises NotFound: it has expired, or there is none.
    """
    wanted = Reservation.new(id=transport.ident(reservation))
    transport.ask(conn, lambda proxy: wanted.delete(proxy))


def deploy(conn: connection.Connection, reservation: str | Reservation,
           config_drive: str | bytes | dict[str, Any] | None = None,
           deploy_steps: list[dict[str, Any]] | None = None,
           wait: bool = False, timeout: float | None = None,
           node: str | _node.Node | None = None) -> _node.Node:
    """Deploy the reserved node, with the reservation as the proof.

    :param conn: a connection.
    :param reservation: the reservation, or its UUID.
    :param config_drive: as for ``set_node_provision_state``.
    :param deploy_steps: as for ``set_node_provision_state``.
    :param wait: whether to wait for the node to be active.
    :param timeout: the longest time to wait, in seconds.
    :param node: the node, where the reservation is one of a lease, which
        may have several.
    :returns: the node.
    :raises Forbidden: the proof is not accepted.
    """
    if node is not None:
        reservation = Reservation.new(id=transport.ident(reservation),
                                      node_id=transport.ident(node))
    elif not isinstance(reservation, Reservation) or not reservation.node_id:
        reservation = get(conn, reservation)
    proven = transport.twin(conn, {payload.PROOF_HEADER: reservation.id})
    try:
        return proven.set_node_provision_state(
            reservation.node_id, 'active', config_drive=config_drive,
            deploy_steps=deploy_steps, wait=wait, timeout=timeout)
    except exceptions.HttpException as error:
        raise errors.translated(error) from None

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

Each function takes a connection first and uses its bare metal service; the
other arguments of ``get``, ``renew``, ``release`` and ``limits`` are those of
the methods of the managers for python-ironicclient::

    conn = openstack.connect(cloud='metal')
    held = sdk.reserve(conn, ['6f8a...', '1c2d...'], ttl=900)
    sdk.deploy(conn, held, wait=True)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
import uuid

from openstack import connection
from openstack import exceptions
from openstack.baremetal.v1 import node as _node

from ironic_reservations_client import limits as _limits
from ironic_reservations_client import payload
from ironic_reservations_client import reservation as _reservation
from ironic_reservations_client.sdk import errors
from ironic_reservations_client.sdk import transport
from ironic_reservations_client.sdk.resource import Reservation

__all__ = ['Reservation', 'deploy', 'get', 'limits', 'release', 'renew',
           'reservations', 'reserve']


_MANAGER = _reservation.ReservationManager

get, renew, release = transport.functions(
    _MANAGER, 'get', 'renew', 'delete', kind=Reservation)
limits, = transport.functions(_limits.LimitsManager, 'get')


def _through(conn: connection.Connection) -> Any:
    return transport.through(conn, _MANAGER, Reservation)


def reserve(conn: connection.Connection,
            nodes: str | _node.Node | Iterable[str | _node.Node]
            | None = None,
            instance_id: str | None = None,
            reservation_id: str | None = None, **wanted: Any) -> Reservation:
    """Reserve a node.

    :param conn: a connection.
    :param nodes: a node, or its UUID, or several of them in the order of
        preference; by default any node with the class and the traits.
    :param instance_id: the instance for which the node is reserved; by default
        a new uuid. Another request for the same instance returns the same
        reservation.
    :param reservation_id: the uuid of the reservation; by default a new one.
    :param wanted: ``ttl``, ``expires_at``, ``resource_class``, ``traits``,
        ``flavor``, ``wait`` and ``key``, as for ``create`` of a
        ``ReservationManager``.
    :raises Conflict: no node can be reserved; ``reasons`` has the reason for
        each node.
    """
    if isinstance(nodes, str | _node.Node):
        nodes = [nodes]
    made: Reservation = _through(conn).create(
        instance_id or str(uuid.uuid4()),
        None if nodes is None else map(transport.ident, nodes),
        uuid=reservation_id, **wanted)
    return made


def reservations(conn: connection.Connection, fields: Iterable[str] = (),
                 limit: int | None = None, **query: Any
                 ) -> list[Reservation]:
    """List the live reservations that the caller may see.

    :param conn: a connection.
    :param fields: the fields to return; by default all.
    :param limit: the maximum number of reservations; all by default.
    :param query: the filters ``node``, ``instance`` and ``project``;
        ``marker``, ``sort_key`` and ``sort_dir``, as in the API.
    """
    found: list[Reservation] = _through(conn).list(
        limit=limit or 0, fields=fields, **query)
    return found


def deploy(conn: connection.Connection, reservation: str | Reservation,
           config_drive: str | bytes | dict[str, Any] | None = None,
           deploy_steps: list[dict[str, Any]] | None = None,
           wait: bool = False, timeout: float | None = None,
           node: str | _node.Node | None = None) -> _node.Node:
    """Deploy a reserved node, with the reservation as the proof.

    :param conn: a connection.
    :param reservation: the reservation, or its UUID.
    :param config_drive: as for ``set_node_provision_state``.
    :param deploy_steps: as for ``set_node_provision_state``.
    :param wait: whether to wait for the node to be active.
    :param timeout: the maximum time to wait, in seconds.
    :param node: the node, for a lease reservation, which may have several
        nodes.
    :returns: the node.
    :raises Forbidden: the proof is not accepted.
    """
    if node is not None:
        held = Reservation.new(id=transport.ident(reservation),
                               node_id=transport.ident(node))
    elif isinstance(reservation, Reservation) and reservation.node_id:
        held = reservation
    else:
        held = get(conn, reservation)
    proven = transport.twin(conn, {payload.PROOF_HEADER: held.id})
    try:
        return proven.set_node_provision_state(
            held.node_id, 'active', config_drive=config_drive,
            deploy_steps=deploy_steps, wait=wait, timeout=timeout)
    except exceptions.HttpException as error:
        raise errors.translated(error) from None

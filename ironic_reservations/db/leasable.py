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

"""Rows of ``hosts`` that follow the configuration (``[leases] hosts``)."""

from __future__ import annotations

from collections.abc import Collection
import datetime

import sqlalchemy as sa

from ironic_reservations.db import conditions
from ironic_reservations.db import hosts
from ironic_reservations.db import tables
from ironic_reservations.model import node_condition

_h = tables.hosts.c
_n = tables.nodes.c
_OF_IRONIC = _n.inventories.is_(None)
_THERE = sa.func.coalesce(_n.provision_state, '') != node_condition.GONE


def read_unopened(connection: sa.Connection, *, names: Collection[str],
                  traits: Collection[str],
                  among: Collection[str] | None = None) -> list[str]:
    """Return the nodes of Ironic that are neither hosts nor closed.

    A node that has a parent is not promised on its own.

    :param names: names and uuids of closed nodes.
    :param traits: each node with any of these is closed.
    :param among: the nodes to consider; ``None``: all.
    """
    # SELECT uuid FROM nodes WHERE NOT EXISTS (SELECT ... FROM hosts ...) ...
    host = sa.exists().where(_h.node_uuid == _n.uuid)
    return list(connection.execute(_among(
        sa.select(_n.uuid).where(
            ~host, _OF_IRONIC, _THERE, _n.parent_node.is_(None),
            ~conditions.closed(names, traits)), among)).scalars())


def read_other(connection: sa.Connection, *, names: Collection[str],
               traits: Collection[str], excluded: bool,
               among: Collection[str] | None = None) -> list[str]:
    """Return hosts whose ``excluded`` differs from the configuration.

    :param names: names and uuids of closed nodes.
    :param traits: each node with any of these is closed.
    :param excluded: the value that the hosts should have.
    :param among: the nodes to consider; ``None``: all.
    :returns: the uuids of their nodes.
    """
    # SELECT uuid FROM hosts JOIN nodes WHERE NOT excluded AND <closed>
    closed = sa.and_(_OF_IRONIC, conditions.closed(names, traits))
    return list(connection.execute(_among(
        sa.select(_n.uuid)
        .join_from(tables.hosts, tables.nodes, _h.node_uuid == _n.uuid)
        .where(_h.excluded == sa.literal(not excluded),
               closed if excluded else ~closed), among)).scalars())


def read_gone(connection: sa.Connection, *,
              among: Collection[str] | None = None) -> list[str]:
    """Return unused hosts whose nodes are gone from Ironic.

    Unused hosts have no bookings, and no operator has set ``reservable`` or a
    capability of them.

    :returns: the uuids of their nodes.
    """
    said = sa.exists().where(tables.host_capabilities.c.host_id == _h.id)
    row = tables.reservations.c
    promised = sa.exists().where(row.node_uuid == _n.uuid,
                                 row.window_id.is_(None))
    return list(connection.execute(_among(
        sa.select(_n.uuid)
        .join_from(tables.hosts, tables.nodes, _h.node_uuid == _n.uuid)
        .where(_OF_IRONIC, ~_THERE, _h.reservable == sa.true(), ~said,
               ~promised), among)).scalars())


def insert(connection: sa.Connection, node_uuids: Collection[str], *,
           now: datetime.datetime) -> None:
    """Open nodes to leases.

    :raises oslo_db.exception.DBDuplicateEntry: one of the nodes is a host
        already.
    """
    connection.execute(sa.insert(tables.hosts), [
        {'node_uuid': uuid, 'reservable': True, 'excluded': False,
         'created_at': now} for uuid in node_uuids])


def update(connection: sa.Connection, node_uuids: Collection[str], *,
           excluded: bool, now: datetime.datetime) -> None:
    """Write whether the configuration closes hosts.

    :raises Conflict: one of the hosts has been deleted.
    """
    for row in hosts.read(connection, node_uuids=node_uuids):
        hosts.update(connection, row.id, row.node_uuid, now, excluded=excluded)


def delete(connection: sa.Connection, node_uuids: Collection[str]) -> None:
    """Close nodes to leases.

    :raises Conflict: one of the hosts has been deleted already.
    """
    for row in hosts.read(connection, node_uuids=node_uuids):
        hosts.delete(connection, row.id, row.node_uuid)


def _among(query: sa.Select[tuple[str]],
           among: Collection[str] | None) -> sa.Select[tuple[str]]:
    return query if among is None else query.where(_n.uuid.in_(among))

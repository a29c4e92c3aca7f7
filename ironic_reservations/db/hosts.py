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

"""Rows of ``hosts``: nodes that are open to leases."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
import uuid as uuid_module

import sqlalchemy as sa

from ironic_reservations.db import store
from ironic_reservations.db import tables
from ironic_reservations.model import leases
from ironic_reservations.model import mirrored_node

_h = tables.hosts.c
_c = tables.host_capabilities.c
_p = tables.capabilities.c
# SELECT host_id, name, value FROM host_capabilities ORDER BY name
_CAPABILITIES = sa.select(_c.host_id, _c.name, _c.value).order_by(_c.name)
_CAPABILITIES_BY_HOST = _CAPABILITIES.where(
    _c.host_id.in_(sa.bindparam('ids', expanding=True)))


@dataclasses.dataclass(frozen=True)
class Row:
    """A host without its node.

    :ivar reservable: the value that the operator has set.
    :ivar excluded: whether the configuration closes the host regardless.
    """

    id: int
    node_uuid: str
    reservable: bool
    created_at: datetime.datetime
    updated_at: datetime.datetime | None
    capabilities: Mapping[str, str] = dataclasses.field(default_factory=dict)
    excluded: bool = False

    def with_node(self, node: mirrored_node.Node) -> leases.Host:
        """Return the host with its node.

        :param node: as it was read.
        """
        return leases.Host(self.id, node, self.created_at, self.updated_at,
                           self.reservable and not self.excluded,
                           self.capabilities, self.excluded)


_HOST = store.Rows(Row, tables.hosts, 'host {0.id}',
                   as_read=('id', 'node_uuid'))
# SELECT id, node_uuid, ... FROM hosts ORDER BY id
_HOSTS = sa.select(*_HOST.columns).order_by(_h.id)
# Built once, since each request on the timeline needs it.
_HOSTS_BY_NODE = _HOSTS.where(
    _h.node_uuid.in_(sa.bindparam('uuids', expanding=True)))


@dataclasses.dataclass(frozen=True)
class Property:
    """A name of capabilities, and the values that hosts have for it."""

    id: str
    name: str
    private: bool
    created_at: datetime.datetime
    updated_at: datetime.datetime | None
    values: tuple[str, ...] = ()


def read(connection: sa.Connection, *, ids: Collection[int] | None = None,
         node_uuids: Collection[str] | None = None, after: int | None = None,
         limit: int | None = None) -> list[Row]:
    """Return hosts, ordered by id.

    :param after: the last id of the previous page.
    """
    query, given = _HOSTS, {}
    if node_uuids is not None:
        query, given = _HOSTS_BY_NODE, {'uuids': list(node_uuids)}
    if ids is not None:
        query = query.where(_h.id.in_(ids))
    if after is not None:
        query = query.where(_h.id > after)
    if limit is not None:
        query = query.limit(limit)
    result = connection.execute(query, given)
    made, rows = _HOST.reader(result, 'capabilities'), result.all()
    if not rows:
        return []
    said = (connection.execute(_CAPABILITIES)
            if ids is node_uuids is after is limit is None
            else connection.execute(_CAPABILITIES_BY_HOST,
                                    {'ids': [row.id for row in rows]}))
    capabilities: dict[int, dict[str, str]] = {}
    for host_id, name, value in said:
        capabilities.setdefault(host_id, {})[name] = value
    return [made(row, capabilities.get(row.id, {})) for row in rows]


def read_node_uuids(connection: sa.Connection,
                    node_uuids: Collection[str]) -> frozenset[str]:
    """Return the nodes among some that are hosts."""
    # SELECT node_uuid FROM hosts WHERE node_uuid IN (...)
    return frozenset(connection.execute(
        sa.select(_h.node_uuid).where(_h.node_uuid.in_(node_uuids))
    ).scalars())


def insert(connection: sa.Connection, node_uuid: str,
           now: datetime.datetime, excluded: bool = False) -> int:
    """Open a node to leases and return the host's id.

    :param excluded: whether the configuration closes it.
    :raises oslo_db.exception.DBDuplicateEntry: the node is a host already.
    """
    return int(_HOST.insert_one(connection, Row(
        0, node_uuid, True, now, None, excluded=excluded)))


def update(connection: sa.Connection, host_id: int, node_uuid: str,
           now: datetime.datetime, reservable: bool | None = None,
           excluded: bool | None = None) -> None:
    """Write whether a host may be leased, and that it has changed.

    :param node_uuid: the node of the host.
    :param reservable: ``None``: keep it.
    :param excluded: whether the configuration closes it; ``None``: keep it.
    :raises Conflict: the host does not exist any more.
    """
    # UPDATE hosts SET ... WHERE id = ? AND node_uuid = ?
    changed = {'reservable': reservable, 'excluded': excluded}
    store.check(connection.execute(
        sa.update(tables.hosts)
        .where(_h.id == host_id, _h.node_uuid == node_uuid)
        .values(updated_at=now, **{
            name: value for name, value in changed.items()
            if value is not None})), 1, f'host {host_id}')


def write_capabilities(connection: sa.Connection, host_ids: Collection[int],
                       said: Mapping[str, str | None],
                       now: datetime.datetime) -> None:
    """Set capabilities of hosts; ``None`` removes one."""
    # DELETE FROM host_capabilities WHERE host_id IN (...)
    #   AND name IN (...)
    # SELECT name FROM capabilities WHERE name IN (...)
    # INSERT INTO capabilities ...; INSERT INTO host_capabilities ...
    if not said or not host_ids:
        return
    connection.execute(sa.delete(tables.host_capabilities).where(
        _c.host_id.in_(host_ids), _c.name.in_(said)))
    known = set(connection.execute(
        sa.select(_p.name).where(_p.name.in_(said))).scalars())
    new = [name for name, value in said.items()
           if value is not None and name not in known]
    if new:
        connection.execute(sa.insert(tables.capabilities), [
            {'name': name, 'id': str(uuid_module.uuid4()), 'private': False,
             'created_at': now} for name in new])
    rows = [{'host_id': host_id, 'name': name, 'value': value}
            for host_id in host_ids for name, value in said.items()
            if value is not None]
    if rows:
        connection.execute(sa.insert(tables.host_capabilities), rows)


def delete(connection: sa.Connection, host_id: int, node_uuid: str) -> None:
    """Close a node to leases.

    :param node_uuid: the node of the host.
    :raises Conflict: the host does not exist any more.
    """
    connection.execute(sa.delete(tables.host_capabilities).where(
        _c.host_id == host_id))
    # DELETE FROM hosts WHERE id = ? AND node_uuid = ?
    store.check(connection.execute(sa.delete(tables.hosts).where(
        _h.id == host_id, _h.node_uuid == node_uuid)), 1, f'host {host_id}')


def read_properties(connection: sa.Connection,
                    name: str | None = None) -> list[Property]:
    """Return the capabilities that hosts have, ordered by name."""
    # SELECT id, name, ... FROM capabilities ORDER BY name
    # SELECT DISTINCT name, value FROM host_capabilities ORDER BY value
    query = sa.select(_p.id, _p.name, _p.private, _p.created_at,
                      _p.updated_at).order_by(_p.name)
    said = sa.select(_c.name, _c.value).distinct().order_by(_c.value)
    if name is not None:
        query, said = query.where(_p.name == name), said.where(
            _c.name == name)
    values: dict[str, list[str]] = {}
    for key, value in connection.execute(said):
        values.setdefault(key, []).append(value)
    rows = connection.execute(query)
    made = store.record(Property).reader(rows, 'values')
    return [made(row, tuple(values[row.name]))
            for row in rows if row.name in values]


def update_private(connection: sa.Connection, name: str, private: bool,
                   now: datetime.datetime) -> None:
    """Write whether a capability is hidden from users.

    Callers who may manage hosts see it in any case.
    """
    # UPDATE capabilities SET private = ?, updated_at = ? WHERE name = ?
    connection.execute(sa.update(tables.capabilities)
                       .where(_p.name == name)
                       .values(private=private, updated_at=now))

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

"""Rows of ``nodes``: the mirror of Ironic's nodes, and their generations."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
import functools
import json
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import changes
from ironic_reservations.db import generations as db_generations
from ironic_reservations.db import histories
from ironic_reservations.db import row_queue
from ironic_reservations.db import store
from ironic_reservations.db import tables
from ironic_reservations.model import inventories
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition

_n = tables.nodes.c
_UUIDS = sa.bindparam('uuids', expanding=True)


def _properties(text: str | None) -> tuple[tuple[str, str], ...]:
    return tuple(json.loads(text).items()) if text else ()


def _inventories(text: str | None
                 ) -> tuple[tuple[str, inventories.Inventory], ...] | None:
    if text is None:
        return None
    return tuple((name, inventories.Inventory(**there))
                 for name, there in json.loads(text).items())


def _of_properties(properties: Collection[tuple[str, str]]) -> str | None:
    return json.dumps(dict(properties)) if properties else None


def _of_inventories(
        there: Collection[tuple[str, inventories.Inventory]] | None
        ) -> str | None:
    return None if there is None else json.dumps(
        {name: dataclasses.asdict(each) for name, each in there})


NODE = store.Rows(
    mirrored_node.Node, tables.nodes, 'node {0.uuid}',
    as_read=('uuid', 'generation'),
    decode={'properties': _properties, 'inventories': _inventories},
    encode={'properties': _of_properties, 'inventories': _of_inventories})
#: The facts that Ironic returns of a node.
_FACTS = tuple(column.key for column in NODE.columns
               if column.key not in ('uuid', 'generation'))
# SELECT uuid, generation, name, ... FROM nodes
# The statements of requests are built once: building one takes longer
# than all other work of SQLAlchemy for it.
_NODES = store.OfNodes(sa.select(*NODE.columns), _n.uuid)
_t = tables.node_traits.c
# SELECT node_uuid, trait FROM node_traits
_TRAITS = store.OfNodes(sa.select(_t.node_uuid, _t.trait), _t.node_uuid)


def read_nodes(connection: sa.Connection, uuids: Collection[str] | None = None,
               with_traits: bool = True) -> dict[str, mirrored_node.Node]:
    """Return nodes by their uuids, or all of them.

    :param with_traits: whether to read traits, too, with another query.
    """
    # SELECT uuid, generation, ... FROM nodes WHERE uuid IN (...)
    result = _NODES.execute(connection, uuids)
    made, uuid_of, rows = NODE.reader(result, 'traits'), store.values_of(
        result, 'uuid'), result.all()
    traits: dict[str, set[str]] = {}
    if with_traits and rows:
        for node_uuid, trait in _TRAITS.execute(connection, uuids):
            traits.setdefault(node_uuid, set()).add(trait)
    return {(uuid := uuid_of(row)): made(
        row, frozenset(traits.get(uuid, ()))) for row in rows}


def read_node(connection: sa.Connection,
              uuid: str) -> mirrored_node.Node | None:
    """Return one node, without its traits."""
    return read_nodes(connection, (uuid,), with_traits=False).get(uuid)


def read_children(connection: sa.Connection,
                  uuids: Collection[str]) -> list[str]:
    """Return the uuids of the nodes that are parts of some nodes."""
    # SELECT uuid FROM nodes WHERE parent_node IN (...)
    return list(connection.scalars(sa.select(_n.uuid).where(
        _n.parent_node.in_(uuids)).order_by(_n.uuid)))


def read_state_since(connection: sa.Connection,
                     node: mirrored_node.Node) -> datetime.datetime | None:
    """Return the time since when a node has had its state and instance.

    :returns: ``None`` if the mirror shows another state or instance.
    """
    # SELECT observed_at FROM nodes
    #   WHERE uuid = ? AND provision_state = ? AND instance_uuid = ?
    return connection.scalar(sa.select(_n.observed_at).where(
        _n.uuid == node.uuid,
        _n.provision_state.is_not_distinct_from(node.provision_state),
        _n.instance_uuid.is_not_distinct_from(node.instance_uuid)))


def read_let_through(connection: sa.Connection, uuid: str) -> str | None:
    """Return the token of the last request let through to a node."""
    # SELECT let_through FROM nodes WHERE uuid = ?
    return connection.scalar(sa.select(_n.let_through).where(_n.uuid == uuid))


def read_compute_hosts(connection: sa.Connection
                       ) -> dict[str, mirrored_node.Node]:
    """Return all compute hosts, by their uuids."""
    # SELECT uuid FROM nodes WHERE inventories IS NOT NULL
    uuids = connection.scalars(
        sa.select(_n.uuid).where(_n.inventories.is_not(None))).all()
    return read_nodes(connection, uuids) if uuids else {}


def count(connection: sa.Connection) -> int:
    """Return the number of all nodes."""
    # SELECT COUNT(*) FROM nodes
    return connection.execute(sa.select(sa.func.count()).select_from(
        tables.nodes)).scalar_one()


def read_classes(connection: sa.Connection) -> list[str]:
    """Return the resource classes of all nodes, in order."""
    # SELECT DISTINCT resource_class FROM nodes
    #   WHERE resource_class IS NOT NULL ORDER BY resource_class
    return list(connection.scalars(
        sa.select(_n.resource_class).distinct()
        .where(_n.resource_class.is_not(None)).order_by(_n.resource_class)))


def advance(connection: sa.Connection, uuid: str, generation: int,
            raised: int, node: mirrored_node.Node, now: datetime.datetime,
            let_through: str | None = None) -> bool:
    """Raise a node's generation, if it has not changed since it was read.

    :param raised: the new generation.
    :param node: the node as Ironic returned it, stored unless the row has
        newer data.
    :param now: a time before the query to Ironic.
    :param let_through: the token of the request that is let through.
    :returns: ``False`` if the generation has changed.
    """
    given = {f'new_{key}': value for key, value in NODE.values(node).items()
             if key in _NEWER}
    given |= {'of_uuid': uuid, 'read': generation,
              'next_generation': raised, 'new_observed_at': now}
    if let_through is not None:
        given['token'] = let_through
    with row_queue.turn((uuid,)):
        result = connection.execute(_advance(let_through is not None), given)
    return bool(result.rowcount == 1)


# Without the time of enrolment: the mirror has to detect that a node was
# enrolled again, since leases have to be updated then. The time of the
# observation comes last, since MariaDB evaluates assignments in order.
_NEWER = (*(key for key in _FACTS if key not in ('enrolled_at', 'owner')),
          'observed_at')


@functools.cache
def _advance(through: bool) -> sa.Update:
    """Return the statement of :func:`advance`, which is built once."""
    # UPDATE nodes SET generation = ?,
    #     name = CASE WHEN observed_at <= ? THEN ? ELSE name END, ...
    #   WHERE uuid = ? AND generation = ? AND EXISTS (...)
    newer = _n.observed_at <= sa.bindparam('new_observed_at',
                                           type_=_n.observed_at.type)
    return sa.update(tables.nodes).where(
        _n.uuid == sa.bindparam('of_uuid'),
        _n.generation == sa.bindparam('read'),
        histories.SAME).ordered_values(
            (_n.generation, sa.bindparam('next_generation',
                                         type_=_n.generation.type)),
            *([(_n.let_through, sa.bindparam('token'))] if through else ()),
            *((_n[key], sa.case(
                (newer, sa.bindparam(f'new_{key}', type_=_n[key].type)),
                else_=_n[key])) for key in _NEWER))


_RAISED = _n.generation + sa.bindparam('step')
# UPDATE nodes SET generation = generation + ?
#   WHERE uuid IN (...) AND (uuid, generation) IN ((?, ?), ...)
#     AND EXISTS (SELECT * FROM histories WHERE server = ...)
# The first condition is for the index: MariaDB uses none for pairs.
_ADVANCE = sa.update(tables.nodes).where(
    _n.uuid.in_(_UUIDS),
    sa.tuple_(_n.uuid, _n.generation).in_(
        sa.bindparam('pairs', expanding=True)), histories.SAME
).values(generation=_RAISED)
# UPDATE nodes SET generation = generation + ?
#   WHERE uuid = ? AND generation = ? AND EXISTS (...)
# For a single node, as in most requests: SQLAlchemy writes lists of values
# into a statement at each execution.
_ADVANCE_ONE = sa.update(tables.nodes).where(
    _n.uuid == sa.bindparam('of_uuid'), _n.generation == sa.bindparam('read'),
    histories.SAME
).values(generation=_RAISED)
# UPDATE nodes SET generation = generation + ?, let_through = ?
#   WHERE uuid = ? AND generation = ? AND EXISTS (...)
_ADVANCE_ONE_THROUGH = _ADVANCE_ONE.values(let_through=sa.bindparam('token'))
_ADVANCE_THROUGH = _ADVANCE.values(let_through=sa.case(
    (_n.uuid == sa.bindparam('through'), sa.bindparam('token')),
    else_=_n.let_through))


# SELECT uuid, generation FROM nodes WHERE uuid IN (...)
_GENERATIONS = sa.select(_n.uuid, _n.generation).where(_n.uuid.in_(_UUIDS))
# SELECT uuid, owner FROM nodes WHERE uuid IN (...)
_OWNERS = sa.select(_n.uuid, _n.owner).where(_n.uuid.in_(_UUIDS))
_CLASSES = sa.select(_n.uuid, _n.resource_class).where(_n.uuid.in_(_UUIDS))


def read_generations(connection: sa.Connection,
                     uuids: Collection[str]) -> dict[str, int]:
    """Return the generations of nodes, by their uuids."""
    if not uuids:
        return {}
    return {uuid: generation for uuid, generation in connection.execute(
        _GENERATIONS, {'uuids': list(uuids)})}


def read_owners(connection: sa.Connection,
                uuids: Collection[str]) -> dict[str, str | None]:
    """Return the owners of nodes, by their uuids."""
    # SELECT uuid, owner FROM nodes WHERE uuid IN (...)
    return {uuid: owner or None for uuid, owner in connection.execute(
        _OWNERS, {'uuids': list(uuids)})}


def read_classes_of(connection: sa.Connection,
                    uuids: Collection[str]) -> dict[str, str]:
    """Return the resource classes of nodes; empty: the node has none."""
    # SELECT uuid, resource_class FROM nodes WHERE uuid IN (...)
    return {uuid: name or '' for uuid, name in connection.execute(
        _CLASSES, {'uuids': list(uuids)})} if uuids else {}


def advance_all(connection: sa.Connection,
                generations: Mapping[str, int], step: int,
                let_through: tuple[str, str] | None = None) -> bool:
    """Raise the generations of nodes, if none has changed.

    :param generations: the generations as read, by the nodes' uuids.
    :param step: the amount, never used for another change.
    :param let_through: a node, and the token of the request that is let
        through to it.
    :returns: ``False`` if a generation has changed; the transaction then has
        to be rolled back.
    """
    if not generations:
        return True
    statement, given = _advancing(generations, let_through)
    with row_queue.turn(generations):
        result = connection.execute(statement, {**given, 'step': step})
    return bool(result.rowcount == len(generations))


def _advancing(generations: Mapping[str, int],
               let_through: tuple[str, str] | None
               ) -> tuple[sa.Update, dict[str, Any]]:
    """Return the statement of :func:`advance_all`, and its values."""
    through = {} if let_through is None else {
        'through': let_through[0], 'token': let_through[1]}
    if len(generations) > 1:
        return (_ADVANCE_THROUGH if through else _ADVANCE), {
            'uuids': list(generations), 'pairs': list(generations.items()),
            **through}
    ((uuid, generation),) = generations.items()
    given = {'of_uuid': uuid, 'read': generation}
    if through.pop('through', None) != uuid:
        return _ADVANCE_ONE, given
    return _ADVANCE_ONE_THROUGH, {**given, **through}


@functools.cache
def _insert_if_certain() -> sa.Insert:
    """Return the statement of :func:`insert_node`, which is built once."""
    # INSERT INTO nodes (uuid, ...) SELECT ?, ... WHERE NOT EXISTS (
    #   SELECT * FROM histories WHERE uncertain_until > ? OR server <> ...)
    names = ('uuid', 'generation', *_FACTS, 'observed_at', 'let_through')
    return sa.insert(tables.nodes).from_select(names, sa.select(*(
        sa.bindparam(name, type_=_n[name].type) for name in names
    )).where(~sa.exists().where(histories.is_uncertain(
        sa.bindparam('of_now', type_=_n.observed_at.type)))))


def insert_node(connection: sa.Connection, node: mirrored_node.Node,
                now: datetime.datetime,
                let_through: str | None = None) -> bool:
    """Add a node to the mirror, unless all nodes are uncertain.

    :param let_through: the token of the request that is let through.
    :returns: ``False``: a request of a lost history may be on its way to it.
    """
    if not connection.execute(_insert_if_certain(), {
            **NODE.values(node), 'generation': db_generations.first(),
            'observed_at': now, 'let_through': let_through,
            'of_now': now}).rowcount:
        return False
    insert_traits(connection, {node.uuid: node.traits})
    return True


def insert_in_any_case(connection: sa.Connection, node: mirrored_node.Node,
                       now: datetime.datetime) -> None:
    """Add a node to the mirror; it is uncertain if all others are."""
    if not insert_node(connection, node, now):
        NODE.insert(connection, [node], generation=db_generations.first(),
                    observed_at=now, let_through=None)
        insert_traits(connection, {node.uuid: node.traits})
        histories.keep_new(connection, node.uuid, now)


def insert_traits(connection: sa.Connection,
                  traits: Mapping[str, Collection[str]]) -> None:
    """Write the traits of nodes."""
    # INSERT INTO node_traits (node_uuid, trait) VALUES (?, ?), ...
    rows = [{'node_uuid': uuid, 'trait': trait}
            for uuid, names in traits.items() for trait in sorted(names)]
    if rows:
        connection.execute(sa.insert(tables.node_traits), rows)


def update_facts(connection: sa.Connection,
                 nodes: Collection[mirrored_node.Node],
                 now: datetime.datetime, replaced: bool = False) -> None:
    """Write the facts that Ironic returned of nodes to the mirror.

    :param now: the time of the query; newer data is not overwritten.
    :param replaced: whether the nodes were enrolled again; otherwise, a known
        time of enrolment and its owner stay, so that the next poll detects
        that.
    """
    # UPDATE nodes SET observed_at = ?, revision = revision + ?, name = ?, ...,
    #     enrolled_at = coalesce(enrolled_at, ?),
    #     owner = CASE WHEN enrolled_at IS NULL OR enrolled_at = ?
    #       THEN ? ELSE owner END
    #   WHERE uuid = ? AND observed_at <= ?
    if not nodes:
        return
    changes.insert(connection, {node.uuid: None for node in nodes})
    values: dict[str, sa.ColumnElement[Any]] = {
        key: sa.bindparam('v_' + key) for key in _FACTS}
    if not replaced:
        known, given = _n.enrolled_at, sa.bindparam(
            'v_enrolled_at', type_=_n.enrolled_at.type)
        values |= {
            'enrolled_at': sa.func.coalesce(known, given),
            'owner': sa.case((sa.or_(known.is_(None), known == given),
                              sa.bindparam('v_owner', type_=_n.owner.type)),
                             else_=_n.owner)}
    connection.execute(
        sa.update(tables.nodes)
        .where(_n.uuid == sa.bindparam('k_uuid'),
               _n.observed_at <= sa.bindparam('v_now'))
        .values(observed_at=sa.bindparam('v_now'),
                revision=_n.revision + sa.bindparam('v_step'), **values),
        [{'k_uuid': node.uuid, 'v_now': now,
          'v_step': db_generations.step(),
          **{'v_' + key: value for key, value in NODE.values(node).items()
             if key in values}}
         for node in nodes])


def mark_stale(connection: sa.Connection, uuid: str,
               now: datetime.datetime) -> None:
    """Clear the state of an available node until Ironic is read again.

    :param now: answers to queries before this time do not restore the state.
    """
    # UPDATE nodes SET provision_state = NULLIF(provision_state, 'available'),
    #   observed_at = ?, revision = revision + ?
    #   WHERE uuid = ? AND observed_at <= ?
    changes.insert(connection, {uuid: None})
    connection.execute(
        sa.update(tables.nodes)
        .where(_n.uuid == uuid, _n.observed_at <= now)
        .values(provision_state=sa.func.nullif(_n.provision_state,
                                               node_condition.AVAILABLE),
                revision=_n.revision + db_generations.step(),
                observed_at=now))


def replace_traits(connection: sa.Connection,
                   nodes: Collection[mirrored_node.Node],
                   now: datetime.datetime) -> None:
    """Replace the traits of nodes.

    :param now: the time of the query, for which :func:`update_facts` was
        called; traits that came with newer facts are not overwritten.
    """
    if not nodes:
        return
    # SELECT uuid FROM nodes WHERE uuid IN (...) AND observed_at = ?
    newest = connection.scalars(sa.select(_n.uuid).where(
        _n.uuid.in_([node.uuid for node in nodes]),
        _n.observed_at == now)).all()
    # DELETE FROM node_traits WHERE node_uuid IN (...)
    connection.execute(sa.delete(tables.node_traits).where(
        tables.node_traits.c.node_uuid.in_(newest)))
    insert_traits(connection, {node.uuid: node.traits for node in nodes
                               if node.uuid in newest})


def delete_node(connection: sa.Connection, uuid: str,
                generation: int) -> None:
    """Delete a node from the mirror.

    :param generation: the generation that this transaction has written.
    :raises Conflict: the node has another generation.
    """
    NODE.delete(connection, mirrored_node.Node(uuid, generation))

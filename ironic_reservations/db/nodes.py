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

"""Rows of ``nodes``: what Ironic said last, and the generation."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import datetime
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import tables
from ironic_reservations.planner import facts

_n = tables.nodes.c
_FACTS = ('name', 'resource_class', 'provision_state', 'instance_uuid',
          'maintenance', 'retired', 'reservable', 'owner', 'lessee')
_COLUMNS = (_n.uuid, _n.generation, *(_n[key] for key in _FACTS))


def _node(row: Sequence[Any], traits: frozenset[str]) -> facts.Node:
    return facts.Node(
        uuid=row[0], generation=row[1], name=row[2], resource_class=row[3],
        provision_state=row[4], instance_uuid=row[5], maintenance=row[6],
        retired=row[7], reservable=row[8], owner=row[9], lessee=row[10],
        traits=traits)


def read_nodes(connection: sa.Connection, uuids: Collection[str] | None = None,
               with_traits: bool = True) -> dict[str, facts.Node]:
    """Read nodes by their uuids, or all of them.

    :param with_traits: one more query, for those who ask about traits.
    """
    # SELECT uuid, generation, ... FROM nodes WHERE uuid IN (...)
    query = sa.select(*_COLUMNS)
    of_traits = sa.select(tables.node_traits.c.node_uuid,
                          tables.node_traits.c.trait)
    if uuids is not None:
        query = query.where(_n.uuid.in_(uuids))
        of_traits = of_traits.where(tables.node_traits.c.node_uuid.in_(uuids))
    rows = connection.execute(query).all()
    traits: dict[str, set[str]] = {}
    if with_traits and rows:
        for node_uuid, trait in connection.execute(of_traits):
            traits.setdefault(node_uuid, set()).add(trait)
    return {row[0]: _node(row, frozenset(traits.get(row[0], ())))
            for row in rows}


def _wanted(resource_class: str | None,
            traits: Collection[str]) -> list[sa.ColumnElement[bool]]:
    wanted: list[sa.ColumnElement[bool]] = []
    if resource_class is not None:
        wanted.append(_n.resource_class == resource_class)
    has = tables.node_traits.c
    wanted.extend(sa.exists().where(has.node_uuid == _n.uuid,
                                    has.trait == trait)
                  for trait in sorted(traits))
    return wanted


def _visible(sees: facts.Visibility) -> list[sa.ColumnElement[bool]]:
    if sees.everything:
        return []
    return [sa.or_(_n.owner == sees.project_id, _n.lessee == sees.project_id)]


def read_free_nodes(connection: sa.Connection, resource_class: str | None,
                    traits: Collection[str], sees: facts.Visibility,
                    now: datetime.datetime, start_at: str,
                    limit: int) -> dict[str, facts.Node]:
    """Read some of the nodes that look free, in the order of their uuids.

    :param start_at: a uuid to begin at, wrapping round: callers that begin
        at different places do not race for the same node.
    """
    r, p = tables.reservations.c, tables.passages.c
    # SELECT ... FROM nodes WHERE resource_class = ? AND it is available
    #   AND NOT EXISTS (a live reservation) AND NOT EXISTS (a live passage)
    #   AND uuid >= ? ORDER BY uuid LIMIT ?
    free = sa.select(*_COLUMNS).where(
        _n.provision_state == facts.AVAILABLE, _n.instance_uuid.is_(None),
        sa.not_(_n.maintenance), sa.not_(_n.retired), _n.reservable,
        *_wanted(resource_class, traits), *_visible(sees),
        ~sa.exists().where(r.node_uuid == _n.uuid, is_live(now)),
        ~sa.exists().where(p.node_uuid == _n.uuid, p.expires_at > now),
    ).order_by(_n.uuid).limit(limit)
    # NOTE: two walks along the index that stop, in one statement: to sort
    # all nodes in order to put those in front behind costs more.
    behind = free.where(_n.uuid >= start_at).subquery()
    in_front = free.where(_n.uuid < start_at).subquery()
    found = connection.execute(sa.union_all(
        sa.select(behind), sa.select(in_front))).all()
    rows = sorted(found, key=lambda row: (row[0] < start_at, row[0]))[:limit]
    asked = frozenset(traits)
    return {row[0]: _node(row, asked) for row in rows}


def is_live(now: datetime.datetime) -> sa.ColumnElement[bool]:
    """Say in SQL what :meth:`facts.Reservation.live` says in Python."""
    r = tables.reservations.c
    return sa.or_(r.state != facts.State.RESERVED.value, r.expires_at > now)


def count_obstacles(connection: sa.Connection, resource_class: str | None,
                    traits: Collection[str], sees: facts.Visibility,
                    now: datetime.datetime) -> dict[str, int]:
    """Count the nodes of a class by what keeps each from being picked.

    The order of the causes is that of ``planner.pick.why_not``.
    """
    r = tables.reservations.c
    cause = sa.case(
        (sa.not_(_n.reservable), 'not_reservable'),
        (_n.retired, 'retired'),
        (_n.maintenance, 'maintenance'),
        (sa.exists().where(r.node_uuid == _n.uuid, is_live(now)), 'reserved'),
        (_n.instance_uuid.is_not(None), 'instance_bound'),
        (_n.provision_state.is_distinct_from(facts.AVAILABLE), 'wrong_state'),
        else_='busy')
    seen = sa.select(cause.label('cause')).where(
        *_wanted(resource_class, traits), *_visible(sees)).subquery()
    # SELECT cause, COUNT(*) FROM (SELECT CASE ... END AS cause FROM nodes
    #   WHERE resource_class = ?) GROUP BY cause
    rows = connection.execute(
        sa.select(seen.c.cause, sa.func.count()).group_by(seen.c.cause))
    return {cause: count for cause, count in rows}


def _values(node: facts.Node) -> dict[str, Any]:
    return {key: getattr(node, key) for key in _FACTS}


def advance(connection: sa.Connection, uuid: str, generation: int,
            node: facts.Node | None = None,
            now: datetime.datetime | None = None) -> bool:
    """Raise a node's generation if it still is the one that was planned on.

    :param node: newer facts from Ironic, to be kept at the same time.
    :param now: when they were read.
    :returns: ``False`` if somebody else was first.
    """
    # UPDATE nodes SET generation = generation + 1
    #   WHERE uuid = ? AND generation = ?
    result = connection.execute(
        sa.update(tables.nodes)
        .where(_n.uuid == uuid, _n.generation == generation)
        .values(generation=generation + 1,
                **({} if node is None
                   else {**_values(node), 'observed_at': now})))
    return bool(result.rowcount == 1)


def bump(connection: sa.Connection, uuid: str) -> None:
    """Raise a node's generation, whatever it is: every plan is outdated."""
    # UPDATE nodes SET generation = generation + 1 WHERE uuid = ?
    connection.execute(
        sa.update(tables.nodes).where(_n.uuid == uuid)
        .values(generation=_n.generation + 1))


def insert_node(connection: sa.Connection, node: facts.Node, generation: int,
                now: datetime.datetime) -> None:
    """Begin to mirror a node."""
    connection.execute(sa.insert(tables.nodes).values(
        uuid=node.uuid, generation=generation, observed_at=now,
        **_values(node)))
    insert_traits(connection, {node.uuid: node.traits})


def insert_traits(connection: sa.Connection,
                  traits: Mapping[str, Collection[str]]) -> None:
    """Add traits, by node."""
    rows = [{'node_uuid': uuid, 'trait': trait}
            for uuid, names in traits.items() for trait in sorted(names)]
    if rows:
        connection.execute(sa.insert(tables.node_traits), rows)


def update_facts(connection: sa.Connection, nodes: Collection[facts.Node],
                 now: datetime.datetime) -> None:
    """Write what Ironic says of nodes that are mirrored already.

    :param now: when Ironic was asked; newer facts are not overwritten.
    """
    if not nodes:
        return
    values = {key: sa.bindparam('v_' + key) for key in _FACTS}
    connection.execute(
        sa.update(tables.nodes)
        .where(_n.uuid == sa.bindparam('k_uuid'),
               _n.observed_at <= sa.bindparam('v_now'))
        .values(observed_at=sa.bindparam('v_now'), **values),
        [{'k_uuid': node.uuid, 'v_now': now,
          **{'v_' + key: value for key, value in _values(node).items()}}
         for node in nodes])


def doubt(connection: sa.Connection, uuid: str) -> None:
    """Take back that a node is available, until Ironic is read again."""
    # UPDATE nodes SET provision_state = NULL
    #   WHERE uuid = ? AND provision_state = 'available'
    connection.execute(
        sa.update(tables.nodes)
        .where(_n.uuid == uuid, _n.provision_state == facts.AVAILABLE)
        .values(provision_state=None))


def replace_traits(connection: sa.Connection,
                   nodes: Collection[facts.Node]) -> None:
    """Write the traits of nodes anew."""
    if not nodes:
        return
    connection.execute(sa.delete(tables.node_traits).where(
        tables.node_traits.c.node_uuid.in_([node.uuid for node in nodes])))
    insert_traits(connection, {node.uuid: node.traits for node in nodes})


def delete_node(connection: sa.Connection, uuid: str) -> None:
    """Forget a node that Ironic no longer has."""
    connection.execute(sa.delete(tables.nodes).where(_n.uuid == uuid))

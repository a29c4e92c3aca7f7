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
import enum
import functools
import json
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import changes
from ironic_reservations.db import conditions
from ironic_reservations.db import generations as db_generations
from ironic_reservations.db import histories
from ironic_reservations.db import row_queue
from ironic_reservations.db import store
from ironic_reservations.db import tables
from ironic_reservations.model import inventories
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition
from ironic_reservations.model import reasons
from ironic_reservations.model import visibility

_n = tables.nodes.c
_r = tables.reservations.c
#: The columns that a pick needs; the other facts are conditions of the query.
_PICKED = (_n.uuid, _n.generation, _n.resource_class, _n.owner, _n.lessee)
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


_NODE = store.Rows(
    mirrored_node.Node, tables.nodes, 'node {0.uuid}',
    as_read=('uuid', 'generation'),
    decode={'properties': _properties, 'inventories': _inventories},
    encode={'properties': _of_properties, 'inventories': _of_inventories})
#: The facts that Ironic returns of a node.
_FACTS = tuple(column.key for column in _NODE.columns
               if column.key not in ('uuid', 'generation'))
# SELECT uuid, generation, name, ... FROM nodes
# The statements of requests are built once: building one takes longer
# than all other work of SQLAlchemy for it.
_NODES = store.OfNodes(sa.select(*_NODE.columns), _n.uuid)
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
    made, uuid_of, rows = _NODE.reader(result, 'traits'), store.values_of(
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


@dataclasses.dataclass(frozen=True)
class NodeRequirements:
    """Requirements on nodes.

    :ivar resource_classes: one of these; ``None``: any.
    :ivar traits: all of these.
    :ivar forbidden: traits, none of these.
    :ivar other_classes: resource classes, none of these.
    """

    resource_classes: tuple[str, ...] | None = None
    traits: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()
    other_classes: tuple[str, ...] = ()


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


#: The name of a caller who sees no node, among those of parameters.
_NOBODY = 'nobody'
#: The names of the conditions of a query for nodes, in order. Statements are
#: built once for each form.
_Form = tuple[str, ...]


def _condition(name: str) -> conditions.Condition:
    """Return the condition on a row of ``nodes`` with a parameter."""
    parameter = sa.bindparam(name)
    several = sa.bindparam(name, expanding=True)
    match name.partition('_')[0]:
        case 'class':
            # SQLAlchemy writes lists of values into a statement at each
            # execution.
            return _n.resource_class == parameter
        case 'classes':
            return _n.resource_class.in_(several)
        case 'others':
            return sa.or_(_n.resource_class.is_(None),
                          _n.resource_class.not_in(several))
        case 'trait':
            return _has(parameter)
        case 'forbidden':
            return ~_has(parameter)
        case 'project':
            return conditions.of_project(parameter)
        case _:
            assert name == _NOBODY
            return sa.false()


def _has(trait: sa.BindParameter[str]) -> sa.Exists:
    """Return the condition that a node has a trait."""
    return sa.exists().where(_t.node_uuid == _n.uuid, _t.trait == trait)


def _asked(wanted: NodeRequirements,
           sees: visibility.Visibility) -> tuple[_Form, dict[str, Any]]:
    """Return the form of a query, and its values by name."""
    given: dict[str, Any] = {}
    if wanted.resource_classes is not None:
        if len(wanted.resource_classes) == 1:
            (given['class'],) = wanted.resource_classes
        else:
            given['classes'] = list(wanted.resource_classes)
    if wanted.other_classes:
        given['others'] = list(wanted.other_classes)
    given.update((f'trait_{number}', trait) for number, trait
                 in enumerate(sorted(wanted.traits)))
    given.update((f'forbidden_{number}', trait) for number, trait
                 in enumerate(sorted(wanted.forbidden)))
    if not sees.everything:
        if sees.project_id is None:
            return (*given, _NOBODY), given
        given['project'] = sees.project_id
    return (*given,), given


class _Range(enum.Enum):
    """A part of all uuids."""

    BEHIND = enum.auto()
    IN_FRONT = enum.auto()


def _not_booked_now(form: _Form, hosts: bool) -> list[conditions.Condition]:
    """Return the conditions on a node that can be reserved at present."""
    return [*map(_condition, form), *(
        condition for _, condition in conditions.requirements(conditions.NOW,
                                                              hosts))]


# Limited, since clients choose the number of traits.
@functools.lru_cache(maxsize=64)
def _candidates(form: _Form, hosts: bool, part: _Range,
                by_uuid: bool) -> sa.Select[Any]:
    """Return a statement of :func:`read_candidates`, which is built once."""
    # SELECT uuid, generation, ...,
    #   (SELECT COUNT(*) FROM reservations WHERE it is of the node)
    #     + (SELECT COUNT(*) FROM reservations WHERE instance_uuid = ?)
    #     + (SELECT COUNT(*) FROM reservations WHERE uuid = ?)
    #   FROM nodes WHERE resource_class = ? AND it is available
    #   AND NOT EXISTS (a live reservation) AND NOT EXISTS (one in flight)
    #   AND NOT EXISTS (a lease that has it) AND NOT EXISTS (one to come)
    #   AND uuid >= ? ORDER BY uuid LIMIT ?
    # Numbers, since PostgreSQL may read all reservations for EXISTS.
    related = (_counted(_r.node_uuid == _n.uuid)
               + _counted(_r.instance_uuid == sa.bindparam('instance')))
    if by_uuid:
        related += _counted(_r.uuid == sa.bindparam('of_uuid'))
    start_at = sa.bindparam('start_at')
    return sa.select(*_PICKED, related.label('related')).where(
        *_not_booked_now(form, hosts), conditions.unbooked(conditions.NOW),
        _n.uuid >= start_at if part is _Range.BEHIND else _n.uuid < start_at
    ).order_by(_n.uuid).limit(sa.bindparam('most', type_=sa.Integer))


def _counted(condition: conditions.Condition) -> sa.ScalarSelect[int]:
    return (sa.select(sa.func.count()).select_from(tables.reservations)
            .where(condition, _r.immediate == 1)
            .correlate(tables.nodes).scalar_subquery())


@dataclasses.dataclass(frozen=True)
class Candidates:
    """Nodes that appear to be free now, and not promised for later.

    :ivar nodes: the nodes by uuid, in order, only with the facts that a pick
        needs.
    :ivar related: whether there may be reservations, live or not, of these
        nodes, of the requested instance or with the requested uuid.
    """

    nodes: Mapping[str, mirrored_node.Node]
    related: bool


def read_candidates(connection: sa.Connection, wanted: NodeRequirements,
                    sees: visibility.Visibility, now: datetime.datetime,
                    start_at: str, limit: int, instance_uuid: str,
                    uuid: str | None = None,
                    hosts: bool = True) -> Candidates:
    """Return some nodes that appear to be free, ordered by uuid.

    :param start_at: the uuid to begin at, wrapping round: callers that begin
        at different uuids do not compete for the same node.
    :param limit: the maximum number of nodes.
    :param instance_uuid: the instance for which a node is wanted.
    :param uuid: the uuid of the reservation, if it was chosen before.
    :param hosts: whether nodes that are hosts of leases may be used.
    """
    form, given = _asked(wanted, sees)
    given |= {'now': now, 'start_at': start_at, 'instance': instance_uuid}
    if uuid is not None:
        given['of_uuid'] = uuid
    # Two scans of the index that stop at the limit; sorting all nodes
    # would cost more. The second scan wraps round if the first one found too
    # few nodes, which is rare; as one statement, both would cost MariaDB three
    # times as much.
    found: dict[str, mirrored_node.Node] = {}
    related = False
    for part in _Range:
        if len(found) < limit:
            rows = connection.execute(
                _candidates(form, hosts, part, uuid is not None),
                {**given, 'most': limit - len(found)})
            made = _NODE.reader(rows, 'traits')
            for row in rows:
                found[row.uuid] = made(row, wanted.traits)
                related = related or bool(row.related)
    # Without a row, nothing was counted.
    return Candidates(found, related or not found)


@functools.lru_cache(maxsize=64)
def _promised(form: _Form, hosts: bool) -> sa.Select[Any]:
    """Return the statement of :func:`read_promised`, which is built once."""
    # SELECT ... FROM nodes WHERE (it can be reserved now)
    #   AND (it is booked for later) ORDER BY uuid
    return sa.select(*_NODE.columns).where(
        *_not_booked_now(form, hosts),
        sa.not_(conditions.unbooked(conditions.NOW))).order_by(_n.uuid)


def read_promised(connection: sa.Connection, wanted: NodeRequirements,
                  sees: visibility.Visibility, now: datetime.datetime,
                  start_at: str,
                  hosts: bool = True) -> dict[str, mirrored_node.Node]:
    """Return all nodes that are free now and booked for later.

    :param start_at: the uuid to begin at, wrapping round.
    :param hosts: whether nodes that are hosts of leases may be used.
    """
    # SELECT ... FROM nodes WHERE (as for a candidate)
    #   AND (EXISTS (a lease to come) OR EXISTS (maintenance to come))
    form, given = _asked(wanted, sees)
    rows = connection.execute(_promised(form, hosts), {**given, 'now': now})
    made = _NODE.reader(rows, 'traits')
    found = [made(row, wanted.traits) for row in rows]
    return {node.uuid: node for node in sorted(
        found, key=lambda node: (node.uuid < start_at, node.uuid))}


def count_obstacles(connection: sa.Connection, wanted: NodeRequirements,
                    sees: visibility.Visibility, now: datetime.datetime,
                    hosts: bool = True,
                    unheld: Mapping[str, str] | None = None,
                    full: Mapping[str, str] | None = None) -> dict[str, int]:
    """Count nodes by the reason why they cannot be picked.

    :param hosts: whether nodes that are hosts of leases may be used.
    :param unheld: reason codes by the uuids of nodes that could not be held in
        Placement.
    :param full: reason codes by resource classes that may not be used.
    :returns: the number of nodes by reason code.
    """
    # A node without a reason was reserved by another request.
    cause = sa.func.coalesce(
        conditions.obstacle(now, hosts, unheld or {}, full or {}),
        reasons.BUSY)
    form, given = _asked(wanted, sees)
    seen = sa.select(cause.label('cause')).where(
        _n.inventories.is_(None), *map(_condition, form)).subquery()
    # SELECT cause, COUNT(*) FROM (SELECT CASE ... END AS cause FROM nodes
    #   WHERE resource_class = ?) GROUP BY cause
    rows = connection.execute(
        sa.select(seen.c.cause, sa.func.count()).group_by(seen.c.cause), given)
    return {cause: count for cause, count in rows}


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
    given = {f'new_{key}': value for key, value in _NODE.values(node).items()
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
_NEWER = (*(key for key in _FACTS if key != 'enrolled_at'), 'observed_at')


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


#: The number of ids in a bucket.
_BUCKET = 64
_c = tables.changes.c
_BUCKET_OF = (_n.id - _n.id % _BUCKET).label('bucket')
# SELECT id DIV 64, COUNT(*), SUM(id), SUM(generation + revision),
#   (SELECT seq FROM changes ORDER BY seq DESC LIMIT 1),
#   (SELECT node_uuid ...), (SELECT generation ...),
#   (SELECT MIN(seq) FROM changes),
#   (SELECT MIN(seq) FROM changes WHERE seq BETWEEN ? AND ?
#     AND node_uuid = ? AND generation = ?),
#   (SELECT generation FROM histories),
#   (SELECT COUNT(*) FROM histories WHERE server <> ...)
#   FROM nodes GROUP BY 1
_SUMS = sa.select(
    _BUCKET_OF, sa.func.count().label('nodes'),
    sa.func.sum(_n.id).label('ids'),
    sa.func.sum(_n.generation + _n.revision).label('versions'),
    *(sa.select(column).order_by(_c.seq.desc()).limit(1).scalar_subquery()
      .label(column.key) for column in (_c.seq, _c.node_uuid, _c.generation)),
    sa.select(sa.func.min(_c.seq)).scalar_subquery().label('oldest'),
    sa.select(sa.func.min(_c.seq)).where(
        _c.seq.between(sa.bindparam('first'), sa.bindparam('last')),
        _c.node_uuid == sa.bindparam('of_uuid'),
        _c.generation == sa.bindparam('written')
    ).scalar_subquery().label('found'),
    histories.GENERATION.label('history'),
    histories.ELSEWHERE.label('elsewhere')
).group_by(_BUCKET_OF)
# SELECT uuid, id, generation, revision FROM nodes
_VERSIONS = sa.select(_n.uuid, _n.id, _n.generation, _n.revision)
# The range is for the index.
_VERSIONS_OF = _VERSIONS.where(
    _n.id.between(sa.bindparam('first'), sa.bindparam('last')),
    (_n.id - _n.id % _BUCKET).in_(sa.bindparam('buckets', expanding=True)))


@dataclasses.dataclass(frozen=True)
class Sums:
    """Sums that change with each node, and the last row of ``changes``.

    :ivar buckets: three sums for each bucket: the number of nodes, their ids,
        and their generations and revisions, which never fall.
    :ivar last: the change with the highest number; ``None``: there is none.
    :ivar lost: whether the change that should exist is missing, although it
        is too new to be purged.
    :ivar history: the generation of the history.
    :ivar elsewhere: whether another server has written the history.
    """

    buckets: Mapping[int, tuple[int, int, int]]
    last: tuple[int, str | None, int | None] | None = None
    lost: bool = False
    history: int = 0
    elsewhere: bool = False


def read_sums(connection: sa.Connection,
              landmark: changes.Landmark | None = None) -> Sums:
    """Return sums that change with each node.

    :param landmark: a change that should exist.
    """
    rows = connection.execute(_SUMS, {
        'first': landmark.first, 'last': landmark.last,
        'of_uuid': landmark.node_uuid, 'written': landmark.generation
    } if landmark else {
        'first': 0, 'last': 0, 'of_uuid': '', 'written': 0}).all()
    if not rows:
        return Sums({})
    first = rows[0]
    return Sums({int(row.bucket): (int(row.nodes), int(row.ids),
                                   int(row.versions)) for row in rows},
                None if first.seq is None else (
                    first.seq, first.node_uuid, first.generation),
                landmark is not None and first.found is None
                and (first.oldest or 0) <= landmark.known, first.history or 0,
                bool(first.elsewhere))


def read_versions(connection: sa.Connection,
                  buckets: Collection[int] | None = None
                  ) -> dict[str, tuple[int, int, int]]:
    """Return id, generation and revision of nodes, by uuid.

    :param buckets: ``None``: all of them.
    """
    rows = (connection.execute(_VERSIONS) if buckets is None
            else connection.execute(_VERSIONS_OF, {
                'first': min(buckets), 'last': max(buckets) + _BUCKET - 1,
                'buckets': list(buckets)}))
    return {uuid: (number, generation, revision)
            for uuid, number, generation, revision in rows}


def bucket_of(number: int) -> int:
    """Return the bucket of the node with an id."""
    return number - number % _BUCKET


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
            **_NODE.values(node), 'generation': db_generations.first(),
            'observed_at': now, 'let_through': let_through,
            'of_now': now}).rowcount:
        return False
    insert_traits(connection, {node.uuid: node.traits})
    return True


def insert_in_any_case(connection: sa.Connection, node: mirrored_node.Node,
                       now: datetime.datetime) -> None:
    """Add a node to the mirror; it is uncertain if all others are."""
    if not insert_node(connection, node, now):
        _NODE.insert(connection, [node], generation=db_generations.first(),
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
        time of enrolment stays, so that the next poll detects that.
    """
    # UPDATE nodes SET observed_at = ?, revision = revision + ?, name = ?, ...,
    #     enrolled_at = coalesce(enrolled_at, ?)
    #   WHERE uuid = ? AND observed_at <= ?
    if not nodes:
        return
    changes.insert(connection, {node.uuid: None for node in nodes})
    values: dict[str, sa.ColumnElement[Any]] = {
        key: sa.bindparam('v_' + key) for key in _FACTS}
    if not replaced:
        values['enrolled_at'] = sa.func.coalesce(
            _n.enrolled_at, sa.bindparam('v_enrolled_at',
                                         type_=_n.enrolled_at.type))
    connection.execute(
        sa.update(tables.nodes)
        .where(_n.uuid == sa.bindparam('k_uuid'),
               _n.observed_at <= sa.bindparam('v_now'))
        .values(observed_at=sa.bindparam('v_now'),
                revision=_n.revision + sa.bindparam('v_step'), **values),
        [{'k_uuid': node.uuid, 'v_now': now,
          'v_step': db_generations.step(),
          **{'v_' + key: value for key, value in _NODE.values(node).items()
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
    _NODE.delete(connection, mirrored_node.Node(uuid, generation))

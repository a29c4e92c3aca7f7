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

"""Queries for nodes that can be reserved now, and why the others cannot."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import datetime
import enum
import functools
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import conditions
from ironic_reservations.db import nodes
from ironic_reservations.db import tables
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import reasons
from ironic_reservations.model import visibility

_n = tables.nodes.c
_r = tables.reservations.c
_t = tables.node_traits.c
#: The columns that a pick needs; the other facts are conditions of the query.
_PICKED = (_n.uuid, _n.generation, _n.resource_class, _n.owner, _n.lessee)


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
            made = nodes.NODE.reader(rows, 'traits')
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
    return sa.select(*nodes.NODE.columns).where(
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
    made = nodes.NODE.reader(rows, 'traits')
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

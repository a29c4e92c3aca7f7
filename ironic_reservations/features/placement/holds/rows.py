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

"""Rows of ``holds``: allocations of this service in Placement.

A row is written before its allocation is written to Placement, and deleted
after the allocation has been removed there. Each change names the generation
that was read, so that one of two concurrent changes fails.
"""

from __future__ import annotations

from collections.abc import Collection
import dataclasses
import datetime
import json
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import conditions
from ironic_reservations.db import generations as db_generations
from ironic_reservations.db import instance_reservations as db_instances
from ironic_reservations.db import store
from ironic_reservations.db import tables
from ironic_reservations.features.placement.holds import values
from ironic_reservations.model import node_reservation

_h = tables.holds.c
_r = tables.reservations.c
_HOLD = store.Rows(
    values.Hold, tables.holds, 'a hold', as_read=('id', 'generation'),
    changing=('state', 'deadline', 'confirmed', 'consumer_uuid',
              'instance_uuid', 'generation'),
    named={'amounts': 'resources'},
    decode={'amounts': lambda text: tuple(sorted(json.loads(text).items()))},
    encode={'amounts': lambda amounts: json.dumps(dict(amounts))})
_HOLDS = sa.select(*_HOLD.columns)
_PROMISE = store.Rows(
    values.Promise, tables.reservations, 'a promise', named={'owner': 'uuid'})
_ASKED = 'asked_'
#: The value of ``live`` of an exclusive hold.
_WHOLE = 'node'


def being_made() -> sa.ColumnElement[bool]:
    """Return the condition that a reservation is not confirmed yet.

    Its hold is still being written to Placement; the reservation ends if that
    fails.
    """
    # EXISTS (SELECT ... FROM holds
    #   WHERE owner = reservations.uuid AND state = 'promising')
    return sa.exists().where(
        _h.owner == _r.uuid, _h.state == values.HoldState.PROMISING.value)


def insert(connection: sa.Connection, hold: values.Hold) -> values.Hold:
    """Write a hold before it is written to Placement.

    :param hold: its ``id`` and ``generation`` are ignored.
    :returns: the hold with its ``id`` and ``generation``.
    :raises oslo_db.exception.DBDuplicateEntry: the node is held already, or
        the consumer has a hold already.
    """
    made = dataclasses.replace(hold, generation=db_generations.fresh())
    return dataclasses.replace(made, id=_HOLD.insert_one(
        connection, made, live=_live(hold)))


def _live(hold: values.Hold | values.Promise) -> str | None:
    """Return the value of ``live``; a host has at most one row with it."""
    if isinstance(hold, values.Hold) and (
            hold.state is values.HoldState.RELEASING):
        return None
    return _WHOLE if hold.exclusive else hold.owner


def change(connection: sa.Connection, hold: values.Hold,
           now: datetime.datetime, **changed: Any) -> values.Hold | None:
    """Change a hold.

    :param changed: ``state``, ``deadline``, ``confirmed``, ``instance_uuid``,
        ``consumer_uuid``.
    :returns: the new hold; ``None``: the hold has changed since it was read.
    :raises oslo_db.exception.DBDuplicateEntry: another hold has that consumer.
    """
    after = dataclasses.replace(hold, generation=db_generations.fresh(),
                                **changed)
    return after if _HOLD.try_update(
        connection, hold, after, updated_at=now, live=_live(after)) else None


def delete(connection: sa.Connection, hold: values.Hold) -> bool:
    """Delete a hold; return ``False`` if it has changed since it was read."""
    return _HOLD.try_delete(connection, hold)


def read(connection: sa.Connection, hold_id: int) -> values.Hold | None:
    """Return a hold; ``None``: it has been deleted."""
    return _HOLD.first(connection.execute(_HOLDS.where(_h.id == hold_id)))


def read_of_node(connection: sa.Connection,
                 node_uuid: str) -> list[values.Hold]:
    """Return the holds of a node, ordered by id.

    At most one of them is live; on a shared host, at most one for each owner.
    """
    return _HOLD.all(connection.execute(
        _HOLDS.where(_h.node_uuid == node_uuid).order_by(_h.id)))


def read_live(connection: sa.Connection,
              promises: Collection[values.Promise]) -> dict[str, values.Hold]:
    """Return the live holds that promises need, or that conflict with them.

    :returns: the holds by the owner of the promise; holds that are
        being released are left out.
    """
    # SELECT ... FROM holds WHERE node_uuid IN (...) AND live IN (...)
    where = {(promise.node_uuid, _live(promise)): promise.owner
             for promise in promises}
    there = _HOLD.all(connection.execute(_HOLDS.where(
        _h.node_uuid.in_({node for node, _ in where}),
        _h.live.in_({live for _, live in where}))))
    return {where[key]: hold for hold in there
            if (key := (hold.node_uuid, _live(hold))) in where}


def supersede(connection: sa.Connection, node_uuid: str,
              now: datetime.datetime, deadline: datetime.datetime) -> None:
    """Write that all holds of a node are to be released.

    :param deadline: the time from which other processes may continue the
        release of an active hold.
    """
    _release(connection, _h.node_uuid == node_uuid, now, deadline)


def read_of_owners(connection: sa.Connection,
                   owners: Collection[str]) -> list[values.Hold]:
    """Return the holds of reservations, including holds being released."""
    return _HOLD.all(connection.execute(
        _HOLDS.where(_h.owner.in_(owners)).order_by(_h.id)))


def read_all(connection: sa.Connection) -> list[values.Hold]:
    """Return all holds, ordered by id."""
    return _HOLD.all(connection.execute(_HOLDS.order_by(_h.id)))


def read_left_over(connection: sa.Connection, now: datetime.datetime,
                   limit: int) -> list[values.Hold]:
    """Return unfinished holds past their deadline, the oldest first."""
    # SELECT ... WHERE state <> 'active' AND deadline <= ?
    #   ORDER BY deadline LIMIT ?
    working = [state.value for state in values.HoldState
               if state is not values.HoldState.ACTIVE]
    return _HOLD.all(connection.execute(
        _HOLDS.where(_h.state.in_(working), _h.deadline <= now)
        .order_by(_h.deadline, _h.id).limit(limit)))


def release(connection: sa.Connection, owners: Collection[str],
            now: datetime.datetime, deadline: datetime.datetime) -> None:
    """Write that the holds of reservations are to be released.

    To be called in the transaction that ends the reservations.

    :param deadline: the time from which other processes may continue the
        release of an active hold.
    """
    if owners:
        _release(connection, _h.owner.in_(owners), now, deadline)


def _release(connection: sa.Connection, which: sa.ColumnElement[bool],
             now: datetime.datetime, deadline: datetime.datetime) -> None:
    # UPDATE holds SET deadline = ..., state = 'releasing', live = NULL,
    #   generation = ?
    #   WHERE (which) AND state <> 'releasing'
    # A hold that may be written at this moment keeps its deadline. The
    # deadline is set first, since MariaDB evaluates assignments in order
    # and would see the new state.
    until = sa.case((_h.state == values.HoldState.ACTIVE.value,
                     sa.bindparam('until', deadline, type_=_h.deadline.type)),
                    else_=_h.deadline)
    connection.execute(
        sa.update(tables.holds)
        .where(which, _h.state != values.HoldState.RELEASING.value)
        .ordered_values((_h.deadline, until),
                        (_h.state, values.HoldState.RELEASING.value),
                        (_h.live, None), (_h.updated_at, now),
                        (_h.generation, db_generations.fresh())))


def release_forsaken(connection: sa.Connection, now: datetime.datetime,
                     limit: int) -> int:
    """Write that holds without a promise are to be released at once.

    :returns: the number of such holds, at most ``limit``.
    """
    # SELECT id, generation FROM holds LEFT JOIN reservations
    #     ON uuid = owner AND reservations.node_uuid = holds.node_uuid
    #   WHERE holds.state <> 'releasing'
    #     AND (reservations.uuid IS NULL OR NOT (it has its node)) LIMIT ?
    # A booking that has been moved keeps its uuid.
    forsaken = connection.execute(
        sa.select(_h.id, _h.generation)
        .select_from(tables.holds.outerjoin(
            tables.reservations, sa.and_(_r.uuid == _h.owner,
                                         _r.node_uuid == _h.node_uuid)))
        .where(_h.state != values.HoldState.RELEASING.value,
               sa.or_(_r.uuid.is_(None), sa.not_(sa.or_(
                   conditions.live(now), conditions.has_node(now)))))
        .limit(limit)).all()
    if forsaken:
        # The next call releases a hold that has changed meanwhile. The
        # first condition is for the index: MariaDB uses none for pairs.
        _release(connection, sa.and_(
            _h.id.in_([row.id for row in forsaken]),
            sa.tuple_(_h.id, _h.generation).in_(
                [(row.id, row.generation) for row in forsaken])), now, now)
    return len(forsaken)


def count(connection: sa.Connection) -> dict[values.HoldState, int]:
    """Return the number of holds by state."""
    # SELECT state, COUNT(*) FROM holds GROUP BY state
    return {values.HoldState(state): number for state, number
            in connection.execute(sa.select(
                _h.state, sa.func.count()).group_by(_h.state))}


def read_deployed(connection: sa.Connection, after: int,
                  limit: int) -> dict[int, values.Promise]:
    """Return used reservations whose holds have not been handed over yet.

    :param after: the id of the last hold of the page before.
    :returns: a page of them, by the ids of their holds in ascending order.
    """
    # SELECT ... FROM holds JOIN reservations
    #     ON uuid = owner AND reservations.node_uuid = holds.node_uuid
    #   WHERE holds.id > ? AND holds.state = 'active'
    #     AND holds.instance_uuid IS NULL
    #     AND immediate = 1 AND reservations.state = 'in_use'
    #     AND reservations.instance_uuid IS NOT NULL
    #   ORDER BY holds.id LIMIT ?
    rows = connection.execute(
        sa.select(_h.id, *_PROMISE.columns)
        .join_from(tables.holds, tables.reservations, sa.and_(
            _r.uuid == _h.owner, _r.node_uuid == _h.node_uuid))
        .where(_h.id > after, _h.state == values.HoldState.ACTIVE.value,
               _h.instance_uuid.is_(None), _r.immediate == 1,
               _r.state == node_reservation.State.IN_USE.value,
               _r.instance_uuid.is_not(None))
        .order_by(_h.id).limit(limit))
    promise = _PROMISE.reader(rows)
    return {row.id: promise(row) for row in rows}


def read_consumer(connection: sa.Connection,
                  consumer_uuid: str) -> values.Hold | None:
    """Return the hold of a consumer; ``None``: it has no hold."""
    return _HOLD.first(connection.execute(_HOLDS.where(
        _h.consumer_uuid == consumer_uuid)))


# SELECT ... FROM reservations LEFT OUTER JOIN nodes ON nodes.uuid = node_uuid
#     AND inventories IS NOT NULL LEFT OUTER JOIN instance_reservations ON ...
_PROMISES = sa.select(
    _r.id, *_PROMISE.columns, tables.nodes.c.id.label('compute_host'),
    *db_instances.labelled(_ASKED)
).select_from(
    tables.reservations
    .outerjoin(tables.nodes, sa.and_(
        tables.nodes.c.uuid == _r.node_uuid,
        tables.nodes.c.inventories.is_not(None)))
    .outerjoin(tables.instance_reservations,
               tables.instance_reservations.c.reservation_id
               == _r.lease_reservation_id))


def _promises(connection: sa.Connection,
              query: sa.Select[Any]) -> dict[int, values.Promise]:
    """Return promises by the ids of their rows."""
    rows = connection.execute(query)
    promise = _PROMISE.reader(rows)
    shared = _PROMISE.reader(rows, 'amounts', 'exclusive')
    asked = db_instances.reader(rows, prefix=_ASKED)
    return {row.id: promise(row) if row.compute_host is None
            or row.asked_id is None
            else shared(row, asked(row).need.amounts, False) for row in rows}


def read_promises(connection: sa.Connection, now: datetime.datetime,
                  node_uuid: str | None = None) -> list[values.Promise]:
    """Return the promises for which nodes are to be held now.

    :param node_uuid: the node whose promises are read; ``None``: all nodes.
    """
    query = _PROMISES.where(
        sa.or_(conditions.live(now), conditions.has_node(now)))
    if node_uuid is not None:
        query = query.where(_r.node_uuid == node_uuid)
    return [*_promises(connection, query).values()]


def read_promises_of(connection: sa.Connection, ids: Collection[int]
                     ) -> dict[int, values.Promise]:
    """Return the promises of bookings, by booking id."""
    return _promises(connection, _PROMISES.where(_r.id.in_(ids)))

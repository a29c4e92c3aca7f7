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

"""Rows of ``leases``, of their reservations and of their events."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import datetime
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import generations as db_generations
from ironic_reservations.db import instance_reservations as db_instances
from ironic_reservations.db import lease_parts
from ironic_reservations.db import store
from ironic_reservations.db import tables
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import leases

_s = tables.leases.c
_l = tables.lease_reservations.c
_e = tables.lease_events.c
_r = tables.reservations.c
_LEASE = store.Rows(
    leases.Lease, tables.leases, 'the lease', as_read=('id', 'generation'),
    changing=('generation', 'name', 'start', 'end', 'before_end', 'status',
              'degraded', 'waiting', 'updated_at', 'extensions'),
    named={'start': 'starts_at', 'end': 'ends_at',
           'before_end': 'before_end_at'},
    decode={'extensions': lambda number: number or 0},
    encode={'extensions': lambda number: number or None})
_BETWEEN = store.Rows(
    leases.Between, tables.leases, 'the open dates of a lease',
    named={'earliest': 'between_from', 'latest': 'between_until'})
_QUEUED = store.Rows(
    leases.Queued, tables.leases, 'the place of a lease in the queue',
    named={'wanted': 'wanted_start', 'promised': 'promised_start'})
# The generation of the lease covers its reservations and events.
_OF_LEASE = sa.bindparam('of_lease')
_PART = store.Rows(
    leases.LeaseReservation, tables.lease_reservations,
    'a part of the lease', as_read=('id',), where=(_l.lease_id == _OF_LEASE,),
    changing=('status', 'least', 'most', 'hypervisor_properties',
              'resource_properties', 'before_end', 'missing_resources',
              'resources_changed', 'updated_at'))
_EVENT = store.Rows(
    leases.Event, tables.lease_events, 'a part of the lease',
    named={'type': 'event_type'}, as_read=('id',),
    changing=('time', 'status', 'updated_at'),
    where=(_e.lease_id == _OF_LEASE,))
_COLUMNS = (*_LEASE.columns, *_BETWEEN.columns, *_QUEUED.columns)
#: The columns that show whether a cached lease is current.
_HEAD = (_s.id, _s.generation, _s.waiting)
# The statements are built once: building one takes longer than all other
# work of SQLAlchemy for a few rows.
_IDS = sa.bindparam('ids', expanding=True)
# SELECT ... FROM leases WHERE id IN (...) ORDER BY created_at, id
_BY_ID = sa.select(*_COLUMNS).where(_s.id.in_(_IDS)).order_by(_s.created_at,
                                                              _s.id)
# SELECT ... FROM lease_reservations WHERE lease_id IN (...) ORDER BY place
_RESERVATIONS = sa.select(*_PART.columns, _l.lease_id).where(
    _l.lease_id.in_(_IDS)).order_by(_l.place)
# ``literal_column``, so that the ids are the only parameters. Events at
# the same time are ordered by kind: the warning before the end of a short
# lease may be due at its start.
_EVENTS = sa.select(*_EVENT.columns, _e.lease_id).where(
    _e.lease_id.in_(_IDS)).order_by(
    _e.time, sa.case(*(
        (_e.event_type == sa.literal_column(f"'{kind.value}'"),
         sa.literal_column(str(place)))
        for place, kind in enumerate(leases.EventType))))
# The first condition is for the index: MariaDB uses none for pairs.
_AS_READ = (_s.id.in_(_IDS), sa.tuple_(_s.id, _s.generation).in_(
    sa.bindparam('pairs', expanding=True)))
_RAISE = sa.update(tables.leases).where(*_AS_READ).values(
    generation=sa.bindparam('written'))
# DELETE FROM lease_events WHERE lease_id IN (...)
_DELETE_EVENTS = sa.delete(tables.lease_events).where(_e.lease_id.in_(_IDS))
# DELETE FROM lease_reservations WHERE lease_id IN (...)
_DELETE_RESERVATIONS = sa.delete(tables.lease_reservations).where(
    _l.lease_id.in_(_IDS))
_END = '.'
#: The statuses of leases that have nodes, or will have nodes.
KEPT = tuple(status.value for status in leases.LeaseStatus
             if status is not leases.LeaseStatus.TERMINATED)
# A positive list, since a negation uses no index.
_LIVE = tuple(status.value for status in leases.LeaseStatus if not status.over)


def read(connection: sa.Connection,
         lease_ids: Collection[str]) -> list[leases.Lease]:
    """Return whole leases.

    This takes four statements for any number of leases, and a fifth one if any
    of them has instances.
    """
    return _whole(connection, connection.execute(
        _BY_ID, {'ids': list(lease_ids)}))


def read_one(connection: sa.Connection, lease_id: str) -> leases.Lease | None:
    """Return one lease, if it exists."""
    return next(iter(read(connection, (lease_id,))), None)


def read_page(connection: sa.Connection, project_id: str | None,
              marker: leases.Lease | None, limit: int | None,
              ended_since: datetime.datetime | None = None,
              known: lease_parts.KnownParts | None = None,
              chosen: leases.Filter = leases.ALL) -> list[leases.Lease]:
    """Return leases, the oldest first.

    :param project_id: the project of the leases; ``None``: all projects.
    :param marker: the last lease of the previous page.
    :param ended_since: omit leases that ended before this time.
    :param known: a cache; it requires a connection whose queries see one
        consistent state.
    :param chosen: omit leases that do not match.
    """
    # SELECT ... FROM leases (JOIN those to be shown) WHERE project_id = ?
    #   AND name = ? AND ...
    #   AND (created_at, id) > (?, ?) ORDER BY created_at, id LIMIT ?
    query = sa.select(*(_COLUMNS if known is None else _HEAD))
    matches = [*([] if project_id is None else [_s.project_id == project_id]),
               *_matching(chosen)]
    if ended_since is not None:
        shown = _shown(matches, chosen.statuses, marker, limit, ended_since)
        query = query.join(shown, shown.c.id == _s.id)
    else:
        query = query.where(*matches)
        if chosen.statuses is not None:
            query = query.where(_s.status.in_(sorted(chosen.statuses)))
    rows = connection.execute(_first(query, marker, limit))
    return (_whole(connection, rows) if known is None
            else _listed(connection, rows.all(), known))


def _first(query: sa.Select[Any], marker: leases.Lease | None,
           limit: int | None) -> sa.Select[Any]:
    """Return the rows of a query that follow the previous page."""
    if marker is not None:
        # The first condition is for the index.
        query = query.where(
            _s.created_at >= marker.created_at,
            sa.or_(_s.created_at > marker.created_at, _s.id > marker.id))
    return query.order_by(_s.created_at, _s.id).limit(limit)


def _matching(chosen: leases.Filter) -> Iterator[sa.ColumnElement[bool]]:
    """Return the conditions of a filter, except the one on the status."""
    if chosen.name is not None:
        yield _s.name == chosen.name
        # MariaDB ignores spaces at the end, so something else has to be there.
        yield _s.name + _END == chosen.name + _END
    if chosen.node_uuid is not None:
        # id IN (SELECT lease_id FROM lease_reservations
        #   JOIN reservations ... WHERE node_uuid = ?)
        yield _s.id.in_(db_bookings.leases_of_node(chosen.node_uuid))
    if chosen.ends_after is not None:
        yield _s.ends_at > chosen.ends_after
    if chosen.starts_before is not None:
        yield _s.starts_at < chosen.starts_before


def _shown(matches: Sequence[sa.ColumnElement[bool]],
           statuses: Collection[str] | None, marker: leases.Lease | None,
           limit: int | None, ended_since: datetime.datetime) -> sa.Subquery:
    # (SELECT id FROM leases WHERE status = 'PENDING' AND ...
    #   ORDER BY created_at, id LIMIT ?) UNION ALL (... 'ACTIVE' ...) ...
    #   UNION ALL SELECT id
    #   FROM leases WHERE status = 'TERMINATED' AND updated_at >= ?
    # One SELECT for each status, so that each reads no more of its
    # index than a page, for any number of live or past leases.
    over = leases.LeaseStatus.TERMINATED.value
    return sa.union_all(*(
        sa.select(_s.id).where(_s.status == over,
                               _s.updated_at >= ended_since, *matches)
        if status == over else
        sa.select(_first(
            sa.select(_s.id).where(_s.status == status, *matches), marker,
            limit).subquery().c.id)
        for status in (*KEPT, over)
        if statuses is None or status in statuses)).subquery()


def read_forgettable(connection: sa.Connection, before: datetime.datetime,
                     limit: int) -> list[leases.Lease]:
    """Return leases that ended before an instant, the oldest first."""
    # SELECT ... FROM leases WHERE status = 'TERMINATED' AND updated_at < ?
    #   AND due_at IS NULL AND NOT EXISTS (SELECT ... FROM reservations
    #   JOIN lease_reservations ... WHERE lease_id = leases.id)
    #   ORDER BY updated_at LIMIT ?
    # A lease that is due still has work to be done, and one that still has a
    # node is not over, with any status.
    return _whole(connection, connection.execute(
        sa.select(*_COLUMNS)
        .where(_s.status == leases.LeaseStatus.TERMINATED.value,
               _s.updated_at < before, _s.due_at.is_(None),
               ~sa.exists().where(_r.lease_reservation_id == _l.id,
                                  _l.lease_id == _s.id))
        .order_by(_s.updated_at, _s.id).limit(limit)))


def _listed(connection: sa.Connection, rows: Sequence[sa.Row[Any]],
            known: lease_parts.KnownParts) -> list[leases.Lease]:
    """Return whole leases; read only the parts that are not cached."""
    kept = known.find((row.id, row.generation) for row in rows)
    briefs = db_bookings.read_briefs(connection, kept) if kept else {}
    moved = [lease_id for lease_id, each in kept.items()
             if briefs.get(lease_id, frozenset()) != each.bookings]
    lacking = [row.id for row in rows if row.id not in kept]
    found = {lease_id: each.lease for lease_id, each in kept.items()}
    if lacking:
        found.update((lease.id, lease) for lease in read(connection, lacking))
    if moved:
        booked = _booked(connection, moved)
        found.update((lease_id, dataclasses.replace(
            found[lease_id], reservations=tuple(
                dataclasses.replace(each, bookings=tuple(
                    booked.get(each.id, ())))
                for each in found[lease_id].reservations)))
            for lease_id in moved)
    waits = [row for row in rows if found[row.id].waiting != row.waiting]
    found.update((row.id, dataclasses.replace(found[row.id],
                                              waiting=row.waiting))
                 for row in waits)
    known.keep(lease_parts.Listed.of(found[lease_id]) for lease_id in {
        *lacking, *moved, *(row.id for row in waits)})
    return [found[row.id] for row in rows]


def _booked(connection: sa.Connection, lease_ids: Collection[str]
            ) -> dict[str, list[leases.NodeBooking]]:
    """Return the bookings of leases, by lease reservation."""
    booked: dict[str, list[leases.NodeBooking]] = {}
    for booking in db_bookings.read_of_leases(connection, lease_ids):
        booked.setdefault(booking.reservation_id, []).append(booking)
    return booked


def _whole(connection: sa.Connection,
           result: sa.CursorResult[Any]) -> list[leases.Lease]:
    made = _LEASE.reader(result, 'reservations', 'events', 'between', 'queued')
    rows = result.all()
    if not rows:
        return []
    ids = [row.id for row in rows]
    asked = connection.execute(_RESERVATIONS, {'ids': ids})
    part, parts = _PART.reader(asked, 'bookings', 'instances'), asked.all()
    sized = (db_instances.read_of_leases(connection, ids) if any(
        row.resource_type in instance_reservations.KINDS for row in parts)
        else {})
    events: dict[str, list[leases.Event]] = {}
    found = connection.execute(_EVENTS, {'ids': ids})
    event, of_lease = _EVENT.reader(found), store.values_of(found, 'lease_id')
    for row in found:
        events.setdefault(of_lease(row), []).append(event(row))
    booked = _booked(connection, ids)
    reservations: dict[str, list[leases.LeaseReservation]] = {}
    for row in parts:
        reservations.setdefault(row.lease_id, []).append(part(
            row, tuple(booked.get(row.id, ())), sized.get(row.id)))
    return [made(
        row, tuple(reservations.get(row.id, ())),
        tuple(events.get(row.id, ())),
        None if row.earliest is None else leases.Between(
            row.earliest, row.latest, row.fix_before, row.fix_at),
        None if row.wanted is None else leases.Queued(
            row.wanted, row.promised, row.priority)) for row in rows]


def read_starting(connection: sa.Connection, after: datetime.datetime,
                  until: datetime.datetime
                  ) -> list[tuple[str, datetime.datetime, str | None]]:
    """Return leases that start soon: id, start and user of each."""
    # SELECT id, starts_at, user_id FROM leases
    #   WHERE status = 'PENDING' AND starts_at > ? AND starts_at <= ?
    #   ORDER BY starts_at, id
    return [(lease_id, start, user) for lease_id, start, user
            in connection.execute(sa.select(_s.id, _s.starts_at, _s.user_id)
        .where(_s.status == leases.LeaseStatus.PENDING.value,
               _s.starts_at > after, _s.starts_at <= until)
        .order_by(_s.starts_at, _s.id))]


def count_live(connection: sa.Connection, project_id: str | None,
               *without: str) -> int:
    """Count the leases of a project that are not over.

    :param without: ids of leases to omit.
    """
    # SELECT COUNT(*) FROM leases WHERE status IN (...)
    #   AND project_id = ? AND id NOT IN (...)
    query = sa.select(sa.func.count()).select_from(tables.leases).where(
        _s.status.in_(_LIVE), _s.project_id == project_id)
    if without:
        query = query.where(_s.id.not_in(without))
    return int(connection.execute(query).scalar_one())


def read_projects(connection: sa.Connection) -> frozenset[str]:
    """Return the projects that have leases that are not over."""
    # SELECT DISTINCT project_id FROM leases
    #   WHERE status IN (...) AND project_id IS NOT NULL
    return frozenset(connection.execute(
        sa.select(_s.project_id).distinct().where(
            _s.status.in_(_LIVE), _s.project_id.is_not(None))).scalars())


def read_of_project(connection: sa.Connection, project_id: str) -> list[str]:
    """Return the ids of a project's leases that are not over."""
    # SELECT id FROM leases WHERE project_id = ? AND status IN (...)
    return list(connection.execute(sa.select(_s.id).where(
        _s.project_id == project_id, _s.status.in_(_LIVE))
        .order_by(_s.id)).scalars())


def write(connection: sa.Connection, before: leases.Lease | None,
          after: leases.Lease | None, now: datetime.datetime,
          due_at: datetime.datetime | None,
          key: tuple[str, str] | None) -> int | None:
    """Write the differences between two states of a lease and its bookings.

    The generations of all nodes whose bookings differ have been raised before.

    :param before: the lease as it was read; ``None``: it is made.
    :param after: the lease as it will be; ``None``: it is deleted.
    :param due_at: the time at which the reconciler has to work on it next.
    :param key: the key of the request that makes it, and a digest of it.
    :returns: the new generation of the lease; ``None`` if its row is not
        updated.
    :raises Conflict: the lease or one of its bookings has changed since.
    """
    if before is None:
        assert after is not None
        insert(connection, after, due_at or after.start, *key or (None, None))
        db_bookings.insert_many(connection, after.bookings, after.user_id, now)
        return None
    db_bookings.write(connection, before.bookings, () if after is None
                      else after.bookings, before.user_id, now)
    if after is not None and _without_bookings(after) == (
            _without_bookings(before)):
        return None
    generation = (delete_many(connection, [before]) if after is None
                  else update(connection, before, after, due_at))
    if not generation:
        raise db_connection.Conflict('the lease has changed meanwhile')
    return generation


def _without_bookings(lease: leases.Lease) -> leases.Lease:
    return dataclasses.replace(lease, reservations=tuple(
        dataclasses.replace(each, bookings=()) for each in lease.reservations))


def insert(connection: sa.Connection, lease: leases.Lease,
           due_at: datetime.datetime, request_key: str | None,
           request_digest: str | None) -> None:
    """Write a new lease without its bookings.

    :param due_at: the time at which the reconciler has to work on it first.
    :raises oslo_db.exception.DBDuplicateEntry: the request was served before.
    """
    _LEASE.insert(connection, [lease], request_key=request_key,
                  request_digest=request_digest, due_at=due_at, attempts=0,
                  **_open(lease))
    connection.execute(_PART.inserting, [
        {**_PART.values(each), 'lease_id': lease.id, 'place': place}
        for place, each in enumerate(lease.reservations)])
    if shares := [each.instances for each in lease.reservations
                  if each.instances]:
        db_instances.insert_many(connection, shares)
    _EVENT.insert(connection, lease.events, lease_id=lease.id)


def update(connection: sa.Connection, before: leases.Lease,
           after: leases.Lease,
           due_at: datetime.datetime | None) -> int:
    """Write a changed lease without its bookings.

    :param before: as it was read; only differences are written.
    :param due_at: the time at which the reconciler has to work on it next.
    :returns: its new generation; 0 if another process has changed it since.
    :raises Conflict: a part of it has changed since.
    """
    generation = db_generations.fresh()
    if not _LEASE.try_update(
            connection, before, dataclasses.replace(
                after, generation=generation), due_at=due_at, **_open(after)):
        return 0
    old = {each.id: each for each in before.reservations}
    for each in after.reservations:
        was = old[each.id]
        if dataclasses.replace(each, bookings=()) != dataclasses.replace(
                was, bookings=()):
            _PART.update(connection, was, each, of_lease=before.id)
        if was.instances and each.instances != was.instances and (
                each.instances):
            db_instances.update(connection, was.instances, each.instances)
    known = {event.id: event for event in before.events}
    for event in after.events:
        if event != known[event.id]:
            _EVENT.update(connection, known[event.id], event,
                          of_lease=before.id)
    return generation


def _open(lease: leases.Lease) -> dict[str, Any]:
    """Return the columns of open dates and of the queue."""
    return {**_BETWEEN.values_or_nulls(lease.between),
            **_QUEUED.values_or_nulls(lease.queued)}


def read_of_reservations(connection: sa.Connection,
                         reservation_ids: Collection[str]
                         ) -> list[leases.Lease]:
    """Return the leases of lease reservations."""
    # SELECT lease_id FROM lease_reservations WHERE id IN (...)
    ids = connection.execute(
        sa.select(_l.lease_id).where(_l.id.in_(reservation_ids))
    ).scalars().all()
    return read(connection, set(ids))


def delete_many(connection: sa.Connection,
                gone: Collection[leases.Lease]) -> bool:
    """Delete leases without bookings, all or none.

    :returns: ``False`` if another process has changed one of them since; the
        transaction then has to be rolled back.
    :raises Conflict: a part of one of the leases has changed since.
    """
    if not gone:
        return True
    given = {'ids': [lease.id for lease in gone], 'pairs': [
        (lease.id, lease.generation) for lease in gone]}
    # The generations first, so that no other transaction changes a part
    # meanwhile; the leases last, since the other rows refer to them.
    # UPDATE leases SET generation = ?
    #   WHERE id IN (...) AND (id, generation) IN ((?, ?), ...)
    written = db_generations.fresh()
    if connection.execute(_RAISE, {**given, 'written': written}
                          ).rowcount != len(gone):
        return False
    connection.execute(_DELETE_EVENTS, given)
    db_instances.delete_many(connection, [
        each.instances for lease in gone for each in lease.reservations
        if each.instances])
    connection.execute(_DELETE_RESERVATIONS, given)
    _LEASE.delete_all(connection, [
        dataclasses.replace(lease, generation=written) for lease in gone])
    return True

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
from collections.abc import Sequence
import dataclasses
import datetime
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import generations as db_generations
from ironic_reservations.db import instance_reservations as db_instances
from ironic_reservations.db import lease_parts
from ironic_reservations.db import row_counts
from ironic_reservations.db import tables
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import leases

_s = tables.leases.c
_l = tables.lease_reservations.c
_e = tables.lease_events.c
_LEASE = (_s.id, _s.name, _s.starts_at, _s.ends_at, _s.status, _s.created_at,
          _s.before_end_at, _s.updated_at, _s.project_id, _s.user_id,
          _s.degraded, _s.generation, _s.waiting, _s.between_from,
          _s.between_until, _s.fix_before, _s.fix_at, _s.wanted_start,
          _s.promised_start, _s.priority, _s.extensions)
#: The columns that show whether a cached lease is up to date.
_HEAD = (_s.id, _s.generation, _s.waiting)
_RESERVATION = (_l.id, _l.status, _l.least, _l.most, _l.created_at,
                _l.resource_id, _l.updated_at, _l.resource_type,
                _l.hypervisor_properties, _l.resource_properties,
                _l.before_end, _l.missing_resources, _l.resources_changed,
                _l.lease_id)
_EVENT = (_e.id, _e.event_type, _e.time, _e.status, _e.created_at,
          _e.updated_at, _e.lease_id)
# NOTE: the statements are built once: building one takes longer than all else
# that SQLAlchemy does for a few rows.
_IDS = sa.bindparam('ids', expanding=True)
_BY_ID = sa.select(*_LEASE).where(_s.id.in_(_IDS)).order_by(_s.created_at,
                                                            _s.id)
_RESERVATIONS = sa.select(*_RESERVATION).where(
    _l.lease_id.in_(_IDS)).order_by(_l.place)
# NOTE: ``literal_column``, so that the ids are its only parameters. Events of
# the same time are ordered by their kind: the warning before the end of a
# short lease may be due at its start.
_EVENTS = sa.select(*_EVENT).where(_e.lease_id.in_(_IDS)).order_by(
    _e.time, sa.case(*(
        (_e.event_type == sa.literal_column(f"'{kind.value}'"),
         sa.literal_column(str(place)))
        for place, kind in enumerate(leases.EventType))))
# NOTE: the first condition is for the index: MariaDB uses none for pairs.
_AS_READ = (_s.id.in_(_IDS), sa.tuple_(_s.id, _s.generation).in_(
    sa.bindparam('pairs', expanding=True)))
_RAISE = sa.update(tables.leases).where(*_AS_READ).values(
    generation=sa.bindparam('written'))
_DELETE_EVENTS = sa.delete(tables.lease_events).where(_e.lease_id.in_(_IDS))
_DELETE_RESERVATIONS = sa.delete(tables.lease_reservations).where(
    _l.lease_id.in_(_IDS))
_INSERT = sa.insert(tables.leases)
_INSERT_RESERVATIONS = sa.insert(tables.lease_reservations)
_INSERT_EVENTS = sa.insert(tables.lease_events)
# NOTE: they set the columns whose values are given.
_UPDATE = sa.update(tables.leases).where(
    _s.id == sa.bindparam('of_id'), _s.generation == sa.bindparam('read'))
_UPDATE_EVENT = sa.update(tables.lease_events).where(
    _e.id == sa.bindparam('of_id'), _e.lease_id == sa.bindparam('of_lease'))
_PART = 'a part of the lease'
_STATUSES = {status.value: status for status in leases.LeaseStatus}
#: The statuses of leases that still have something, or will.
KEPT = tuple(status.value for status in leases.LeaseStatus
             if status is not leases.LeaseStatus.TERMINATED)
_RESERVATION_STATUSES = {status.value: status
                         for status in leases.ReservationStatus}
_TYPES = {kind.value: kind for kind in leases.EventType}
_EVENT_STATUSES = {status.value: status for status in leases.EventStatus}


def read(connection: sa.Connection,
         lease_ids: Collection[str]) -> list[leases.Lease]:
    """Return whole leases, in four statements however many there are.

    If any of them has instances, it takes one more.
    """
    rows = connection.execute(_BY_ID, {'ids': list(lease_ids)}).all()
    return _whole(connection, rows)


def read_of_reservation(connection: sa.Connection,
                        reservation_id: str) -> list[leases.Lease]:
    """Return the lease of a lease reservation, if it exists."""
    # SELECT lease_id FROM lease_reservations WHERE id = ?
    return read(connection, connection.scalars(
        sa.select(_l.lease_id).where(_l.id == reservation_id)).all())


def read_page(connection: sa.Connection, project_id: str | None,
              marker: leases.Lease | None, limit: int | None,
              ended_since: datetime.datetime | None = None,
              known: lease_parts.KnownParts | None = None
              ) -> list[leases.Lease]:
    """Return leases, the oldest first.

    :param project_id: of this project; ``None``: of all.
    :param marker: the last one of the previous page.
    :param ended_since: leave out leases that ended before.
    :param known: a cache; it requires a connection whose queries see one
        consistent state.
    """
    query = sa.select(*(_LEASE if known is None else _HEAD))
    if ended_since is not None:
        shown = _shown(project_id, marker, limit, ended_since)
        query = query.join(shown, shown.c.id == _s.id)
    elif project_id is not None:
        query = query.where(_s.project_id == project_id)
    rows = connection.execute(_first(query, marker, limit)).all()
    return (_whole(connection, rows) if known is None
            else _listed(connection, rows, known))


def _first(query: sa.Select[Any], marker: leases.Lease | None,
           limit: int | None) -> sa.Select[Any]:
    """Return the first rows of a query after those of the previous page."""
    if marker is not None:
        # NOTE: the first condition is for the index.
        query = query.where(
            _s.created_at >= marker.created_at,
            sa.or_(_s.created_at > marker.created_at, _s.id > marker.id))
    return query.order_by(_s.created_at, _s.id).limit(limit)


def _shown(project_id: str | None, marker: leases.Lease | None,
           limit: int | None, ended_since: datetime.datetime) -> sa.Subquery:
    # (SELECT id FROM leases WHERE status = 'PENDING' AND ...
    #   ORDER BY created_at, id LIMIT ?) UNION ALL (... 'ACTIVE' ...) ...
    #   UNION ALL SELECT id
    #   FROM leases WHERE status = 'TERMINATED' AND updated_at >= ?
    # NOTE: one SELECT for each status, so that each reads no more of its
    # index than a page, however many leases there are, or ended before.
    whose = [] if project_id is None else [_s.project_id == project_id]
    return sa.union_all(*(
        sa.select(_first(
            sa.select(_s.id).where(_s.status == status, *whose), marker,
            limit).subquery().c.id) for status in KEPT),
        sa.select(_s.id).where(
            _s.status == leases.LeaseStatus.TERMINATED.value,
            _s.updated_at >= ended_since, *whose)).subquery()


def read_forgettable(connection: sa.Connection, before: datetime.datetime,
                     limit: int) -> list[leases.Lease]:
    """Return leases that ended before an instant, the oldest first."""
    # SELECT ... FROM leases WHERE status = 'TERMINATED' AND updated_at < ?
    #   AND due_at IS NULL ORDER BY updated_at LIMIT ?
    # NOTE: a lease that is due still has work to be done.
    return _whole(connection, connection.execute(
        sa.select(*_LEASE)
        .where(_s.status == leases.LeaseStatus.TERMINATED.value,
               _s.updated_at < before, _s.due_at.is_(None))
        .order_by(_s.updated_at, _s.id).limit(limit)).all())


def _listed(connection: sa.Connection, rows: Sequence[Sequence[Any]],
            known: lease_parts.KnownParts) -> list[leases.Lease]:
    """Return whole leases, reading only what is not in the cache."""
    kept = known.find((row[0], row[1]) for row in rows)
    briefs = db_bookings.read_briefs(connection, kept) if kept else {}
    moved = [lease_id for lease_id, each in kept.items()
             if briefs.get(lease_id, frozenset()) != each.bookings]
    lacking = [row[0] for row in rows if row[0] not in kept]
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
    waits = [row for row in rows if found[row[0]].waiting != row[2]]
    found.update((row[0], dataclasses.replace(found[row[0]], waiting=row[2]))
                 for row in waits)
    known.keep(lease_parts.Listed.of(found[lease_id]) for lease_id in {
        *lacking, *moved, *(row[0] for row in waits)})
    return [found[row[0]] for row in rows]


def _booked(connection: sa.Connection, lease_ids: Collection[str]
            ) -> dict[str, list[leases.NodeBooking]]:
    """Return the bookings of leases, by lease reservation."""
    booked: dict[str, list[leases.NodeBooking]] = {}
    for booking in db_bookings.read_of_leases(connection, lease_ids):
        booked.setdefault(booking.reservation_id, []).append(booking)
    return booked


def _whole(connection: sa.Connection,
           rows: Sequence[Sequence[Any]]) -> list[leases.Lease]:
    if not rows:
        return []
    ids = [row[0] for row in rows]
    asked = connection.execute(_RESERVATIONS, {'ids': ids}).all()
    sized = (db_instances.read_of_leases(connection, ids) if any(
        row[7] in instance_reservations.KINDS for row in asked) else {})
    events: dict[str, list[leases.Event]] = {}
    for row in connection.execute(_EVENTS, {'ids': ids}):
        events.setdefault(row[6], []).append(leases.Event(
            row[0], _TYPES[row[1]], row[2], _EVENT_STATUSES[row[3]], row[4],
            row[5]))
    booked = _booked(connection, ids)
    reservations: dict[str, list[leases.LeaseReservation]] = {}
    for row in asked:
        reservations.setdefault(row[13], []).append(leases.LeaseReservation(
            row[0], _RESERVATION_STATUSES[row[1]], *row[2:13],
            tuple(booked.get(row[0], ())), sized.get(row[0])))
    return [leases.Lease(
        *row[:4], _STATUSES[row[4]], *row[5:13],
        tuple(reservations.get(row[0], ())), tuple(events.get(row[0], ())),
        None if row[13] is None else leases.Between(*row[13:17]),
        None if row[17] is None else leases.Queued(*row[17:20]),
        row[20] or 0)
        for row in rows]


def read_starting(connection: sa.Connection, after: datetime.datetime,
                  until: datetime.datetime
                  ) -> list[tuple[str, datetime.datetime, str | None]]:
    """Return leases that start soon: id, start and user of each."""
    # SELECT id, starts_at, user_id FROM leases
    #   WHERE status = 'PENDING' AND starts_at > ? AND starts_at <= ?
    #   ORDER BY starts_at, id
    return [(row[0], row[1], row[2]) for row in connection.execute(
        sa.select(_s.id, _s.starts_at, _s.user_id)
        .where(_s.status == leases.LeaseStatus.PENDING.value,
               _s.starts_at > after, _s.starts_at <= until)
        .order_by(_s.starts_at, _s.id))]


def count_live(connection: sa.Connection, project_id: str | None,
               *without: str) -> int:
    """Count the leases of a project that are not over.

    :param without: ids of leases to leave out.
    """
    # NOTE: a positive list, since a negation uses no index.
    live = [status.value for status in leases.LeaseStatus if not status.over]
    query = (sa.select(sa.func.count()).select_from(tables.leases)
             .where(_s.status.in_(live)))
    query = query.where(_s.project_id.is_(None) if project_id is None
                        else _s.project_id == project_id)
    if without:
        query = query.where(_s.id.not_in(without))
    return int(connection.execute(query).scalar_one())


def read_projects(connection: sa.Connection) -> frozenset[str]:
    """Return the projects that have leases that are not over."""
    # SELECT DISTINCT project_id FROM leases
    #   WHERE status IN (...) AND project_id IS NOT NULL
    live = [status.value for status in leases.LeaseStatus if not status.over]
    return frozenset(connection.execute(
        sa.select(_s.project_id).distinct().where(
            _s.status.in_(live), _s.project_id.is_not(None))).scalars())


def read_of_project(connection: sa.Connection, project_id: str) -> list[str]:
    """Return the ids of a project's leases that are not over."""
    # SELECT id FROM leases WHERE project_id = ? AND status IN (...)
    live = [status.value for status in leases.LeaseStatus if not status.over]
    return list(connection.execute(sa.select(_s.id).where(
        _s.project_id == project_id, _s.status.in_(live))
        .order_by(_s.id)).scalars())


def insert(connection: sa.Connection, lease: leases.Lease,
           due_at: datetime.datetime, request_key: str | None,
           request_digest: str | None) -> None:
    """Write a new lease without its bookings.

    :param due_at: when the reconciler has to work on it first.
    :raises oslo_db.exception.DBDuplicateEntry: the request was served before.
    """
    connection.execute(_INSERT, {
        'id': lease.id, 'generation': lease.generation, 'name': lease.name,
        'project_id': lease.project_id, 'user_id': lease.user_id,
        'starts_at': lease.start, 'ends_at': lease.end,
        'before_end_at': lease.before_end, 'status': lease.status.value,
        'degraded': lease.degraded, 'created_at': lease.created_at,
        'updated_at': lease.updated_at, 'request_key': request_key,
        'request_digest': request_digest, 'due_at': due_at, 'attempts': 0,
        **_open(lease)})
    connection.execute(_INSERT_RESERVATIONS, [
        {'id': each.id, 'lease_id': lease.id, 'place': place,
         'resource_type': each.resource_type,
         'resource_id': each.resource_id, 'status': each.status.value,
         'least': each.least, 'most': each.most,
         'hypervisor_properties': each.hypervisor_properties,
         'resource_properties': each.resource_properties,
         'before_end': each.before_end,
         'missing_resources': each.missing_resources,
         'resources_changed': each.resources_changed,
         'created_at': each.created_at, 'updated_at': each.updated_at}
        for place, each in enumerate(lease.reservations)])
    db_instances.insert_many(connection, [
        each.instances for each in lease.reservations if each.instances])
    if lease.events:
        connection.execute(_INSERT_EVENTS, [
            {'id': event.id, 'lease_id': lease.id,
             'event_type': event.type.value, 'time': event.time,
             'status': event.status.value, 'created_at': event.created_at,
             'updated_at': event.updated_at} for event in lease.events])


def update(connection: sa.Connection, before: leases.Lease,
           after: leases.Lease,
           due_at: datetime.datetime | None) -> int:
    """Write a changed lease without its bookings.

    :param before: as it was read; only differences are written.
    :param due_at: when the reconciler has to work on it next.
    :returns: its new generation; 0 if somebody else has changed it since.
    :raises Conflict: a part of it has changed since.
    """
    # UPDATE leases SET generation = ?, ... WHERE id = ? AND generation = ?
    generation = db_generations.fresh()
    if not connection.execute(_UPDATE, {
            'of_id': before.id, 'read': before.generation,
            'generation': generation, 'name': after.name,
            'starts_at': after.start, 'ends_at': after.end,
            'before_end_at': after.before_end, 'status': after.status.value,
            'degraded': after.degraded, 'waiting': after.waiting,
            'updated_at': after.updated_at,
            'extensions': after.extensions or None, 'due_at': due_at,
            **_open(after)}).rowcount:
        return 0
    old = {each.id: each for each in before.reservations}
    # NOTE: the generation of the lease covers its reservations and events.
    for each in after.reservations:
        if dataclasses.replace(each, bookings=()) != dataclasses.replace(
                old[each.id], bookings=()):
            row_counts.check(connection.execute(
                sa.update(tables.lease_reservations)
                .where(_l.id == each.id, _l.lease_id == before.id)
                .values(status=each.status.value, least=each.least,
                        most=each.most,
                        hypervisor_properties=each.hypervisor_properties,
                        resource_properties=each.resource_properties,
                        before_end=each.before_end,
                        missing_resources=each.missing_resources,
                        resources_changed=each.resources_changed,
                        updated_at=each.updated_at)), 1, _PART)
        was = old[each.id].instances
        if was and each.instances and each.instances != was:
            db_instances.update(connection, was, each.instances)
    known = {event.id: event for event in before.events}
    for event in after.events:
        if event != known[event.id]:
            row_counts.check(connection.execute(_UPDATE_EVENT, {
                'of_id': event.id, 'of_lease': before.id, 'time': event.time,
                'status': event.status.value,
                'updated_at': event.updated_at}), 1, _PART)
    return generation


def _open(lease: leases.Lease) -> dict[str, Any]:
    """Return the columns of open dates and of the queue."""
    values: dict[str, Any] = dict.fromkeys((
        'between_from', 'between_until', 'fix_before', 'fix_at',
        'wanted_start', 'promised_start', 'priority'))
    between, queued = lease.between, lease.queued
    if between is not None:
        values.update(
            between_from=between.earliest, between_until=between.latest,
            fix_before=between.fix_before, fix_at=between.fix_at)
    if queued is not None:
        values.update(wanted_start=queued.wanted,
                      promised_start=queued.promised,
                      priority=queued.priority)
    return values


def read_of_reservations(connection: sa.Connection,
                         reservation_ids: Collection[str]
                         ) -> list[leases.Lease]:
    """Return the leases of lease reservations."""
    ids = connection.execute(
        sa.select(_l.lease_id).where(_l.id.in_(reservation_ids))
    ).scalars().all()
    return read(connection, set(ids))


def delete(connection: sa.Connection, lease: leases.Lease) -> bool:
    """Delete a lease without bookings.

    :returns: ``False`` if somebody else has changed it since.
    """
    return delete_many(connection, [lease])


def delete_many(connection: sa.Connection,
                gone: Collection[leases.Lease]) -> bool:
    """Delete leases without bookings, all or none.

    :returns: ``False`` if somebody else has changed one of them since; the
        transaction then has to be rolled back.
    :raises Conflict: a part of one has changed since.
    """
    if not gone:
        return True
    given = {'ids': [lease.id for lease in gone], 'pairs': [
        (lease.id, lease.generation) for lease in gone]}
    # NOTE: the generations first, so that nobody changes a part meanwhile; the
    # leases last, since the other rows refer to them.
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
    return connection.execute(
        sa.delete(tables.leases).where(*_AS_READ),
        {**given, 'pairs': [(lease.id, written) for lease in gone]}
    ).rowcount == len(gone)

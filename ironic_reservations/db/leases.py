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
from ironic_reservations.db import instance_reservations as db_instances
from ironic_reservations.db import tables
from ironic_reservations.planner import instance_reservations
from ironic_reservations.planner import leases

_s = tables.leases.c
_l = tables.lease_reservations.c
_e = tables.lease_events.c
_LEASE = (_s.id, _s.name, _s.starts_at, _s.ends_at, _s.status, _s.created_at,
          _s.before_end_at, _s.updated_at, _s.project_id, _s.user_id,
          _s.degraded, _s.generation, _s.waiting)
_RESERVATION = (_l.id, _l.status, _l.least, _l.most, _l.created_at,
                _l.resource_id, _l.updated_at, _l.resource_type,
                _l.hypervisor_properties, _l.resource_properties,
                _l.before_end, _l.missing_resources, _l.resources_changed,
                _l.lease_id)
_EVENT = (_e.id, _e.event_type, _e.time, _e.status, _e.created_at,
          _e.updated_at, _e.lease_id)
# NOTE: put together once, since that takes longer than all else that
# SQLAlchemy does for a few rows.
_IDS = sa.bindparam('ids', expanding=True)
_BY_ID = sa.select(*_LEASE).where(_s.id.in_(_IDS)).order_by(_s.created_at,
                                                            _s.id)
_RESERVATIONS = sa.select(*_RESERVATION).where(
    _l.lease_id.in_(_IDS)).order_by(_l.place)
_EVENTS = sa.select(*_EVENT).where(_e.lease_id.in_(_IDS)).order_by(_e.time)
_INSERT = sa.insert(tables.leases)
_INSERT_RESERVATIONS = sa.insert(tables.lease_reservations)
_INSERT_EVENTS = sa.insert(tables.lease_events)
_STATUSES = {status.value: status for status in leases.LeaseStatus}
_RESERVATION_STATUSES = {status.value: status
                         for status in leases.ReservationStatus}
_TYPES = {kind.value: kind for kind in leases.EventType}
_EVENT_STATUSES = {status.value: status for status in leases.EventStatus}


def read(connection: sa.Connection,
         lease_ids: Collection[str]) -> list[leases.Lease]:
    """Read leases whole, in four statements however many there are.

    Where any of them is of instances, it takes one more.
    """
    rows = connection.execute(_BY_ID, {'ids': list(lease_ids)}).all()
    return _whole(connection, rows)


def read_page(connection: sa.Connection, project_id: str | None,
              marker: leases.Lease | None,
              limit: int | None) -> list[leases.Lease]:
    """Read leases, the oldest first.

    :param marker: the last one of the page before.
    """
    query = sa.select(*_LEASE).order_by(_s.created_at, _s.id)
    if project_id is not None:
        query = query.where(_s.project_id == project_id)
    if marker is not None:
        query = query.where(sa.or_(
            _s.created_at > marker.created_at,
            sa.and_(_s.created_at == marker.created_at, _s.id > marker.id)))
    if limit is not None:
        query = query.limit(limit)
    return _whole(connection, connection.execute(query).all())


def _whole(connection: sa.Connection,
           rows: Sequence[Sequence[Any]]) -> list[leases.Lease]:
    if not rows:
        return []
    ids = [row[0] for row in rows]
    booked: dict[str, list[leases.NodeBooking]] = {}
    for booking in db_bookings.read_of_leases(connection, ids):
        booked.setdefault(booking.reservation_id, []).append(booking)
    reservations: dict[str, list[leases.LeaseReservation]] = {}
    asked = connection.execute(_RESERVATIONS, {'ids': ids}).all()
    sized = (db_instances.read_of_leases(connection, ids) if any(
        row[7] in instance_reservations.KINDS for row in asked) else {})
    for row in asked:
        reservations.setdefault(row[13], []).append(leases.LeaseReservation(
            row[0], _RESERVATION_STATUSES[row[1]], *row[2:13],
            tuple(booked.get(row[0], ())), sized.get(row[0])))
    events: dict[str, list[leases.Event]] = {}
    for row in connection.execute(_EVENTS, {'ids': ids}):
        events.setdefault(row[6], []).append(leases.Event(
            row[0], _TYPES[row[1]], row[2], _EVENT_STATUSES[row[3]], row[4],
            row[5]))
    return [leases.Lease(*row[:4], _STATUSES[row[4]], *row[5:],
                         tuple(reservations.get(row[0], ())),
                         tuple(events.get(row[0], ())))
            for row in rows]


def read_requested(connection: sa.Connection,
                   request_key: str) -> tuple[str, str] | None:
    """Read which lease a request made, and the digest of that request."""
    row = connection.execute(
        sa.select(_s.id, _s.request_digest)
        .where(_s.request_key == request_key)).one_or_none()
    return None if row is None else (row[0], row[1])


def count_live(connection: sa.Connection, project_id: str | None) -> int:
    """Count the leases of a project that are not over."""
    over = [status.value for status in leases.LeaseStatus if status.over]
    query = (sa.select(sa.func.count()).select_from(tables.leases)
             .where(_s.status.not_in(over)))
    query = query.where(_s.project_id.is_(None) if project_id is None
                        else _s.project_id == project_id)
    return int(connection.execute(query).scalar_one())


def insert(connection: sa.Connection, lease: leases.Lease,
           due_at: datetime.datetime, request_key: str | None,
           request_digest: str | None) -> None:
    """Write a new lease without its bookings.

    :param due_at: when the reconciler has to look at it first.
    :raises oslo_db.exception.DBDuplicateEntry: the request was served
        before.
    """
    connection.execute(_INSERT, {
        'id': lease.id, 'generation': lease.generation, 'name': lease.name,
        'project_id': lease.project_id, 'user_id': lease.user_id,
        'starts_at': lease.start, 'ends_at': lease.end,
        'before_end_at': lease.before_end, 'status': lease.status.value,
        'degraded': lease.degraded, 'created_at': lease.created_at,
        'updated_at': lease.updated_at, 'request_key': request_key,
        'request_digest': request_digest, 'due_at': due_at, 'attempts': 0})
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
    connection.execute(_INSERT_EVENTS, [
        {'id': event.id, 'lease_id': lease.id,
         'event_type': event.type.value, 'time': event.time,
         'status': event.status.value, 'created_at': event.created_at,
         'updated_at': event.updated_at} for event in lease.events])


def update(connection: sa.Connection, before: leases.Lease,
           after: leases.Lease,
           due_at: datetime.datetime | None) -> bool:
    """Write a lease as it has become, without its bookings.

    :param before: as it was read; tells what there is to write.
    :param due_at: when the reconciler has to look at it next.
    :returns: ``False`` if somebody else has changed it meanwhile.
    """
    # UPDATE leases SET generation = generation + 1, ...
    #   WHERE id = ? AND generation = ?
    if not connection.execute(
            sa.update(tables.leases)
            .where(_s.id == before.id, _s.generation == before.generation)
            .values(generation=before.generation + 1, name=after.name,
                    starts_at=after.start, ends_at=after.end,
                    before_end_at=after.before_end,
                    status=after.status.value, degraded=after.degraded,
                    waiting=after.waiting, updated_at=after.updated_at,
                    due_at=due_at)).rowcount:
        return False
    old = {each.id: each for each in before.reservations}
    for each in after.reservations:
        if dataclasses.replace(each, bookings=()) != dataclasses.replace(
                old[each.id], bookings=()):
            connection.execute(
                sa.update(tables.lease_reservations)
                .where(_l.id == each.id)
                .values(status=each.status.value, least=each.least,
                        most=each.most,
                        hypervisor_properties=each.hypervisor_properties,
                        resource_properties=each.resource_properties,
                        missing_resources=each.missing_resources,
                        resources_changed=each.resources_changed,
                        updated_at=each.updated_at))
        if each.instances and each.instances != old[each.id].instances:
            db_instances.update(connection, each.instances)
    known = {event.id: event for event in before.events}
    for event in after.events:
        if event != known[event.id]:
            connection.execute(
                sa.update(tables.lease_events).where(_e.id == event.id)
                .values(time=event.time, status=event.status.value,
                        updated_at=event.updated_at))
    return True


def flag_resources(connection: sa.Connection, changed: Collection[str],
                   missing: Collection[str], now: datetime.datetime) -> None:
    """Flag reservations whose nodes were replaced, or could not be.

    :param changed: the ids of those that have another node now.
    :param missing: the ids of those that lack one.
    """
    found = set(changed) - set(missing)
    if found:
        connection.execute(
            sa.update(tables.lease_reservations).where(_l.id.in_(found))
            .values(missing_resources=False, updated_at=now))
    if changed:
        connection.execute(
            sa.update(tables.lease_reservations).where(_l.id.in_(changed))
            .values(resources_changed=True, updated_at=now))
    if missing:
        connection.execute(
            sa.update(tables.lease_reservations)
            .where(_l.id.in_(missing), sa.not_(_l.missing_resources))
            .values(missing_resources=True, updated_at=now))


def degrade(connection: sa.Connection, reservation_ids: Collection[str],
            now: datetime.datetime) -> None:
    """Flag leases that cannot be kept as promised, and why.

    :param reservation_ids: those of their reservations that lack a node.
    """
    if not reservation_ids:
        return
    flag_resources(connection, (), reservation_ids, now)
    # UPDATE leases SET degraded = true, generation = generation + 1
    #   WHERE id IN (SELECT lease_id FROM lease_reservations
    #                WHERE id IN (...))
    connection.execute(
        sa.update(tables.leases)
        .where(_s.id.in_(sa.select(_l.lease_id)
                         .where(_l.id.in_(reservation_ids))))
        .values(degraded=True, generation=_s.generation + 1, updated_at=now))


def read_of_reservations(connection: sa.Connection,
                         reservation_ids: Collection[str]
                         ) -> list[leases.Lease]:
    """Read the leases that reservations belong to."""
    ids = connection.execute(
        sa.select(_l.lease_id).where(_l.id.in_(reservation_ids))
    ).scalars().all()
    return read(connection, set(ids))


def delete(connection: sa.Connection, lease: leases.Lease) -> bool:
    """Delete a lease without bookings.

    :returns: ``False`` if somebody else has changed it meanwhile.
    """
    # NOTE: the lease last, since the others refer to it.
    connection.execute(sa.delete(tables.lease_events).where(
        _e.lease_id == lease.id))
    if any(each.instances for each in lease.reservations):
        db_instances.delete_of_lease(connection, lease.id)
    connection.execute(sa.delete(tables.lease_reservations).where(
        _l.lease_id == lease.id))
    return bool(connection.execute(sa.delete(tables.leases).where(
        _s.id == lease.id, _s.generation == lease.generation)).rowcount)

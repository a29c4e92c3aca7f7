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

"""Rows of ``instance_reservations``: requirements of instance reservations.

The reservation itself is a row of ``lease_reservations``, and each of its
instances is a row of ``reservations``.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
import dataclasses
import json
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import store
from ironic_reservations.db import tables
from ironic_reservations.model import flavors
from ironic_reservations.model import instance_reservations

_i = tables.instance_reservations.c
_l = tables.lease_reservations.c
_ASKED = store.Rows(
    instance_reservations.InstanceReservation, tables.instance_reservations,
    'an instance reservation', apart=('request', 'flavor'),
    as_read=('id', 'reservation_id', 'vcpus', 'memory_mb', 'disk_gb',
             'amount'),
    changing=('vcpus', 'memory_mb', 'disk_gb', 'amount', 'affinity',
              'flavor_id', 'aggregate_id', 'server_group_id',
              'source_flavor_id'))


def labelled(prefix: str = '') -> tuple[sa.ColumnElement[Any], ...]:
    """Return the columns that :func:`reader` reads."""
    return (*_ASKED.labelled(prefix), _i.request.label(f'{prefix}request'))


def reader(result: sa.CursorResult[Any], prefix: str = ''
           ) -> Callable[[sa.Row[Any]],
                         instance_reservations.InstanceReservation]:
    """Return a function that reads an instance reservation from a row."""
    made = _ASKED.reader(result, 'request', 'flavor', prefix=prefix)
    request = store.values_of(result, f'{prefix}request')
    return lambda row: made(row, *_read(request(row)))


# The statements are built once: building one takes longer than all other
# work of SQLAlchemy for a few rows.
_ALL = sa.select(*labelled())
# SELECT ... FROM instance_reservations WHERE reservation_id IN
#   (SELECT id FROM lease_reservations WHERE lease_id IN (...))
_OF_LEASES = _ALL.where(_i.reservation_id.in_(
    sa.select(_l.id).where(
        _l.lease_id.in_(sa.bindparam('leases', expanding=True)))))
# SELECT ... FROM instance_reservations WHERE reservation_id = ...
_OF_RESERVATION = _ALL.where(_i.reservation_id == sa.bindparam('reservation'))
_Found = dict[str, instance_reservations.InstanceReservation]


def insert_many(
        connection: sa.Connection,
        made: Iterable[instance_reservations.InstanceReservation]) -> None:
    """Write new instance reservations in one statement.

    :raises oslo_db.exception.DBDuplicateEntry: one of the reservations exists
        already.
    """
    made = list(made)
    if made:
        connection.execute(_ASKED.inserting, [
            {**_ASKED.values(each), 'request': _written(each)}
            for each in made])


def read_of_leases(connection: sa.Connection,
                   lease_ids: Collection[str]) -> _Found:
    """Return the instance reservations of leases.

    :returns: by the id of the lease reservation.
    """
    if not lease_ids:
        return {}
    return _found(connection.execute(_OF_LEASES,
                                     {'leases': list(lease_ids)}))


def read(connection: sa.Connection, reservation_id: str
         ) -> instance_reservations.InstanceReservation | None:
    """Return an instance reservation; ``None`` for a reservation of hosts.

    :param reservation_id: the id of the lease reservation.
    """
    return _found(connection.execute(
        _OF_RESERVATION, {'reservation': reservation_id})).get(reservation_id)


def update(connection: sa.Connection,
           before: instance_reservations.InstanceReservation,
           after: instance_reservations.InstanceReservation) -> None:
    """Write a changed instance reservation.

    To be called in a transaction that changes the lease, whose generation
    decides between concurrent changes.

    :param before: as it was read.
    :raises Conflict: the row has changed since.
    """
    _ASKED.update(connection, before, after, request=_written(after))


def delete_many(
        connection: sa.Connection,
        gone: Collection[instance_reservations.InstanceReservation]) -> None:
    """Delete instance reservations.

    To be called before the lease reservations are deleted, and after the
    generations of their leases have been raised.

    :raises Conflict: one of the reservations has been deleted already.
    """
    # SQLite does not cascade by default.
    _ASKED.delete_all(connection, gone)


def _found(rows: sa.CursorResult[Any]) -> _Found:
    made = reader(rows)
    return {row.reservation_id: made(row) for row in rows}


def _written(
        wanted: instance_reservations.InstanceReservation) -> str | None:
    request, flavor = wanted.request, wanted.flavor
    if request is None:
        return None
    return json.dumps({
        'group_policy': request.group_policy,
        'groups': [{'suffix': group.suffix,
                    'resources': dict(group.resources),
                    'required': sorted(group.required),
                    'forbidden': sorted(group.forbidden)}
                   for group in request.groups],
        **({} if flavor is None else {
            'flavor': dataclasses.asdict(flavor)})}, sort_keys=True)


def _read(text: str | None
          ) -> tuple[flavors.Request | None, flavors.Flavor | None]:
    if text is None:
        return None, None
    written = json.loads(text)
    request = flavors.Request(tuple(
        flavors.Group(group['suffix'],
                      tuple(sorted(group['resources'].items())),
                      frozenset(group['required']),
                      frozenset(group['forbidden']))
        for group in written['groups']), written['group_policy'])
    flavor = written.get('flavor')
    return request, None if flavor is None else flavors.Flavor(**flavor)

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

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import json
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import row_counts
from ironic_reservations.db import tables
from ironic_reservations.model import flavors
from ironic_reservations.model import instance_reservations

_i = tables.instance_reservations.c
_l = tables.lease_reservations.c
_r = tables.reservations.c
#: The columns that :func:`of_row` takes.
COLUMNS = (_i.id, _i.reservation_id, _i.vcpus, _i.memory_mb, _i.disk_gb,
            _i.amount, _i.affinity, _i.flavor_id, _i.aggregate_id,
            _i.server_group_id, _i.source_flavor_id, _i.request)
# NOTE: the statements are built once: building one takes longer than all else
# that SQLAlchemy does for a few rows.
_ALL = sa.select(*COLUMNS)
_OF_LEASES = _ALL.where(_i.reservation_id.in_(
    sa.select(_l.id).where(
        _l.lease_id.in_(sa.bindparam('leases', expanding=True)))))
_OF_NODES = _ALL.where(_i.reservation_id.in_(
    sa.select(_r.lease_reservation_id).where(
        _r.node_uuid.in_(sa.bindparam('uuids', expanding=True)))))
_INSERT = sa.insert(tables.instance_reservations)
_ASKED = 'an instance reservation'

_Found = dict[str, instance_reservations.InstanceReservation]


def insert_many(
        connection: sa.Connection,
        made: Iterable[instance_reservations.InstanceReservation]) -> None:
    """Write new instance reservations in one statement.

    :raises oslo_db.exception.DBDuplicateEntry: one of them exists already.
    """
    rows = [{'id': each.id, 'reservation_id': each.reservation_id,
             'vcpus': each.vcpus, 'memory_mb': each.memory_mb,
             'disk_gb': each.disk_gb, 'amount': each.amount,
             'affinity': each.affinity, 'flavor_id': each.flavor_id,
             'aggregate_id': each.aggregate_id,
             'server_group_id': each.server_group_id,
             'source_flavor_id': each.source_flavor_id,
             'request': _written(each)} for each in made]
    if rows:
        connection.execute(_INSERT, rows)


def read_of_leases(connection: sa.Connection,
                   lease_ids: Collection[str]) -> _Found:
    """Return the instance reservations of leases.

    :returns: by the id of the lease reservation.
    """
    if not lease_ids:
        return {}
    return _found(connection.execute(_OF_LEASES,
                                     {'leases': list(lease_ids)}))


def read_of_nodes(connection: sa.Connection,
                  node_uuids: Collection[str] | None = None) -> _Found:
    """Return the instance reservations with bookings on nodes.

    :param node_uuids: ``None``: all instance reservations.
    :returns: by the id of the lease reservation.
    """
    if node_uuids is None:
        return _found(connection.execute(_ALL))
    if not node_uuids:
        return {}
    return _found(connection.execute(_OF_NODES,
                                     {'uuids': list(node_uuids)}))


def update(connection: sa.Connection,
           before: instance_reservations.InstanceReservation,
           after: instance_reservations.InstanceReservation) -> None:
    """Write a changed instance reservation.

    To be called in a transaction that changes the lease, whose generation
    decides between concurrent changes.

    :param before: as it was read.
    :raises Conflict: it has changed since.
    """
    # UPDATE instance_reservations SET ... WHERE id = ? AND reservation_id = ?
    #   AND vcpus = ? AND memory_mb = ? AND disk_gb = ? AND amount = ?
    row_counts.check(connection.execute(
        sa.update(tables.instance_reservations)
        .where(_i.id == before.id,
               _i.reservation_id == before.reservation_id,
               _i.vcpus == before.vcpus, _i.memory_mb == before.memory_mb,
               _i.disk_gb == before.disk_gb, _i.amount == before.amount)
        .values(vcpus=after.vcpus, memory_mb=after.memory_mb,
                disk_gb=after.disk_gb, amount=after.amount,
                affinity=after.affinity, flavor_id=after.flavor_id,
                aggregate_id=after.aggregate_id,
                server_group_id=after.server_group_id,
                source_flavor_id=after.source_flavor_id,
                request=_written(after))), 1, _ASKED)


def delete_many(
        connection: sa.Connection,
        gone: Collection[instance_reservations.InstanceReservation]) -> None:
    """Delete instance reservations.

    To be called before the lease reservations are deleted, and after the
    generations of their leases have been raised.

    :raises Conflict: one of them has been deleted already.
    """
    if not gone:
        return
    # DELETE FROM instance_reservations WHERE id IN (...)
    #   AND (id, reservation_id) IN ((?, ?), ...)
    # NOTE: SQLite does not cascade by default. The first condition is for the
    # index: MariaDB uses none for pairs.
    row_counts.check(connection.execute(
        sa.delete(tables.instance_reservations).where(
            _i.id.in_([each.id for each in gone]),
            sa.tuple_(_i.id, _i.reservation_id).in_(
                [(each.id, each.reservation_id) for each in gone]))),
        len(gone), _ASKED)


def _found(rows: Iterable[Sequence[Any]]) -> _Found:
    return {row[1]: of_row(row) for row in rows}


def of_row(row: Sequence[Any]) -> instance_reservations.InstanceReservation:
    """Return the instance reservation in the :data:`COLUMNS` of a row."""
    return instance_reservations.InstanceReservation(*row[:11],
                                                     *_read(row[11]))


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

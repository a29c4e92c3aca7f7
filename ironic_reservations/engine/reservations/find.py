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

"""Read reservations; expired ones do not exist, even if not deleted yet."""

from __future__ import annotations

import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine import Engine
from ironic_reservations.engine import seen
from ironic_reservations.model import node_reservation

SORT_KEYS = db_reservations.SORT_KEYS


def _no_marker(marker: str) -> errors.ReservationNotFound:
    """Return the error for an unknown marker, or one of another project."""
    return errors.ReservationNotFound(
        f'The marker {marker} is not a reservation of yours, or the '
        'reservation is over. Begin again at the first page.')


def unknown(uuid: str) -> str:
    """Return the error text for a reservation that does not exist."""
    return (f'There is no reservation {uuid}: it never existed, has expired, '
            'was deleted, or belongs to another project.')


def get(engine: Engine, uuid: str) -> node_reservation.Reservation:
    """Read one live reservation.

    :raises ReservationNotFound: the reservation does not exist, or has
        expired.
    """
    with engine.database.read() as connection:
        reservation = db_reservations.read_by_uuid(connection, uuid)
    return _valid(engine, reservation, uuid)


def get_as_made(engine: Engine,
                uuid: str) -> tuple[node_reservation.Reservation, bool]:
    """Read one live reservation, and whether it may still fail.

    :raises ReservationNotFound: the reservation does not exist, or has
        expired.
    """
    unconfirmed = _unconfirmed(engine)
    if not unconfirmed:
        return get(engine, uuid), False
    with engine.database.snapshot() as connection:
        reservation = db_reservations.read_by_uuid(connection, uuid)
        being_made = db_reservations.read_being_made(connection, uuid,
                                                     unconfirmed)
    return _valid(engine, reservation, uuid), being_made


def _unconfirmed(engine: Engine) -> list[sa.ColumnElement[bool]]:
    return [condition for each in engine.features
            if (condition := each.unconfirmed()) is not None]


def _valid(engine: Engine, found: node_reservation.Reservation | None,
           uuid: str) -> node_reservation.Reservation:
    now = engine.clock()
    if found is None or not found.live(now) or found.over(now):
        raise errors.ReservationNotFound(unknown(uuid))
    return found


def being_made(reservation: node_reservation.Reservation
               ) -> errors.PlacementUnavailable:
    """Return the error for a reservation that may still fail."""
    return errors.PlacementUnavailable(
        f'The reservation {reservation.uuid} is still being made: its node '
        f'{reservation.node_uuid} is not held in Placement yet. Ask again, or '
        'send the request that makes it once more.')


def live(connection: sa.Connection, uuid: str, now: datetime.datetime,
         permitted: node_reservation.Reservation | None = None
         ) -> tuple[node_reservation.Reservation, seen.Seen]:
    """Read one live reservation for a change, and its node.

    :param permitted: the reservation when the policy was applied, since
        another one may have the same uuid by now.
    :raises ReservationNotFound: there is none, it has expired, or another one
        has the uuid now.
    """
    found = db_reservations.read_with_generation(connection, uuid)
    if (found is None or not found[0].live(now) or found[0].over(now)
            or permitted is not None and not found[0].same(permitted)):
        raise errors.ReservationNotFound(unknown(uuid))
    held, generation = found
    return held, seen.Seen({held.node_uuid: generation})


@dataclasses.dataclass(frozen=True)
class Query:
    """A query for reservations.

    :ivar marker: the uuid of the last reservation of the previous page.
    :ivar limit: the maximum number of reservations; ``None``: all.
    :ivar sort_key: one of :data:`SORT_KEYS`.
    """

    node_uuid: str | None = None
    instance_uuid: str | None = None
    project_id: str | None = None
    marker: str | None = None
    limit: int | None = None
    sort_key: str = 'created_at'
    sort_dir: str = 'asc'


def page(engine: Engine, query: Query) -> list[node_reservation.Reservation]:
    """Read live reservations.

    :raises ReservationNotFound: the marker is not a live reservation.
    """
    now = engine.clock()
    with engine.database.snapshot() as connection:
        marker = None
        if query.marker is not None:
            marker = db_reservations.read_by_uuid(connection, query.marker)
            if marker is None or query.project_id not in (
                    None, marker.project_id):
                raise _no_marker(query.marker)
        return db_reservations.read_page(
            connection, now, node_uuid=query.node_uuid,
            instance_uuid=query.instance_uuid, project_id=query.project_id,
            sort_key=query.sort_key, descending=query.sort_dir == 'desc',
            marker=marker, limit=query.limit,
            unconfirmed=_unconfirmed(engine))


def reserved_node_uuids(engine: Engine) -> frozenset[str]:
    """Read the uuids of the nodes that are reserved now."""
    with engine.database.read() as connection:
        return db_reservations.read_live_node_uuids(connection,
                                                    engine.clock())

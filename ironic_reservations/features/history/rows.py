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

"""Reads the history of a lease from the rows of several tables."""

from __future__ import annotations

import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations.db import store
from ironic_reservations.db import tables
from ironic_reservations.features.history import values as lease_history
from ironic_reservations.model import leases
from ironic_reservations.model import notices
from ironic_reservations.model import period_kind

_r = tables.reservations.c
_l = tables.lease_reservations.c
_p = tables.usage_periods.c
_o = tables.outbox.c
# The next release may write more values while this release still runs.
_KINDS = tuple(kind.value for kind in notices.Kind)
_CHANNELS = tuple(channel.value for channel in notices.Channel)
_OUTCOMES = {outcome.value: outcome for outcome in notices.Outcome}
_PERIODS = (period_kind.PROMISED, period_kind.BOUND, period_kind.DEPLOYED,
            period_kind.NO_SHOW)


@dataclasses.dataclass(frozen=True)
class Booking:
    """A booking of the lease.

    :ivar bound_at: the time when the lease got the node.
    :ivar warned_at: the time when the owner was warned that the unused node
        would be released.
    """

    uuid: str
    node_uuid: str
    state: leases.BookingState
    created_at: datetime.datetime
    updated_at: datetime.datetime | None
    bound_at: datetime.datetime | None
    warned_at: datetime.datetime | None


@dataclasses.dataclass(frozen=True)
class Period:
    """A period in which hosts were promised, bound or deployed.

    :ivar booking_uuid: the booking whose node was deployed.
    :ivar ended_at: ``None``: the period has not ended.
    """

    booking_uuid: str | None
    kind: str
    resource_class: str
    starts_at: datetime.datetime
    ended_at: datetime.datetime | None
    hosts: int


@dataclasses.dataclass(frozen=True)
class Notice:
    """A notice about the lease to one receiver."""

    notice_id: str
    kind: notices.Kind
    created_at: datetime.datetime
    sent: lease_history.Sent


def read_bookings(connection: sa.Connection,
                  lease_id: str) -> list[Booking]:
    """Return the bookings of a lease, ordered by place."""
    # SELECT ... FROM reservations JOIN lease_reservations ON ...
    #   WHERE lease_id = ? ORDER BY (both places)
    return store.read(Booking, connection.execute(
        sa.select(_r.uuid, _r.node_uuid, _r.state, _r.created_at,
                  _r.updated_at, _r.bound_at, _r.warned_at)
        .join_from(tables.reservations, tables.lease_reservations,
                   _r.lease_reservation_id == _l.id)
        .where(_l.lease_id == lease_id)
        .order_by(_l.place, _r.place)))


def read_periods(connection: sa.Connection, lease_id: str) -> list[Period]:
    """Return the periods of a lease, ordered by id."""
    # SELECT ... FROM usage_periods WHERE lease_id = ? AND kind IN (...)
    #   ORDER BY id
    return store.read(Period, connection.execute(
        sa.select(_p.booking_uuid, _p.kind, _p.resource_class, _p.starts_at,
                  _p.ended_at, _p.hosts)
        .where(_p.lease_id == lease_id, _p.kind.in_(_PERIODS))
        .order_by(_p.id)))


def read_notices(connection: sa.Connection, lease_id: str) -> list[Notice]:
    """Return the notices about a lease, the oldest first.

    Kinds and channels that this release does not know are left out.
    """
    # SELECT ... FROM outbox WHERE lease_id = ? AND kind IN (...)
    #   AND channel IN (...) ORDER BY created_at, id
    return [Notice(
        row.notice_id, notices.Kind(row.kind), row.created_at,
        lease_history.Sent(notices.Channel(row.channel),
                           _OUTCOMES.get(row.outcome), row.done_at))
        for row in connection.execute(
            sa.select(_o.notice_id, _o.kind, _o.created_at, _o.channel,
                      _o.outcome, _o.done_at)
            .where(_o.lease_id == lease_id, _o.kind.in_(_KINDS),
                   _o.channel.in_(_CHANNELS))
            .order_by(_o.created_at, _o.id))]

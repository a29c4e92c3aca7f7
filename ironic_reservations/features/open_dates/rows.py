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

"""Rows of ``leases`` whose dates this service may still change."""

from __future__ import annotations

import datetime

import sqlalchemy as sa

from ironic_reservations.db import leases as db_leases
from ironic_reservations.db import tables
from ironic_reservations.model import leases

_s = tables.leases.c


def read_loose(connection: sa.Connection, now: datetime.datetime,
               start: datetime.datetime, end: datetime.datetime, most: int,
               without: str | None = None) -> tuple[list[leases.Lease], bool]:
    """Return leases whose dates may still change, the nearest first.

    :param start: the start of the window for which room is needed: leases that
        overlap with it come first, then later leases, then earlier leases.
    :param end: the end of this window.
    :param most: the maximum number of leases.
    :param without: the id of a lease to omit.
    :returns: the leases, and whether these are all of them.
    """
    # SELECT id FROM leases WHERE fix_at > ? AND status = 'PENDING'
    #   AND id <> ? ORDER BY CASE ..., id LIMIT ?
    ids = connection.scalars(
        sa.select(_s.id).where(
            _loose(now),
            *(() if without is None else (_s.id != without,))).order_by(
            sa.case((_s.ends_at <= start, 2), (_s.starts_at >= end, 1),
                    else_=0),
            sa.case((_s.ends_at > start, _s.starts_at)),
            _s.ends_at.desc(), _s.id).limit(most + 1)).all()
    found = db_leases.read(connection, ids[:most]) if ids else []
    return found, len(ids) <= most


def read_to_fix(connection: sa.Connection, now: datetime.datetime,
                most: int) -> list[str]:
    """Return the ids of leases that are due to be fixed, the first due first.
    """
    # SELECT id FROM leases WHERE fix_at <= ? ORDER BY fix_at, id LIMIT ?
    return list(connection.scalars(
        sa.select(_s.id).where(_s.fix_at <= now)
        .order_by(_s.fix_at, _s.id).limit(most)))


def _loose(now: datetime.datetime) -> sa.ColumnElement[bool]:
    """Return the condition that the dates of a lease may still change."""
    # A lease that is due to be fixed counts as fixed.
    return sa.and_(_s.fix_at > now,
                   _s.status == leases.LeaseStatus.PENDING.value)

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

"""Queries for leases that wait in the queue."""

from __future__ import annotations

import datetime

import sqlalchemy as sa

from ironic_reservations.db import tables
from ironic_reservations.model import leases

_s = tables.leases.c


def read_waiting(connection: sa.Connection,
                 now: datetime.datetime) -> list[str]:
    """Return the ids of queued leases, in the order of the queue."""
    # SELECT id FROM leases WHERE status = 'PENDING' AND promised_start > ?
    #   AND promised_start > wanted_start
    #   ORDER BY priority DESC, created_at, id
    return list(connection.scalars(
        sa.select(_s.id).where(
            _s.status == leases.LeaseStatus.PENDING.value,
            _s.promised_start > now, _s.promised_start > _s.wanted_start)
        .order_by(_s.priority.desc(), _s.created_at, _s.id)))

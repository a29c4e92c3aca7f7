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

"""Rows of ``enforcement_terms``: the terms sent to the enforcement service.

A row is written in the transaction that changes the lease, with the entry in
the outbox that notifies the service.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import datetime
import json
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import store
from ironic_reservations.db import tables
from ironic_reservations.model import leases

_e = tables.enforcement_terms.c
_s = tables.leases.c
_OVER = tuple(status.value for status in leases.LeaseStatus if status.over)
_LIVE = tuple(status.value for status in leases.LeaseStatus
              if not status.over)


@dataclasses.dataclass(frozen=True)
class SentTerms:
    """The terms of a lease that the enforcement service has received.

    :ivar sequence: the number of the last entry in the outbox.
    :ivar terms: the terms as they were sent, in JSON.
    """

    lease_id: str
    project_id: str | None
    user_id: str | None
    sequence: int
    terms: dict[str, Any]


_SENT = store.Rows(
    SentTerms, tables.enforcement_terms, 'the row of lease {0.lease_id}',
    as_read=('lease_id', 'sequence'), changing=('sequence', 'terms'),
    decode={'terms': json.loads}, encode={'terms': json.dumps})


def read(connection: sa.Connection,
         lease_ids: Sequence[str]) -> dict[str, SentTerms]:
    """Return the sent terms of leases, by lease id."""
    # SELECT ... FROM enforcement_terms WHERE lease_id IN (...)
    return {each.lease_id: each for each in _SENT.all(connection.execute(
        sa.select(*_SENT.columns).where(_e.lease_id.in_(lease_ids))))}


def replace(connection: sa.Connection, before: SentTerms | None,
            after: SentTerms | None) -> None:
    """Write the terms sent of a lease, if they have not changed since.

    :param before: the row as it was read; ``None``: there was no row.
    :param after: ``None``: the lease is over.
    :raises Conflict: another process has written the row since.
    :raises oslo_db.exception.DBDuplicateEntry: another process is writing the
        first row.
    """
    if before is not None and after is not None:
        _SENT.update(connection, before, after)
    elif before is not None:
        _SENT.delete(connection, before)
    elif after is not None:
        _SENT.insert(connection, [after])


def read_unlike(connection: sa.Connection,
                now: datetime.datetime) -> list[str]:
    """Return the ids of leases whose dates differ from the sent terms.

    These leases are live and have no row, or a row with other dates; or they
    have a row and are not live any more.

    :param now: leases that end by this time are left out: the service is
        notified when the end is carried out.
    """
    # SELECT id, starts_at, ends_at, terms FROM leases
    #   LEFT JOIN enforcement_terms ON ...
    #   WHERE status IN (...) AND ends_at > ?
    # The dates are compared in Python, since they are in JSON.
    unlike = [row.id for row in connection.execute(
        sa.select(_s.id, _s.starts_at, _s.ends_at, _e.terms)
        .outerjoin(tables.enforcement_terms, _e.lease_id == _s.id)
        .where(_s.status.in_(_LIVE), _s.ends_at > now))
        if row.terms is None or not _has_dates(row.terms, row.starts_at,
                                               row.ends_at)]
    # SELECT lease_id FROM enforcement_terms LEFT JOIN leases ON ...
    #   WHERE leases.id IS NULL OR leases.status IN (...)
    gone = connection.scalars(
        sa.select(_e.lease_id)
        .outerjoin(tables.leases, _e.lease_id == _s.id)
        .where(sa.or_(_s.id.is_(None), _s.status.in_(_OVER)))).all()
    return [*unlike, *gone]


def _has_dates(terms: str, start: datetime.datetime,
               end: datetime.datetime) -> bool:
    sent = json.loads(terms)
    return (sent['start_date'], sent['end_date']) == (start.isoformat(),
                                                      end.isoformat())

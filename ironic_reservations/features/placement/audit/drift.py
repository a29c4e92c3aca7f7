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

"""Rows of ``placement_drift``: results of the last audit of Placement."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations.db import store
from ironic_reservations.db import tables
from ironic_reservations.features.placement.audit import differences

_d = tables.placement_drift.c


@dataclasses.dataclass(frozen=True)
class Drift:
    """The number of differences of one kind.

    :ivar remaining: the number of differences that could not be repaired.
    """

    found: int
    remaining: int
    audited_at: datetime.datetime


def read(connection: sa.Connection) -> dict[differences.Kind, Drift]:
    """Return the results of the last audit by kind; empty if there was none.
    """
    # SELECT kind, found, remaining, audited_at FROM placement_drift
    rows = connection.execute(sa.select(
        _d.kind, _d.found, _d.remaining, _d.audited_at))
    made = store.record(Drift).reader(rows)
    return {differences.Kind(row.kind): made(row) for row in rows}


def write(connection: sa.Connection,
          drift: Mapping[differences.Kind, Drift]) -> None:
    """Replace the results of the previous audit.

    :raises oslo_db.exception.DBDuplicateEntry: another audit is writing its
        results.
    """
    # DELETE FROM placement_drift; INSERT INTO placement_drift ...
    connection.execute(sa.delete(tables.placement_drift))
    connection.execute(sa.insert(tables.placement_drift), [
        {'kind': kind.value, **dataclasses.asdict(one)}
        for kind, one in sorted(drift.items())])

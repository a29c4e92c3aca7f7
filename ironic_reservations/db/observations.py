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
"""Rows of ``observations``: the time without a break between checks."""

from __future__ import annotations

from collections.abc import Collection
import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations.db import store
from ironic_reservations.db import tables

_k = tables.observations.c


@dataclasses.dataclass(frozen=True)
class Observation:
    """The checks of one subject.

    :ivar since: the first check after the last break.
    :ivar looked_at: the last check.
    """

    since: datetime.datetime
    looked_at: datetime.datetime

    def unbroken(self, now: datetime.datetime, gap: datetime.timedelta
                 ) -> datetime.datetime | None:
        """Return the time of the first check after the last break.

        :param gap: the longest time between two checks without a break. The
            result is ``None`` if the last check is longer ago.
        """
        return self.since if now - self.looked_at <= gap else None


_OBSERVATION = store.Rows(
    Observation, tables.observations, 'a check',
    as_read=('since', 'looked_at'), changing=('since', 'looked_at'),
    where=(_k.name == sa.bindparam('of_name'),))


def read(connection: sa.Connection, name: str) -> Observation | None:
    """Return the checks of a subject; ``None``: there were none."""
    # SELECT since, looked_at FROM observations WHERE name = ?
    return _OBSERVATION.first(connection.execute(sa.select(
        *_OBSERVATION.columns).where(_k.name == name)))


def write(connection: sa.Connection, name: str,
          before: Observation | None, after: Observation) -> None:
    """Write a new check.

    :param before: as it was read.
    :raises Conflict: another process has written a check since.
    """
    if before is None:
        _OBSERVATION.insert(connection, [after], name=name)
    else:
        _OBSERVATION.update(connection, before, after, of_name=name)


def read_all(connection: sa.Connection,
             prefix: str) -> dict[str, Observation]:
    """Return the checks of the subjects with a prefix, by name."""
    # SELECT name, since, looked_at FROM observations WHERE name LIKE ?
    rows = connection.execute(
        sa.select(_k.name, *_OBSERVATION.columns)
        .where(_k.name.startswith(prefix, autoescape=True)))
    made = _OBSERVATION.reader(rows)
    return {row.name: made(row) for row in rows}


def delete(connection: sa.Connection, names: Collection[str]) -> None:
    """Delete the checks of subjects."""
    if names:
        # DELETE FROM observations WHERE name IN (...)
        connection.execute(sa.delete(tables.observations).where(
            _k.name.in_(list(names))))

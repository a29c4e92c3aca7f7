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

"""Rows of ``looks``: since when something is looked at without a break."""

from __future__ import annotations

import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations.db import tables
from ironic_reservations.db import written

_c = tables.looks.c


@dataclasses.dataclass(frozen=True)
class Look:
    """What is known of the looks at something.

    :ivar since: of the first one after which there was no break.
    :ivar looked_at: of the last one.
    """

    since: datetime.datetime
    looked_at: datetime.datetime

    def unbroken(self, now: datetime.datetime, gap: datetime.timedelta
                 ) -> datetime.datetime | None:
        """Return since when there has been no break; ``None``: it is one now.

        :param gap: what is longer than this between two looks is a break.
        """
        return self.since if now - self.looked_at <= gap else None


def read(connection: sa.Connection, name: str) -> Look | None:
    """Read what is known of the looks at something, if there were any."""
    row = connection.execute(sa.select(_c.since, _c.looked_at).where(
        _c.name == name)).one_or_none()
    return None if row is None else Look(*row)


def write(connection: sa.Connection, name: str, before: Look | None,
          after: Look) -> None:
    """Write that somebody has looked once more.

    :param before: as it was read.
    :raises Conflict: another process has looked meanwhile.
    """
    if before is None:
        connection.execute(sa.insert(tables.looks).values(
            name=name, **dataclasses.asdict(after)))
        return
    # UPDATE looks SET since = ?, looked_at = ?
    #   WHERE name = ? AND since = ? AND looked_at = ?
    written.check(connection.execute(
        sa.update(tables.looks)
        .where(_c.name == name, _c.since == before.since,
               _c.looked_at == before.looked_at)
        .values(**dataclasses.asdict(after))), 1, 'a look')

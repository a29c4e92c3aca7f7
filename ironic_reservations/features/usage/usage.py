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

"""The usage of leases by day, for projects and for the operator."""

from __future__ import annotations

from collections.abc import Collection
import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.features.usage import periods as db_usage_periods
from ironic_reservations.features.usage import sums
from ironic_reservations.features.usage import values as usage

#: The maximum number of days of a request, and the default.
MOST_DAYS = 366
DAYS = 30
#: The maximum number of rows of an answer.
MOST_ROWS = 20000


@dataclasses.dataclass(frozen=True)
class UsageRequest:
    """A request for usage.

    :ivar first: the first day, in UTC; ``None``: :data:`DAYS` before the last.
    :ivar last: the last day; ``None``: today.
    :ivar project_id: the project; ``None``: the usage of leases without a
        project.
    :ivar every: whether all projects are requested.
    :ivar by: the properties by which the rows are grouped.
    """

    first: datetime.date | None = None
    last: datetime.date | None = None
    project_id: str | None = None
    every: bool = False
    by: Collection[usage.Group] = tuple(usage.Group)


@dataclasses.dataclass(frozen=True)
class UsageReport:
    """The answer to a request for usage.

    :ivar rows: one for each day, project and class, as far as requested.
    :ivar total: the sum of all rows.
    """

    first: datetime.date
    last: datetime.date
    rows: list[usage.Usage]
    total: usage.Usage


def read(engine: Engine, asked: UsageRequest) -> UsageReport:
    """Read the usage of leases.

    :raises InvalidValue: the days are in the wrong order, or too many; or
        the answer would have too many rows.
    """
    now = engine.clock()
    last = asked.last or (now.date() if asked.first is None else max(
        now.date(), asked.first))
    first = asked.first or last - datetime.timedelta(days=DAYS - 1)
    days = (last - first).days + 1
    if days < 1:
        raise errors.InvalidValue(
            f'first_day, {first}, is after last_day, {last}. Send an earlier '
            'first_day.')
    if days > MOST_DAYS:
        raise errors.InvalidValue(
            f'{first} to {last} are {days} days, and at most {MOST_DAYS} are '
            'allowed. Send several requests for shorter periods.')
    begin = datetime.datetime.combine(first, datetime.time(), datetime.UTC)
    with engine.database.snapshot() as connection:
        spells = db_usage_periods.read(
            connection, begin, begin + datetime.timedelta(days=days),
            asked.project_id, asked.every)
    _check_rows(spells, asked.by, days)
    rows = sums.divide(spells, first, days, now, asked.by)
    return UsageReport(first, last, rows, usage.Usage(
        None, None, None, sum(row.promised for row in rows),
        sum(row.bound for row in rows), sum(row.deployed for row in rows)))


def _check_rows(spells: Collection[usage.Spell],
                by: Collection[usage.Group], days: int) -> None:
    """Refuse a request with too many rows before they are computed."""
    kinds = {(each.project_id if usage.Group.PROJECT in by else None,
              each.resource_class if usage.Group.CLASS in by else None)
             for each in spells}
    rows = len(kinds) * (days if usage.Group.DAY in by else 1)
    if rows > MOST_ROWS:
        raise errors.InvalidValue(
            f'The answer could have {rows} rows, and at most {MOST_ROWS} are '
            'sent. Ask for fewer days, for one project, or group by less with '
            '"by".')


def record_deployments(engine: Engine) -> None:
    """Record the nodes of leases that are deployed, or no longer deployed."""
    now = engine.clock()
    with engine.database.read() as connection:
        begun = db_usage_periods.read_unrecorded(connection, now)
        over = db_usage_periods.read_over(connection)
    if not begun and not over:
        return

    def record(connection: sa.Connection) -> None:
        # NOTE: this process may have stood still since it has read them.
        db_usage_periods.check_booked(connection, begun)
        db_usage_periods.begin(connection, begun, now)
        db_usage_periods.check_none_ended(connection, begun, now)
        db_usage_periods.finish(connection, over, now)
    # If one has been recorded or deleted, the next pass records the others.
    retry.write_once(engine, record)

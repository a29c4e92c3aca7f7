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

"""Rows of ``outbox``: notices that have been written and are to be sent.

A row is written in the transaction of the change that it tells of.  Whoever
sends it claims it for a time, and marks it by that claim; if that process
dies in between, another one sends it once more.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import json
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import claimed_rows
from ironic_reservations.db import tables
from ironic_reservations.model import notices

_c = tables.outbox.c
_COLUMNS = (_c.id, _c.notice_id, _c.channel, _c.target, _c.kind, _c.lease_id,
            _c.project_id, _c.user_id, _c.payload, _c.created_at, _c.attempts,
            _c.sequence)
#: So many ids are named in one statement.
_PIECE = 500
#: What is kept of a complaint.
_COMPLAINT = 1000
_KINDS = tuple(kind.value for kind in (*notices.Kind, *notices.CommitKind))
_CHANNELS = tuple(channel.value for channel in notices.Channel)
_URGENT = tuple(kind.value for kind in notices.Kind if kind.urgent)


@dataclasses.dataclass(frozen=True)
class Waiting:
    """What has not been sent over one channel.

    :ivar since: when the oldest of it was written.
    """

    count: int
    since: datetime.datetime | None


@dataclasses.dataclass(frozen=True)
class Taken:
    """A notice that somebody has taken, or may have.

    :ivar token: by whom, in the row.
    """

    id: str
    token: str


@dataclasses.dataclass(frozen=True)
class Due:
    """A notice that waits to be mailed.

    :ivar due_at: when it may be sent.
    :ivar claimed: whether somebody is sending it.
    """

    id: str
    kind: notices.Kind
    created_at: datetime.datetime
    due_at: datetime.datetime
    claimed: bool


def insert(connection: sa.Connection,
           written: Sequence[notices.Notice]) -> None:
    """Write notices, except for those that have been written before.

    Belongs into the transaction of the change that they tell of.

    :raises oslo_db.exception.DBDuplicateEntry: another one writes one of
        them just now.
    """
    known = read_known(connection, [each.id for each in written])
    new = [each for each in written if each.id not in known]
    if new:
        connection.execute(sa.insert(tables.outbox), [
            {'id': each.id, 'notice_id': each.notice_id,
             'channel': each.channel.value, 'target': each.target,
             'kind': each.kind.value, 'lease_id': each.lease_id,
             'project_id': each.project_id, 'user_id': each.user_id,
             'payload': json.dumps(each.payload),
             'created_at': each.created_at, 'due_at': each.created_at,
             'attempts': each.attempts, 'sequence': each.sequence}
            for each in new])


def read_known(connection: sa.Connection,
               ids: Collection[str]) -> set[str]:
    """Read which rows are there, sent or not."""
    wanted, known = list(ids), set()
    for first in range(0, len(wanted), _PIECE):
        known.update(connection.scalars(sa.select(_c.id).where(
            _c.id.in_(wanted[first:first + _PIECE]))))
    return known


def count_written(connection: sa.Connection, kind: notices.Kind,
                  lease_ids: Collection[str], since: datetime.datetime
                  ) -> dict[str, int]:
    """Count the notices of a kind about leases, whoever gets them.

    :param since: when the first that counts was written.
    """
    # SELECT lease_id, COUNT(DISTINCT notice_id) FROM outbox
    #   WHERE lease_id IN (...) AND kind = ? AND created_at > ?
    #   GROUP BY lease_id
    wanted = sorted(lease_ids)
    return {row[0]: row[1] for first in range(0, len(wanted), _PIECE)
            for row in connection.execute(
                sa.select(_c.lease_id,
                          sa.func.count(_c.notice_id.distinct()))
                .where(_c.lease_id.in_(wanted[first:first + _PIECE]),
                       _c.kind == kind.value, _c.created_at > since)
                .group_by(_c.lease_id))}


def read_arrived(connection: sa.Connection, notice_ids: Collection[str]
                 ) -> dict[str, datetime.datetime | None]:
    """Read when notices arrived at the last of their receivers.

    :returns: ``None``: somebody has not got it yet, and it has not been given
        up; nothing for a notice that nobody gets, or that has been purged.
    """
    # SELECT notice_id, COUNT(due_at), MAX(done_at) FROM outbox
    #   WHERE notice_id IN (...) GROUP BY notice_id
    wanted = list(notice_ids)
    return {row[0]: None if row[1] else row[2]
            for first in range(0, len(wanted), _PIECE)
            for row in connection.execute(
                sa.select(_c.notice_id, sa.func.count(_c.due_at),
                          sa.func.max(_c.done_at))
                .where(_c.notice_id.in_(wanted[first:first + _PIECE]))
                .group_by(_c.notice_id))}


def _takeable(now: datetime.datetime) -> sa.ColumnElement[bool]:
    # NOTE: what only the release after knows is left to it.
    return sa.and_(_c.due_at <= now, _nobodys(now), _c.kind.in_(_KINDS))


def _order(time: sa.Column[datetime.datetime]
           ) -> tuple[sa.ColumnElement[Any], ...]:
    return _c.kind.in_(_URGENT).desc(), time, _c.id


def _nobodys(now: datetime.datetime) -> sa.ColumnElement[bool]:
    return sa.or_(_c.claimed_until.is_(None), _c.claimed_until <= now)


def read_due(connection: sa.Connection, channel: notices.Channel,
             target: str, now: datetime.datetime, limit: int) -> list[str]:
    """Read what waits for a receiver and is nobody's.

    What is urgent comes first, then what has waited longest. What has an
    order is left out while one before it waits, or is being sent.
    """
    # SELECT id FROM outbox WHERE channel = ? AND target = ? AND due_at <= ?
    #   AND (nobody's claim) AND NOT EXISTS (SELECT id FROM outbox AS first
    #     WHERE first.lease_id = outbox.lease_id
    #     AND first.sequence < outbox.sequence AND first.due_at IS NOT NULL
    #     AND first.channel = ?)
    #   ORDER BY (urgent) DESC, due_at, id LIMIT ?
    first = tables.outbox.alias('first').c
    return list(connection.scalars(
        sa.select(_c.id)
        .where(_c.channel == channel.value, _c.target == target,
               _takeable(now), ~sa.select(first.id).where(
                   first.lease_id == _c.lease_id,
                   first.sequence < _c.sequence, first.due_at.is_not(None),
                   first.channel == channel.value).exists())
        .order_by(*_order(_c.due_at)).limit(limit)))


def read_persons(connection: sa.Connection,
                 now: datetime.datetime) -> list[str]:
    """Read to which targets mail waits, the one that waits longest first."""
    # SELECT target FROM outbox WHERE channel = 'mail' AND due_at <= ?
    #   AND (nobody's claim) GROUP BY target ORDER BY MIN(created_at), target
    return list(connection.scalars(
        sa.select(_c.target)
        .where(_c.channel == notices.Channel.MAIL.value, _takeable(now))
        .group_by(_c.target)
        .order_by(sa.func.min(_c.created_at), _c.target)))


def read_digest(connection: sa.Connection, target: str,
                now: datetime.datetime, limit: int
                ) -> tuple[list[Due], datetime.datetime | None]:
    """Read what waits to be mailed to somebody, and when the last mail was.

    :returns: the urgent notices first, then the oldest, whether or not they
        are due or claimed; and ``None`` where there has been no mail.
    """
    mine = (_c.channel == notices.Channel.MAIL.value, _c.target == target)
    waiting = [Due(row[0], notices.Kind(row[1]), *row[2:])
               for row in connection.execute(
                   sa.select(_c.id, _c.kind, _c.created_at, _c.due_at,
                             sa.not_(_nobodys(now)))
                   .where(*mine, _c.due_at.is_not(None), _c.kind.in_(_KINDS))
                   .order_by(sa.case((_c.kind.in_(_URGENT), 0), else_=1),
                             _c.created_at, _c.id).limit(limit))]
    last = connection.scalar(sa.select(sa.func.max(_c.done_at)).where(
        *mine, _c.outcome == notices.Outcome.DELIVERED.value))
    return waiting, last


def take(connection: sa.Connection, ids: Collection[str], token: str,
         now: datetime.datetime,
         until: datetime.datetime) -> list[notices.Notice]:
    """Claim notices, those that nobody was quicker to.

    :param token: of this claim, and of no other ever.
    """
    # UPDATE outbox SET claimed_by = ?, claimed_until = ?
    #   WHERE id IN (...) AND due_at <= ? AND (nobody's claim)
    # NOTE: the database looks at each row again once it has its lock, so
    # that of two processes one gets it.
    if not connection.execute(
            sa.update(tables.outbox)
            .where(_c.id.in_(ids), _takeable(now))
            .values(claimed_by=token, claimed_until=until)).rowcount:
        return []
    return [_notice(row) for row in connection.execute(
        sa.select(*_COLUMNS).where(_c.id.in_(ids), _c.claimed_by == token)
        .order_by(*_order(_c.due_at)))]


def finish(connection: sa.Connection, ids: Collection[str], token: str,
           outcome: notices.Outcome, now: datetime.datetime) -> int:
    """Mark notices as not to be sent any more.

    :param token: by which they were claimed; what is another's by now is
        left to it.
    :returns: how many have been marked.
    """
    # UPDATE outbox SET due_at = NULL, done_at = ?, outcome = ?, ...
    #   WHERE id IN (...) AND claimed_by = ?
    return connection.execute(
        sa.update(tables.outbox)
        .where(_c.id.in_(ids), _c.claimed_by == token)
        .values(due_at=None, done_at=now, outcome=outcome.value,
                claimed_by=None, claimed_until=None)).rowcount


def put_off(connection: sa.Connection, ids: Collection[str], token: str,
            due_at: datetime.datetime, complaint: str) -> None:
    """Have notices sent again later.

    :param token: by which they were claimed.
    :param complaint: why they could not be sent.
    """
    connection.execute(
        sa.update(tables.outbox)
        .where(_c.id.in_(ids), _c.claimed_by == token)
        .values(due_at=due_at, attempts=_c.attempts + 1,
                complaint=complaint[:_COMPLAINT],
                claimed_by=None, claimed_until=None))


def drop(connection: sa.Connection, claims: Collection[Taken]) -> None:
    """Let go of notices that nobody sends.

    What another one has taken since stays with it.
    """
    claimed_rows.drop(connection, tables.outbox,
                      [(claim.id, claim.token) for claim in claims])


def _old(before: Mapping[notices.Channel, datetime.datetime]
         ) -> tuple[sa.ColumnElement[bool], ...]:
    return _c.due_at.is_not(None), _c.created_at < max(before.values()), (
        sa.or_(*(sa.and_(_c.channel == channel.value, _c.created_at < moment)
                 for channel, moment in before.items())))


def any_old(connection: sa.Connection,
            given_up: Mapping[notices.Channel, datetime.datetime],
            purged: datetime.datetime) -> bool:
    """Return whether there is anything to give up or to purge.

    :param given_up: what was written before, and not sent, is given up; by
        channel.
    :param purged: what has been done with before is purged.
    """
    # NOTE: one query each, so that each goes by its index.
    return any(connection.execute(
        sa.select(_c.id).where(*which).limit(1)).first() is not None
        for which in (_old(given_up), (_c.done_at < purged,)))


def give_up(connection: sa.Connection,
            before: Mapping[notices.Channel, datetime.datetime],
            now: datetime.datetime,
            limit: int) -> list[tuple[notices.Notice, str | None]]:
    """Give up what was written before an instant and is nobody's.

    :param before: that instant, by channel.
    :returns: what that is, and the last complaint about each.
    """
    # SELECT ... FROM outbox WHERE due_at IS NOT NULL AND created_at < ?
    #   AND (nobody's claim) ORDER BY created_at LIMIT ?
    found = connection.execute(
        sa.select(*_COLUMNS, _c.complaint)
        .where(*_old(before), _nobodys(now), _c.kind.in_(_KINDS))
        .order_by(_c.created_at).limit(limit)).all()
    if not found:
        return []
    ids = [row.id for row in found]
    connection.execute(
        sa.update(tables.outbox)
        .where(_c.id.in_(ids), *_old(before), _nobodys(now))
        .values(due_at=None, done_at=now, claimed_by=None,
                claimed_until=None,
                outcome=notices.Outcome.GIVEN_UP.value))
    given_up = set(connection.scalars(sa.select(_c.id).where(
        _c.id.in_(ids), _c.outcome == notices.Outcome.GIVEN_UP.value)))
    return [(_notice(row[:-1]), row[-1]) for row in found
            if row.id in given_up]


def purge(connection: sa.Connection, before: datetime.datetime,
          limit: int) -> int:
    """Delete what has not been sent any more since before an instant.

    :returns: how many rows were deleted.
    """
    # NOTE: two statements, since MariaDB takes no LIMIT inside of IN.
    ids = connection.scalars(
        sa.select(_c.id).where(_c.done_at < before)
        .order_by(_c.done_at).limit(limit)).all()
    if not ids:
        return 0
    return connection.execute(
        sa.delete(tables.outbox)
        .where(_c.id.in_(ids), _c.done_at < before)).rowcount


def count_waiting(connection: sa.Connection
                  ) -> dict[notices.Channel, Waiting]:
    """Count what is to be sent, by channel.

    NOTE: without the channels that only the release after knows.
    """
    # SELECT channel, COUNT(*), MIN(created_at) FROM outbox
    #   WHERE due_at IS NOT NULL AND channel IN (...) GROUP BY channel
    return {notices.Channel(row[0]): Waiting(row[1], row[2])
            for row in connection.execute(
                sa.select(_c.channel, sa.func.count(),
                          sa.func.min(_c.created_at))
                .where(_c.due_at.is_not(None), _c.channel.in_(_CHANNELS))
                .group_by(_c.channel))}


def count_given_up(connection: sa.Connection
                   ) -> dict[notices.Channel, int]:
    """Count what was given up and is still kept, by channel.

    NOTE: without the channels that only the release after knows.
    """
    return {notices.Channel(row[0]): row[1] for row in connection.execute(
        sa.select(_c.channel, sa.func.count())
        .where(_c.outcome == notices.Outcome.GIVEN_UP.value,
               _c.channel.in_(_CHANNELS))
        .group_by(_c.channel))}


def _notice(row: Sequence[object]) -> notices.Notice:
    values = list(row)
    values[2] = notices.Channel(values[2])
    values[4] = notices.kind_of(str(values[4]))
    values[8] = json.loads(str(values[8]))
    return notices.Notice(*values)  # type: ignore[arg-type]

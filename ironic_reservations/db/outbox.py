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

"""Rows of ``outbox``: notices that are to be sent, or have been sent.

A row is written in the transaction of the change that it describes. A process
claims a notice before it sends it, and marks it by this claim afterwards; if
the process dies in between, another process sends the notice again.
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
from ironic_reservations.db import store
from ironic_reservations.db import tables
from ironic_reservations.model import notices

_c = tables.outbox.c
_NOTICE = store.Rows(
    notices.Notice, tables.outbox, 'a notice',
    decode={'kind': notices.kind_of, 'payload': json.loads},
    encode={'kind': lambda kind: kind.value, 'payload': json.dumps})
#: The maximum length of a stored error.
_COMPLAINT = 1000
_KINDS = tuple(kind.value for kind in (*notices.Kind, *notices.CommitKind))
_CHANNELS = tuple(channel.value for channel in notices.Channel)
_URGENT = tuple(kind.value for kind in notices.Kind if kind.urgent)


@dataclasses.dataclass(frozen=True)
class Waiting:
    """The notices that have not been sent over one channel.

    :ivar since: the time when the oldest of them was written.
    """

    count: int
    since: datetime.datetime | None


@dataclasses.dataclass(frozen=True)
class Due:
    """A notice that waits to be mailed.

    :ivar due_at: the time from which it may be sent.
    :ivar claimed: whether a process is sending it.
    """

    id: str
    kind: notices.Kind
    created_at: datetime.datetime
    due_at: datetime.datetime
    claimed: bool


def insert(connection: sa.Connection,
           written: Sequence[notices.Notice]) -> None:
    """Write notices, except for notices that exist.

    To be called in the transaction of the change that they describe.

    :raises oslo_db.exception.DBDuplicateEntry: another process is writing one
        of them.
    """
    known = read_known(connection, [each.id for each in written])
    new = [each for each in written if each.id not in known]
    if new:
        connection.execute(_NOTICE.inserting, [
            {**_NOTICE.values(each), 'due_at': each.created_at}
            for each in new])


def read_known(connection: sa.Connection,
               ids: Collection[str]) -> set[str]:
    """Return the ids of notices that exist, sent or not."""
    # SELECT id FROM outbox WHERE id IN (...)
    return {ident for piece in store.pieces(ids)
            for ident in connection.scalars(
                sa.select(_c.id).where(_c.id.in_(piece)))}


def count_written(connection: sa.Connection, kind: notices.Kind,
                  lease_ids: Collection[str], since: datetime.datetime
                  ) -> dict[str, int]:
    """Count the notices of a kind by lease, each once for all receivers.

    :param since: the time after which the counted notices were written.
    """
    # SELECT lease_id, COUNT(DISTINCT notice_id) FROM outbox
    #   WHERE lease_id IN (...) AND kind = ? AND created_at > ?
    #   GROUP BY lease_id
    return {lease_id: count for piece in store.pieces(lease_ids)
            for lease_id, count in connection.execute(
                sa.select(_c.lease_id,
                          sa.func.count(_c.notice_id.distinct()))
                .where(_c.lease_id.in_(piece), _c.kind == kind.value,
                       _c.created_at > since)
                .group_by(_c.lease_id))}


def read_arrived(connection: sa.Connection, notice_ids: Collection[str]
                 ) -> dict[str, datetime.datetime | None]:
    """Return the time when notices were delivered to the last receiver.

    :returns: the times by notice id; ``None``: a receiver has not got the
        notice yet. Notices without receivers and purged notices are left out.
    """
    # SELECT notice_id, COUNT(due_at), MAX(done_at) FROM outbox
    #   WHERE notice_id IN (...) GROUP BY notice_id
    return {notice_id: None if due else done
            for piece in store.pieces(notice_ids)
            for notice_id, due, done in connection.execute(
                sa.select(_c.notice_id, sa.func.count(_c.due_at),
                          sa.func.max(_c.done_at))
                .where(_c.notice_id.in_(piece))
                .group_by(_c.notice_id))}


def _takeable(now: datetime.datetime) -> sa.ColumnElement[bool]:
    # Kinds that only the next release knows are left out.
    return sa.and_(_c.due_at <= now, _unclaimed(now), _c.kind.in_(_KINDS))


def _order(time: sa.Column[datetime.datetime]
           ) -> tuple[sa.ColumnElement[Any], ...]:
    return _c.kind.in_(_URGENT).desc(), time, _c.id


def _unclaimed(now: datetime.datetime) -> sa.ColumnElement[bool]:
    return claimed_rows.unclaimed(tables.outbox, now)


def read_due(connection: sa.Connection, channel: notices.Channel,
             target: str, now: datetime.datetime, limit: int) -> list[str]:
    """Return the ids of unclaimed notices that are due for a receiver.

    Urgent notices come first, then the longest due. A notice with a sequence
    number is left out until all notices before it have been sent.
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
    """Return the targets for which mail is due, the longest due first."""
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
    """Return the notices to mail to a target, and the time of its last mail.

    :returns: the notices, urgent ones first, then the oldest, whether or not
        they are due or claimed; and the time, ``None`` without any mail.
    """
    # SELECT id, kind, created_at, due_at, (claimed) FROM outbox
    #   WHERE channel = 'mail' AND target = ? AND due_at IS NOT NULL
    #   AND kind IN (...) ORDER BY (urgent ones first), created_at, id LIMIT ?
    # SELECT MAX(done_at) FROM outbox WHERE channel = 'mail'
    #   AND target = ? AND outcome = 'delivered'
    mine = (_c.channel == notices.Channel.MAIL.value, _c.target == target)
    waiting = store.read(Due, connection.execute(
        sa.select(_c.id, _c.kind, _c.created_at, _c.due_at,
                  sa.not_(_unclaimed(now)).label('claimed'))
        .where(*mine, _c.due_at.is_not(None), _c.kind.in_(_KINDS))
        .order_by(sa.case((_c.kind.in_(_URGENT), 0), else_=1),
                  _c.created_at, _c.id).limit(limit)))
    last = connection.scalar(sa.select(sa.func.max(_c.done_at)).where(
        *mine, _c.outcome == notices.Outcome.DELIVERED.value))
    return waiting, last


def take(connection: sa.Connection, ids: Collection[str], token: str,
         now: datetime.datetime,
         until: datetime.datetime) -> list[notices.Notice]:
    """Claim notices, except for notices that others claimed first.

    :param token: a token that is never used again.
    """
    # SELECT ... FROM outbox WHERE id IN (...) AND claimed_by = ?
    #   ORDER BY (urgent) DESC, due_at, id
    if not claimed_rows.take(connection, tables.outbox, ids, token,
                             _takeable(now), until):
        return []
    return _NOTICE.all(connection.execute(
        sa.select(*_NOTICE.columns)
        .where(_c.id.in_(ids), _c.claimed_by == token)
        .order_by(*_order(_c.due_at))))


def finish(connection: sa.Connection, ids: Collection[str], token: str,
           outcome: notices.Outcome, now: datetime.datetime) -> int:
    """Mark notices as sent or given up.

    :param token: the token of their claim; notices that others have claimed
        are left out.
    :returns: the number of marked notices.
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
    """Postpone notices that could not be sent.

    :param token: the token of their claim.
    :param complaint: the reason why they could not be sent.
    """
    # UPDATE outbox SET due_at = ?, attempts = attempts + 1, ...
    #   WHERE id IN (...) AND claimed_by = ?
    connection.execute(
        sa.update(tables.outbox)
        .where(_c.id.in_(ids), _c.claimed_by == token)
        .values(due_at=due_at, attempts=_c.attempts + 1,
                complaint=complaint[:_COMPLAINT],
                claimed_by=None, claimed_until=None))


def drop(connection: sa.Connection,
         claims: Collection[claimed_rows.Taken]) -> None:
    """Release notices that no process sends."""
    claimed_rows.drop(connection, tables.outbox, claims)


def _old(before: Mapping[notices.Channel, datetime.datetime]
         ) -> tuple[sa.ColumnElement[bool], ...]:
    return _c.due_at.is_not(None), _c.created_at < max(before.values()), (
        sa.or_(*(sa.and_(_c.channel == channel.value, _c.created_at < moment)
                 for channel, moment in before.items())))


def any_old(connection: sa.Connection,
            given_up: Mapping[notices.Channel, datetime.datetime],
            purged: datetime.datetime) -> bool:
    """Return whether there are notices to give up or to purge.

    :param given_up: a time by channel; unsent notices written before it are
        given up.
    :param purged: notices that were sent or given up before this time are
        purged.
    """
    # SELECT id FROM outbox WHERE due_at IS NOT NULL AND created_at < ? AND ...
    #   LIMIT 1
    # SELECT id FROM outbox WHERE done_at < ? LIMIT 1
    # Two queries, so that each uses its index.
    return any(connection.execute(
        sa.select(_c.id).where(*which).limit(1)).first() is not None
        for which in (_old(given_up), (_c.done_at < purged,)))


def give_up(connection: sa.Connection,
            before: Mapping[notices.Channel, datetime.datetime],
            now: datetime.datetime,
            limit: int) -> list[tuple[notices.Notice, str | None]]:
    """Abandon unclaimed notices written before an instant.

    :param before: the instant, by channel.
    :returns: the notices, each with its last error.
    """
    # SELECT ... FROM outbox WHERE due_at IS NOT NULL AND created_at < ?
    #   AND (nobody's claim) ORDER BY created_at LIMIT ?
    result = connection.execute(
        sa.select(*_NOTICE.columns, _c.complaint)
        .where(*_old(before), _unclaimed(now), _c.kind.in_(_KINDS))
        .order_by(_c.created_at).limit(limit))
    made, found = _NOTICE.reader(result), result.all()
    if not found:
        return []
    ids = [row.id for row in found]
    connection.execute(
        sa.update(tables.outbox)
        .where(_c.id.in_(ids), *_old(before), _unclaimed(now))
        .values(due_at=None, done_at=now, claimed_by=None,
                claimed_until=None,
                outcome=notices.Outcome.GIVEN_UP.value))
    given_up = set(connection.scalars(sa.select(_c.id).where(
        _c.id.in_(ids), _c.outcome == notices.Outcome.GIVEN_UP.value)))
    return [(made(row), row.complaint) for row in found
            if row.id in given_up]


def purge(connection: sa.Connection, before: datetime.datetime,
          limit: int) -> int:
    """Delete notices that were sent or given up before an instant.

    :returns: the number of deleted rows.
    """
    # SELECT id FROM outbox WHERE done_at < ? ORDER BY done_at LIMIT ?
    # DELETE FROM outbox WHERE id IN (...) AND done_at < ?
    # Two statements, since MariaDB allows no LIMIT inside IN.
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
    """Count the notices that are to be sent, by channel.

    Channels that only the next release knows are left out.
    """
    # SELECT channel, COUNT(*), MIN(created_at) FROM outbox
    #   WHERE due_at IS NOT NULL AND channel IN (...) GROUP BY channel
    return {notices.Channel(channel): Waiting(count, since)
            for channel, count, since in connection.execute(
                sa.select(_c.channel, sa.func.count(),
                          sa.func.min(_c.created_at))
                .where(_c.due_at.is_not(None), _c.channel.in_(_CHANNELS))
                .group_by(_c.channel))}


def count_given_up(connection: sa.Connection
                   ) -> dict[notices.Channel, int]:
    """Count the notices that were given up and are kept, by channel.

    Channels that only the next release knows are left out.
    """
    # SELECT channel, COUNT(*) FROM outbox WHERE outcome = 'given_up'
    #   AND channel IN (...) GROUP BY channel
    return {notices.Channel(channel): count for channel, count
            in connection.execute(sa.select(_c.channel, sa.func.count())
        .where(_c.outcome == notices.Outcome.GIVEN_UP.value,
               _c.channel.in_(_CHANNELS))
        .group_by(_c.channel))}

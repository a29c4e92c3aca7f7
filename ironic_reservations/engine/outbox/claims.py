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

"""Claims on notices while a process sends them."""

from __future__ import annotations

from collections.abc import Collection
import dataclasses
import datetime
import uuid as uuid_module

from ironic_reservations.db import claimed_rows
from ironic_reservations.db import outbox as db_outbox
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.engine import unfinished
from ironic_reservations.model import notices


@dataclasses.dataclass(frozen=True)
class Batch:
    """Notices that were claimed together.

    :ivar token: a name that no other claim ever has.
    :ivar ttl: the duration of the claim in seconds.
    """

    token: str
    ttl: float
    notices: list[notices.Notice]


def take(engine: Engine, ids: Collection[str], ttl: float) -> Batch:
    """Claim the notices that are due and not claimed.

    :param ttl: the duration of the claim in seconds.
    :raises DatabaseUnavailable: the notices may have been claimed.
    :raises Conflict: another process, or this one, has claimed one of them.
    """
    token, now = str(uuid_module.uuid4()), engine.clock()
    try:
        with engine.database.write() as connection:
            taken = db_outbox.take(connection, ids, token, now,
                                   now + datetime.timedelta(seconds=ttl))
    except unfinished.FAILURES:
        _put_aside(engine, ids, token, ttl)
        raise
    return Batch(token, ttl, taken)


def drop(engine: Engine, batch: Batch,
         unsent: Collection[notices.Notice]) -> None:
    """Release claims now, or as soon as the database answers."""
    _put_aside(engine, [each.id for each in unsent], batch.token, batch.ttl,
               wait=0)
    release_own(engine)


def put_off(engine: Engine, batch: Batch, unsent: Collection[notices.Notice],
            wait: float, complaint: str) -> None:
    """Postpone notices that could not be sent.

    :param wait: seconds until the next attempt.
    :param complaint: the reason of the failure.
    :raises DatabaseUnavailable: the notices are postponed by their claim, but
        the reason may be lost.
    :raises Conflict: as DatabaseUnavailable.
    """
    ids = [each.id for each in unsent]
    try:
        with engine.database.write() as connection:
            db_outbox.put_off(
                connection, ids, batch.token,
                engine.clock() + datetime.timedelta(seconds=wait), complaint)
    except unfinished.FAILURES:
        _put_aside(engine, ids, batch.token, batch.ttl, wait)
        raise


def finish(engine: Engine, batch: Batch, sent: Collection[notices.Notice],
           outcome: notices.Outcome) -> None:
    """Mark notices as finished, so that they are not sent again.

    If this fails, the claim stays until it ends, so that they are sent at most
    once more, and not every few seconds.

    :raises DatabaseUnavailable: the notices may or may not be marked.
    :raises Contention: the notices are not marked.
    """
    # Repeated on conflicts, or they would be sent again.
    retry.write(engine, lambda connection: db_outbox.finish(
        connection, [each.id for each in sent], batch.token, outcome,
        engine.clock()), repeatable=True)


def release_own(engine: Engine, at_once: bool = False) -> None:
    """Release the remaining claims of this process.

    :param at_once: whether to release all claims, since the process is ending.
    """
    def drop_all(claims: Collection[claimed_rows.Taken]) -> None:
        with engine.database.write() as connection:
            db_outbox.drop(connection, claims)
    engine.unsent.release_due(drop_all, engine.timer(), at_once)


def _put_aside(engine: Engine, ids: Collection[str], token: str, ttl: float,
               wait: float = unfinished.AGAIN) -> None:
    engine.unsent.add([claimed_rows.Taken(each, token) for each in ids],
                      engine.timer(), ttl, wait)

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

"""Send the notices in the outbox to a receiver, one after the other.

A process claims a notice before it sends it, and marks it after the receiver
has accepted it.  If the process dies or stops in between, another process
sends the notice again, with the same id, after the claim has ended.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import datetime
import enum
import random

from oslo_log import log

from ironic_reservations.clouds import posting
from ironic_reservations.clouds import time_limit
from ironic_reservations.db import outbox as db_outbox
from ironic_reservations.engine import Engine
from ironic_reservations.engine.outbox import claims as outbox_claims
from ironic_reservations.lifecycle import lease_cycle
from ironic_reservations.model import notices

LOG = log.getLogger(__name__)

#: The maximum number of notices that are claimed at once.
BATCH = 20


class _Outcome(enum.Enum):
    """The outcome of sending a notice."""

    TAKEN = enum.auto()
    #: The receiver rejects this notice; it may accept others.
    DECLINED = enum.auto()
    SILENCE = enum.auto()


@dataclasses.dataclass(frozen=True)
class Receiver:
    """A receiver of notices.

    :ivar target: its name in the outbox.
    :ivar timeout: the time limit for one notice, in seconds.
    :ivar post: posts a notice, given the present time.
    """

    channel: notices.Channel
    target: str
    timeout: float
    post: Callable[[notices.Notice, datetime.datetime], None]


def deliver(engine: Engine, receiver: Receiver,
            continues: Callable[[], bool]) -> int:
    """Send the waiting notices until the receiver fails or all are sent.

    :param continues: called before each notice; ``False`` ends the pass.
    :returns: the number of notices that the receiver has accepted.
    :raises Conflict: another process has claimed one of them.
    """
    outbox_claims.release_own(engine)
    taken = 0
    while continues():
        sent, more = _batch(engine, receiver, continues)
        taken += sent
        if not more:
            break
    return taken


def _batch(engine: Engine, receiver: Receiver,
           continues: Callable[[], bool]) -> tuple[int, bool]:
    """Send one batch.

    :returns: the number of accepted ones, and whether there may be more.
    """
    options = engine.conf.notices
    begun, now = engine.timer(), engine.clock()
    with engine.database.read() as connection:
        ids = db_outbox.read_due(connection, receiver.channel,
                                 receiver.target, now, BATCH)
    if not ids:
        return 0, False
    batch = outbox_claims.take(engine, ids,
                               options.claim_ttl + receiver.timeout)
    left = list(batch.notices)
    outcomes: list[_Outcome] = []
    try:
        # An attempt that begins within this time ends before the claim does.
        while left and continues() and (
                engine.timer() - begun <= options.claim_ttl / 2):
            now = engine.clock()
            outcomes.append(_send(engine, receiver, batch, left.pop(0), now))
            if outcomes[-1] is _Outcome.SILENCE:
                break
    finally:
        # Also after a failure of the database, or they wait for the claim.
        outbox_claims.drop(engine, batch, left)
    whole = (len(outcomes) == len(ids)
             and outcomes[-1] is not _Outcome.SILENCE)
    return outcomes.count(_Outcome.TAKEN), whole


def _send(engine: Engine, receiver: Receiver, batch: outbox_claims.Batch,
          notice: notices.Notice, now: datetime.datetime) -> _Outcome:
    """Send a notice and mark it."""
    try:
        receiver.post(notice, now)
    except posting.Undelivered as exc:
        _put_off(engine, batch, notice, str(exc))
        return (_Outcome.DECLINED if isinstance(exc, posting.Declined)
                else _Outcome.SILENCE)
    except Exception as exc:
        # A notice that cannot be sent must not delay the others.
        LOG.exception('The notice %s could not be posted', notice.notice_id)
        _put_off(engine, batch, notice, time_limit.one_line(exc))
        return _Outcome.DECLINED
    outbox_claims.finish(engine, batch, [notice], notices.Outcome.DELIVERED)
    return _Outcome.TAKEN


def _put_off(engine: Engine, batch: outbox_claims.Batch,
             notice: notices.Notice, complaint: str) -> None:
    wait = lease_cycle.backoff(
        notice.attempts + 1, engine.conf.notices.max_backoff, random.random())
    LOG.warning('The notice %s (%s of the lease %s) will be posted again in '
                '%.0f s: %s', notice.notice_id, notice.kind, notice.lease_id,
                wait, complaint)
    outbox_claims.put_off(engine, batch, [notice], wait, complaint)

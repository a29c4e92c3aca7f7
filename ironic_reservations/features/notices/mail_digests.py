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

"""Mail the notices in the outbox, in one digest per person and hour.

Urgent notices are mailed first, and at once.

One process at a time mails, while it holds a claim.  It also claims the
notices of a mail, and marks them after the server has accepted it.  If the
process dies in between, the mail is sent again rather than lost.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import datetime
import email.message
import email.utils
import hashlib
import pathlib
import random

from oslo_log import log

from ironic_reservations.clouds import time_limit
from ironic_reservations.db import outbox as db_outbox
from ironic_reservations.engine import Engine
from ironic_reservations.engine.outbox import claims as outbox_claims
from ironic_reservations.features.notices import mail
from ironic_reservations.features.notices import mail_addresses
from ironic_reservations.features.notices import mail_times
from ironic_reservations.features.notices import notice_text
from ironic_reservations.lifecycle import lease_cycle
from ironic_reservations.model import notices

LOG = log.getLogger(__name__)

#: The maximum number of notices in one mail.
LONGEST = 100
#: Waiting notices are counted up to this number.
_COUNTED = 1000


def send(engine: Engine, continues: Callable[[], bool]) -> int:
    """Mail all digests that are due.

    :param continues: called before each mail; ``False`` ends the pass, since
        another process may hold the claim.
    :returns: the number of mails that the server has accepted.
    :raises Conflict: another process has claimed one of them.
    """
    outbox_claims.release_own(engine)
    with engine.database.read() as connection:
        persons = db_outbox.read_persons(connection, engine.clock())
    taken = 0
    for person in persons:
        if not continues():
            break
        taken += _to(engine, person, continues)
    return taken


def _to(engine: Engine, person: str, continues: Callable[[], bool]) -> bool:
    """Mail the digest of one person if it is due.

    :returns: whether the server has accepted a mail.
    """
    options, now = engine.conf.notices, engine.clock()
    with engine.database.read() as connection:
        waiting, last = db_outbox.read_digest(connection, person, now,
                                              _COUNTED)
    due = mail_times.due_at(
        [(each.kind, each.created_at) for each in waiting], last,
        datetime.timedelta(seconds=options.mail_interval),
        datetime.timedelta(seconds=options.mail_gather_time))
    # Newer notices also wait for earlier failed or claimed ones.
    if due is None or now < max(due, *(each.due_at for each in waiting)) or (
            any(each.claimed for each in waiting)):
        return False
    batch = outbox_claims.take(
        engine, [each.id for each in waiting[:LONGEST]],
        options.claim_ttl + 2 * options.mail_timeout)
    mine = batch.notices
    begins = False
    try:
        # Checked again, since the reads above may have taken long.
        begins = bool(mine) and continues()
    finally:
        if not begins:
            outbox_claims.drop(engine, batch, mine)
    if not begins:
        return False
    try:
        outcome = _mail(engine, mine, len(waiting) - len(mine), now)
    except (mail.Unsent, mail_addresses.Unknown) as exc:
        _put_off(engine, batch, str(exc))
        return False
    except Exception as exc:
        # A mail that cannot be sent must not delay those of other people.
        LOG.exception('Notices to the user %s could not be mailed',
                      mine[0].user_id)
        _put_off(engine, batch, time_limit.one_line(exc))
        return False
    outbox_claims.finish(engine, batch, mine, outcome)
    return outcome is notices.Outcome.DELIVERED


def _mail(engine: Engine, mailed: Sequence[notices.Notice], left: int,
          now: datetime.datetime) -> notices.Outcome:
    """Send a mail.

    :returns: the outcome for its notices.
    """
    options = engine.conf.notices
    user_id = mailed[0].user_id
    address = (None if user_id is None
               else mail_addresses.find(engine.conf, user_id))
    if address is None:
        LOG.info('The user %s has no address to which %d notices could be '
                 'mailed', user_id, len(mailed))
        return notices.Outcome.NO_ADDRESS
    message = email.message.EmailMessage()
    try:
        message['From'] = options.mail_from
        message['To'] = address
        message['Subject'], text = notice_text.digest(
            engine.conf, list(mailed), left)
    except ValueError as exc:
        raise mail.Unsent(f'the mail cannot be written: {exc}') from exc
    message['Date'] = email.utils.format_datetime(now)
    # The same id if the same notices are mailed again.
    message['Message-ID'] = '<{}@{}>'.format(
        hashlib.sha256(' '.join(sorted(each.id for each in mailed)).encode()
                       ).hexdigest()[:40], 'ironic-reservations')
    message['Auto-Submitted'] = 'auto-generated'
    message.set_content(text)
    mail.send(_server(engine), message, address)
    return notices.Outcome.DELIVERED


def _server(engine: Engine) -> mail.Server:
    options = engine.conf.notices
    password = ''
    if options.mail_password_file is not None:
        try:
            password = pathlib.Path(options.mail_password_file).read_text(
                encoding='utf-8').strip()
        except (OSError, ValueError) as exc:
            raise mail.Unsent('[notices] mail_password_file cannot be '
                              f'read: {type(exc).__name__}') from exc
    if options.mail_from is None:
        raise mail.Unsent('[notices] mail_from is not set')
    return mail.Server(
        options.mail_host, options.mail_port, options.mail_security,
        options.mail_timeout, options.mail_ca_file, options.mail_username,
        password)


def _put_off(engine: Engine, batch: outbox_claims.Batch,
             complaint: str) -> None:
    mailed = batch.notices
    wait = lease_cycle.backoff(
        max(each.attempts for each in mailed) + 1,
        engine.conf.notices.max_backoff, random.random())
    LOG.warning('%d notices to the user %s will be mailed again in %.0f s: '
                '%s', len(mailed), mailed[0].user_id, wait, complaint)
    outbox_claims.put_off(engine, batch, mailed, wait, complaint)

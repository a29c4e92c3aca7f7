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

"""Abandons notices that are not accepted, and deletes old ones."""

from __future__ import annotations

import datetime

from oslo_log import log

from ironic_reservations.db import outbox as db_outbox
from ironic_reservations.engine import Engine
from ironic_reservations.model import notices

LOG = log.getLogger(__name__)

#: The maximum number of notices that one transaction changes.
_BATCH = 500


def clean_up(engine: Engine) -> None:
    """Abandon and delete notices that are as old as configured.

    :raises Conflict: another transaction was in the way.
    """
    options, now = engine.conf.notices, engine.clock()
    before = dict.fromkeys(notices.Channel, now - datetime.timedelta(
        days=options.give_up_after))
    before[notices.Channel.ENFORCEMENT] = now - datetime.timedelta(
        days=engine.conf.leases.enforcement_give_up_after)
    forgotten = now - datetime.timedelta(days=options.retention)
    with engine.database.read() as connection:
        if not db_outbox.any_old(connection, before, forgotten):
            return
    with engine.database.write() as connection:
        given_up = db_outbox.give_up(connection, before, now, _BATCH)
        db_outbox.purge(connection, forgotten, _BATCH)
    for notice, complaint in given_up:
        LOG.error('The notice %s (%s of the lease %s, by %s) was given up: '
                  '%s', notice.notice_id, notice.kind, notice.lease_id,
                  notice.channel, complaint or 'it was never sent')

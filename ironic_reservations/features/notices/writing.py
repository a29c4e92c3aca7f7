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

"""Write notices in the transaction of the change that they report.

A notice is one row in the outbox for each receiver.  It exists if and only if
the change was committed, and any process may send it later.
"""

from __future__ import annotations

from collections.abc import Mapping
import datetime
import hashlib
from typing import Any

from oslo_config import cfg
import sqlalchemy as sa

from ironic_reservations.db import outbox as db_outbox
from ironic_reservations.engine.outbox import notice_ids
from ironic_reservations.model import leases
from ironic_reservations.model import notices
from ironic_reservations.model import proofs

Kind = notices.Kind


def write(conf: cfg.ConfigOpts, connection: sa.Connection, kind: Kind,
          lease: leases.Lease, now: datetime.datetime,
          reason: str | None = None, occurrence: str | None = None,
          **details: Any) -> None:
    """Write a notice about a lease for all its receivers.

    Does nothing if there are no receivers, which is the default.

    :param connection: the connection of the transaction that changes the
        lease.
    :param lease: the lease after the change.
    :param now: the time of the database.
    :param reason: a sentence for the owner, for kinds with several reasons.
    :param occurrence: distinguishes this notice from others of the same kind
        about the lease; by default the generation of the lease, which each
        change increments.  A notice that exists is not written again.
    :param details: further fields of the notice; times in ISO 8601.
    """
    to = receivers(conf, lease.user_id)
    if not to:
        return
    ident = notice_ids.of_notice(
        lease.id, kind, occurrence or f'generation {lease.generation}')
    payload = _payload(ident, kind, lease, now, reason, details)
    db_outbox.insert(connection, [notices.Notice(
        notice_ids.of_row(ident, channel, one), ident, channel, one, kind,
        lease.id, lease.project_id, lease.user_id, payload, now)
        for channel, one in to])


def wanted(conf: cfg.ConfigOpts) -> bool:
    """Return whether there are any receivers."""
    return bool(receivers(conf, 'anybody'))


def target(name: str) -> str:
    """Return the name of a receiver in the outbox.

    :param name: the URL of a webhook, or a user id.
    """
    return hashlib.sha256(name.encode()).hexdigest()


def receivers(conf: cfg.ConfigOpts, user_id: str | None
              ) -> list[tuple[notices.Channel, str]]:
    """Return the receivers of the notices about a lease.

    :param user_id: the user who made the lease.
    """
    found = [(notices.Channel.WEBHOOK, target(url))
             for url in dict.fromkeys(conf.notices.webhook_urls)]
    if conf.notices.mail_host is not None and user_id is not None:
        found.append((notices.Channel.MAIL, target(user_id)))
    return found


def _payload(ident: str, kind: Kind, lease: leases.Lease,
             now: datetime.datetime, reason: str | None,
             details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a notice.

    It has no ids of lease reservations, since these are proofs with which a
    receiver could deploy the nodes.
    """
    return {'id': ident, 'type': f'lease.{kind.value}',
            'timestamp': now.isoformat(), 'urgent': kind.urgent,
            'data': {
                'lease_id': lease.id, 'name': lease.name,
                'project_id': lease.project_id, 'user_id': lease.user_id,
                'start_date': lease.start.isoformat(),
                'end_date': lease.end.isoformat(),
                'status': lease.status.value, 'degraded': lease.degraded,
                'hosts': len(lease.bookings),
                'reason': (None if reason is None
                           else proofs.left_out(reason, lease)), **details}}

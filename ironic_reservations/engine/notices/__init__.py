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

"""Writing notices, in the very transaction of the change that they tell of.

A notice is a row in the outbox for each receiver.  It is there if and only if
the change has been committed, and is sent later, by whoever comes by.
"""

from __future__ import annotations

from collections.abc import Mapping
import datetime
import hashlib
from typing import Any
import uuid as uuid_module

from oslo_config import cfg
import sqlalchemy as sa

from ironic_reservations.db import outbox as db_outbox
from ironic_reservations.model import leases
from ironic_reservations.model import notices
from ironic_reservations.model import proofs

Kind = notices.Kind

#: What the ids of notices are made from, and nothing else is.
_NAMESPACE = uuid_module.UUID('5e9a4d3c-9a52-4b6f-8d0e-2f6e2f1a7c61')


def write(conf: cfg.ConfigOpts, connection: sa.Connection, kind: Kind,
          lease: leases.Lease, now: datetime.datetime,
          reason: str | None = None, occurrence: str | None = None,
          **details: Any) -> None:
    """Write a notice about a lease to all who are to get it.

    Without receivers, which is the default, it does nothing.

    :param connection: of the transaction that changes the lease.
    :param lease: as it has become.
    :param now: when, by the clock of the database.
    :param reason: why, in a sentence for the owner; of what happens for one
        reason alone, ``None``.
    :param occurrence: tells this notice from others of the kind about the
        lease; by default its generation, which each change raises. A notice
        that is there already is not written again.
    :param details: what else is to be told, by names that JSON can have;
        times in ISO 8601.
    """
    to = receivers(conf, lease.user_id)
    if not to:
        return
    ident = notice_id(lease.id, kind, occurrence
                      or f'generation {lease.generation}')
    told = _payload(ident, kind, lease, now, reason, details)
    db_outbox.insert(connection, [notices.Notice(
        row_id(ident, channel, one), ident, channel, one, kind, lease.id,
        lease.project_id, lease.user_id, told, now) for channel, one in to])


def notice_id(lease_id: str, kind: Kind, occurrence: str) -> str:
    """Return the id of a notice, the same each time that it is asked for.

    :param occurrence: tells this notice from others of the kind about the
        lease.
    """
    return str(uuid_module.uuid5(_NAMESPACE,
                                 f'{lease_id}/{kind.value}/{occurrence}'))


def row_id(notice: str, channel: notices.Channel, to: str) -> str:
    """Return the id of the row of a notice for one receiver."""
    return str(uuid_module.uuid5(_NAMESPACE, f'{notice}/{channel.value}/{to}'))


def wanted(conf: cfg.ConfigOpts) -> bool:
    """Return whether anybody gets notices."""
    return bool(conf.notices.webhook_urls or conf.notices.mail_host)


def target(name: str) -> str:
    """Return what a receiver is known by in the outbox.

    :param name: the URL of a webhook, or a user.
    """
    return hashlib.sha256(name.encode()).hexdigest()


def receivers(conf: cfg.ConfigOpts, user_id: str | None
              ) -> list[tuple[notices.Channel, str]]:
    """Return who gets the notices about a lease.

    :param user_id: who made the lease.
    """
    found = [(notices.Channel.WEBHOOK, target(url))
             for url in dict.fromkeys(conf.notices.webhook_urls)]
    if conf.notices.mail_host is not None and user_id is not None:
        found.append((notices.Channel.MAIL, target(user_id)))
    return found


def _payload(ident: str, kind: Kind, lease: leases.Lease,
             now: datetime.datetime, reason: str | None,
             details: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is told.

    NOTE: the ids of the reservations of a lease are proofs, and are not
    told: whoever receives a notice does not get the nodes by it.
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

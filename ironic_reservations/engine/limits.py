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

"""How many reservations a project may have that wait, and for how long."""

from __future__ import annotations

import datetime
import hashlib
import json

from oslo_config import cfg
import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import claims as db_claims
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.planner import facts

#: The longest name of a claim.
_NAME = 64


def counted(conf: cfg.ConfigOpts, unlimited: bool) -> bool:
    """Return whether what a caller has is counted at all."""
    return bool(conf.leases.project_limits) and not unlimited


def check_one_more(conf: cfg.ConfigOpts, connection: sa.Connection,
                   project_id: str | None, now: datetime.datetime) -> None:
    """Check that a project may have one more reservation.

    Comes first in the transaction that writes it: no other one is written
    for the project until its end.

    :raises ReservationLimit: it may not.
    """
    most = conf.reservations.max_per_project
    if not most:
        return
    digest = hashlib.sha256(json.dumps(project_id).encode()).hexdigest()
    db_claims.queue_up(connection, f'reservations {digest}'[:_NAME], now)
    used = db_reservations.count_waiting(connection, project_id, now)
    if used >= most:
        raise errors.ReservationLimit(
            f'The project has {used} reservations that wait to be used; '
            f'[reservations] max_per_project allows {most}. Use or release '
            'one of them first.', limit='max_per_project', allowed=most,
            used=used, asked=1)


def check_lifetime(conf: cfg.ConfigOpts, held: facts.Reservation,
                   end: datetime.datetime) -> None:
    """Check that a reservation is not renewed for ever.

    :param end: the new one.
    :raises ReservationLimit: it would be.
    """
    most = conf.reservations.max_lifetime
    latest = held.created_at + datetime.timedelta(seconds=most)
    if (most and held.state is facts.State.RESERVED
            and end > max(latest, held.expires_at)):
        raise errors.ReservationLimit(
            f'The reservation began at {held.created_at.isoformat()} and can '
            f'be renewed until {latest.isoformat()}, {most} seconds later, '
            'by [reservations] max_lifetime. Renew it until then at most, '
            'use it, or lease a node.', limit='max_lifetime', allowed=most,
            used=int((held.expires_at - held.created_at).total_seconds()),
            asked=int((end - held.created_at).total_seconds()),
            latest=latest.isoformat())

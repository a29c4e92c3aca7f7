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

"""Move the end of a promise (API 1.1, ``PATCH /v1/reservations/<uuid>``)."""

from __future__ import annotations

import datetime

from ironic_reservations import errors
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine import announce
from ironic_reservations.engine import Engine
from ironic_reservations.engine import find
from ironic_reservations.engine import retry
from ironic_reservations.engine import terms
from ironic_reservations.planner import facts


def renew(engine: Engine, uuid: str,
          expires_at: datetime.datetime | None = None,
          ttl: int | None = None) -> facts.Reservation:
    """Let a live reservation end at another time, earlier or later.

    :param expires_at: the new end, zone-aware; or
    :param ttl: in so many seconds from now.
    :raises ReservationNotFound: there is none, or it has expired.
    :raises InvalidValue: the time is out of bounds.
    """
    def attempt() -> facts.Reservation:
        now = engine.clock()
        end = terms.expiry(engine.conf, now, expires_at, ttl)
        with engine.database.write() as connection:
            if not db_reservations.update_expiry(connection, uuid, end, now):
                raise errors.ReservationNotFound(find.unknown(uuid))
            renewed = db_reservations.read_by_uuid(connection, uuid)
        assert renewed is not None
        return renewed
    renewed = retry.until_committed(attempt)
    engine.announcer.tell(announce.UPDATE, renewed)
    return renewed

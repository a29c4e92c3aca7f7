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

"""Keeps the keys of requests, in the transactions that carry them out."""

from __future__ import annotations

import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations.engine import change as change_module
from ironic_reservations.engine import earlier
from ironic_reservations.engine import Engine
from ironic_reservations.engine import feature
from ironic_reservations.features.keys import key_limit
from ironic_reservations.features.keys import request_keys
from ironic_reservations.features.keys import rows as db_keys
from ironic_reservations.model import node_reservation


@dataclasses.dataclass
class _Part(feature.Part):
    """The key of one request."""

    engine: Engine
    change: change_module.Change
    known: request_keys.Known

    def write(self, connection: sa.Connection) -> None:
        """Keep the key; see :func:`request_keys.keep`."""
        subject = self.change.subject
        request_keys.keep(connection, self.known, subject,
                          self.change.row_ids.get(subject, 0),
                          self.engine.clock())


class Keys(feature.Feature):
    """Idempotency keys: a request that is sent twice is carried out once."""

    concerns = (request_keys.Known,)

    def __init__(self) -> None:
        self._limit = key_limit.KeyLimit()

    def count_key(self, engine: Engine, project_id: str) -> None:
        """Count a request with a key; see :class:`key_limit.KeyLimit`."""
        most = engine.conf.api.max_keys_per_day
        if most:
            self._limit.count(project_id, most, engine.timer())

    def earlier(self, connection: sa.Connection, key: earlier.Key,
                now: datetime.datetime) -> earlier.Earlier:
        """Read the record of a key."""
        return request_keys.read(connection, key, now)

    def undo(self, connection: sa.Connection,
             reservation: node_reservation.Reservation,
             now: datetime.datetime) -> None:
        """Write that a reservation was dropped, so it can be made again."""
        assert reservation.id is not None
        db_keys.insert_undone(connection, reservation.id,
                              now + request_keys.KEPT)

    def join(self, engine: Engine,
             change: change_module.Change) -> feature.Part | None:
        """Return the key of a request that has one."""
        known = change.given_of(request_keys.Known)
        return None if known is None else _Part(engine, change, known)

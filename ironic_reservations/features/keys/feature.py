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

import sqlalchemy as sa

from ironic_reservations.engine import change as change_module
from ironic_reservations.engine import Engine
from ironic_reservations.engine import feature
from ironic_reservations.features.keys import request_keys


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
    """Requests that are sent twice with one key."""

    def join(self, engine: Engine,
             change: change_module.Change) -> feature.Part | None:
        """Return the key of a request that has one."""
        known = change.given_of(request_keys.Known)
        return None if known is None else _Part(engine, change, known)

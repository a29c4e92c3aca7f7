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

"""Work that one process does for all, for as long as it has the claim.

A claim in the database ends by the database's clock.  Its holder goes by a
timer of its own, which nobody can set, from before the claim was written; and
it stops somewhat earlier than others may begin.
"""

from __future__ import annotations

import datetime

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.db import claims as db_claims
from ironic_reservations.db import connection as db_connection
from ironic_reservations.engine import Engine

LOG = log.getLogger(__name__)

#: How much earlier, in seconds: more than the time that two processes tell
#: may differ, and a fifth of a claim at least.
_MARGIN = 1.5
_SHARE = 0.2


def certain(ttl: float) -> float:
    """Return for how long a claim surely holds, in seconds.

    :param ttl: for how long it stands in the database, in seconds.
    """
    return ttl - max(_MARGIN, ttl * _SHARE)


class Claim:
    """The claim of this process to a piece of work.

    :param name: of the work.
    :param owner: of this process, and of no other ever.
    """

    def __init__(self, engine: Engine, name: str, owner: str) -> None:
        self._engine = engine
        self._name = name
        self._owner = owner
        self._begun = self._until = 0.0

    def holds(self) -> bool:
        """Take the claim, or keep it; tells whether it is ours.

        :raises DatabaseUnavailable: nobody knows.
        :raises Conflict: another process was quicker.
        """
        engine = self._engine
        begun, ttl = engine.timer(), engine.conf.ironic.claim_ttl
        if begun < (self._begun + self._until) / 2:
            return True
        now = engine.clock()
        with engine.database.write() as connection:
            ours = db_claims.take(connection, self._name, self._owner, now,
                                  now + datetime.timedelta(seconds=ttl))
        self._begun = begun
        self._until = begun + certain(ttl) if ours else begun
        return ours and engine.timer() < self._until

    def drop(self) -> None:
        """Let another process take over at once."""
        self._begun = self._until = 0.0
        try:
            with self._engine.database.write() as connection:
                db_claims.drop(connection, self._name, self._owner)
        except (errors.DatabaseUnavailable, db_connection.Conflict) as exc:
            LOG.debug('The claim is left to expire: %s', exc)

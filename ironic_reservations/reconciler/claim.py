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

"""Claims: work that only one process does at a time.

A claim in the database ends by the clock of the database. Its holder measures
the age of the claim with the monotonic clock, from before it was written, and
stops some time before other processes may take the claim over.
"""

from __future__ import annotations

import dataclasses
import os
import socket
import uuid as uuid_module

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.engine import claims
from ironic_reservations.engine import Engine

LOG = log.getLogger(__name__)

#: The holder stops at least so many seconds earlier, which is more than the
#: clocks of two processes may differ, and at least this share of the lifetime.
_MARGIN = 1.5
_SHARE = 0.2
#: Host names in the names of owners are cut to this length.
_HOST_NAME = 64


def certain(ttl: float) -> float:
    """Return the time for which a claim is certainly held, in seconds.

    :param ttl: the lifetime of the claim in the database, in seconds.
    """
    return ttl - max(_MARGIN, ttl * _SHARE)


def new_owner() -> str:
    """Return a name for this process that no other process will ever have.

    Containers of one image may have the same host name and process ids.
    """
    return (f'{socket.gethostname()[:_HOST_NAME]}:{os.getpid()}:'
            f'{uuid_module.uuid4()}')


@dataclasses.dataclass
class Claim:
    """The claim of this process to a piece of work.

    :ivar name: the name of the work.
    :ivar _ttl: the lifetime of the claim in the database, in seconds: the time
        for which other processes wait if this one dies.
    """

    _engine: Engine
    name: str
    _ttl: float
    _owner: str = dataclasses.field(default_factory=new_owner)
    _begun: float = 0.0
    _until: float = 0.0

    def holds(self) -> bool:
        """Take or renew the claim; return whether this process holds it.

        :raises DatabaseUnavailable: the holder is not known.
        :raises Conflict: another process wrote the claim first.
        """
        engine = self._engine
        begun = engine.timer()
        if begun < (self._begun + self._until) / 2:
            return True
        ours = claims.take(engine, self.name, self._owner, self._ttl)
        self._begun = begun
        self._until = begun + certain(self._ttl) if ours else begun
        return ours and engine.timer() < self._until

    def drop(self) -> None:
        """Release the claim, so that another process can take it at once."""
        self._begun = self._until = 0.0
        try:
            claims.drop(self._engine, self.name, self._owner)
        except (errors.DatabaseUnavailable, db_connection.Conflict) as exc:
            LOG.debug('The claim is left to expire: %s', exc)

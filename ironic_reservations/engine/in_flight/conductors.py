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

"""Ask the conductors of nodes whether they have older calls.

A conductor is asked once in a pass, not once for each node: its answer shows
that it has no older calls for any node, and a silent one lets each question
wait for the whole RPC time-out. It is asked again for a request that was not
due yet when it was asked.
"""

from __future__ import annotations

import dataclasses
import datetime

from ironic_reservations import errors
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.engine import Engine
from ironic_reservations.model import in_flight

#: The seconds between the two checks of a node: longer than a conductor tries
#: to get its lock.
BETWEEN_CHECKS = 10.0


@dataclasses.dataclass
class Conductors:
    """The conductors that were asked in one pass.

    :ivar _silent: why some are silent.
    :ivar _answered: since when the other ones had no older calls.
    """

    _engine: Engine
    _ironic: ironic_client.Ironic
    _silent: dict[str, str] = dataclasses.field(default_factory=dict)
    _answered: dict[str, datetime.datetime] = dataclasses.field(
        default_factory=dict)

    def ask(self, row: in_flight.InFlight, conductor: str | None,
            now: datetime.datetime) -> str | None:
        """Ask the conductor of the node of a request, unless it was asked.

        :param conductor: its name; ``None``: it is not known.
        :param now: a time before it is asked.
        :returns: an error if it is silent.
        """
        if conductor is not None and conductor in self._silent:
            return self._silent[conductor]
        if conductor is not None and self.has_answered(row, conductor):
            return None
        try:
            self._ironic.ask_conductor(row.node_uuid)
        except errors.IronicUnavailable as exc:
            if conductor is not None:
                self._silent[conductor] = str(exc)
            return str(exc)
        # Another one may have taken the node over, and answered.
        if conductor is not None and conductor == self._ironic.conductor_of(
                row.node_uuid):
            self._answered[conductor] = now
        return None

    def has_answered(self, row: in_flight.InFlight, conductor: str) -> bool:
        """Return whether a conductor has answered since a request was due."""
        asked = self._answered.get(conductor)
        return asked is not None and self.is_due(row, asked)

    def is_due(self, row: in_flight.InFlight,
               now: datetime.datetime) -> bool:
        """Return whether the outcome of a request can be determined."""
        return row.due(now, self._engine.conf.guard.rpc_timeout,
                       BETWEEN_CHECKS)

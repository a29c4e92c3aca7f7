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

"""Refusing what would be done to a node behind the back of who has it."""

from __future__ import annotations

import dataclasses
import datetime

from ironic_reservations.db import holders
from ironic_reservations.engine import Engine
from ironic_reservations.engine import refused_passage
from ironic_reservations.lifecycle import protect
from ironic_reservations.model import facts
from ironic_reservations.model import leases


@dataclasses.dataclass(frozen=True)
class Holding:
    """Who has a node.

    :ivar held: its live reservation.
    :ivar bookings: the leases that have it.
    """

    node_uuid: str
    now: datetime.datetime
    held: facts.Reservation | None
    bookings: tuple[leases.NodeBooking, ...]

    @property
    def anybody(self) -> bool:
        """Return whether somebody has it."""
        return self.held is not None or bool(self.bookings)

    def check(self, actor: protect.Actor, frees: bool = False) -> None:
        """Raise unless the caller may act on the node.

        :param frees: whether it takes the instance off the node.
        :raises ProofRequired: somebody has it, and no proof was shown.
        :raises ProofInvalid: not by what was shown.
        """
        verdict = protect.judge(
            actor, self.held, leases.of_node(self.bookings, self.now),
            self.now, frees)
        if not verdict.passes:
            raise refused_passage.refusal(
                verdict, self.node_uuid, actor.claim, self.held,
                self.bookings, self.now)


def look(engine: Engine, node_uuid: str) -> Holding:
    """Read who has a node.

    :raises DatabaseUnavailable: it cannot be known.
    """
    now = engine.clock()
    with engine.database.read() as connection:
        held, bookings = holders.read(connection, node_uuid, now)
    return Holding(node_uuid, now, held, tuple(bookings))

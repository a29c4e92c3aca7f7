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
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine import Engine
from ironic_reservations.engine.passages import passage as passages
from ironic_reservations.engine.passages import refused_passage
from ironic_reservations.lifecycle import protect
from ironic_reservations.model import facts
from ironic_reservations.model import leases

#: For so many seconds what was read of a node counts that is not kept for a
#: request.
FRESH = 5.0
#: By so many seconds two processes may be apart about what time it is.
_APART = 1.0


@dataclasses.dataclass(frozen=True)
class Holding:
    """Who has a node.

    :ivar held: its live reservation.
    :ivar bookings: the leases that have it, and those that are about to.
    :ivar deadline: until when that counts, by the timer of the engine.
    """

    node_uuid: str
    now: datetime.datetime
    held: facts.Reservation | None
    bookings: tuple[leases.NodeBooking, ...]
    deadline: float

    @property
    def anybody(self) -> bool:
        """Return whether somebody has it, or is about to."""
        return self.held is not None or bool(self.bookings)

    @property
    def of_begun(self) -> Holding:
        """Return the same without leases that nothing was given to yet."""
        return dataclasses.replace(self, bookings=tuple(
            booking for booking in self.bookings if booking.begun))

    @property
    def leased(self) -> facts.Leased:
        """Return what leases have of it."""
        return leases.of_node(self.bookings, self.now)

    def check(self, actor: protect.Actor, frees: bool = False) -> None:
        """Raise unless the caller may act on the node.

        :param frees: whether it takes the instance off the node.
        :raises ProofRequired: somebody has it, and no proof was shown.
        :raises ProofInvalid: not by what was shown.
        """
        verdict = protect.judge(actor, self.held, self.leased, self.now,
                                frees)
        if not verdict.passes:
            raise refused_passage.refusal(
                verdict, self.node_uuid, actor.claim, self.held,
                self.bookings, self.now)


def look(engine: Engine, node_uuid: str) -> Holding:
    """Read who has a node.

    :raises DatabaseUnavailable: it cannot be known.
    """
    # NOTE: taken before anything is read: whoever stands still does not
    # notice.
    begun = engine.timer()
    now = engine.clock()
    soon = now + datetime.timedelta(seconds=FRESH + _APART)
    with engine.database.read() as connection:
        held, bookings = holders.read(connection, node_uuid, now, soon)
    changes = [each for booking in bookings
               for each in (booking.starts_at, booking.ends_at)]
    if held is not None and held.state is facts.State.RESERVED:
        changes.append(held.expires_at)
    lasts = min(((each - now).total_seconds() - _APART for each in changes
                 if each > now), default=FRESH)
    return Holding(node_uuid, now, held, tuple(bookings),
                   begun + min(FRESH, lasts))


def keep(engine: Engine, node_uuid: str,
         actor: protect.Actor) -> passages.Passage:
    """Let a request change a node, and give it to nobody else meanwhile.

    :param actor: who wants it.
    :returns: what has to be closed.
    :raises ProofRequired: somebody has it, and no proof was shown.
    :raises ProofInvalid: not by what was shown.
    :raises DatabaseUnavailable: it cannot be known.
    :raises Contention: others changed the node each time.
    """
    def attempt() -> passages.Passage:
        deadline = passages.hand_over_by(engine)
        now = engine.clock()
        with engine.database.read() as connection:
            node = db_nodes.read_nodes(
                connection, (node_uuid,), with_traits=False).get(node_uuid)
            held, bookings = holders.read(connection, node_uuid, now)
            void = None if held is not None else db_reservations.read_of_nodes(
                connection, (node_uuid,)).get(node_uuid)
        Holding(node_uuid, now, held, tuple(bookings), deadline).check(actor)
        # NOTE: a node that is not mirrored yet is nobody's.
        return passages.open_for_change(
            engine, node or facts.Node(node_uuid, provision_state=None),
            void, now, deadline)
    return passages.let_through(attempt)

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

"""Refuse acts on a node that do not come from its holder."""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
import datetime
import math

from ironic_reservations.db import holders
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine import change
from ironic_reservations.engine import Engine
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import boundaries
from ironic_reservations.engine.in_flight import refusal_messages
from ironic_reservations.lifecycle import protect
from ironic_reservations.model import in_flight
from ironic_reservations.model import leases
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_reservation

#: The seconds for which a decision is valid if the node is not kept for the
#: request.
FRESH = 5.0
#: The seconds by which the clocks of two processes may differ.
_APART = 1.0


@dataclasses.dataclass(frozen=True)
class ChangeRequest:
    """A requested change of a node.

    :ivar protected: whether only the holder of the node may change this.
    :ivar frees: whether it removes the instance from the node.
    :ivar of_state: whether it changes the provision state. Before the start of
        a lease, this state is due to the previous user, who must be able to
        release the node.
    """

    actor: protect.Actor
    protected: bool = True
    frees: bool = False
    of_state: bool = False


@dataclasses.dataclass(frozen=True)
class Holding:
    """The holders of a node.

    :ivar held: the live reservation of the node.
    :ivar bookings: the bookings of leases that have the node or get it soon.
    :ivar deadline: the end of the validity of this, by the engine's timer.
    """

    node_uuid: str
    now: datetime.datetime
    held: node_reservation.Reservation | None
    bookings: tuple[leases.NodeBooking, ...]
    deadline: float

    @property
    def anybody(self) -> bool:
        """Whether anybody has the node or gets it soon."""
        return self.held is not None or bool(self.bookings)

    @property
    def had(self) -> bool:
        """Whether somebody has the node, and it is not being put back."""
        return (not self.held.over(self.now) if self.held is not None
                else self.leased.holder is not None)

    @property
    def put_back(self) -> bool:
        """Whether the node is being put back after a promise.

        Nothing puts back a change that is made meanwhile.
        """
        return not self.had and (self.held is not None or self.leased.held)

    def of(self, asked: ChangeRequest) -> Holding:
        """Return the holders whom a change concerns."""
        if not asked.of_state:
            return self
        return dataclasses.replace(self, bookings=tuple(
            booking for booking in self.bookings if booking.begun))

    @property
    def leased(self) -> leases.Leased:
        """The leases that have the node."""
        return leases.of_node(self.bookings, self.now)

    def check(self, asked: ChangeRequest) -> None:
        """Check that the caller may act on the node.

        :raises ProofRequired: somebody holds it, and no proof was shown.
        :raises ProofInvalid: the proof is not valid for the node.
        """
        if not asked.protected:
            return
        there = self.of(asked)
        verdict = protect.judge(asked.actor, there.held, there.leased,
                                there.now, asked.frees)
        if not verdict.passes:
            raise refusal_messages.refusal(
                verdict, there.node_uuid, asked.actor.claim, there.held,
                there.bookings, there.now)


def read_holding(engine: Engine, node_uuid: str) -> Holding:
    """Read the holders of a node."""
    # The timer is read first, since a process does not notice that it was
    # stopped.
    begun = engine.timer()
    now = engine.clock()
    soon = now + datetime.timedelta(seconds=FRESH + _APART)
    with engine.database.read() as connection:
        held, bookings = holders.read(connection, node_uuid, now, soon)
    return Holding(node_uuid, now, held, tuple(bookings), min(
        begun + FRESH, _next(boundaries.of_node(held, bookings), now, begun)))


def keep(engine: Engine, node_uuid: str,
         asked: ChangeRequest) -> admission.InFlightRequest:
    """Let a request change a node, and keep the node for it meanwhile.

    :returns: the request, which has to be closed.
    :raises ProofRequired: somebody holds it, and no proof was shown.
    :raises ProofInvalid: the proof is not valid for the node.
    :raises DatabaseUnavailable: the holder could not be read.
    :raises Contention: others changed the node each time.
    """
    def plan() -> change.Planned[admission.InFlightRequest]:
        begun = engine.timer()
        deadline = admission.send_deadline(engine)
        now = engine.clock()
        soon = now + datetime.timedelta(seconds=deadline - begun + _APART)
        with engine.database.read() as connection:
            node = db_nodes.read_nodes(
                connection, (node_uuid,), with_traits=False).get(node_uuid)
            held, bookings = holders.read(connection, node_uuid, now, soon)
            void = None if held is not None else db_reservations.read_of_nodes(
                connection, (node_uuid,)).get(node_uuid)
        dates = boundaries.of_node(held, bookings)
        if not asked.actor.administers:
            deadline = min(deadline, _next(dates, now, begun))
        holding = Holding(node_uuid, now, held, tuple(bookings), deadline)
        holding.check(asked)
        # A node that is not mirrored yet has no holder.
        return admission.begin(
            engine,
            node or mirrored_node.Node(node_uuid, provision_state=None), None,
            None, now, deadline, dates, void, act=in_flight.CHANGE,
            had=holding.of(asked).had)
    return admission.let_through(engine, plan)


def _next(dates: Iterable[datetime.datetime], now: datetime.datetime,
          begun: float) -> float:
    """Return the earliest time of the first of some instants, by the timer."""
    return min((begun + (each - now).total_seconds() - _APART
                for each in dates if each > now), default=math.inf)

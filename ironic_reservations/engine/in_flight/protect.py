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

"""Refuse acts on a node by others than its holder."""

from __future__ import annotations

from collections.abc import Collection
import dataclasses
import datetime
import math

from ironic_reservations.db import host_views as db_host_views
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import change
from ironic_reservations.engine import Engine
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import refusal_messages
from ironic_reservations.lifecycle import protect
from ironic_reservations.model import host_view
from ironic_reservations.model import in_flight
from ironic_reservations.model import mirrored_node

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


def of(view: host_view.HostView, asked: ChangeRequest) -> host_view.HostView:
    """Return the promises that a change concerns."""
    return dataclasses.replace(view, bookings=tuple(
        booking for booking in view.bookings if booking.begun
        )) if asked.of_state else view


def check(view: host_view.HostView, asked: ChangeRequest) -> None:
    """Check that the caller may act on a node.

    :raises ProofRequired: the node has a holder, and no proof was shown.
    :raises ProofInvalid: the proof is not valid for the node.
    """
    if not asked.protected:
        return
    there = of(view, asked)
    verdict = protect.judge(asked.actor, there, asked.frees)
    if not verdict.passes:
        raise refusal_messages.refusal(verdict, asked.actor.claim, there)


def read_view(engine: Engine,
              node_uuid: str) -> tuple[host_view.HostView, float]:
    """Read the promises of a node, now and soon.

    :returns: the promises, and the time by the engine's timer until which they
        are valid.
    """
    (view,), until = read_views(engine, (node_uuid,))
    return view, until


def read_views(engine: Engine, node_uuids: Collection[str]
               ) -> tuple[Collection[host_view.HostView], float]:
    """Read the promises of some nodes, as :func:`read_view` does."""
    # The timer is read first, since a process does not notice that it was
    # stopped.
    begun = engine.timer()
    now = engine.clock()
    with engine.database.read() as connection:
        views = db_host_views.read(
            connection, node_uuids, now,
            now + datetime.timedelta(seconds=FRESH + _APART)).values()
    return views, min((begun + FRESH, *(
        _until_change(view, begun) for view in views)))


def read_ancestors(engine: Engine, node_uuid: str) -> list[str]:
    """Return a node, its parent, the parent of that one, and so on.

    Ironic powers on all of them for the last child.

    :raises DatabaseUnavailable: the parents could not be read.
    """
    found: list[str] = []
    upper: str | None = node_uuid
    with engine.database.read() as connection:
        while upper is not None and upper not in found:
            found.append(upper)
            node = db_nodes.read_node(connection, upper)
            upper = None if node is None else node.parent_node
    return found


def read_descendants(engine: Engine, node_uuid: str) -> list[str]:
    """Return the children of a node, their children, and so on.

    Ironic powers off all of them with the node.

    :raises DatabaseUnavailable: the children could not be read.
    """
    found: dict[str, None] = {}
    lowest = [node_uuid]
    with engine.database.read() as connection:
        while lowest:
            lowest = [uuid for uuid in db_nodes.read_children(
                connection, lowest) if uuid not in found]
            found.update(dict.fromkeys(lowest))
    return [uuid for uuid in found if uuid != node_uuid]


def keep(engine: Engine, node_uuid: str,
         asked: ChangeRequest) -> admission.InFlightRequest:
    """Let a request change a node, and keep the node for it meanwhile.

    :returns: the request, which has to be closed.
    :raises ProofRequired: the node has a holder, and no proof was shown.
    :raises ProofInvalid: the proof is not valid for the node.
    :raises DatabaseUnavailable: the holder could not be read.
    :raises Contention: other requests changed the node at each attempt.
    """
    def plan() -> change.Planned[admission.InFlightRequest]:
        begun = engine.timer()
        deadline = admission.send_deadline(engine)
        now = engine.clock()
        with engine.database.read() as connection:
            node = db_nodes.read_node(connection, node_uuid)
            view = db_host_views.read_one(
                connection, node_uuid, now,
                now + datetime.timedelta(seconds=deadline - begun + _APART))
        if not asked.actor.administers:
            deadline = min(deadline, _until_change(view, begun))
        check(view, asked)
        # A node that is not mirrored yet has no holder.
        return admission.begin(
            engine,
            node or mirrored_node.Node(node_uuid, provision_state=None), now,
            deadline, view.next_change, void=view.void, act=in_flight.CHANGE,
            holder=of(view, asked).holder)
    return admission.let_through(engine, plan)


def _until_change(view: host_view.HostView, begun: float) -> float:
    """Return the earliest time of the next change of a view, by the timer."""
    return (math.inf if view.next_change is None else
            begun + (view.next_change - view.now).total_seconds() - _APART)

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

"""Requests on their way to Ironic, and when it is known what became of them.

A node is kept for such a request until its row is gone, and time alone never
takes the row away: a process may stand still, and so may a conductor.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum

from ironic_reservations.model import facts
from ironic_reservations.model import node_condition


class State(enum.StrEnum):
    """How far a request has come."""

    #: A ticket of the reconciler that nobody has used.
    ISSUED = 'issued'
    #: Handed to Ironic, or about to be.
    SENT = 'sent'
    #: An allocation that Ironic has accepted, and still works on.
    ACCEPTED = 'accepted'
    #: Handed to Ironic, which did not say what became of it.
    UNCERTAIN = 'uncertain'


class Act(enum.StrEnum):
    """What a ticket is good for."""

    UNDEPLOY = 'undeploy'
    ABORT = 'abort'
    CLEAR_INSTANCE = 'clear_instance'
    LESSEE = 'lessee'
    SET_MAINTENANCE = 'set_maintenance'
    CLEAR_MAINTENANCE = 'clear_maintenance'


#: Stands where a ticket has its act: a request that changes a node, and does
#: not use it.
CHANGE = 'change'


@dataclasses.dataclass(frozen=True)
class InFlight:
    """A request, as its row says.

    :ivar id: of the row; tells nothing by itself.
    :ivar token: what it is known by; ``None`` for one of the release before.
    :ivar expires_at: until when its sender has an answer.
    :ivar instance_uuid: of an allocation, which a conductor carries out.
    :ivar act: of a ticket, or :data:`CHANGE`.
    :ivar lease_id: of a ticket.
    :ivar seen: what the first look at Ironic has shown.
    """

    id: int
    node_uuid: str
    expires_at: datetime.datetime
    state: State
    token: str | None = None
    reservation_uuid: str | None = None
    instance_uuid: str | None = None
    act: str | None = None
    lease_id: str | None = None
    seen: str | None = None
    seen_at: datetime.datetime | None = None

    @property
    def allocates(self) -> bool:
        """Whether it is an allocation."""
        return self.instance_uuid is not None and self.act is None

    def due(self, now: datetime.datetime, rpc_timeout: float,
            between: float) -> bool:
        """Return whether Ironic can tell now what became of the request.

        :param rpc_timeout: how long, in seconds, a conductor may come back
            to what it was sent.
        :param between: how many seconds lie between two looks.
        """
        if self.seen_at is None:
            return now >= self.expires_at + datetime.timedelta(
                seconds=rpc_timeout)
        return now >= self.seen_at + datetime.timedelta(seconds=between)


def shown(node: facts.Node, locked: bool) -> str | None:
    """Return what can be compared with the next look at a node.

    :returns: ``None`` where something is being done to it right now.
    """
    if locked or not node_condition.settled(node):
        return None
    return f'{node.provision_state} {node.instance_uuid}'[:64]

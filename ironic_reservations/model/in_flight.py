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

"""Requests in flight to Ironic.

The node is kept for such a request until its row is deleted. The row does not
expire, since a process or a conductor may have been suspended.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum

from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition


class State(enum.StrEnum):
    """The state of a request."""

    #: An unused ticket of the reconciler.
    ISSUED = 'issued'
    #: The request has been sent to Ironic, or is about to be.
    SENT = 'sent'
    #: Ironic has accepted the allocation, and still works on it.
    ACCEPTED = 'accepted'
    #: The request was sent to Ironic, with an unknown outcome.
    UNCERTAIN = 'uncertain'


class Act(enum.StrEnum):
    """The act that a ticket allows."""

    UNDEPLOY = 'undeploy'
    ABORT = 'abort'
    CLEAR_INSTANCE = 'clear_instance'
    LESSEE = 'lessee'
    SET_MAINTENANCE = 'set_maintenance'
    CLEAR_MAINTENANCE = 'clear_maintenance'
    MANAGE = 'manage'
    PROVIDE = 'provide'
    PUT_BACK = 'put_back'


#: The act of a request that changes a node without using it.
CHANGE = 'change'
#: The acts that may deprive a user of its node.
FREEING = (Act.UNDEPLOY.value, Act.ABORT.value, Act.CLEAR_INSTANCE.value,
           Act.MANAGE.value, Act.PUT_BACK.value, CHANGE)


@dataclasses.dataclass(frozen=True)
class InFlight:
    """A request in flight.

    :ivar id: the id of the row; not enough to identify the request.
    :ivar token: identifies the request.
    :ivar expires_at: the latest time for its answer.
    :ivar instance_uuid: the instance of an allocation, which a conductor
        carries out.
    :ivar act: the act of a ticket, or :data:`CHANGE`.
    :ivar lease_id: the lease of a ticket.
    :ivar seen: the state of the node at the first check.
    """

    id: int
    node_uuid: str
    expires_at: datetime.datetime
    state: State
    token: str
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

    @property
    def of_lost_history(self) -> bool:
        """Whether it stands for an unknown request of a lost history."""
        return self.token == self.node_uuid

    def due(self, now: datetime.datetime, rpc_timeout: float,
            between: float) -> bool:
        """Return whether the outcome can be determined now.

        :param rpc_timeout: the time by which a conductor may delay a request,
            in seconds.
        :param between: the seconds between the two checks.
        """
        if self.seen_at is None:
            return now >= self.expires_at + datetime.timedelta(
                seconds=rpc_timeout)
        return now >= self.seen_at + datetime.timedelta(seconds=between)


def shown(node: mirrored_node.Node, locked: bool) -> str | None:
    """Return the state of a node for the comparison with the next check.

    :returns: ``None`` if Ironic is working on the node.
    """
    if locked or not node_condition.settled(node):
        return None
    return f'{node.provision_state} {node.instance_uuid}'[:64]


def at_work(node: mirrored_node.Node) -> str:
    """Return the reason why the outcome of a request is not known yet."""
    return f'Ironic is still at work on it ({node.provision_state})'

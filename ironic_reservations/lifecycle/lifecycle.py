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

"""Decides the next state of a reservation from the state of its node."""

from __future__ import annotations

import dataclasses
import enum

from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition
from ironic_reservations.model import node_reservation


class End(enum.StrEnum):
    """The reason for which a reservation ends before its time."""

    NODE_DELETED = 'node_deleted'
    NODE_TAKEN = 'node_taken'
    NODE_BROKEN = 'node_broken'
    NODE_FREED = 'node_freed'


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The next state of a reservation.

    :ivar state: the new state; or
    :ivar end: the reason for its end. With neither, it is unchanged.
    """

    state: node_reservation.State | None = None
    end: End | None = None


KEEP = Verdict()


def judge(reservation: node_reservation.Reservation,
          node: mirrored_node.Node,
          end_on_maintenance: bool = False) -> Verdict:
    """Decide the next state of a reservation from the state of its node.

    Maintenance suspends a reservation: it keeps its end, and its node is given
    to no other holder. Otherwise everybody who may set maintenance, and Ironic
    itself after a power fault, would deprive holders of their nodes.

    The result is valid only if no guarded request for the node was in flight
    since the reservation was read.

    :param node: the node as Ironic shows it.
    :param end_on_maintenance: whether maintenance and retirement end an unused
        reservation.
    """
    free = (node.provision_state == node_condition.AVAILABLE
            and node.instance_uuid is None)
    match reservation.state:
        case node_reservation.State.STARTING:
            # The process that sent the request to Ironic has died.
            return Verdict(state=(node_reservation.State.RESERVED if free
                                  else node_reservation.State.IN_USE))
        case node_reservation.State.IN_USE:
            if free:
                return Verdict(end=End.NODE_FREED)
            if node_condition.lost(node):
                return Verdict(end=End.NODE_BROKEN)
            return KEEP
        case node_reservation.State.RESERVED:
            if node.instance_uuid == reservation.instance_uuid:
                return Verdict(state=node_reservation.State.IN_USE)
            if not free:
                return Verdict(end=End.NODE_TAKEN)
            if end_on_maintenance and node_condition.suspends(node):
                return Verdict(end=End.NODE_BROKEN)
            return KEEP

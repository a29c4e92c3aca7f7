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

"""What a node's state means for its reservation: facts in, a verdict out."""

from __future__ import annotations

import dataclasses
import enum

from ironic_reservations.model import facts
from ironic_reservations.model import node_condition


class End(enum.StrEnum):
    """Why a reservation ends by itself before its time."""

    NODE_DELETED = 'node_deleted'
    NODE_TAKEN = 'node_taken'
    NODE_BROKEN = 'node_broken'
    NODE_FREED = 'node_freed'


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What becomes of a reservation.

    :ivar state: the state that it should have; or
    :ivar end: why it is over.  With neither, it stays as it is.
    """

    state: facts.State | None = None
    end: End | None = None


KEEP = Verdict()


def judge(reservation: facts.Reservation, node: facts.Node | None,
          end_on_maintenance: bool = False) -> Verdict:
    """Return what a node's state makes of its reservation.

    Maintenance suspends a reservation: the node is promised to nobody else
    and the promise keeps its end.  Whoever may set it, and Ironic itself
    after a power fault, would otherwise take nodes from their holders.

    Holds only where no guarded request for the node was under way since the
    reservation was read.

    :param node: as Ironic shows it, ``None`` where it has no such node.
    :param end_on_maintenance: whether the operator wants a reservation that
        nobody has used to end with maintenance, or retirement, of its node.
    """
    if node is None:
        return Verdict(end=End.NODE_DELETED)
    free = (node.provision_state == facts.AVAILABLE
            and node.instance_uuid is None)
    match reservation.state:
        case facts.State.STARTING:
            # The process that carried the proof to Ironic died on the way.
            return Verdict(state=(facts.State.RESERVED if free
                                  else facts.State.IN_USE))
        case facts.State.IN_USE:
            if free:
                return Verdict(end=End.NODE_FREED)
            if node_condition.lost(node):
                return Verdict(end=End.NODE_BROKEN)
            return KEEP
        case facts.State.RESERVED:
            if node.instance_uuid == reservation.instance_uuid:
                return Verdict(state=facts.State.IN_USE)
            if not free:
                return Verdict(end=End.NODE_TAKEN)
            if end_on_maintenance and node_condition.suspends(node):
                return Verdict(end=End.NODE_BROKEN)
            return KEEP

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

"""Holds: allocations that reserve promised nodes in Placement."""

from __future__ import annotations

import dataclasses
import datetime
import enum

from ironic_reservations.model import inventories
from ironic_reservations.model import node_reservation


class HoldState(enum.StrEnum):
    """The state of a hold.

    In every state but :attr:`ACTIVE`, a process works on it, or has worked on
    it until the deadline.
    """

    #: It is being written to Placement.
    RESERVING = 'reserving'
    #: It is being written for an unconfirmed reservation, which ends on
    #: failure.
    PROMISING = 'promising'
    #: It has been written.
    ACTIVE = 'active'
    #: It is being moved to an instance.
    MOVING = 'moving'
    #: It is being removed from Placement.
    RELEASING = 'releasing'


@dataclasses.dataclass(frozen=True)
class Hold:
    """A consumer of ours, and the resources of a host that it may have.

    A node of Ironic is held as a whole: one of its class, exclusively.

    :ivar consumer_uuid: never reused.
    :ivar owner: its reservation, or its booking of a lease.
    :ivar deadline: the instant until which only the process that works on it
        may change it.
    :ivar confirmed: whether Placement has confirmed that it was written.
    :ivar instance_uuid: the instance to which it is being moved, or has been
        moved; after the move, the instance is the consumer.
    :ivar generation: differs after each change of the row; a change names the
        generation that was read.
    :ivar exclusive: whether it excludes all others on the host.
    """

    id: int
    consumer_uuid: str
    node_uuid: str
    owner: str
    amounts: inventories.Amounts
    project_id: str
    user_id: str
    state: HoldState
    created_at: datetime.datetime
    deadline: datetime.datetime
    confirmed: bool = False
    instance_uuid: str | None = None
    generation: int = 0
    exclusive: bool = True

    @property
    def resources(self) -> dict[str, int]:
        """The amounts by class."""
        return dict(self.amounts)

    @property
    def handed(self) -> bool:
        """Whether it has been moved to an instance."""
        return self.consumer_uuid == self.instance_uuid


@dataclasses.dataclass(frozen=True)
class Promise:
    """A reservation or booking that has a host now, which should be held.

    :ivar owner: the reservation, or the booking of a lease.
    :ivar instance_uuid: the instance that may have the node already.
    :ivar amounts: the amounts of the host; ``None``: the whole host, see
        :meth:`of_class`.
    :ivar exclusive: whether the hold excludes all others on the host.
    """

    owner: str
    node_uuid: str
    instance_uuid: str | None
    project_id: str | None
    user_id: str | None
    amounts: inventories.Amounts | None = None
    exclusive: bool = True

    @classmethod
    def of(cls, reservation: node_reservation.Reservation) -> Promise:
        """Return the promise of a reservation."""
        return cls(reservation.uuid, reservation.node_uuid,
                   reservation.instance_uuid, reservation.project_id,
                   reservation.user_id)

    def of_class(self, class_name: str) -> Promise:
        """Return the promise of a node with one of a class."""
        return dataclasses.replace(self, amounts=((class_name, 1),))

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

"""Holds: what keeps a promised node from everybody else in Placement."""

from __future__ import annotations

import dataclasses
import datetime
import enum

from ironic_reservations.model import inventories


class HoldState(enum.StrEnum):
    """Where a hold stands.

    In every state but :attr:`ACTIVE` somebody works on it, or did until the
    deadline.
    """

    #: It is being written.
    RESERVING = 'reserving'
    #: It is being written for a promise that nobody has been told of yet,
    #: and that ends with it where it cannot be had.
    PROMISING = 'promising'
    #: It is there.
    ACTIVE = 'active'
    #: It is being handed to an instance.
    MOVING = 'moving'
    #: It is being taken back.
    RELEASING = 'releasing'


@dataclasses.dataclass(frozen=True)
class Hold:
    """One consumer of ours, and the node that it has or may have.

    :ivar consumer_uuid: never used before, and never again.
    :ivar owner: the reservation, or the booking of a lease, that the node is
        held for.
    :ivar resource_class: of Placement, of which the node has one; ``None``
        where it is a share of a compute host.
    :ivar deadline: until when whoever works on it may; for others it is out
        of bounds until then.
    :ivar confirmed: whether Placement has said that it was written.
    :ivar instance_uuid: to which it is being handed, or has been: then that
        is the consumer.
    :ivar generation: counts the changes to the row; a change names the one
        that it has seen.
    :ivar amounts: of a share of a compute host.
    """

    id: int
    consumer_uuid: str
    node_uuid: str
    owner: str
    resource_class: str | None
    project_id: str
    user_id: str
    state: HoldState
    created_at: datetime.datetime
    deadline: datetime.datetime
    confirmed: bool = False
    instance_uuid: str | None = None
    generation: int = 0
    amounts: inventories.Amounts | None = None

    @property
    def resources(self) -> dict[str, int]:
        """Give what its consumer has of the node."""
        if self.amounts is not None:
            return dict(self.amounts)
        assert self.resource_class is not None
        return {self.resource_class: 1}

    @property
    def handed(self) -> bool:
        """Tell whether an instance has the node by now."""
        return self.consumer_uuid == self.instance_uuid


@dataclasses.dataclass(frozen=True)
class Promise:
    """What has a node now, so that the node is to be held.

    :ivar owner: the reservation, or the booking of a lease.
    :ivar amounts: its share, of a compute host; ``None``: the whole node.
    """

    owner: str
    node_uuid: str
    instance_uuid: str | None
    project_id: str | None
    user_id: str | None
    amounts: inventories.Amounts | None = None

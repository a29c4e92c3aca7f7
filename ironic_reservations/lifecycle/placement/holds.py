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
    """One consumer of ours, and the amounts of a host that it has or may have.

    A node of Ironic is held whole: one of its class, and by nobody else.

    :ivar consumer_uuid: never used before, and never again.
    :ivar owner: the reservation, or the booking of a lease, that it is for.
    :ivar deadline: until when whoever works on it may; for others it is out
        of bounds until then.
    :ivar confirmed: whether Placement has said that it was written.
    :ivar instance_uuid: to which it is being handed, or has been: then that
        is the consumer.
    :ivar generation: counts the changes to the row; a change names the one
        that it has seen.
    :ivar exclusive: whether nobody else may hold anything of the host.
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
        """Return the amounts by class."""
        return dict(self.amounts)

    @property
    def handed(self) -> bool:
        """Return whether an instance has the node by now."""
        return self.consumer_uuid == self.instance_uuid


@dataclasses.dataclass(frozen=True)
class Promise:
    """A promise that has a host now, so that the host is to be held.

    :ivar owner: the reservation, or the booking of a lease.
    :ivar instance_uuid: who may have the node already.
    :ivar amounts: of the host; ``None``: all of it, see :meth:`of_class`.
    :ivar exclusive: whether nobody else may hold anything of the host.
    """

    owner: str
    node_uuid: str
    instance_uuid: str | None
    project_id: str | None
    user_id: str | None
    amounts: inventories.Amounts | None = None
    exclusive: bool = True

    def of_class(self, class_name: str) -> Promise:
        """Return the promise of a node that offers one of a class."""
        return dataclasses.replace(self, amounts=((class_name, 1),))

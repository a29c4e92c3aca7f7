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

"""Nodes, reservations and what is known of them, as read from the rows."""

from __future__ import annotations

import dataclasses
import datetime
import enum

from ironic_reservations.model import inventories
from ironic_reservations.model import maintenance
from ironic_reservations.model import node_condition
from ironic_reservations.model import reasons

AVAILABLE = node_condition.AVAILABLE


class State(enum.StrEnum):
    """The state of a reservation."""

    #: Not used yet; it expires at ``expires_at``.
    RESERVED = 'reserved'
    #: A request has used it as a proof; its outcome is not known yet.
    STARTING = 'starting'
    #: Ironic has accepted the request; it ends when the node is freed.
    IN_USE = 'in_use'


@dataclasses.dataclass(frozen=True)
class Node:
    """A node as Ironic last described it, or a compute host of Nova.

    :ivar uuid: canonical, lower case, with hyphens.
    :ivar generation: counts the changes of the node's bookings; a commit names
        the generation that was read.
    :ivar reservable: whether the operator allows reservations.
    :ivar properties: its sizes in Ironic: pairs of a name and a value.
    :ivar powered: whether Ironic knows its power state, if that was read; it
        is not mirrored.
    :ivar inventories: of a compute host in Placement: pairs of a class and an
        inventory; ``None`` for a node of Ironic.
    :ivar enrolled_at: when it was enrolled, as Ironic writes it; with another
        time it is another node with the same uuid.
    """

    uuid: str
    generation: int = 0
    name: str | None = None
    resource_class: str | None = None
    traits: frozenset[str] = frozenset()
    provision_state: str | None = AVAILABLE
    instance_uuid: str | None = None
    maintenance: bool = False
    retired: bool = False
    reservable: bool = True
    owner: str | None = None
    lessee: str | None = None
    properties: tuple[tuple[str, str], ...] = ()
    inventories: tuple[tuple[str, inventories.Inventory], ...] | None = None
    powered: bool | None = dataclasses.field(default=None, compare=False)
    enrolled_at: str | None = None

    @property
    def compute(self) -> bool:
        """Whether it is a compute host, which instances share."""
        return self.inventories is not None

    def replaces(self, before: Node) -> bool:
        """Return whether this is another node with the uuid of one before.

        :param before: as it was mirrored, perhaps without ``enrolled_at``.
        """
        return (before.enrolled_at is not None
                and self.enrolled_at not in (None, before.enrolled_at))


@dataclasses.dataclass(frozen=True)
class Reservation:
    """One node reserved for one instance.

    :ivar uuid: also the proof for a deploy.
    :ivar expires_at: when it expires, unless it has been used by then.
    :ivar unusable: why its node cannot be used now, if that was read: one of
        ``node_condition.SUSPENDED``.
    """

    uuid: str
    node_uuid: str
    instance_uuid: str
    created_at: datetime.datetime
    updated_at: datetime.datetime | None
    expires_at: datetime.datetime
    state: State = State.RESERVED
    project_id: str | None = None
    user_id: str | None = None
    id: int | None = None
    unusable: str | None = dataclasses.field(default=None, compare=False)

    @property
    def suspended(self) -> str | None:
        """The reason why it is suspended while unused; ``None``: it is not."""
        return self.unusable if self.state is State.RESERVED else None

    def live(self, now: datetime.datetime) -> bool:
        """Return whether the reservation is valid at an instant."""
        return self.state is not State.RESERVED or self.expires_at > now

    def same(self, other: Reservation) -> bool:
        """Return whether this is a later version of another one.

        NOTE: the uuid is not enough, since clients choose it and may reuse it;
        and a database may reuse an id.
        """
        return (self.id, self.uuid, self.node_uuid, self.instance_uuid,
                self.project_id, self.user_id, self.created_at) == (
            other.id, other.uuid, other.node_uuid, other.instance_uuid,
            other.project_id, other.user_id, other.created_at)


@dataclasses.dataclass(frozen=True)
class Visibility:
    """The nodes that a caller may see.

    :ivar everything: all of them (an administrator).
    :ivar project_id: otherwise those that this project owns or leases.
    """

    everything: bool = False
    project_id: str | None = None

    def sees(self, node: Node) -> bool:
        """Return whether the caller may see a node."""
        if self.everything:
            return True
        return (self.project_id is not None
                and self.project_id in (node.owner, node.lessee))


@dataclasses.dataclass(frozen=True)
class Leased:
    """The bookings of leases on one node.

    :ivar held: whether a lease has it now.
    :ivar holder: the lease reservation that may use it; ``None`` if it is
        being taken back.
    :ivar until: when that lease ends.
    :ivar later: the start of the first future booking.
    :ivar project_id: of that lease.
    :ivar maintained: what maintenance windows have of it.
    """

    held: bool = False
    holder: str | None = None
    until: datetime.datetime | None = None
    later: datetime.datetime | None = None
    project_id: str | None = None
    maintained: maintenance.Maintained = maintenance.Maintained()


UNLEASED = Leased()


@dataclasses.dataclass(frozen=True)
class Occupancy:
    """Everything on a node's timeline.

    :ivar reservation: the live reservation, if there is one.
    :ivar busy_until: when the requests in flight should have been answered;
        the node is kept for them until their outcome is known.
    :ivar leased: what leases have of the node.
    :ivar closed: whether a reservation or a lease is required, and the request
        has none.
    :ivar unheld: why it could not be held in Placement, if that was tried.
    """

    reservation: Reservation | None = None
    busy_until: datetime.datetime | None = None
    leased: Leased = UNLEASED
    closed: bool = False
    unheld: reasons.Reason | None = None

    @property
    def maintained(self) -> maintenance.Maintained:
        """The maintenance windows of the node."""
        return self.leased.maintained

    @property
    def later(self) -> datetime.datetime | None:
        """The start of the next booking; ``None``: there is none."""
        return min((each for each in (self.leased.later,
                                      self.maintained.later)
                    if each is not None), default=None)

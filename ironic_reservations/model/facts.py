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

"""What the planner is told: frozen values, a snapshot of the rows.

Nothing here does I/O or asks for the time.
"""

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
    """Where a reservation stands."""

    #: Promised; ends by itself at ``expires_at``.
    RESERVED = 'reserved'
    #: Shown as a proof; what Ironic makes of that request is not known yet.
    STARTING = 'starting'
    #: Ironic accepted the request; ends when the node is freed.
    IN_USE = 'in_use'


@dataclasses.dataclass(frozen=True)
class Node:
    """A node as Ironic described it last, or a compute host of Nova.

    :ivar uuid: canonical, lower case, with hyphens.
    :ivar generation: counts the changes to the node's bookings; a commit
        names the generation that it was planned on.
    :ivar reservable: the operator's switch.
    :ivar properties: what Ironic knows of its size: pairs of a name and a
        value.
    :ivar powered: whether Ironic knows its power state, as far as it has
        been asked; that is not mirrored.
    :ivar inventories: of a compute host, as Placement says: pairs of a class
        and what there is of it; ``None`` for a node of Ironic.
    :ivar enrolled_at: when Ironic was told of it, in Ironic's words; another
        one under the same uuid is another node.
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
        """Return whether it is a compute host, which instances share."""
        return self.inventories is not None

    def replaces(self, before: Node) -> bool:
        """Check whether this is another node under the uuid of one before.

        :param before: as it was mirrored; it may not have been written down
            then when it was enrolled.
        """
        return (before.enrolled_at is not None
                and self.enrolled_at not in (None, before.enrolled_at))


@dataclasses.dataclass(frozen=True)
class Reservation:
    """One node promised to one instance.

    :ivar uuid: also the proof that a deploy shows.
    :ivar expires_at: void from this instant on, unless it has been shown as a
        proof by then.
    :ivar unusable: why its node could not be used now, as far as it was read
        with the node: one of ``node_condition.SUSPENDED``.
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
        """Return why it cannot be used now, where it waits to be used."""
        return self.unusable if self.state is State.RESERVED else None

    def live(self, now: datetime.datetime) -> bool:
        """Return whether the promise binds at an instant."""
        return self.state is not State.RESERVED or self.expires_at > now

    def same(self, other: Reservation) -> bool:
        """Return whether this is what has become of another one.

        NOTE: uuids are chosen by clients, who may use one again when the
        reservation that had it is over; and a database may use an id again.
        """
        return (self.id, self.uuid, self.node_uuid, self.instance_uuid,
                self.project_id, self.user_id, self.created_at) == (
            other.id, other.uuid, other.node_uuid, other.instance_uuid,
            other.project_id, other.user_id, other.created_at)


@dataclasses.dataclass(frozen=True)
class Visibility:
    """Which nodes a caller may know of.

    :ivar everything: all of them (an administrator).
    :ivar project_id: otherwise those that this project owns or leases.
    """

    everything: bool = False
    project_id: str | None = None

    def sees(self, node: Node) -> bool:
        """Return whether the caller may know that the node exists."""
        if self.everything:
            return True
        return (self.project_id is not None
                and self.project_id in (node.owner, node.lessee))


@dataclasses.dataclass(frozen=True)
class Leased:
    """What leases have of one node.

    :ivar held: whether a lease has it now.
    :ivar holder: the lease reservation that may use it; ``None`` where it is
        being taken back from one that is over.
    :ivar until: when that one ends.
    :ivar later: when the first one starts that has not started.
    :ivar project_id: whose lease that one is.
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
    """What stands on one node's timeline besides the node's own state.

    :ivar reservation: the live reservation, if there is one.
    :ivar busy_until: when the requests under way should have had an answer;
        the node is kept for them until their outcome is known.
    :ivar leased: what leases have of the node.
    :ivar closed: whether it may be used with a reservation or a lease only,
        and the request has neither.
    :ivar unheld: why it could not be held in Placement, when that was tried.
    """

    reservation: Reservation | None = None
    busy_until: datetime.datetime | None = None
    leased: Leased = UNLEASED
    closed: bool = False
    unheld: reasons.Reason | None = None

    @property
    def maintained(self) -> maintenance.Maintained:
        """Return what maintenance windows have of the node."""
        return self.leased.maintained

    @property
    def later(self) -> datetime.datetime | None:
        """Return when the node is promised to somebody next, if it is."""
        return min((each for each in (self.leased.later,
                                      self.maintained.later)
                    if each is not None), default=None)

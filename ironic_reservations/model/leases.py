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

"""Leases, as they are read: frozen values, a snapshot of the rows.

The words are those of Blazar, whose clients read them: a lease is a named
window; each of its reservations asks for hosts; a host is a node of Ironic
that an operator has opened to leases.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
import enum

from ironic_reservations.model import facts
from ironic_reservations.model import instance_reservations

PHYSICAL_HOST = 'physical:host'


class LeaseStatus(enum.StrEnum):
    """Where a lease stands."""

    PENDING = 'PENDING'
    STARTING = 'STARTING'
    ACTIVE = 'ACTIVE'
    TERMINATING = 'TERMINATING'
    TERMINATED = 'TERMINATED'
    DELETING = 'DELETING'
    ERROR = 'ERROR'

    @property
    def over(self) -> bool:
        """Return whether nothing is promised any more."""
        return self in (LeaseStatus.TERMINATING, LeaseStatus.TERMINATED,
                        LeaseStatus.DELETING)


class ReservationStatus(enum.StrEnum):
    """Where one reservation of a lease stands."""

    PENDING = 'pending'
    ACTIVE = 'active'
    DELETED = 'deleted'
    ERROR = 'error'


class EventType(enum.StrEnum):
    """What happens to a lease by the clock."""

    START = 'start_lease'
    BEFORE_END = 'before_end_lease'
    END = 'end_lease'


class EventStatus(enum.StrEnum):
    """Whether it has happened."""

    UNDONE = 'UNDONE'
    IN_PROGRESS = 'IN_PROGRESS'
    DONE = 'DONE'
    ERROR = 'ERROR'


class BookingState(enum.StrEnum):
    """Where the promise of one node for a lease stands."""

    #: Not started: it may move to another node.
    PLANNED = 'planned'
    #: Started: it never moves by itself.
    BOUND = 'bound'
    #: Over: its node is being taken back.
    ENDING = 'ending'


@dataclasses.dataclass(frozen=True)
class NodeBooking:
    """One node promised to a reservation of a lease.

    :ivar id: of its row, by which those that start together are ordered; two
        values with the same uuid are not told apart by it.
    :ivar uuid: of its row, given to no other ever; empty before it has one.
    :ivar place: tells the bookings of one reservation apart.
    :ivar lessee: what was written to the node, while it is there.
    :ivar lessee_before: what it stood in for.
    """

    id: int = dataclasses.field(compare=False)
    reservation_id: str
    place: int
    node_uuid: str
    starts_at: datetime.datetime
    ends_at: datetime.datetime
    state: BookingState = BookingState.PLANNED
    lessee: str | None = None
    lessee_before: str | None = None
    project_id: str | None = None
    uuid: str = ''

    @property
    def begun(self) -> bool:
        """Return whether anything has been done about the node in Ironic."""
        return (self.state is not BookingState.PLANNED
                or self.lessee is not None)

    def has_node(self, now: datetime.datetime) -> bool:
        """Return whether the lease has the node at an instant.

        NOTE: one that has not been taken back yet has it still; one whose
        start was cut short may have had something written to it.
        """
        return self.begun or self.starts_at <= now < self.ends_at

    def over(self, now: datetime.datetime) -> bool:
        """Return whether the lease has no claim to the node any more."""
        return self.state is BookingState.ENDING or self.ends_at <= now

    def to_come(self, now: datetime.datetime) -> bool:
        """Return whether the node is promised, and the lease to start."""
        return self.state is BookingState.PLANNED and self.starts_at > now


def of_node(promised: Collection[NodeBooking],
            now: datetime.datetime) -> facts.Leased:
    """Return what leases have of a node, from all that it is promised to."""
    has = [booking for booking in promised if booking.has_node(now)]
    later = min((booking.starts_at for booking in promised
                 if booking.to_come(now)), default=None)
    if not has:
        return facts.Leased(later=later)
    if any(booking.over(now) for booking in has):
        return facts.Leased(True, later=later)
    return facts.Leased(True, has[0].reservation_id, has[0].ends_at, later,
                        has[0].project_id)


@dataclasses.dataclass(frozen=True)
class Event:
    """Something that happens to a lease at an instant."""

    id: str
    type: EventType
    time: datetime.datetime
    status: EventStatus
    created_at: datetime.datetime
    updated_at: datetime.datetime | None = None


@dataclasses.dataclass(frozen=True)
class LeaseReservation:
    """So many hosts or instances, over the window of the lease.

    :ivar least: how many it takes at least (``min`` on the wire).
    :ivar most: and at most (``max``).
    :ivar instances: what is asked of each, where it is of instances; then
        both numbers are their amount.
    :ivar missing_resources: whether it has fewer than it was promised.
    :ivar resources_changed: whether a broken node was replaced.
    """

    id: str
    status: ReservationStatus
    least: int
    most: int
    created_at: datetime.datetime
    resource_id: str
    updated_at: datetime.datetime | None = None
    resource_type: str = PHYSICAL_HOST
    hypervisor_properties: str = ''
    resource_properties: str = ''
    before_end: str = 'default'
    missing_resources: bool = False
    resources_changed: bool = False
    bookings: tuple[NodeBooking, ...] = ()
    instances: instance_reservations.InstanceReservation | None = None


@dataclasses.dataclass(frozen=True)
class Between:
    """Within which a lease may be planned, other than where it is.

    :ivar earliest: it does not start before.
    :ivar latest: it does not end after.
    :ivar fix_before: so many seconds before its planned start it is fixed.
    :ivar fix_at: when that is; ``None``: it is fixed, and its dates do not
        change by themselves any more.
    """

    earliest: datetime.datetime
    latest: datetime.datetime
    fix_before: int
    fix_at: datetime.datetime | None = None

    def fixed_for(self, start: datetime.datetime,
                  now: datetime.datetime) -> Between:
        """Return when it is fixed, where it is planned from an instant on.
        """
        fix_at = start - datetime.timedelta(seconds=self.fix_before)
        return dataclasses.replace(self, fix_at=fix_at if fix_at > now
                                   else None)


@dataclasses.dataclass(frozen=True)
class Queued:
    """That a lease waits for an earlier start than it is planned at.

    :ivar wanted: the start that was asked for.
    :ivar promised: the start at the latest; it only ever moves earlier.
    :ivar priority: a higher one comes first, and of the same the first one
        that came.
    """

    wanted: datetime.datetime
    promised: datetime.datetime
    priority: int = 0


@dataclasses.dataclass(frozen=True)
class Lease:
    """A named window, and what is promised in it.

    :ivar generation: counts the changes; a commit names the one it saw.
    :ivar waiting: what keeps its next step from being done, in a sentence.
    :ivar between: within which it may be planned, where its owner left that
        open; ``None``: its owner set its dates.
    :ivar queued: for what it waits, where it was not to be had when it was
        asked for.
    :ivar extensions: how often it was given a later end since its start.
    """

    id: str
    name: str
    start: datetime.datetime
    end: datetime.datetime
    status: LeaseStatus
    created_at: datetime.datetime
    before_end: datetime.datetime | None = None
    updated_at: datetime.datetime | None = None
    project_id: str | None = None
    user_id: str | None = None
    degraded: bool = False
    generation: int = 1
    waiting: str | None = None
    reservations: tuple[LeaseReservation, ...] = ()
    events: tuple[Event, ...] = ()
    between: Between | None = None
    queued: Queued | None = None
    extensions: int = 0

    @property
    def bookings(self) -> tuple[NodeBooking, ...]:
        """Return every node that is promised."""
        return tuple(booking for reservation in self.reservations
                     for booking in reservation.bookings)

    @property
    def kilobytes(self) -> int:
        """Return about how much memory the lease takes."""
        return 6 + sum(len(each.bookings) for each in self.reservations)

    @property
    def waits(self) -> bool:
        """Return whether it is to start earlier than it is planned."""
        return (self.queued is not None
                and self.status is LeaseStatus.PENDING
                and self.queued.wanted < self.start
                and not any(booking.begun for booking in self.bookings))


@dataclasses.dataclass(frozen=True)
class NamedLease:
    """The name of a lease, whose it is and where it stands.

    :ivar generation: counts the changes.
    """

    id: str
    generation: int
    name: str
    project_id: str | None
    status: LeaseStatus
    degraded: bool


def with_flavors(lease: Lease) -> Lease:
    """Return a lease that tells which flavors its instances are made with."""
    return dataclasses.replace(lease, reservations=tuple(
        each if each.instances is None else dataclasses.replace(
            each, instances=dataclasses.replace(each.instances,
                                                flavor_id=each.id))
        for each in lease.reservations))


@dataclasses.dataclass(frozen=True)
class Host:
    """A node that an operator has opened to leases.

    :ivar id: a number, since the clients take all else for a name.
    :ivar node: as it is mirrored.
    :ivar reservable: whether it is open to new leases.
    :ivar capabilities: what the operator says of it besides.
    :ivar excluded: whether the configuration closes it, whatever the
        operator opened.
    """

    id: int
    node: facts.Node
    created_at: datetime.datetime
    updated_at: datetime.datetime | None = None
    reservable: bool = True
    capabilities: Mapping[str, str] = dataclasses.field(default_factory=dict)
    excluded: bool = False


@dataclasses.dataclass(frozen=True)
class Wish:
    """What one reservation of a new lease asks for.

    :ivar instances: what each has to be like, where it is of instances;
        then ``least`` and ``most`` are their amount.
    :ivar flavor_id: the id or the name of a flavor that Nova is asked for;
        until it has answered, nothing is known of ``instances``.
    """

    least: int
    most: int
    hypervisor_properties: str = ''
    resource_properties: str = ''
    before_end: str = 'default'
    resource_type: str = PHYSICAL_HOST
    instances: instance_reservations.InstanceWish | None = None
    flavor_id: str | None = None


@dataclasses.dataclass(frozen=True)
class Flexible:
    """What a request leaves open of the dates of a lease.

    :ivar latest: the lease does not end after it.
    :ivar duration: how long it lasts.
    :ivar fix_before: so many seconds before its planned start it is fixed;
        ``None``: as the operator has configured it.
    """

    latest: datetime.datetime
    duration: datetime.timedelta
    fix_before: int | None = None


@dataclasses.dataclass(frozen=True)
class LeaseAsk:
    """A request for a lease.

    :ivar start: ``None``: now.
    :ivar flexible: where it may start later than ``start``, and end later
        than ``end`` accordingly.
    :ivar queue: whether it is to be planned later where it would be refused,
        and to wait for an earlier start.
    :ivar priority: of those that wait.
    :ivar before_end: when to tell that the end is near; ``None``: as the
        operator has configured it.
    :ivar key: a client's own name for the request: asked twice, it is
        served once.
    """

    name: str
    end: datetime.datetime
    wishes: tuple[Wish, ...]
    start: datetime.datetime | None = None
    before_end: datetime.datetime | None = None
    project_id: str | None = None
    user_id: str | None = None
    key: str | None = None
    flexible: Flexible | None = None
    queue: bool = False
    priority: int = 0


@dataclasses.dataclass(frozen=True)
class WishChange:
    """What changes for one reservation of a lease; ``None``, nothing.

    :ivar amount: how many instances, where it is of instances.
    :ivar give_back: the nodes that it can do without, by their uuids.
    """

    id: str
    least: int | None = None
    most: int | None = None
    hypervisor_properties: str | None = None
    resource_properties: str | None = None
    give_back: tuple[str, ...] = ()
    amount: int | None = None
    instances: instance_reservations.InstanceChange | None = None


@dataclasses.dataclass(frozen=True)
class OpenDates:
    """What changes of the dates that a lease leaves open; ``None``, nothing.

    :ivar between: it does not start before the first, nor end after the
        second.
    :ivar duration: how long it lasts.
    :ivar fix_before: so many seconds before its planned start it is fixed.
    """

    between: tuple[datetime.datetime, datetime.datetime] | None = None
    duration: datetime.timedelta | None = None
    fix_before: int | None = None


@dataclasses.dataclass(frozen=True)
class LeaseChange:
    """What changes for a lease; ``None``, nothing.

    :ivar heal: whether nodes that broke are to be replaced now.
    :ivar opened: what changes of dates that are left open.
    """

    name: str | None = None
    start: datetime.datetime | None = None
    end: datetime.datetime | None = None
    before_end: datetime.datetime | None = None
    wishes: tuple[WishChange, ...] = ()
    heal: bool = False
    opened: OpenDates | None = None

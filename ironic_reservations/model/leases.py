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

"""Leases, as they are read from rows and requested by clients.

The names are Blazar's: a lease is a named window; each of its reservations
requires hosts or instances; a host is a node of Ironic, or a compute host,
that an operator has opened to leases.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
import enum
import functools

from ironic_reservations.model import instance_reservations
from ironic_reservations.model import instants
from ironic_reservations.model import mirrored_node

PHYSICAL_HOST = 'physical:host'


class LeaseStatus(enum.StrEnum):
    """The status of a lease."""

    PENDING = 'PENDING'
    STARTING = 'STARTING'
    ACTIVE = 'ACTIVE'
    TERMINATING = 'TERMINATING'
    TERMINATED = 'TERMINATED'
    DELETING = 'DELETING'
    ERROR = 'ERROR'

    @property
    def over(self) -> bool:
        """Whether the lease has ended, or is being ended."""
        return self in (LeaseStatus.TERMINATING, LeaseStatus.TERMINATED,
                        LeaseStatus.DELETING)


class ReservationStatus(enum.StrEnum):
    """The status of a lease reservation."""

    PENDING = 'pending'
    ACTIVE = 'active'
    DELETED = 'deleted'
    ERROR = 'error'


class EventType(enum.StrEnum):
    """The kinds of events of a lease."""

    START = 'start_lease'
    BEFORE_END = 'before_end_lease'
    END = 'end_lease'


class EventStatus(enum.StrEnum):
    """The status of an event."""

    UNDONE = 'UNDONE'
    IN_PROGRESS = 'IN_PROGRESS'
    DONE = 'DONE'
    ERROR = 'ERROR'


class BookingState(enum.StrEnum):
    """The state of a booking of a node for a lease."""

    #: Not started: the booking may be moved to another node.
    PLANNED = 'planned'
    #: Started: the booking is not moved.
    BOUND = 'bound'
    #: Over: the node is being put back.
    ENDING = 'ending'


@dataclasses.dataclass(frozen=True)
class NodeBooking:
    """A booking of one node for a lease reservation.

    :ivar id: the id of the row, which orders bookings that start together. It
        is ignored in comparisons.
    :ivar uuid: the uuid of the row, never reused; empty if it has not been
        written.
    :ivar place: distinguishes the bookings of one reservation.
    :ivar lessee: the lessee that was written to the node, as long as the node
        has it.
    :ivar lessee_before: the lessee that it replaced.
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

    # Cached, like the window: the drawing of a host reads all of its bookings
    # each time.
    @functools.cached_property
    def begun(self) -> bool:
        """Whether the start has changed anything about the node in Ironic."""
        return (self.state is not BookingState.PLANNED
                or self.lessee is not None)

    @property
    def ending(self) -> bool:
        """Whether its node is being released."""
        return self.state is BookingState.ENDING

    @functools.cached_property
    def window(self) -> tuple[int, int]:
        """The instants at which the booking starts and ends."""
        return instants.instant(self.starts_at), instants.instant(self.ends_at)

    def has_node(self, now: datetime.datetime) -> bool:
        """Return whether the lease has the node at an instant.

        The lease also has a node that has not been put back yet, and a node
        whose start was interrupted after a write to Ironic.
        """
        return self.begun or self.starts_at <= now < self.ends_at

    def over(self, now: datetime.datetime) -> bool:
        """Return whether the lease has no claim to the node any more."""
        return self.ending or self.ends_at <= now

    def to_come(self, now: datetime.datetime) -> bool:
        """Return whether the booking is in the future."""
        return self.state is BookingState.PLANNED and self.starts_at > now


@dataclasses.dataclass(frozen=True)
class Filter:
    """The properties of leases that a list shows; ``None``: any.

    :ivar node_uuid: the uuid of a node that they have, or on which they are
        planned.
    :ivar ends_after: the instant after which they end.
    :ivar starts_before: the instant before which they start.
    """

    name: str | None = None
    statuses: Collection[str] | None = None
    node_uuid: str | None = None
    ends_after: datetime.datetime | None = None
    starts_before: datetime.datetime | None = None


#: All leases.
ALL = Filter()


@dataclasses.dataclass(frozen=True)
class Event:
    """An event of a lease."""

    id: str
    type: EventType
    time: datetime.datetime
    status: EventStatus
    created_at: datetime.datetime
    updated_at: datetime.datetime | None = None


@dataclasses.dataclass(frozen=True)
class LeaseReservation:
    """A number of hosts or instances, over the window of the lease.

    :ivar least: the minimum number (``min`` in the API).
    :ivar most: the maximum number (``max``).
    :ivar instances: the instance reservation, if instances are reserved; then
        both numbers are their amount.
    :ivar missing_resources: whether it has fewer hosts than promised.
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
    """The open dates of a lease.

    :ivar earliest: the earliest start.
    :ivar latest: the latest end.
    :ivar fix_before: the seconds before the planned start at which the dates
        are fixed.
    :ivar fix_at: the time at which they are fixed; ``None`` if they are fixed
        already.
    """

    earliest: datetime.datetime
    latest: datetime.datetime
    fix_before: int
    fix_at: datetime.datetime | None = None

    def fixed_for(self, start: datetime.datetime,
                  now: datetime.datetime) -> Between:
        """Return the open dates for another planned start."""
        fix_at = start - datetime.timedelta(seconds=self.fix_before)
        return dataclasses.replace(self, fix_at=fix_at if fix_at > now
                                   else None)


@dataclasses.dataclass(frozen=True)
class Queued:
    """The place of a lease in the queue for an earlier start.

    :ivar wanted: the requested start.
    :ivar promised: the latest start, which only becomes earlier.
    :ivar priority: leases with a higher priority come first, then older
        leases.
    """

    wanted: datetime.datetime
    promised: datetime.datetime
    priority: int = 0


@dataclasses.dataclass(frozen=True)
class Lease:
    """A named window with reservations.

    :ivar generation: differs after each change; a commit names the generation
        that was read.
    :ivar waiting: the reason why its next step must wait, in a sentence.
    :ivar between: the open dates; ``None`` if the owner has set the dates.
    :ivar queued: the place in the queue; ``None`` if it was not queued.
    :ivar extensions: the number of extensions since its start.
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
        """All bookings of the lease."""
        return tuple(booking for reservation in self.reservations
                     for booking in reservation.bookings)

    @functools.cached_property
    def documents(self) -> dict[int, str]:
        """A cache of the documents made from this object, by their forms."""
        return {}

    @property
    def puts_back(self) -> bool:
        """Whether it only serves to put back the node of a reservation."""
        return not self.events

    @property
    def kilobytes(self) -> int:
        """The approximate size of the lease in memory, with a document."""
        return 6 + sum(len(each.bookings) for each in self.reservations)

    @property
    def waits(self) -> bool:
        """Whether the lease waits for an earlier start."""
        return (self.queued is not None
                and self.status is LeaseStatus.PENDING
                and self.queued.wanted < self.start
                and not any(booking.begun for booking in self.bookings))


@dataclasses.dataclass(frozen=True)
class NamedLease:
    """The name, project, user and status of a lease.

    :ivar generation: differs after each change.
    """

    id: str
    generation: int
    name: str
    project_id: str | None
    status: LeaseStatus
    degraded: bool
    user_id: str | None = None


def ending(lease: Lease, now: datetime.datetime) -> Lease:
    """Return a lease whose bookings end now.

    A booking that has not begun is gone.
    """
    return dataclasses.replace(lease, reservations=tuple(
        dataclasses.replace(each, bookings=tuple(
            row if row.ending else dataclasses.replace(
                row, state=BookingState.ENDING, ends_at=min(row.ends_at, now))
            for row in each.bookings if row.begun))
        for each in lease.reservations))


def with_flavors(lease: Lease) -> Lease:
    """Return a lease with the private flavors of its instances."""
    return dataclasses.replace(lease, reservations=tuple(
        each if each.instances is None else dataclasses.replace(
            each, instances=dataclasses.replace(each.instances,
                                                flavor_id=each.id))
        for each in lease.reservations))


@dataclasses.dataclass(frozen=True)
class Host:
    """A node that an operator has opened to leases.

    :ivar id: a number, since Blazar's clients treat any other value as a name.
    :ivar node: the node as it is mirrored.
    :ivar reservable: whether the host is open to new leases.
    :ivar capabilities: the capabilities that the operator has set.
    :ivar excluded: whether the configuration closes the host, although the
        operator has opened it.
    """

    id: int
    node: mirrored_node.Node
    created_at: datetime.datetime
    updated_at: datetime.datetime | None = None
    reservable: bool = True
    capabilities: Mapping[str, str] = dataclasses.field(default_factory=dict)
    excluded: bool = False

    @property
    def hypervisor_hostname(self) -> str:
        """The name in Nova: of a node its uuid, of a compute host its name."""
        node = self.node
        return (node.compute and node.name) or node.uuid


@dataclasses.dataclass(frozen=True)
class LeaseReservationRequest:
    """A requested reservation of a new lease.

    :ivar instances: the requested instances, if instances are reserved; then
        ``least`` and ``most`` are their amount.
    :ivar flavor_id: the id or name of a flavor that must be read from Nova;
        until then, ``instances`` is unknown.
    """

    least: int
    most: int
    hypervisor_properties: str = ''
    resource_properties: str = ''
    before_end: str = 'default'
    resource_type: str = PHYSICAL_HOST
    instances: instance_reservations.InstanceRequest | None = None
    flavor_id: str | None = None

    @property
    def flavor_unread(self) -> bool:
        """Whether only Nova knows the flavor that it names."""
        return self.flavor_id is not None and self.instances is None


@dataclasses.dataclass(frozen=True)
class Flexible:
    """The open dates of a requested lease.

    :ivar latest: the latest end.
    :ivar duration: the duration of the lease.
    :ivar fix_before: the seconds before the planned start at which the dates
        are fixed; ``None``: as configured.
    """

    latest: datetime.datetime
    duration: datetime.timedelta
    fix_before: int | None = None


@dataclasses.dataclass(frozen=True)
class LeaseRequest:
    """A request for a lease.

    :ivar start: ``None`` means now.
    :ivar lasts: the duration from the start on, if the request has one instead
        of an end; ``end`` is then the end of a lease that starts at once.
    :ivar flexible: set if the lease may start later than ``start``, and end
        later than ``end`` accordingly.
    :ivar queue: whether the lease is queued instead of refused.
    :ivar priority: the priority in the queue.
    :ivar before_end: the time of the notice before the end; ``None``: as
        configured.
    :ivar before_end_now: whether ``before_end`` was sent as "now", which
        differs between copies of the request.
    :ivar key: the client's idempotency key.
    """

    name: str
    end: datetime.datetime
    reservations: tuple[LeaseReservationRequest, ...]
    start: datetime.datetime | None = None
    before_end: datetime.datetime | None = None
    project_id: str | None = None
    user_id: str | None = None
    key: str | None = None
    flexible: Flexible | None = None
    queue: bool = False
    priority: int = 0
    before_end_now: bool = False
    lasts: datetime.timedelta | None = None


@dataclasses.dataclass(frozen=True)
class LeaseReservationChange:
    """A change of one reservation of a lease; ``None``: unchanged.

    :ivar amount: the number of instances, if instances are reserved.
    :ivar resource_type: the type as some clients repeat it; it cannot be
        changed.
    :ivar give_back: the uuids of nodes that the lease releases.
    """

    id: str
    least: int | None = None
    most: int | None = None
    hypervisor_properties: str | None = None
    resource_properties: str | None = None
    give_back: tuple[str, ...] = ()
    amount: int | None = None
    instances: instance_reservations.InstanceChange | None = None
    before_end: str | None = None
    resource_type: str | None = None


@dataclasses.dataclass(frozen=True)
class OpenDates:
    """A change of the open dates of a lease; ``None``: unchanged.

    :ivar between: the earliest start and the latest end.
    :ivar duration: the duration of the lease.
    :ivar fix_before: the seconds before the planned start at which the dates
        are fixed.
    """

    between: tuple[datetime.datetime, datetime.datetime] | None = None
    duration: datetime.timedelta | None = None
    fix_before: int | None = None


@dataclasses.dataclass(frozen=True)
class LeaseChange:
    """A change of a lease; ``None``: unchanged.

    :ivar heal: whether broken nodes are replaced now.
    :ivar opened: the change of the open dates.
    """

    name: str | None = None
    start: datetime.datetime | None = None
    end: datetime.datetime | None = None
    before_end: datetime.datetime | None = None
    reservations: tuple[LeaseReservationChange, ...] = ()
    heal: bool = False
    opened: OpenDates | None = None

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

"""What the clock has to make of a lease, and what its nodes have to say.

All that is to be done follows from the rows, the clock and what Ironic
shows, so that it does not matter who died between which two steps.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum

from ironic_reservations.model import facts
from ironic_reservations.model import leases
from ironic_reservations.model import node_condition

#: What is said of a node that lacks what a lease asks for.
UNSUITED = 'does not match the properties of the lease any more'

UNDEPLOY = 'undeploy'
LEAVE = 'leave'


class Task(enum.StrEnum):
    """A step that can be taken any number of times."""

    #: Give nodes to the lease, and see that they are ready.
    START = 'start'
    #: Tell that the end is near.
    BEFORE_END = 'before_end'
    #: Let go of all nodes.
    CLOSE = 'close'
    #: Bring nodes back to what they were.
    TAKE_BACK = 'take_back'
    #: Write down that it is over.
    FINISH = 'finish'
    #: See that its nodes stay its own; of every lease, whenever it is looked
    #: at.
    KEEP = 'keep'
    #: Release nodes that nobody deploys; of every lease, likewise.
    NO_SHOW = 'no_show'


def tasks(lease: leases.Lease, now: datetime.datetime) -> tuple[Task, ...]:
    """Return what has to be done for a lease now, in this order."""
    if lease.status in (leases.LeaseStatus.TERMINATED,
                        leases.LeaseStatus.ERROR):
        return ()
    ending = any(booking.state is leases.BookingState.ENDING
                 for booking in lease.bookings)
    if lease.status.over or lease.end <= now:
        if not lease.status.over or any(
                booking.state is not leases.BookingState.ENDING
                for booking in lease.bookings):
            return (Task.CLOSE,)
        return (Task.TAKE_BACK,) if ending else (Task.FINISH,)
    todo = []
    if lease.start <= now and (
            lease.status is not leases.LeaseStatus.ACTIVE
            or starting(lease, now)):
        todo.append(Task.START)
    if is_due(event(lease, leases.EventType.BEFORE_END), now):
        todo.append(Task.BEFORE_END)
    if ending:
        todo.append(Task.TAKE_BACK)
    return tuple(todo)


def starting(lease: leases.Lease,
             now: datetime.datetime) -> tuple[leases.NodeBooking, ...]:
    """Return the nodes that are to be the lease's, and are not yet.

    NOTE: one that was used before anybody came by is bound already, and
    lacks its lessee.
    """
    return tuple(
        booking for booking in lease.bookings
        if booking.starts_at <= now and (
            booking.state is leases.BookingState.PLANNED
            or booking.state is leases.BookingState.BOUND
            and booking.lessee is None and booking.project_id is not None))


def gives_lessee(booking: leases.NodeBooking) -> bool:
    """Return whether the node of a booking has a lessee because of it."""
    return (booking.state is leases.BookingState.BOUND
            and booking.lessee is not None
            and booking.lessee == booking.project_id)


def lacks_lessee(booking: leases.NodeBooking, node: facts.Node) -> bool:
    """Return whether somebody else has written the lessee of a node."""
    return (gives_lessee(booking) and not node.compute
            and node.provision_state != node_condition.GONE
            and node.lessee != booking.lessee)


def event(lease: leases.Lease,
          kind: leases.EventType) -> leases.Event | None:
    """Return one of the events of a lease."""
    return next((each for each in lease.events if each.type is kind), None)


def is_due(each: leases.Event | None, now: datetime.datetime) -> bool:
    """Check whether an event has to happen now.

    NOTE: one that is in progress too: whoever began it may be dead.
    """
    return each is not None and each.time <= now and each.status in (
        leases.EventStatus.UNDONE, leases.EventStatus.IN_PROGRESS)


def next_due(lease: leases.Lease,
             now: datetime.datetime) -> datetime.datetime | None:
    """Return when a lease has to be looked at next.

    :returns: ``None``: never again, unless somebody changes it.
    """
    return now if tasks(lease, now) else next_event(lease, now)


def next_event(lease: leases.Lease,
               now: datetime.datetime) -> datetime.datetime | None:
    """Return when the clock makes something new of a lease."""
    if lease.status.over or lease.status is leases.LeaseStatus.ERROR:
        return None
    told = event(lease, leases.EventType.BEFORE_END)
    times = [lease.start, lease.end,
             *(booking.starts_at for booking in lease.bookings
               if booking.state is leases.BookingState.PLANNED)]
    if told is not None and told.status is not leases.EventStatus.DONE:
        times.append(told.time)
    return min((time for time in times if time > now), default=None)


def backoff(attempts: int, longest: float, chance: float) -> float:
    """Return how many seconds to wait before a step is tried again.

    :param attempts: how often it has been tried in vain.
    :param chance: from 0 to 1, so that not all come back at once.
    """
    return float(min(longest, 2.0 ** min(attempts, 30))) * (1 + chance) / 2


@dataclasses.dataclass(frozen=True)
class AtStart:
    """What to make of a node at the start of a lease.

    :ivar bind: whether it can be the lease's.
    :ivar settled: whether there is nothing to be waited for.
    :ivar why: it is not ready, in words.
    """

    bind: bool
    settled: bool
    why: str | None = None


def at_start(node: facts.Node | None, taken: str | None,
             suits: bool = True) -> AtStart:
    """Look at a node that is to be given to a lease.

    :param node: as Ironic shows it; a compute host as it is mirrored.
    :param taken: by whom else, in words.
    :param suits: whether it is what the lease asks for.
    """
    useless = node_condition.broken(node)
    lacking = has(node, suits)
    if node is None or node.provision_state == node_condition.GONE:
        return AtStart(False, True, useless)
    if node.compute:
        # NOTE: others have what they have of it, and holding a share tells
        # whether there is enough left.
        return AtStart(True, True, lacking)
    if taken is not None:
        return AtStart(False, useless is not None, useless or taken)
    if node_condition.occupied(node):
        # NOTE: never bound, so that what a stranger has there is not
        # undeployed at the end.
        return AtStart(False, True, 'is being used without the lease')
    if useless is not None:
        return AtStart(True, True, useless)
    if node_condition.of(node) is node_condition.Condition.USABLE:
        return AtStart(True, True, lacking)
    return AtStart(True, False, node_condition.in_state(node))


def unready(node: facts.Node | None) -> str | None:
    """Return what is waited for before a node of a lease can be used."""
    if (node is None or node.compute
            or node_condition.broken(node) is not None
            or node.instance_uuid is not None
            or not node_condition.coming(node)):
        return None
    return node_condition.in_state(node)


def has(node: facts.Node | None, suits: bool) -> str | None:
    """Return what is wrong with a node that a lease has, in words, if it is.

    :param suits: whether it is what the lease asks for.
    """
    return node_condition.broken(node) or (None if suits else UNSUITED)


class Act(enum.StrEnum):
    """What to do with a node at the end of a lease."""

    RELEASE = 'release'
    WAIT = 'wait'
    UNDEPLOY = 'undeploy'
    ABORT = 'abort'
    CLEAR = 'clear'


@dataclasses.dataclass(frozen=True)
class AtEnd:
    """What to make of a node at the end of a lease.

    :ivar why: it cannot be released yet, or not as it should be, in words.
    :ivar flag: whether somebody has to look at it.
    """

    act: Act
    why: str | None = None
    flag: bool = False


def at_end(node: facts.Node | None, action: str) -> AtEnd:
    """Look at a node that is to be taken back from a lease.

    :param node: as Ironic shows it.
    :param action: ``undeploy`` or ``leave``.
    """
    if node is None or node.provision_state == node_condition.GONE:
        return AtEnd(Act.RELEASE)
    occupied = node_condition.occupied(node)
    said = node_condition.in_state(node)
    if action == LEAVE:
        return (AtEnd(Act.RELEASE, 'is left deployed', True) if occupied
                else AtEnd(Act.RELEASE))
    if node.provision_state == 'clean failed' or node.maintenance and (
            occupied or node_condition.coming(node)):
        return AtEnd(Act.WAIT, node_condition.broken(node), True)
    if node_condition.undeploys(node):
        return AtEnd(Act.UNDEPLOY, 'is being undeployed',
                     node_condition.broken(node) is not None)
    if node_condition.held(node):
        return AtEnd(Act.ABORT, said)
    if node_condition.passing(node) or node_condition.coming(node):
        return AtEnd(Act.WAIT, said)
    if node.provision_state == node_condition.AVAILABLE and occupied:
        return AtEnd(Act.CLEAR, 'has an instance')
    # NOTE: available, or in the hands of an operator.
    return AtEnd(Act.RELEASE)

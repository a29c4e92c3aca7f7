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

"""Decides the next steps for a lease and its nodes.

The decision depends only on the rows, the clock and the state in Ironic, so a
process can die between any two steps.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum

from ironic_reservations.model import in_flight
from ironic_reservations.model import leases
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition

#: The reason for a node that does not match the requirements of its lease.
UNSUITED = 'does not match the properties of the lease any more'

#: A step that waits for an event without a notification is tried at least once
#: in so many seconds, unless so many leases wait that more than this number
#: would be tried in a second.
_POLLED = 4.0
_RATE = 20

LEAVE = 'leave'
#: This is not an option: it is for a node whose reservation is over.
PUT_BACK = 'put_back'


class Step(enum.StrEnum):
    """A step of a lease; each can be repeated."""

    #: Give nodes to the lease, and check that they are ready.
    START = 'start'
    #: Notify the owner that the end is near.
    BEFORE_END = 'before_end'
    #: End all bookings.
    CLOSE = 'close'
    #: Undeploy the nodes, and restore their lessees.
    TAKE_BACK = 'take_back'
    #: Write that the lease is over.
    FINISH = 'finish'
    #: Check that the nodes still have their lessee; in each pass.
    KEEP = 'keep'


def steps(lease: leases.Lease, now: datetime.datetime) -> tuple[Step, ...]:
    """Return the steps for a lease, in this order."""
    if lease.status in (leases.LeaseStatus.TERMINATED,
                        leases.LeaseStatus.ERROR):
        return ()
    ending = any(booking.ending for booking in lease.bookings)
    if lease.status.over or lease.end <= now:
        if not lease.status.over or not all(
                booking.ending for booking in lease.bookings):
            return (Step.CLOSE,)
        return (Step.TAKE_BACK,) if ending else (Step.FINISH,)
    todo = []
    if lease.start <= now and (
            lease.status is not leases.LeaseStatus.ACTIVE
            or starting(lease, now)):
        todo.append(Step.START)
    if is_due(event(lease, leases.EventType.BEFORE_END), now):
        todo.append(Step.BEFORE_END)
    if ending:
        todo.append(Step.TAKE_BACK)
    return tuple(todo)


def starting(lease: leases.Lease,
             now: datetime.datetime) -> tuple[leases.NodeBooking, ...]:
    """Return the bookings whose nodes the lease does not have yet.

    A node that was deployed before the reconciler's pass is bound already, but
    has no lessee yet.
    """
    return tuple(
        booking for booking in lease.bookings
        if booking.starts_at <= now and (
            booking.state is leases.BookingState.PLANNED
            or booking.state is leases.BookingState.BOUND
            and booking.lessee is None and booking.project_id is not None))


def gives_lessee(booking: leases.NodeBooking) -> bool:
    """Return whether the lessee of a node comes from a booking."""
    return (booking.state is leases.BookingState.BOUND
            and booking.lessee is not None
            and booking.lessee == booking.project_id)


def lacks_lessee(booking: leases.NodeBooking,
                 node: mirrored_node.Node) -> bool:
    """Return whether the lessee of a node has been overwritten."""
    return (gives_lessee(booking) and not node.compute
            and node.provision_state != node_condition.GONE
            and node.lessee != booking.lessee)


def event(lease: leases.Lease,
          kind: leases.EventType) -> leases.Event | None:
    """Return the event of a kind; ``None`` if the lease has no such event."""
    return next((each for each in lease.events if each.type is kind), None)


def is_due(each: leases.Event | None, now: datetime.datetime) -> bool:
    """Return whether an event must be carried out now.

    This includes an event in progress, since the process may have died.
    """
    return each is not None and each.time <= now and each.status in (
        leases.EventStatus.UNDONE, leases.EventStatus.IN_PROGRESS)


def next_due(lease: leases.Lease,
             now: datetime.datetime) -> datetime.datetime | None:
    """Return the time of the next work on a lease.

    :returns: ``None`` if there is none unless the lease is changed.
    """
    return now if steps(lease, now) else next_event(lease, now)


def next_event(lease: leases.Lease,
               now: datetime.datetime) -> datetime.datetime | None:
    """Return the next time at which a lease has a step.

    :returns: ``None`` if there is none unless the lease is changed.
    """
    if lease.status.over or lease.status is leases.LeaseStatus.ERROR:
        return None
    before_end = event(lease, leases.EventType.BEFORE_END)
    times = [lease.start, lease.end,
             *(booking.starts_at for booking in lease.bookings
               if booking.state is leases.BookingState.PLANNED)]
    if (before_end is not None
            and before_end.status is not leases.EventStatus.DONE):
        times.append(before_end.time)
    return min((time for time in times if time > now), default=None)


def backoff(attempts: int, longest: float, chance: float) -> float:
    """Return the pause before a step is retried, in seconds.

    :param attempts: the number of failures.
    :param longest: the upper bound, in seconds.
    :param chance: a random number from 0 to 1, which spreads the retries.
    """
    return float(min(longest, 2.0 ** min(attempts, 30))) * (1 + chance) / 2


def longest_pause(waiting: int, longest: float) -> float:
    """Return the longest pause before a step that is polled, in seconds.

    :param waiting: the number of waiting leases, or a larger one.
    :param longest: the upper bound, in seconds.
    """
    return min(longest, max(_POLLED, waiting / _RATE))


@dataclasses.dataclass(frozen=True)
class AtStart:
    """The next step for a node at the start of a lease.

    :ivar bind: whether the lease gets the node now.
    :ivar settled: whether nothing remains to wait for.
    :ivar why: the reason why it is not ready, in words.
    """

    bind: bool
    settled: bool
    why: str | None = None


def at_start(node: mirrored_node.Node | None, taken: str | None,
             suits: bool = True, returning: bool = False) -> AtStart:
    """Decide the next step for a node at the start of a lease.

    :param node: the node as Ironic shows it; a compute host as it is mirrored.
    :param taken: the other holder of the node, in words.
    :param suits: whether the node matches the requirements of the lease.
    :param returning: whether the node is being put back after a previous
        lease.
    """
    useless = node_condition.broken(node)
    if (returning and node is not None and not node.maintenance
            and node.provision_state == node_condition.MANAGEABLE):
        # The node is about to be cleaned; the return leaves it in this state
        # only for an operator.
        useless = None
    lacking = has(node, suits)
    if node is None or node.provision_state == node_condition.GONE:
        return AtStart(False, True, useless)
    if node.compute:
        # Others may use a part of it; writing the hold shows whether enough is
        # left.
        return AtStart(True, True, lacking)
    if taken is not None:
        return AtStart(False, useless is not None, useless or taken)
    if node_condition.occupied(node):
        # The node is not bound, so that another holder's instance is not
        # undeployed at the end.
        return AtStart(False, True, 'is being used without the lease')
    if useless is not None:
        return AtStart(True, True, useless)
    if node_condition.of(node) is node_condition.Condition.USABLE:
        return AtStart(True, True, lacking)
    return AtStart(True, False, node_condition.in_state(node))


def unready(node: mirrored_node.Node | None) -> str | None:
    """Return why a node of a lease cannot be used yet, ``None`` if it can.

    A broken node is not waited for.
    """
    if (node is None or node.compute
            or node_condition.broken(node) is not None
            or node.instance_uuid is not None
            or not node_condition.coming(node)):
        return None
    return node_condition.in_state(node)


def has(node: mirrored_node.Node | None, suits: bool) -> str | None:
    """Return the fault of a node of a lease, in words.

    :param suits: whether the node matches the requirements of the lease.
    :returns: ``None`` if the node has no fault.
    """
    return node_condition.broken(node) or (None if suits else UNSUITED)


class NoAct(enum.StrEnum):
    """The next step for a node at the end of a lease, if it is no request."""

    RELEASE = 'release'
    WAIT = 'wait'
    #: Read the node again at once.
    AGAIN = 'again'


@dataclasses.dataclass(frozen=True)
class AtEnd:
    """The next step for a node at the end of a lease.

    :ivar why: the reason why it cannot be released yet, or not properly, in
        words.
    :ivar flag: whether an operator must check the node.
    :ivar until: the latest end of the wait, if known.
    """

    act: in_flight.Act | NoAct
    why: str | None = None
    flag: bool = False
    until: datetime.datetime | None = None


def at_end(node: mirrored_node.Node | None, action: str) -> AtEnd:
    """Decide the next step for a node at the end of a lease.

    :param node: the node as Ironic shows it.
    :param action: ``undeploy``, ``leave`` or ``put_back``.
    """
    if node is None or node.provision_state == node_condition.GONE:
        return AtEnd(NoAct.RELEASE)
    occupied = node_condition.occupied(node)
    said = node_condition.in_state(node)
    if action == LEAVE:
        return (AtEnd(NoAct.RELEASE, 'is left deployed', True) if occupied
                else AtEnd(NoAct.RELEASE))
    if action == PUT_BACK and occupied:
        return AtEnd(NoAct.WAIT, 'is put back when it is undeployed',
                     node_condition.broken(node) is not None)
    failed = node.provision_state == node_condition.CLEAN_FAILED
    if failed or node.maintenance and (occupied
                                       or node_condition.coming(node)):
        return AtEnd(NoAct.WAIT, node_condition.broken(node), True)
    if node_condition.undeploys(node):
        return AtEnd(in_flight.Act.UNDEPLOY, 'is being undeployed',
                     node_condition.broken(node) is not None)
    if node_condition.held(node):
        return AtEnd(in_flight.Act.ABORT, said)
    if node_condition.passing(node) or node_condition.coming(node):
        return AtEnd(NoAct.WAIT, said)
    if node.provision_state == node_condition.AVAILABLE and occupied:
        return AtEnd(in_flight.Act.CLEAR_INSTANCE, 'has an instance')
    # The node is available, or an operator works on it.
    return AtEnd(NoAct.RELEASE)

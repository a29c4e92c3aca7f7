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

"""The context of the steps of one worker on one lease."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
from typing import Any
from typing import TypeVar

from ironic_reservations import errors
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import change
from ironic_reservations.engine import Engine
from ironic_reservations.engine import feature
from ironic_reservations.engine import seen
from ironic_reservations.engine.in_flight import tickets
from ironic_reservations.lifecycle import correction as steps
from ironic_reservations.lifecycle import lease_cycle
from ironic_reservations.model import in_flight
from ironic_reservations.model import leases
from ironic_reservations.model import mirrored_node

_Key = TypeVar('_Key')
_Value = TypeVar('_Value')

#: The number of nodes that a sentence names.
_NAMED = 3
#: The number of characters for each of them: users may have written most of
#: these, and MariaDB stores 64 KiB.
_LONGEST = 1000
_BEFORE = ' Before that: '


class Lost(Exception):
    """The lease has another worker by now."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The outcome of a step.

    :ivar changed: whether the step has changed the lease, so that the next one
        has to read it again.
    :ivar waits: the obstacles that the step waits for, in words.
    :ivar lease: the lease as it was written; ``None``: it has to be read.
    :ivar closer: whether the step has made progress, so that the next attempt
        comes soon.
    :ivar until: the earliest end of an obstacle, if known.
    :ivar polled: whether an obstacle may end without making the lease due, so
        that the step has to be tried often.
    :ivar unsure: whether an obstacle is the unknown outcome of a request; its
        cause is in the sentence that was shown before.
    """

    changed: bool = False
    waits: tuple[str, ...] = ()
    lease: leases.Lease | None = None
    closer: bool = True
    until: datetime.datetime | None = None
    polled: bool = False
    unsure: bool = False

    def after(self, earlier: Outcome) -> Outcome:
        """Return this outcome with the obstacles of earlier steps."""
        ends = [each for each in (earlier.until, self.until)
                if each is not None]
        return dataclasses.replace(
            self, waits=(*earlier.waits, *self.waits),
            until=min(ends, default=None),
            polled=earlier.polled or self.polled,
            unsure=earlier.unsure or self.unsure)


@dataclasses.dataclass(frozen=True)
class Unready:
    """A node that a feature cannot use for a lease now.

    :ivar why: the reason in words.
    :ivar elsewhere: whether another node should be tried.
    """

    why: str
    elsewhere: bool = False


@dataclasses.dataclass
class Context:
    """The context of all steps on one lease, until its claim is released.

    :ivar due_at: the time at which the lease was due when it was claimed.
    :ivar holds: returns whether this worker still has the lease.
    :ivar claimed_by: the claim on the lease, as in its row.
    :ivar attempts: how often in a row the lease had to wait before.
    :ivar searched: the bookings, with their nodes, for which another node was
        searched.
    :ivar memory: the memory of features between the steps.
    """

    engine: Engine
    lease_id: str
    due_at: datetime.datetime
    holds: Callable[[], bool]
    claimed_by: str = ''
    attempts: int = 0
    searched: set[tuple[int, str]] = dataclasses.field(
        default_factory=set)
    memory: feature.Memory = dataclasses.field(default_factory=dict)
    #: How many nodes in a row Ironic has failed to show; it counts as having
    #: failed before until it has shown one.
    _not_shown: int = 1
    #: The errors of silent conductors, by name; ``None``: of all conductors.
    _silent: dict[str | None, str] = dataclasses.field(default_factory=dict)

    def ask(self, question: Callable[[feature.Feature], Mapping[_Key, _Value]]
            ) -> dict[_Key, _Value]:
        """Ask each feature, and return all their answers."""
        return {key: value for each in self.engine.features
                for key, value in question(each).items()}

    def in_turn(self, bookings: Sequence[leases.NodeBooking]
                ) -> Sequence[leases.NodeBooking]:
        """Return bookings, with another one first at each attempt.

        A step asks no further if Ironic seems to be down; a node that it
        always fails to show must not keep the others.
        """
        first = self.attempts % max(len(bookings), 1)
        return (*bookings[first:], *bookings[:first])

    @property
    def ironic(self) -> ironic_client.Ironic:
        """The client of Ironic, while this worker has the lease.

        :raises Lost: another worker has the lease.
        """
        if not self.holds():
            raise Lost(self.lease_id)
        if self.engine.ironic is None:
            raise errors.IronicUnavailable('There is no Ironic.')
        return self.engine.ironic

    def node(self, uuid: str) -> mirrored_node.Node | None:
        """Return a node as Ironic shows it.

        :raises IronicUnavailable: Ironic fails to show it.
        :raises Lost: another worker has the lease.
        """
        try:
            node = self.ironic.node(uuid)
        except errors.IronicUnavailable:
            self._not_shown += 1
            raise
        self._not_shown = 0
        return node

    @property
    def seems_down(self) -> bool:
        """Return whether other nodes would run into the same time-out."""
        return self._not_shown > 1

    def write_lessee(self, booking: leases.NodeBooking,
                     lessee: str | None) -> None:
        """Write the lessee of the node of a booking, unless it is too late.

        :param booking: the booking as in its row.
        :raises Conflict: the lease or its booking has changed.
        :raises IronicUnavailable: the conductor of the node does not answer.
        :raises Lost: another worker has the lease.
        :raises Refused: the node cannot be changed now.
        """
        ironic = self.ironic
        self._send(booking, in_flight.Act.LESSEE,
                   lambda token: ironic.write_lessee(booking.node_uuid,
                                                     lessee, token))

    def change(self, booking: leases.NodeBooking,
               act: in_flight.Act) -> None:
        """Send an act that frees the node of a booking, unless it is too late.

        :param booking: the booking as in its row.
        :raises Conflict: the lease or its booking has changed.
        :raises IronicUnavailable: the conductor of the node does not answer.
        :raises Lost: another worker has the lease.
        :raises Refused: the state of the node does not allow it.
        """
        ironic = self.ironic
        call = {in_flight.Act.UNDEPLOY: ironic.undeploy,
                in_flight.Act.ABORT: ironic.abort,
                in_flight.Act.MANAGE: ironic.manage,
                in_flight.Act.PROVIDE: ironic.provide,
                in_flight.Act.CLEAR_INSTANCE: ironic.clear_instance}[act]
        self._send(booking, act,
                   lambda token: call(booking.node_uuid, token))

    def put_back(self, booking: leases.NodeBooking,
                 correction: steps.Correction) -> None:
        """Send a correction of the node of a booking, unless it is too late.

        :param booking: the booking as in its row.
        :raises Conflict: the lease or its booking has changed.
        :raises IronicUnavailable: the conductor of the node does not answer.
        :raises Lost: another worker has the lease.
        :raises Refused: Ironic refuses the correction now.
        """
        ironic = self.ironic
        self._send(booking, correction.act,
                   lambda token: ironic.put_back(
                       booking.node_uuid, correction.method, correction.path,
                       correction.body, token))

    def _send(self, booking: leases.NodeBooking, act: in_flight.Act,
              call: Callable[[str], None]) -> None:
        self._check_conductor(booking.node_uuid)
        try:
            tickets.send(self.engine, tickets.issue(
                self.engine, self.lease_id, self.claimed_by, booking, act),
                call)
        except errors.IronicUnavailable as exc:
            self._silent[self._conductor_of(booking.node_uuid)] = str(exc)
            raise

    def _check_conductor(self, node_uuid: str) -> None:
        """Check that the conductor of a node has answered so far.

        A silent conductor is asked once, not once for each node: each question
        waits for the whole RPC time-out.

        :raises IronicUnavailable: the conductor has not answered.
        """
        if self._silent:
            why = self._silent.get(
                None if None in self._silent
                else self._conductor_of(node_uuid))
            if why is not None:
                raise errors.IronicUnavailable(why)

    def _conductor_of(self, node_uuid: str) -> str | None:
        """Return the conductor of a node, or ``None`` if it is unknown."""
        try:
            return self.ironic.conductor_of(node_uuid)
        except errors.IronicUnavailable:
            return None

    def read(self) -> leases.Lease | None:
        """Read the current state of the lease."""
        with self.engine.database.snapshot() as connection:
            return db_leases.read_one(connection, self.lease_id)

    def commit(self, before: leases.Lease, after: leases.Lease | None,
               nodes: seen.Seen, now: datetime.datetime,
               reason: str | None = None, **more: Any) -> leases.Lease:
        """Commit a step: the lease as it was read, and as it will be.

        :param nodes: the generations of the nodes whose bookings differ.
        :param now: the time of the decision.
        :param reason: a sentence for the owner, where the lease is broken.
        :param more: other parts of the change.
        :returns: the lease as it has been written.
        :raises Conflict: the lease or one of its nodes has changed.
        """
        step = change.Change(
            now, nodes, [change.Write(before, after, change.Cause.STEP,
                                      self.due_at, reason)], **more)
        if not change.carry_out_once(self.engine, step, self.memory):
            raise db_connection.Conflict(
                'the lease, or one of its nodes, has changed meanwhile')
        return before if after is None else dataclasses.replace(
            after, generation=step.lease_generations.get(
                after.id, after.generation))


def with_bookings(lease: leases.Lease,
                  bookings: Mapping[leases.NodeBooking,
                                    leases.NodeBooking | None]
                  ) -> leases.Lease:
    """Return a lease with some of its bookings replaced.

    :param bookings: the new bookings, by the bookings as they were read;
        ``None``: the booking is gone.
    """
    return dataclasses.replace(lease, reservations=tuple(
        dataclasses.replace(each, bookings=tuple(
            kept for booking in each.bookings
            if (kept := bookings.get(booking, booking)) is not None))
        for each in lease.reservations))


def with_event(lease: leases.Lease, kind: leases.EventType,
               status: leases.EventStatus,
               now: datetime.datetime) -> leases.Lease:
    """Return a lease with the status of an event changed."""
    return dataclasses.replace(lease, events=tuple(
        dataclasses.replace(event, status=status, updated_at=now)
        if event.type is kind and event.status is not status else event
        for event in lease.events))


def undone(lease: leases.Lease, kind: leases.EventType) -> bool:
    """Return whether an event is neither done nor failed."""
    event = lease_cycle.event(lease, kind)
    return event is not None and event.status in (
        leases.EventStatus.UNDONE, leases.EventStatus.IN_PROGRESS)


def about(node: mirrored_node.Node | None, uuid: str, why: str) -> str:
    """Return a sentence about a node, with its name."""
    return f'node {node.name if node and node.name else uuid} {why}'


def with_cause(text: str, before: str | None) -> str:
    """Return a sentence about an unknown outcome, with its earlier cause.

    :param before: the sentence that was shown before, which may contain an
        earlier cause.
    """
    cause = None if before is None else before.rpartition(_BEFORE)[2]
    return text if cause in (None, text) else f'{text}{_BEFORE}{cause}'


def sentence(waits: Sequence[str]) -> str | None:
    """Return one sentence about all obstacles."""
    if not waits:
        return None
    told = '; '.join(each if len(each) <= _LONGEST else
                     f'{each[:_LONGEST]}...' for each in waits[:_NAMED])
    if len(waits) > _NAMED:
        told += f'; and {len(waits) - _NAMED} more'
    return f'{told[:1].upper()}{told[1:].rstrip(".")}.'

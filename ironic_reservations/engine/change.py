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

"""A change of the timeline: planned, committed in one transaction, announced.

A use case plans a :class:`Change`: pairs of leases, reservations and nodes in
windows, as they were read and as they will be.  :func:`carry_out` commits it,
plans again after a conflict, and finds a COMMIT that was not answered.  The
statements, their conditions, the snapshot, and the shares of the features
follow from the pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import datetime
import enum
from typing import Any
from typing import cast
from typing import Generic
from typing import TypeVar
import uuid as uuid_module

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import changes as db_changes
from ironic_reservations.db import claims as db_claims
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import histories as db_histories
from ironic_reservations.db import lease_flags as db_lease_flags
from ironic_reservations.db import leases as db_leases
from ironic_reservations.db import node_windows as db_windows
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine import announce
from ironic_reservations.engine import earlier
from ironic_reservations.engine import Engine
from ironic_reservations.engine import feature as feature_module
from ironic_reservations.engine import retry
from ironic_reservations.engine import seen as seen_module
from ironic_reservations.engine import snapshots
from ironic_reservations.model import leases
from ironic_reservations.model import node_reservation
from ironic_reservations.model import node_window

_A = TypeVar('_A')
_T = TypeVar('_T')


class Cause(enum.Enum):
    """The reasons for writing a lease, a reservation or a node in a window."""

    REQUESTED = 'requested'
    ENDED = 'ended'
    #: Its dates are open, and it makes room for another lease.
    SLID = 'slid'
    #: It lacks nodes that it was promised, or has all of them again.
    FLAGGED = 'flagged'
    #: Its dates were open, and are not any more.
    FIXED = 'fixed'
    #: It has left the queue for an earlier start.
    MOVED_EARLIER = 'moved_earlier'
    #: It is over without a request: its end has passed, or its node is free.
    OVER = 'over'
    #: The reconciler takes a step at its start or its end.
    STEP = 'step'
    #: A request to Ironic uses the node.
    USED = 'used'
    #: Ironic shows that the node is used.
    SEEN_USED = 'seen_used'
    #: Its reservation is over, and its node still has to be put back.
    PUT_BACK = 'put_back'


@dataclasses.dataclass(frozen=True)
class Write(Generic[_A]):
    """A lease with its bookings, a reservation, or a node in a window.

    It contains the value as it was read, and as it will be written.

    :ivar before: ``None``: it is made.
    :ivar after: ``None``: it is deleted.
    :ivar due_at: the time at which the reconciler has to work on it next.
    :ivar reason: for causes with several reasons: a sentence for the owner of
        a lease, or a word for notifications about a reservation.
    """

    before: _A | None
    after: _A | None
    cause: Cause = Cause.REQUESTED
    due_at: datetime.datetime | None = None
    reason: str | None = None


@dataclasses.dataclass(frozen=True)
class Rehoused:
    """Bookings that have moved from hosts on which they could not start.

    :ivar reservation_ids: the ids of their lease reservations.
    """

    reservation_ids: frozenset[str]


@dataclasses.dataclass(frozen=True)
class Used:
    """A node that Ironic has deployed, or may have deployed.

    :ivar lasts: whether it is still deployed.
    """

    node_uuid: str
    lasts: bool


@dataclasses.dataclass(frozen=True)
class NodeGone:
    """A node that Ironic no longer has and the mirror has deleted.

    :ivar seen_at: a time before Ironic was asked.
    """

    node_uuid: str
    seen_at: datetime.datetime


@dataclasses.dataclass(frozen=True)
class Unused:
    """Bookings that end because their nodes have not been deployed."""

    lease: leases.Lease
    bookings: Collection[leases.NodeBooking]


@dataclasses.dataclass(frozen=True)
class Concern:
    """A lease whose owner gets a notice although the lease does not change.

    :ivar word: the reason, in notices and notifications.
    :ivar text: a sentence for the owner.
    :ivar occurrence: distinguishes notices of the same lease and reason;
        ``None``: the occurrence of the change does.
    :ivar details: further fields of the notice.
    :ivar notified: the name and the lease of the notification; ``None``: an
        update of the lease, for the reason.
    :ivar most_a_day: the maximum number of notices for the reason about the
        lease in a day; ``None``: there is none.
    """

    lease: leases.Lease
    word: str
    text: str
    occurrence: str | None = None
    details: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    notified: tuple[str, leases.Lease] | None = None
    most_a_day: int | None = None


@dataclasses.dataclass
class Change:
    """The changes that one attempt of a request makes.

    :ivar planned_at: the time of the decision.
    :ivar seen: the nodes whose bookings change, with the generations that the
        plan rests on.
    :ivar writes: the write that the request is for, then all others.
    :ivar snapshot: the snapshot that the plan rests on, if any.
    :ivar homes: the new nodes of the bookings of others that move, by the
        booking as it was read.
    :ivar lost: the bookings of others that lose their node without getting
        another.
    :ivar subject: the id of the lease, or the uuid of the reservation, that
        the request is for.
    :ivar given: values that came with the request for features.
    :ivar first: checks in the transaction, before the rows are written.
    :ivar statements: writes of rows that belong to no lease.
    :ivar opaque: whether the statements change values of the nodes that the
        snapshot contains.
    :ivar let_through: a node, and the token of the request to Ironic that is
        let through to it.
    :ivar events: further events for the features.
    :ivar locks: the kinds and projects of limits, to be locked first.
    :ivar valid_until: the instant from which the decision would be wrong.
    :ivar parts: the shares of the features, filled by :func:`commit`.
    :ivar row_ids: the ids of the rows of reservations, by uuid; the ids of
        inserted rows are added.
    :ivar lease_generations: the generations that leases get, by id; added when
        they are written.
    :ivar undone: whether the first write was undone after the commit.
    :ivar id: the id of the request, the same in all attempts.
    :ivar occurrence: the id of this attempt; no other attempt has it, not even
        in a lost history.
    """

    planned_at: datetime.datetime
    seen: seen_module.Seen = dataclasses.field(
        default_factory=seen_module.Seen)
    writes: Sequence[Write[leases.Lease]
                     | Write[node_reservation.Reservation]
                     | Write[node_window.NodeWindow]] = ()
    snapshot: snapshots.Snapshot | None = None
    subject: str = ''
    given: Sequence[object] = ()
    homes: Mapping[leases.NodeBooking, str] = dataclasses.field(
        default_factory=dict)
    lost: Sequence[leases.NodeBooking] = ()
    first: list[Callable[[sa.Connection], None]] = dataclasses.field(
        default_factory=list)
    statements: list[Callable[[sa.Connection], None]] = dataclasses.field(
        default_factory=list)
    opaque: bool = False
    let_through: tuple[str, str] | None = None
    events: Sequence[Rehoused | Concern | Used | NodeGone | Unused] = ()
    locks: set[tuple[str, str | None]] = dataclasses.field(
        default_factory=set)
    valid_until: datetime.datetime | None = None
    parts: list[feature_module.Part] = dataclasses.field(
        default_factory=list)
    row_ids: dict[str, int] = dataclasses.field(default_factory=dict)
    lease_generations: dict[str, int] = dataclasses.field(
        default_factory=dict)
    undone: bool = False
    id: str | None = None
    occurrence: str = dataclasses.field(
        default_factory=lambda: str(uuid_module.uuid4()))

    @property
    def of_leases(self) -> list[Write[leases.Lease]]:
        """The writes of leases, except leases that only put a node back."""
        return [write for write in self.all_of_leases
                if write.cause is not Cause.PUT_BACK]

    @property
    def all_of_leases(self) -> list[Write[leases.Lease]]:
        """The writes of all leases."""
        return self._of(leases.Lease)

    @property
    def of_reservations(self) -> list[Write[node_reservation.Reservation]]:
        """The writes of reservations."""
        return self._of(node_reservation.Reservation)

    @property
    def of_windows(self) -> list[Write[node_window.NodeWindow]]:
        """The writes of nodes in maintenance windows."""
        return self._of(node_window.NodeWindow)

    def _of(self, kind: type[_T]) -> list[Write[_T]]:
        return [cast(Write[_T], write) for write in self.writes
                if isinstance(write.after or write.before, kind)]

    @property
    def kinds(self) -> set[object]:
        """The causes, and the types of the writes, events and given values.

        Bookings are among them if they lose their nodes.
        """
        return {*(write.cause for write in self.writes),
                *(type(write.after or write.before) for write in self.writes),
                *map(type, self.events), *map(type, self.given),
                *map(type, self.lost)}

    def concerned(self, features: Iterable[feature_module.Feature]
                  ) -> Iterator[feature_module.Feature]:
        """Yield the features that the change concerns.

        Each of them may add events, which can concern the next ones.
        """
        for each in features:
            if each.concerns is None or not self.kinds.isdisjoint(
                    each.concerns):
                yield each

    def given_of(self, kind: type[_T]) -> _T | None:
        """Return the value of a type that came with the request."""
        return next((each for each in self.given if isinstance(each, kind)),
                    None)

    def wrong_from(self, *instants: datetime.datetime | None) -> None:
        """Refuse to commit the change from the first of these instants on."""
        self.valid_until = min(
            (each for each in (self.valid_until, *instants)
             if each is not None), default=None)

    def wrong_after(self, instant: datetime.datetime) -> None:
        """Refuse to commit the change after this instant."""
        self.wrong_from(instant + datetime.datetime.resolution)


def expired(row: node_reservation.Reservation
            ) -> Write[node_reservation.Reservation]:
    """Return the write that deletes a reservation whose end has passed."""
    return Write(row, None, Cause.OVER, reason=announce.EXPIRED)


def is_over_at_once(write: Write[leases.Lease]) -> bool:
    """Return whether a request deletes a lease that was not over."""
    return (write.after is None and write.before is not None
            and write.cause is not Cause.STEP
            and write.before.status is not leases.LeaseStatus.TERMINATED)


def is_fixed_ahead(change: Change, write: Write[leases.Lease]) -> bool:
    """Return whether a write fixes the dates of a lease before its start."""
    after = write.after
    return (write.cause is Cause.FIXED and after is not None
            and after.status is leases.LeaseStatus.PENDING
            and change.planned_at < after.start)


def is_done(write: Write[leases.Lease], kind: leases.EventType) -> bool:
    """Return whether a step completes an event of a lease."""
    return (write.cause is Cause.STEP and write.before is not None
            and write.after is not None and any(
                event.type is kind and event.status is leases.EventStatus.DONE
                for event in write.after.events) and not any(
                event.type is kind and event.status is leases.EventStatus.DONE
                for event in write.before.events))


def is_over(write: Write[leases.Lease]) -> bool:
    """Return whether a write is the last step of a lease."""
    return (write.cause is Cause.STEP and write.before is not None
            and not write.before.puts_back
            and (write.after is None or write.after.status
                 is leases.LeaseStatus.TERMINATED))


def slid(writes: Iterable[Write[Any]]
         ) -> list[tuple[leases.Lease, leases.Lease]]:
    """Return the leases that get other dates: as read, and as written."""
    return [(write.before, write.after) for write in writes
            if write.cause is Cause.SLID and write.before and write.after]


def gone(change: Change) -> Iterator[tuple[leases.Lease,
                                           list[leases.NodeBooking]]]:
    """Yield leases with the bookings that are deleted."""
    for write in change.all_of_leases:
        if write.cause is Cause.STEP and write.before is not None:
            left = set() if write.after is None else {
                row.uuid for row in write.after.bookings}
            yield write.before, [row for row in write.before.bookings
                                 if row.uuid not in left]


def is_broken(write: Write[leases.Lease]) -> bool:
    """Return whether a lease loses nodes by a write."""
    return (write.cause in (Cause.FLAGGED, Cause.STEP)
            and write.before is not None
            and write.after is not None and write.after.degraded
            and not write.before.degraded)


def ended(change: Change, write: Write[leases.Lease]) -> leases.Lease:
    """Return the lease that a change ends, as notifications show it."""
    lease = write.after or write.before
    assert lease is not None
    return dataclasses.replace(lease, status=leases.LeaseStatus.DELETING,
                               updated_at=change.planned_at)


@dataclasses.dataclass(frozen=True)
class Planned(Generic[_T]):
    """The result of a request, and the change that leads to it.

    :ivar change: ``None``: nothing has to be changed.
    """

    result: _T
    change: Change | None = None


def carry_out(engine: Engine, plan: Callable[[], Planned[_T]], *,
              dry_run: bool = False,
              refused: Callable[[errors.ReservationError], None]
              = lambda exc: None,
              rename: Callable[[], None] = lambda: None,
              memory: feature_module.Memory | None = None,
              once: bool = False) -> _T:
    """Plan a change and commit it; repeat that after a conflict.

    :param plan: reads, decides, and returns a result with its change.
    :param dry_run: do everything but commit.
    :param refused: called before a refusal is raised; may raise ``Conflict``,
        so that the request is planned again.
    :param rename: chooses other ids for the rows that the request makes;
        called before the plan that follows a COMMIT with an unknown outcome. A
        lost history may have contained the rows, and clients may have got
        these ids.
    :param memory: the memory of features, if it outlasts this request.
    :param once: whether the change is planned only once: if its COMMIT was
        lost and is not found, the outcome is unknown.
    :raises Contention: other requests changed the same nodes at each attempt.
    :raises OutcomeUnknown: the request may or may not have been carried out.
    :raises Obstacle: a feature cannot use a node.
    :raises ReservationError: as the plan and the features do.
    """
    ident = str(uuid_module.uuid4())
    memory = {} if memory is None else memory
    unsure: list[Planned[_T]] = []

    def committed() -> Planned[_T] | None:
        with engine.database.read() as connection:
            found = db_changes.has(connection, ident)
        return unsure[-1] if unsure and found else None

    def attempt() -> Planned[_T]:
        planned = None
        try:
            if unsure:
                rename()
            planned = plan()
            if planned.change is not None:
                for each in planned.change.concerned(engine.hooks['before']):
                    each.before(engine, planned.change, memory)
                if not dry_run:
                    planned.change.id = ident
                    commit(engine, planned.change)
        except errors.OutcomeUnknown:
            if planned is not None:
                unsure.append(planned)
            raise
        except db_histories.Elsewhere:
            # This writes that all nodes are uncertain.
            engine.snapshot(engine.clock())
            raise
        except errors.DatabaseUnavailable:
            raise
        except errors.ReservationError as exc:
            # A COMMIT of this request may be the reason of the refusal.
            if unsure and (found := committed()) is not None:
                return found
            refused(exc)
            raise
        if unsure and planned.change is None:
            if (found := committed()) is not None:
                return found
            if once:
                raise errors.OutcomeUnknown
        return planned

    done = retry.until_committed(attempt, committed)
    if done.change is not None and not dry_run:
        with retry.committed():
            _follow(done.change)
    return done.result


def carry_out_once(engine: Engine, change: Change,
                   memory: feature_module.Memory | None = None) -> bool:
    """Commit a change, but do not plan again after a conflict.

    A COMMIT that was not answered is found by the id of the request.

    :param memory: see :func:`carry_out`.
    :returns: whether it was committed.
    :raises OutcomeUnknown: it is not known whether it was committed.
    """
    attempts = iter([change])

    def plan() -> Planned[bool]:
        planned = next(attempts, None)
        return Planned(planned is not None, planned)
    return carry_out(engine, plan, memory=memory, once=True)


def _follow(change: Change) -> None:
    """Call the features after the commit.

    The notifications are sent even if a feature has undone the request, since
    other leases may have changed with it.
    """
    with contextlib.ExitStack() as following:
        # Each is called, whatever becomes of the others.
        for part in reversed(change.parts):
            following.callback(part.committed)
        try:
            for part in change.parts:
                part.confirm()
        except BaseException:
            change.undone = True
            raise


def commit(engine: Engine, change: Change) -> None:
    """Write a change in one transaction, with the shares of all features.

    :raises Conflict: the rows behind the plan have changed, or the plan has
        become wrong with the time.
    :raises OutcomeUnknown: the change may or may not have been committed.
    """
    now, raised = change.planned_at, change.seen
    change.wrong_from(*(row.starts_at for row
                        in (*change.homes, *change.lost)
                        if row.starts_at > now))
    change.parts = [part for each in change.concerned(engine.hooks['join'])
                    if (part := each.join(engine, change)) is not None]
    with engine.snapshots.committing(raised):
        with engine.database.write() as connection:
            for kind in sorted({kind for kind, _ in change.locks}):
                db_claims.lock_projects(connection, kind, {
                    project for each, project in change.locks
                    if each == kind}, now)
            seen_module.advance(connection, raised, now,
                                change.let_through, change.id)
            if change.homes:
                db_bookings.move(connection, change.homes, now)
            if change.lost:
                db_lease_flags.degrade(connection, change.lost, now)
            for check in change.first:
                check(connection)
            if reserved := change.of_reservations:
                change.row_ids.update(db_reservations.write(
                    connection, [(write.before, write.after)
                                 for write in reserved], now))
            key = _key_of(change)
            for write in change.all_of_leases:
                generation = db_leases.write(connection, write.before,
                                             write.after, now, write.due_at,
                                             key)
                if generation and write.after is not None:
                    change.lease_generations[write.after.id] = generation
            for statement in change.statements:
                statement(connection)
            # They refer to the rows of their windows.
            if windows := change.of_windows:
                db_windows.write(connection, [
                    (write.before, write.after) for write in windows
                    if write.after is not None], now)
            for part in change.parts:
                part.write(connection)
            if change.valid_until is not None and (
                    change.valid_until <= engine.clock()):
                raise db_connection.Conflict(
                    f'since {change.valid_until} it would be wrong')
        engine.snapshots.wrote(raised)
        # Other values are read again when they are needed.
        if not (change.opaque or change.of_reservations or change.of_windows
                or raised.fresh):
            engine.snapshots.commit(
                raised,
                [row for write in change.all_of_leases if write.before
                 for row in write.before.bookings
                 if row.node_uuid in raised.generations],
                [each for write in change.all_of_leases if write.after
                 for each in snapshots.promised(write.after, [
                     row for row in write.after.bookings
                     if row.node_uuid in raised.generations])],
                change.homes)


def _key_of(change: Change) -> tuple[str, str] | None:
    """Return the key of a request, and its digest, if a feature keeps it."""
    known = change.given_of(earlier.Earlier)
    return None if known is None or known.key is None else (
        known.key.key, known.key.digest)

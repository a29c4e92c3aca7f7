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

"""Make a lease (``POST /v1/leases``)."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Sequence
import dataclasses
import datetime
from typing import Any
import uuid as uuid_module

from ironic_reservations import errors
from ironic_reservations.clouds import enforcement
from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import announce
from ironic_reservations.engine import commit
from ironic_reservations.engine import difference
from ironic_reservations.engine import enforcement_commits
from ironic_reservations.engine import Engine
from ironic_reservations.engine import limits
from ironic_reservations.engine import retry
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import asked_back as lease_asked_back
from ironic_reservations.engine.leases import dates as lease_dates
from ironic_reservations.engine.leases import demands as lease_demands
from ironic_reservations.engine.leases import flavors as lease_flavors
from ironic_reservations.engine.leases import granted as lease_granted
from ironic_reservations.engine.leases import heal as lease_heal
from ironic_reservations.engine.leases import idempotency
from ironic_reservations.engine.leases import limit_checks
from ironic_reservations.engine.leases import limits as lease_limits
from ironic_reservations.engine.leases import offers as lease_offers
from ironic_reservations.engine.leases import refused as lease_refused
from ironic_reservations.engine.leases import rehearsal as lease_rehearsal
from ironic_reservations.engine.leases import slides as lease_slides
from ironic_reservations.engine.leases import terms as lease_terms
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.model import told_times
from ironic_reservations.planner import allowance
from ironic_reservations.planner import bookings
from ironic_reservations.planner import offers
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans

#: A start that is found is a whole minute, where that can be.
_GRAIN = 60 * instants.SECOND
#: How far ahead one that is queued is planned, where there is no limit.
_AHEAD = datetime.timedelta(days=366)


def create(engine: Engine, ask: leases.LeaseAsk,
           dry_run: bool = False,
           allowed: limits.Limits | None = None) -> leases.Lease:
    """Make a lease, or raise the reasons and the offers.

    The lease is planned together with all leases that have not started, which
    make room for it where they can.

    :param dry_run: plan and answer, but promise nothing.
    :param allowed: the limits of the caller; ``None``: those of a project.
    :raises InvalidValue: the request makes no sense.
    :raises LeaseLimit: it exceeds a limit of the operator.
    :raises LeaseNotPermitted: the operator's enforcement service refuses it.
    :raises LeaseRefused: with ``reasons`` and ``offers``.
    :raises FlavorNotFound: Nova has no such flavor for the project.
    :raises IdempotencyKeyReused: the key was sent with another request, or the
        lease that it made is gone.
    :raises NovaUnavailable: the flavor could not be read.
    :raises Contention: other requests changed the hosts each time.
    :raises DatabaseUnavailable: nothing could be read or written.
    :raises OutcomeUnknown: the lease may or may not have been made.
    """
    return _create(engine, ask, dry_run, allowed)[0]


def rehearse(engine: Engine, ask: leases.LeaseAsk,
             allowed: limits.Limits | None = None
             ) -> lease_rehearsal.Rehearsal:
    """Return what :func:`create` would do, and do nothing.

    :raises: as that.
    """
    return lease_rehearsal.rehearsal(engine, *_create(engine, ask, True,
                                                      allowed))


def _create(engine: Engine, ask: leases.LeaseAsk, dry_run: bool,
            allowed: limits.Limits | None
            ) -> tuple[leases.Lease, lease_rehearsal.Displaced]:
    digests = idempotency.digests(ask)
    if lease_flavors.unread(ask):
        # NOTE: asked twice, it is the same whatever has become of the flavor.
        served = idempotency.served_before(engine, *digests)
        if served is not None:
            return served, lease_rehearsal.Displaced()
        ask = lease_flavors.read(engine, ask)
    if allowed is None:
        allowed = limits.of(engine.conf, 'leases')
    request = _Request(engine, ask, dry_run, *digests, allowed=allowed)
    try:
        made = retry.until_committed(request.attempt, request.look)
    except errors.LeaseLimit as exc:
        exc.details['offers'] = request.within_limits()
        raise
    return made, request.displaced


class _Request:
    """A request, and the ids that it keeps from one attempt to the next."""

    def __init__(self, engine: Engine, ask: leases.LeaseAsk,
                 dry_run: bool, key: str | None,
                 digest: str | None, allowed: limits.Limits) -> None:
        if not ask.wishes:
            raise errors.InvalidValue(
                'The lease has no reservations. Send at least one.')
        for wish in ask.wishes:
            lease_terms.check_wish(wish.least, wish.most, wish.resource_type,
                                   wish.instances)
        self._engine = engine
        self._ask = ask
        self._dry_run = dry_run
        self._wanted = [lease_terms.requirement(
            wish.hypervisor_properties, wish.resource_properties,
            wish.instances) for wish in ask.wishes]
        lease_terms.check_terms(self._wanted)
        self._ids = [str(uuid_module.uuid4()) for _ in ask.wishes]
        self._lease_id = str(uuid_module.uuid4())
        self._key, self._digest = key, digest
        self._allowed = allowed
        self._permitted: set[Hashable] = set()
        #: Whether who else decides is asked.
        self._asks = True
        self._tried = False
        self._healed = False
        self._outrun: set[str] = set()
        self._wanted_start: datetime.datetime | None = None
        self.displaced = lease_rehearsal.Displaced()

    def look(self) -> leases.Lease | None:
        """Return the lease, where an attempt has made it."""
        with self._engine.database.snapshot() as connection:
            made = db_leases.read(connection, (self._lease_id,))
        if not made:
            return None
        self._tell(made[0])
        return made[0]

    def _tell(self, lease: leases.Lease) -> None:
        self._engine.announcer.tell_lease(announce.LEASE_CREATE, lease)
        lease_slides.tell(self._engine, self.displaced.slid)

    def attempt(self) -> leases.Lease:
        """Plan on what holds now, and commit."""
        engine, ask = self._engine, self._ask
        now = engine.clock()
        served = idempotency.served_before(engine, self._key, self._digest)
        if served is not None:
            return served
        first = self._wanted_start = self._begin(now)
        asked = self._at(first)
        lease_terms.check_window(self._allowed, first, asked.end, now)
        lease_terms.before_end(engine.conf, first, asked.end, ask.before_end)
        project = self._project(now)
        project.check_one_more()
        if ask.flexible is None:
            project.mosts(ask.wishes, first, asked.end)
        else:
            lease_terms.check_flexible(ask.flexible, first)
        snapshot = engine.snapshots.snapshot(
            engine.database, now, self._wanted,
            compared=self._dry_run or self._tried)
        self._tried = True
        last = self._last(first, now)
        begin, outcome = self._plan(snapshot, project, first, last)
        room: lease_slides.Room | None = None
        if isinstance(outcome, plans.Refusal):
            engine.snapshots.confirm(engine.database, snapshot)
            if not self._healed:
                self._healed = True
                if lease_heal.makes_room(engine):
                    raise db_connection.Conflict(
                        'others have been planned anew')
            found = self._slide(now, project, first, last)
            if not isinstance(found, bool):
                room, snapshot, outcome = found, found.snapshot, found.plan
                begin = instants.moment(room.start)
            else:
                refusal = self._refusal(snapshot, project, first, last,
                                        outcome, found)
                later = self._queue(snapshot, project, first)
                if later is None:
                    raise refusal
                begin, outcome = later
        # NOTE: what is to start at once starts when it was asked for.
        begin = first if begin <= max(first, now) else begin
        lease = self._lease(snapshot, self._at(begin), begin, outcome)
        # NOTE: where others were in the way, it may be planned otherwise.
        if self._asks and enforcement.terms(lease) not in self._permitted:
            enforcement.check_create(engine.conf, lease)
            self._permitted.add(enforcement.terms(lease))
        slid = () if room is None else room.changes
        changes = difference.compare(
            snapshot, outcome.draft,
            frozenset() if room is None else room.own)
        self.displaced = lease_rehearsal.Displaced(changes.homes, slid)
        if not self._dry_run:
            self._commit(snapshot, lease, changes, slid)
            self._tell(lease)
        return lease

    def _begin(self, now: datetime.datetime) -> datetime.datetime:
        """Return the earliest start."""
        ask = self._ask
        if ask.flexible is not None:
            return max(ask.start or now, now)
        return lease_terms.start(ask.start, now)

    def _at(self, begin: datetime.datetime) -> leases.LeaseAsk:
        """Return the request as if it were for one start only."""
        ask, flexible = self._ask, self._ask.flexible
        if flexible is not None:
            return dataclasses.replace(
                ask, start=begin, end=begin + flexible.duration,
                flexible=None)
        first = self._wanted_start
        if not ask.queue or first is None or begin <= first:
            return ask
        by = begin - first
        return dataclasses.replace(
            ask, start=begin, end=ask.end + by,
            before_end=None if ask.before_end is None
            else ask.before_end + by)

    def _last(self, first: datetime.datetime,
              now: datetime.datetime) -> datetime.datetime:
        """Return the latest start."""
        flexible = self._ask.flexible
        if flexible is None:
            return first
        until = lease_terms.latest_end(self._allowed, now)
        latest = flexible.latest if until is None else min(flexible.latest,
                                                           until)
        return max(first, latest - flexible.duration)

    def _plan(self, snapshot: snapshots.Snapshot,
              project: lease_limits.Project, first: datetime.datetime,
              last: datetime.datetime
              ) -> tuple[datetime.datetime, plans.Plan | plans.Refusal]:
        """Plan at the earliest start at which nobody has to slide."""
        permits = self._permits(project)
        if self._ask.flexible is None or permits(
                self._at(first)):
            outcome = self._plan_at(snapshot, project, first)
            if isinstance(outcome, plans.Plan) or first == last:
                return first, outcome
        demands = self._least(snapshot, first)
        length = demands[0].end - demands[0].start
        found = offers.earliest(
            snapshot.timeline, demands, instants.instant(last) + length,
            _GRAIN, lambda moved: permits(self._at(
                instants.moment(moved[0].start))))
        if found and found[0].start <= instants.instant(last):
            start = instants.moment(found[0].start)
            return start, self._plan_at(snapshot, project, start)
        refused = planning.plan(snapshot.timeline, demands)
        if isinstance(refused, plans.Plan):
            # NOTE: there are hosts, but the project may not have them then;
            # what it may have, it was told where it asked for a start only.
            project.mosts(self._ask.wishes, first, self._at(first).end)
        return first, refused

    def _permits(self, project: lease_limits.Project
                 ) -> Callable[[leases.LeaseAsk], bool]:
        return (project.permits if self._allowed.counted
                else lambda asked: True)

    def _plan_at(self, snapshot: snapshots.Snapshot,
                 project: lease_limits.Project, begin: datetime.datetime
                 ) -> plans.Plan | plans.Refusal:
        asked = self._at(begin)
        mosts = project.mosts(asked.wishes, begin, asked.end)
        return planning.plan(snapshot.timeline, self._demands(
            snapshot, asked, begin, mosts))

    def _least(self, snapshot: snapshots.Snapshot,
               begin: datetime.datetime) -> list[bookings.Demand]:
        """Return demands for no more than the least of all."""
        return self._demands(snapshot, self._at(begin), begin,
                             [wish.least for wish in self._ask.wishes])

    def _wishes(self, snapshot: snapshots.Snapshot,
                project: lease_limits.Project, begin: datetime.datetime
                ) -> list[bookings.Demand]:
        """Return demands for what the project may have, while it is known.

        NOTE: what it may have at most depends on the start.
        """
        if self._ask.flexible is not None:
            return self._least(snapshot, begin)
        return self._demands(snapshot, self._ask, begin, project.mosts(
            self._ask.wishes, begin, self._ask.end))

    def _slide(self, now: datetime.datetime, project: lease_limits.Project,
               first: datetime.datetime, last: datetime.datetime
               ) -> lease_slides.Room | bool:
        """Plan with others, whose dates are open, sliding."""
        def held(start: int) -> list[allowance.Held]:
            begin = instants.moment(start)
            return lease_limits.least(self._at(begin), begin)

        def demands_of(snapshot: snapshots.Snapshot) -> list[bookings.Demand]:
            # NOTE: what it may have more depends on where others slide.
            if self._allowed.counted:
                return self._least(snapshot, first)
            return self._wishes(snapshot, project, first)

        return lease_slides.make_room(
            self._engine, now, self._wanted, demands_of, lease_slides.Asked(
                self._ask.project_id, self._allowed, first,
                self._at(last).end,
                None if first == last else instants.instant(last), held,
                lambda there, start: there.permits(self._at(
                    instants.moment(start)))))

    def _queue(self, snapshot: snapshots.Snapshot,
               project: lease_limits.Project, first: datetime.datetime
               ) -> tuple[datetime.datetime, plans.Plan] | None:
        """Plan a request that would be refused later, if it may wait."""
        ask = self._ask
        if not ask.queue:
            return None
        latest = lease_terms.latest_end(self._allowed, snapshot.now) or (
            max(ask.end, snapshot.now) + _AHEAD)
        permits = self._permits(project)
        found = offers.earliest(
            snapshot.timeline, self._least(snapshot, first),
            instants.instant(latest), _GRAIN,
            lambda moved: permits(self._at(
                instants.moment(moved[0].start))))
        if not found:
            return None
        start = instants.moment(found[0].start)
        outcome = self._plan_at(snapshot, project, start)
        return None if isinstance(outcome, plans.Refusal) else (start,
                                                                outcome)

    def _refusal(self, snapshot: snapshots.Snapshot,
                 project: lease_limits.Project, first: datetime.datetime,
                 last: datetime.datetime, refused: plans.Refusal,
                 proved: bool) -> errors.LeaseRefused:
        """Return why there is no way.

        :param proved: whether there is none in which others slide.
        """
        if not proved:
            refused = dataclasses.replace(refused,
                                          cause=plans.Cause.SEARCH_LIMIT)
        refusal = lease_refused.refusal(
            snapshot, self._at(first),
            self._wishes(snapshot, project, first), refused,
            lease_terms.latest_end(self._allowed, snapshot.now), project)
        if first == last:
            return refusal
        return errors.LeaseRefused(
            f'No start from {told_times.moment(first)} until '
            f'{told_times.moment(last)} was found. For the first of them: '
            f'{refusal}', **refusal.details)

    def _demands(self, snapshot: snapshots.Snapshot, asked: leases.LeaseAsk,
                 begin: datetime.datetime, mosts: Sequence[int]
                 ) -> list[bookings.Demand]:
        begin = max(begin, snapshot.now)
        # NOTE: a lease that starts at once takes hosts that are ready; and
        # one that was outrun takes others, since instances are packed and
        # whoever asks for some wants the same hosts.
        preferred = snapshot.ready if begin <= snapshot.now else 0
        if self._outrun:
            preferred = (preferred or snapshot.usable) & ~snapshot.fleet.mask(
                self._outrun)
        margin = self._engine.conf.leases.cleaning_time * instants.SECOND
        return [snapshot.loans.limit(lease_demands.of(
            each, instants.instant(begin), instants.instant(asked.end),
            wish.least, most, snapshot.eligible(wanted), margin,
            preferred, wish.instances), asked.project_id)
            for each, wish, most, wanted in zip(
                self._ids, self._ask.wishes, mosts, self._wanted,
                strict=True)]

    def _project(self, now: datetime.datetime) -> lease_limits.Project:
        return limit_checks.project(self._engine, self._allowed,
                                    self._ask.project_id, now)

    def within_limits(self) -> list[dict[str, Any]]:
        """Return offers like the request that are within the limits."""
        now = self._engine.clock()
        begin = self._begin(now)
        made = []
        for kind, ask in self._project(now).alternatives(
                self._at(begin), begin):
            tried = _Request(self._engine, ask, True, None, None,
                             self._allowed)
            # NOTE: who else decides is asked when it is asked for.
            tried._asks = False
            try:
                tried.attempt()
            except (errors.ReservationError, db_connection.Conflict):
                continue
            made.append(lease_offers.within_limits(kind, now, ask))
        return made

    def _lease(self, snapshot: snapshots.Snapshot, ask: leases.LeaseAsk,
               begin: datetime.datetime, plan: plans.Plan) -> leases.Lease:
        now, flexible = snapshot.now, self._ask.flexible
        told = lease_terms.before_end(self._engine.conf, begin, ask.end,
                                      ask.before_end)
        reservations = tuple(_reservation(each, wish, now, lease_granted.rows(
            snapshot, each, granted, ask.project_id))
            for each, wish, granted in zip(self._ids, ask.wishes,
                                           plan.granted, strict=True))
        times = ((leases.EventType.START, begin),
                 (leases.EventType.BEFORE_END, told),
                 (leases.EventType.END, ask.end))
        lease = leases.Lease(
            id=self._lease_id, name=ask.name, start=begin, end=ask.end,
            status=leases.LeaseStatus.PENDING, created_at=now,
            before_end=told, updated_at=now, project_id=ask.project_id,
            user_id=ask.user_id, reservations=reservations,
            events=tuple(leases.Event(
                str(uuid_module.uuid4()), kind, time,
                leases.EventStatus.UNDONE, now) for kind, time in times),
            between=None if flexible is None else lease_terms.between(
                self._engine.conf, self._ask.start or begin, flexible
            ).fixed_for(begin, now),
            queued=self._queued(begin))
        return lease if self._engine.nova is None else (
            leases.with_flavors(lease))

    def _queued(self, begin: datetime.datetime) -> leases.Queued | None:
        """Return for what a lease waits that starts at an instant."""
        first = self._wanted_start
        if not self._ask.queue or first is None or begin <= first:
            return None
        return leases.Queued(first, begin, self._ask.priority)

    def _commit(self, snapshot: snapshots.Snapshot, lease: leases.Lease,
                changes: difference.Difference,
                slid: Sequence[lease_slides.Change]) -> None:
        engine = self._engine
        self._outrun.update(changes.seen.generations)
        gone = {*changes.homes, *lease_slides.removed(slid)}
        lessees = [each for made in (lease, *(one.after for one in slid))
                   for each in lease_asked_back.find(
                       engine, snapshot, made, made.bookings, gone)]
        lessees.extend(lease_asked_back.find_moved(engine, snapshot,
                                                   changes.homes, gone))
        with engine.database.write() as connection:
            counted = lease_slides.projects(engine.conf, slid)
            if self._allowed.counted:
                counted.add(lease.project_id)
            limit_checks.queue_up(connection, counted, snapshot.now)
            commit.commit(connection, changes.seen, snapshot.now, changes)
            lease_slides.write(connection, slid, snapshot.now)
            limit_checks.check_again(self._allowed, connection, lease,
                                     snapshot.now)
            idempotency.keep(engine, connection, self._key, lease.id,
                             snapshot.now)
            db_leases.insert(connection, lease, lease.start, self._key,
                             self._digest)
            db_bookings.insert_many(connection, lease.bookings,
                                    lease.user_id, snapshot.now)
            lease_slides.check(engine, connection, slid, snapshot.now)
            lease_asked_back.write(engine, connection, lessees, snapshot.now)
            enforcement_commits.write(
                engine.conf, connection,
                [lease.id, *(change.after.id for change in slid)],
                snapshot.now)
            moment = engine.clock()
            lease_dates.check_movable(changes.homes, snapshot.now, moment)
            lease_dates.check_begun(lease, snapshot.now, moment)
        engine.snapshots.commit(
            changes.seen.generations, snapshot.now,
            removed=lease_slides.removed(slid),
            added=[*snapshots.promised(lease, lease.bookings),
                   *lease_slides.added(slid)],
            homes=changes.homes)
        lease_asked_back.tell(engine, lessees)


def _reservation(ident: str, wish: leases.Wish, now: datetime.datetime,
                 booked: tuple[leases.NodeBooking, ...]
                 ) -> leases.LeaseReservation:
    resource_id = str(uuid_module.uuid4())
    return leases.LeaseReservation(
        id=ident, status=leases.ReservationStatus.PENDING, least=wish.least,
        most=wish.most, created_at=now, resource_id=resource_id,
        resource_type=wish.resource_type,
        hypervisor_properties=wish.hypervisor_properties,
        resource_properties=wish.resource_properties,
        before_end=wish.before_end, bookings=booked,
        instances=None if wish.instances is None else (
            wish.instances.reserved(resource_id, ident, wish.most)))

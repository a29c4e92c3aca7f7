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

"""Promise a lease (seed 000, ``POST /v1/leases``)."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import datetime
import hashlib
import json
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
from ironic_reservations.engine import Engine
from ironic_reservations.engine import limits
from ironic_reservations.engine import retry
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import demands as lease_demands
from ironic_reservations.engine.leases import flavors as lease_flavors
from ironic_reservations.engine.leases import heal as lease_heal
from ironic_reservations.engine.leases import limits as lease_limits
from ironic_reservations.engine.leases import offers as lease_offers
from ironic_reservations.engine.leases import refused as lease_refused
from ironic_reservations.engine.leases import terms as lease_terms
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.planner.pool import instances
from ironic_reservations.planner.pool import planning as pool_planning
from ironic_reservations.planner.pool import plans as pool_plans


def create(engine: Engine, ask: leases.LeaseAsk,
           dry_run: bool = False,
           allowed: limits.Limits | None = None) -> leases.Lease:
    """Promise a window on hosts, or say why not and what could be had.

    The lease is planned together with all those that have not started, which
    make room for it where they can.

    :param dry_run: plan and answer, and promise nothing.
    :param allowed: the limits that hold for the caller; ``None``: those of
        a project.
    :raises InvalidValue: the request makes no sense.
    :raises LeaseLimit: the operator does not allow it.
    :raises LeaseNotPermitted: the service that the operator asks does not.
    :raises LeaseRefused: with ``reasons`` and ``offers``.
    :raises FlavorNotFound: Nova has no flavor that is named, for the
        project.
    :raises IdempotencyKeyReused: the key came with another request.
    :raises NovaUnavailable: what a flavor asks for cannot be known.
    :raises Contention: others changed the hosts each time.
    :raises DatabaseUnavailable: nothing could be read or written.
    :raises OutcomeUnknown: it may or may not have been promised.
    """
    digests = _digests(ask)
    if lease_flavors.unread(ask):
        # NOTE: asked twice, it is the same whatever has become of the flavor.
        served = _served_before(engine, *digests)
        if served is not None:
            return served
        ask = lease_flavors.read(engine, ask)
    if allowed is None:
        allowed = limits.of(engine.conf, 'leases')
    request = _Request(engine, ask, dry_run, *digests, allowed=allowed)
    try:
        return retry.until_committed(request.attempt, request.look)
    except errors.LeaseLimit as exc:
        exc.details['offers'] = request.within_limits()
        raise


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
        self._permitted = self._tried = False
        self._healed = False
        self._outrun: set[str] = set()

    def look(self) -> leases.Lease | None:
        """Return the lease, where an attempt has made it."""
        with self._engine.database.snapshot() as connection:
            made = db_leases.read(connection, (self._lease_id,))
        if not made:
            return None
        self._engine.announcer.tell_lease(announce.LEASE_CREATE, made[0])
        return made[0]

    def attempt(self) -> leases.Lease:
        """Plan on what holds now, and commit."""
        engine, ask = self._engine, self._ask
        now = engine.clock()
        served = _served_before(engine, self._key, self._digest)
        if served is not None:
            return served
        begin = lease_terms.start(ask.start, now)
        lease_terms.check_window(self._allowed, begin, ask.end, now)
        told = lease_terms.before_end(engine.conf, begin, ask.end,
                                      ask.before_end)
        project = self._project(now)
        project.check_one_more()
        mosts = project.mosts(ask.wishes, begin, ask.end)
        horizon = engine.snapshots.snapshot(
            engine.database, now, self._wanted,
            compared=self._dry_run or self._tried)
        self._tried = True
        demands = self._demands(horizon, max(begin, now), mosts)
        outcome = pool_planning.plan(horizon.pool, demands)
        if isinstance(outcome, pool_plans.PoolRefusal):
            engine.snapshots.confirm(engine.database, horizon)
            if not self._healed:
                self._healed = True
                if lease_heal.makes_room(engine):
                    raise db_connection.Conflict(
                        'others have been planned anew')
            raise lease_refused.refusal(
                horizon, ask, demands, outcome,
                lease_terms.latest_end(self._allowed, now), project)
        lease = self._lease(horizon, begin, told, outcome)
        if not self._permitted:
            enforcement.check_create(engine.conf, lease)
            self._permitted = True
        if not self._dry_run:
            self._commit(horizon, lease, outcome)
            engine.announcer.tell_lease(announce.LEASE_CREATE, lease)
        return lease

    def _demands(self, horizon: snapshots.Snapshot,
                 begin: datetime.datetime, mosts: Sequence[int]
                 ) -> list[instances.Wish]:
        # NOTE: a lease that starts at once takes hosts that are ready; and
        # one that was outrun takes others, since instances are packed and
        # whoever asks for some wants the same hosts.
        preferred = horizon.ready if begin <= horizon.now else 0
        if self._outrun:
            preferred = (preferred or horizon.usable) & ~horizon.fleet.mask(
                self._outrun)
        margin = self._engine.conf.leases.cleaning_time * instants.SECOND
        return [lease_demands.of(
            each, instants.instant(begin), instants.instant(self._ask.end),
            wish.least, most, horizon.eligible(wanted), margin,
            preferred, wish.instances) for each, wish, most, wanted in zip(
                self._ids, self._ask.wishes, mosts, self._wanted,
                strict=True)]

    def _project(self, now: datetime.datetime) -> lease_limits.Project:
        if not self._allowed.counted:
            return lease_limits.Project(self._allowed, (), 0, now)
        with self._engine.database.read() as connection:
            return lease_limits.read(self._allowed, connection,
                                     self._ask.project_id, now)

    def within_limits(self) -> list[dict[str, Any]]:
        """Return offers like the request that are within the limits."""
        now = self._engine.clock()
        begin = lease_terms.start(self._ask.start, now)
        made = []
        for kind, ask in self._project(now).alternatives(self._ask, begin):
            tried = _Request(self._engine, ask, True, None, None,
                             self._allowed)
            # NOTE: who else decides is asked when it is asked for.
            tried._permitted = True
            try:
                tried.attempt()
            except (errors.ReservationError, db_connection.Conflict):
                continue
            made.append(lease_offers.within_limits(kind, now, ask))
        return made

    def _lease(self, horizon: snapshots.Snapshot, begin: datetime.datetime,
               told: datetime.datetime,
               plan: pool_plans.PoolPlan) -> leases.Lease:
        ask, now = self._ask, horizon.now
        reservations = tuple(_reservation(each, wish, now, rows(
            horizon, each, granted, ask.project_id))
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
                leases.EventStatus.UNDONE, now) for kind, time in times))
        return lease if self._engine.nova is None else (
            leases.with_flavors(lease))

    def _commit(self, horizon: snapshots.Snapshot, lease: leases.Lease,
                plan: pool_plans.PoolPlan) -> None:
        engine = self._engine
        changes = difference.compare(horizon, plan.pool)
        self._outrun.update(changes.seen.generations)
        with engine.database.write() as connection:
            lease_limits.recheck(self._allowed, connection, lease,
                                 horizon.now)
            commit.commit(connection, changes.seen, horizon.now, changes)
            db_leases.insert(connection, lease, lease.start, self._key,
                             self._digest)
            db_bookings.insert_many(connection, lease.bookings,
                                    lease.user_id, horizon.now)
        engine.snapshots.commit(
            changes.seen.generations, horizon.now,
            added=snapshots.promised(lease, lease.bookings),
            homes=changes.homes)


def _served_before(engine: Engine, key: str | None,
                   digest: str | None) -> leases.Lease | None:
    if key is None:
        return None
    with engine.database.snapshot() as connection:
        found = db_leases.read_requested(connection, key)
        if found is None:
            return None
        if found[1] != digest:
            raise errors.IdempotencyKeyReused(
                'The same Idempotency-Key was sent with a different request '
                'before. Send each request with its own key.')
        served = db_leases.read(connection, (found[0],))
    return served[0] if served else None


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


def rows(horizon: snapshots.Snapshot, reservation_id: str,
         granted: Sequence[instances.Promise], project_id: str | None,
         first: int = 0) -> tuple[leases.NodeBooking, ...]:
    """Give the rows for what the planner granted, without ids yet.

    :param first: the place of the first one.
    """
    return tuple(leases.NodeBooking(
        0, reservation_id, first + place, horizon.fleet.uuids[booking.node],
        instants.moment(booking.start), instants.moment(booking.end),
        project_id=project_id, uuid=str(uuid_module.uuid4()))
        for place, booking in enumerate(granted))


def _digests(ask: leases.LeaseAsk) -> tuple[str | None, str | None]:
    if ask.key is None:
        return None, None
    key = json.dumps([ask.project_id, ask.key])
    written = dataclasses.asdict(ask)
    for wish in written['wishes']:
        # NOTE: so that the digests of older requests still match.
        if wish['flavor_id'] is None:
            del wish['flavor_id']
        if wish['instances'] is None:
            del wish['instances']
        elif wish['instances']['flavor'] is None:
            del wish['instances']['flavor']
    request = json.dumps(written, sort_keys=True, default=str)
    return (hashlib.sha256(key.encode()).hexdigest(),
            hashlib.sha256(request.encode()).hexdigest())

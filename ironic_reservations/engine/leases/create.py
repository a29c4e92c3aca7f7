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

import dataclasses
import datetime
from typing import Any
import uuid as uuid_module

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import generations as db_generations
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import ceiling
from ironic_reservations.engine import change
from ironic_reservations.engine import earlier
from ironic_reservations.engine import Engine
from ironic_reservations.engine.leases import flavors as lease_flavors
from ironic_reservations.engine.leases import ladder
from ironic_reservations.engine.leases import offers as lease_offers
from ironic_reservations.engine.leases import refusal_messages
from ironic_reservations.engine.leases import rehearsal as lease_rehearsal
from ironic_reservations.engine.leases import replan as lease_replan
from ironic_reservations.engine.leases import request_checks
from ironic_reservations.model import leases
from ironic_reservations.model import limits

#: A lease, and the change that was planned.
_Made = tuple[leases.Lease, change.Change | None]


def create(engine: Engine, request: leases.LeaseRequest,
           allowed: limits.Limits | None = None) -> leases.Lease:
    """Make a lease, or raise the reasons and the offers.

    The lease is planned together with all leases that have not started, which
    make room for it if they can.

    :param allowed: the limits of the caller; ``None``: those of a project.
    :raises InvalidValue: the request makes no sense.
    :raises LeaseLimit: the request exceeds a limit of the operator.
    :raises LeaseNotPermitted: the operator's enforcement service refuses it.
    :raises LeaseRefused: with ``reasons`` and ``offers``.
    :raises FlavorNotFound: Nova has no such flavor for the project.
    :raises IdempotencyKeyReused: the key was sent with another request, or the
        lease that it made is gone.
    :raises NovaUnavailable: the flavor could not be read.
    :raises Contention: other requests changed the hosts at each attempt.
    :raises OutcomeUnknown: the lease may or may not have been made.
    """
    return _create(engine, request, False, allowed)[0]


def rehearse(engine: Engine, request: leases.LeaseRequest,
             allowed: limits.Limits | None = None
             ) -> lease_rehearsal.Rehearsal:
    """Return the result that :func:`create` would have, and create nothing.

    :raises: as :func:`create`.
    """
    return lease_rehearsal.rehearsal(engine, *_create(engine, request, True,
                                                      allowed))


def _create(engine: Engine, request: leases.LeaseRequest, dry_run: bool,
            allowed: limits.Limits | None) -> _Made:
    key = _key_of(request)
    if any(each.flavor_unread for each in request.reservations):
        # A repeated request is answered even if its flavor is gone.
        served = _served(engine, _known(engine, key))
        if served is not None:
            return served, None
        request = lease_flavors.read(engine, request)
    if allowed is None:
        allowed = engine.limits['leases', True]
    creation = _Request(engine, request, allowed, key,
                        ladder.Ladder(engine, dry_run))
    try:
        return change.carry_out(engine, creation.plan, dry_run=dry_run,
                                refused=creation.check_unserved,
                                rename=creation.rename)
    except errors.LeaseLimit as exc:
        exc.details['offers'] = creation.offers_within_limits()
        raise


def _known(engine: Engine, key: earlier.Key | None) -> earlier.Earlier:
    if key is None:
        return earlier.Earlier()
    with engine.database.read() as connection:
        return earlier.read(engine, connection, key, engine.clock())


@dataclasses.dataclass
class _Request:
    """A request, and its memory between attempts.

    :ivar _ladder: the ladder of the request, on which offers are planned, too.
    """

    _engine: Engine
    _request: leases.LeaseRequest
    _allowed: limits.Limits
    _key: earlier.Key | None
    _ladder: ladder.Ladder
    _known: earlier.Earlier = earlier.Earlier()
    _outrun: set[str] = dataclasses.field(default_factory=set)

    def __post_init__(self) -> None:
        request = self._request
        if not request.reservations:
            raise errors.InvalidValue(
                'The lease has no reservations. Send at least one.')
        for requested in request.reservations:
            request_checks.check_amounts(requested)
        request_checks.check_comparisons(map(request_checks.requirement_of,
                                             request.reservations))
        self.rename()

    def rename(self) -> None:
        """Choose the ids of the lease and of its reservations."""
        self._lease_id = str(uuid_module.uuid4())
        self._ids = [str(uuid_module.uuid4())
                     for _ in self._request.reservations]

    def plan(self) -> change.Planned[_Made]:
        """Plan the lease, and the moves of bookings that make room for it."""
        engine = self._engine
        now = engine.clock()
        self._known = earlier.Earlier()
        self._known = _known(engine, self._key)
        if self._known.ident is not None:
            served = _served(engine, self._known)
            if served is None:
                raise db_connection.Conflict('the lease has been deleted')
            return change.Planned((served, None))
        request, asked = self._at_first(now)
        terms = self._terms(request, asked)
        planned = lease_replan.climb(
            engine, self._ladder, None, terms, leases.LeaseChange(),
            self._checked(request, asked), asked, self._outrun)
        if isinstance(planned, lease_replan.Refused):
            raise self._refusal(planned, request)
        lease = self._lease(planned.lease, asked)
        self._outrun.update(planned.difference.seen.generations)
        making = lease_replan.change_of(None, lease, planned, now)
        making.given = [self._allowed, self._known]
        return change.Planned((lease, making), making)

    def check_unserved(self, refusal: errors.ReservationError) -> None:
        """Check that no copy of the refused request was served meanwhile."""
        self._known.check_unserved(self._engine, refusal)

    def offers_within_limits(self) -> list[dict[str, Any]]:
        """Return offers like the request that exceed no limit."""
        now = self._engine.clock()
        first, asked = self._at_first(now)
        made = []
        for kind, request in self._project(now).alternatives(first,
                                                             asked.first):
            # The enforcement service decides on the request itself, and
            # not on each offer. An offer names its window, so it cannot wait.
            offered = dataclasses.replace(request, queue=False)
            try:
                _Request(self._engine, offered, self._allowed, None,
                         self._ladder.for_offers()).plan()
            except (errors.ReservationError, db_connection.Conflict):
                continue
            made.append(lease_offers.within_limits(kind, now, request))
        return made

    def _at_first(self, now: datetime.datetime
                  ) -> tuple[leases.LeaseRequest, ladder.Asked]:
        """Return the request with its first start, and all of its starts.

        :raises InvalidValue: the start has passed.
        """
        request, flexible = self._request, self._request.flexible
        if flexible is None:
            first = last = request_checks.start(request.start, now)
            if request.lasts is not None:
                request = dataclasses.replace(
                    request, end=first + request.lasts, lasts=None)
        else:
            first = max(request.start or now, now)
            # No lease may end beyond the horizon.
            horizon = request_checks.latest_end(self._allowed, now)
            last = max(first, min(filter(None, (flexible.latest, horizon)))
                       - flexible.duration)
            request = dataclasses.replace(
                request, start=first, end=first + flexible.duration,
                flexible=None)
        return request, ladder.Asked(
            now, self._allowed, first, last, last + (request.end - first),
            is_open=first != last, may_wait=request.queue)

    def _checked(self, request: leases.LeaseRequest,
                 asked: ladder.Asked) -> ceiling.Ceiling:
        """Check flavors, and the limits of the project; return its usage.

        :param request: with its first start.
        :raises LeaseLimit: the project may not have the lease.
        """
        lease_flavors.check_sent(self._engine, request)
        project = self._project(asked.now)
        project.check_one_more()
        if self._request.flexible is not None:
            request_checks.check_flexible(self._request.flexible, asked.first)
        if not asked.is_open:
            project.check_request(request)
        return project

    def _project(self, now: datetime.datetime) -> ceiling.Ceiling:
        return ceiling.of_project(self._engine, self._allowed,
                                  self._request.project_id, now)

    def _refusal(self, planned: lease_replan.Refused,
                 request: leases.LeaseRequest) -> errors.LeaseRefused:
        """Return the error for a request for which there is no room.

        :param request: with its first start.
        """
        asked, attempt = planned.attempt.asked, planned.attempt
        refusal = refusal_messages.refusal(
            attempt.snapshot, request, planned.demands, planned.refusal,
            request_checks.latest_end(self._allowed, asked.now),
            attempt.project)
        if not asked.is_open:
            return refusal
        return errors.LeaseRefused(refusal_messages.no_start(
            asked.first, asked.last, str(refusal)), **refusal.details)

    def _terms(self, request: leases.LeaseRequest,
               asked: ladder.Asked) -> leases.Lease:
        """Return the lease at its first start, without bookings.

        :raises InvalidValue: its dates make no sense.
        :raises LeaseLimit: it is too long, or too far in the future.
        """
        now = asked.now
        request_checks.check_window(self._allowed, asked.first, request.end,
                                    now)
        return leases.Lease(
            id=self._lease_id, name=request.name, start=asked.first,
            end=request.end, status=leases.LeaseStatus.PENDING, created_at=now,
            before_end=request_checks.before_end(
                self._engine.conf, asked.first, request.end,
                request.before_end),
            updated_at=now, project_id=request.project_id,
            user_id=request.user_id, reservations=tuple(
                _reservation(each, requested, now) for each, requested
                in zip(self._ids, request.reservations, strict=True)),
            generation=db_generations.fresh())

    def _lease(self, lease: leases.Lease,
               asked: ladder.Asked) -> leases.Lease:
        """Return a planned lease with its events and its dates."""
        request, now = self._request, asked.now
        times = ((leases.EventType.START, lease.start),
                 (leases.EventType.BEFORE_END, lease.before_end),
                 (leases.EventType.END, lease.end))
        lease = dataclasses.replace(
            lease, events=tuple(leases.Event(
                str(uuid_module.uuid4()), kind, time,
                leases.EventStatus.UNDONE, now)
                for kind, time in times if time is not None),
            between=None if request.flexible is None
            else request_checks.between(
                self._engine.conf, request.start or lease.start,
                request.flexible).fixed_for(lease.start, now),
            queued=leases.Queued(asked.first, lease.start, request.priority)
            if request.queue and lease.start > asked.first else None)
        return lease if self._engine.nova is None else (
            leases.with_flavors(lease))


def _reservation(
        ident: str, requested: leases.LeaseReservationRequest,
        now: datetime.datetime) -> leases.LeaseReservation:
    resource_id = str(uuid_module.uuid4())
    return leases.LeaseReservation(
        id=ident,
        status=leases.ReservationStatus.PENDING,
        least=requested.least,
        most=requested.most,
        created_at=now,
        resource_id=resource_id,
        resource_type=requested.resource_type,
        hypervisor_properties=requested.hypervisor_properties,
        resource_properties=requested.resource_properties,
        before_end=requested.before_end,
        instances=None if requested.instances is None else
        (requested.instances.reserved(resource_id, ident, requested.most)))


def _key_of(request: leases.LeaseRequest) -> earlier.Key | None:
    """Return the identity of a request, if it has one."""
    if request.key is None:
        return None
    # A date that was computed from the clock is not the client's.
    computed = {'end'} if request.flexible or request.lasts else set()
    if request.before_end_now:
        computed.add('before_end')
    return earlier.of_request('lease', request.project_id, request.key,
                              request, computed)


def _served(engine: Engine, known: earlier.Earlier) -> leases.Lease | None:
    """Return the lease that the same request has made.

    :returns: ``None`` if it has made none, or if the lease has been deleted
        since its key was read.
    :raises IdempotencyKeyReused: the lease had been deleted before the key was
        read.
    """
    if known.ident is None:
        return None
    if known.deleted:
        raise known.ended()
    with engine.database.snapshot() as connection:
        return db_leases.read_one(connection, known.ident)

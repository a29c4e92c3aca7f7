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

"""Change a lease (``PUT /v1/leases/{id}``): planned anew, all or nothing."""

from __future__ import annotations

import dataclasses
import datetime

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import ceiling
from ironic_reservations.engine import change as change_module
from ironic_reservations.engine import earlier
from ironic_reservations.engine import Engine
from ironic_reservations.engine.leases import change_offers
from ironic_reservations.engine.leases import dates as lease_dates
from ironic_reservations.engine.leases import find as lease_find
from ironic_reservations.engine.leases import ladder
from ironic_reservations.engine.leases import new_terms
from ironic_reservations.engine.leases import rehearsal as lease_rehearsal
from ironic_reservations.engine.leases import replan as lease_replan
from ironic_reservations.engine.leases import request_checks
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from ironic_reservations.planner import allowance

#: A lease, and the change that was planned.
_Changed = tuple[leases.Lease, change_module.Change | None]


def change(engine: Engine, lease_id: str, changes: leases.LeaseChange,
           allowed: limits.Limits | None = None,
           key: earlier.Key | None = None,
           permitted: leases.Lease | None = None) -> leases.Lease:
    """Extend, shorten, move, grow, shrink, heal or rename a lease.

    A lease that has started keeps its nodes. Other leases that have not
    started move to other nodes for it.

    :param allowed: the limits of the caller; ``None``: the limits of a
        project.
    :param key: the identity of the request, if it has one; a request that has
        been carried out changes nothing again.
    :param permitted: the lease, as it was when the caller was allowed to
        change it; it is read again only if it has changed since.
    :raises LeaseNotFound: there is none.
    :raises IdempotencyKeyReused: another request had the key.
    :raises LeaseFrozen: this part of the lease cannot be changed any more.
    :raises InvalidValue: the change makes no sense.
    :raises LeaseLimit: the operator does not allow it.
    :raises LeaseNotPermitted: the operator's enforcement service refuses it.
    :raises LeaseRefused: the change could not be served; nothing has changed.
    :raises Contention: other requests changed the hosts at each attempt.
    :raises OutcomeUnknown: the lease may or may not have been changed.
    """
    return _change(engine, lease_id, changes, False, allowed, permitted,
                   key)[0]


def rehearse(engine: Engine, lease_id: str, changes: leases.LeaseChange,
             allowed: limits.Limits | None = None,
             permitted: leases.Lease | None = None
             ) -> lease_rehearsal.Rehearsal:
    """Return the result that :func:`change` would have, and change nothing.

    :raises: as :func:`change`.
    """
    return lease_rehearsal.rehearsal(engine, *_change(
        engine, lease_id, changes, True, allowed, permitted))


def _change(engine: Engine, lease_id: str, changes: leases.LeaseChange,
            dry_run: bool, allowed: limits.Limits | None,
            permitted: leases.Lease | None,
            key: earlier.Key | None = None) -> _Changed:
    if allowed is None:
        allowed = engine.limits['leases', True]
    request = _Request(engine, lease_id, changes,
                       ladder.Ladder(engine, dry_run), allowed, key, permitted)
    try:
        return change_module.carry_out(engine, request.plan, dry_run=dry_run,
                                       refused=request.check_unserved)
    except (errors.LeaseRefused, errors.LeaseLimit) as exc:
        request.add_offers(exc)
        raise


@dataclasses.dataclass
class _Request:
    """A change, and its memory between attempts.

    :ivar _ladder: the ladder of the change, on which offers are planned, too.
    """

    _engine: Engine
    _lease_id: str
    _changes: leases.LeaseChange
    _ladder: ladder.Ladder
    _allowed: limits.Limits
    _key: earlier.Key | None
    _permitted: leases.Lease | None
    _known: earlier.Earlier = earlier.Earlier()

    def __post_init__(self) -> None:
        self._as_permitted = self._before = self._permitted

    def plan(self) -> change_module.Planned[_Changed]:
        """Read the lease, and plan it with its new terms."""
        engine = self._engine
        now = engine.clock()
        before = self._read(now)
        given = [self._allowed, self._known]
        unchanged = (before, None)
        if self._known.ident is not None:
            return change_module.Planned(unchanged)
        after = new_terms.apply(engine.conf, before, self._changes, now,
                                self._allowed)
        if after is before:
            # The key is kept: a late copy of the request would change the
            # lease after another change.
            return change_module.Planned(
                unchanged, None if self._key is None
                else change_module.Change(now, subject=before.id,
                                          given=given))
        replanned = None
        if not _keeps_hosts(before, after, self._changes):
            replanned = self._replan(before, after, now)
            after = replanned.lease
        planned = lease_replan.change_of(before, after, replanned, now)
        planned.given = given
        if after.extensions != before.extensions:
            planned.wrong_after(request_checks.last_extension(self._allowed,
                                                              before))
        return change_module.Planned((after, planned), planned)

    def _read(self, now: datetime.datetime) -> leases.Lease:
        """Return the lease, and store the results of earlier copies."""
        before, self._permitted, self._before = self._permitted, None, None
        self._known = earlier.Earlier()
        # An answer to a copy of a request shows the change of the first one.
        if before is None or self._key is not None:
            with self._engine.database.snapshot() as connection:
                if self._key is not None:
                    self._known = earlier.read(self._engine, connection,
                                               self._key, now)
                before = lease_find.read(connection, self._lease_id)
        self._before = before
        return before

    def add_offers(self, refused: errors.LeaseRefused | errors.LeaseLimit
                   ) -> None:
        """Add requests that would be accepted to a refusal."""
        engine, allowed, lease = self._engine, self._allowed, self._before
        if lease is None:
            return
        now = engine.clock()
        # The enforcement service decides on the request itself, and not on
        # each offer.
        change_offers.add(
            refused, lease, self._changes, now, allowed, ceiling.of_project(
                engine, allowed, lease.project_id, now, lease.id),
            lambda changes: _Request(
                engine, self._lease_id, changes, self._ladder.for_offers(),
                allowed, None, lease).plan().result)

    def check_unserved(self, refusal: errors.ReservationError) -> None:
        """Check that no copy of the refused request was served meanwhile.

        :raises Conflict: a copy was served, or the lease has changed since the
            caller was allowed to change it, so that it is planned again.
        """
        self._known.check_unserved(self._engine, refusal)
        lease = self._before
        if lease is None or lease is not self._as_permitted:
            return
        # No commit shows that it is outdated.
        with self._engine.database.snapshot() as connection:
            if db_leases.read_one(connection, lease.id) != lease:
                raise db_connection.Conflict(
                    f'lease {lease.id} has changed') from refusal

    def _replan(self, before: leases.Lease, after: leases.Lease,
                now: datetime.datetime) -> lease_replan.Replanned:
        """Plan the hosts again, on the ladder."""
        engine, changes, allowed = self._engine, self._changes, self._allowed
        project = ceiling.of_project(engine, allowed, before.project_id,
                                     now, before.id)
        window = _window(after, changes, allowed, now)
        first, last = window or (after.start, after.start)
        replanned = lease_replan.climb(
            engine, self._ladder, before, after, changes, project,
            ladder.Asked(now, allowed, first, last,
                         last + (after.end - after.start),
                         is_open=window is not None, lease_id=before.id))
        if isinstance(replanned, lease_replan.Refused):
            raise replanned.error()
        if replanned.slid:
            slid = change_module.slid(replanned.slid)
            project = ceiling.of_project(
                engine, allowed, before.project_id, now, before.id,
                *(was.id for was, _ in slid)).beside([
                    each for _, lease in slid
                    if lease.project_id == before.project_id
                    for each in allowance.held(lease, lease.start,
                                               lease.end)])
        project.check_lease(replanned.lease, before)
        return replanned


def _window(lease: leases.Lease, changes: leases.LeaseChange,
            allowed: limits.Limits, now: datetime.datetime
            ) -> tuple[datetime.datetime, datetime.datetime] | None:
    """Return the first and the last start; ``None`` with fixed dates."""
    between = lease.between
    if between is None or changes.opened is None and (
            between.fix_at is None or between.fix_at <= now):
        return None
    until = request_checks.latest_end(allowed, now)
    latest = between.latest if until is None else min(between.latest, until)
    first = max(between.earliest, now)
    if changes.opened is None:
        # A change that does not ask for other dates gets none without the
        # notice that was promised; the present dates may stay.
        first = max(between.earliest, min(
            lease.start, lease_dates.soonest(between, now)))
    length = lease.end - lease.start
    if until is not None and until < first + length:
        # The operator has lowered the limit since. It stays where it
        # is, and does not move to where it would not be allowed either.
        return None
    return first, max(first, latest - length)


def _keeps_hosts(before: leases.Lease, after: leases.Lease,
                 changes: leases.LeaseChange) -> bool:
    """Return whether a change needs no new plan."""
    return (not changes.heal and _needs(before) == _needs(after)
            and not any(requested.give_back
                        for requested in changes.reservations))


def _needs(lease: leases.Lease) -> tuple[object, ...]:
    """Return the values on which a plan for a lease depends."""
    return lease.start, lease.end, [
        (each.least, each.most, each.hypervisor_properties,
         each.resource_properties, each.instances)
        for each in lease.reservations]

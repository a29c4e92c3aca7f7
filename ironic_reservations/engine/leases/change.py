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

from collections.abc import Hashable
import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.clouds import enforcement
from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import announce
from ironic_reservations.engine import commit
from ironic_reservations.engine import enforcement_commits
from ironic_reservations.engine import Engine
from ironic_reservations.engine import limits
from ironic_reservations.engine import notices
from ironic_reservations.engine import retry
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import asked_back as lease_asked_back
from ironic_reservations.engine.leases import dates as lease_dates
from ironic_reservations.engine.leases import find as lease_find
from ironic_reservations.engine.leases import heal as lease_heal
from ironic_reservations.engine.leases import limit_checks
from ironic_reservations.engine.leases import rehearsal as lease_rehearsal
from ironic_reservations.engine.leases import reopen as lease_reopen
from ironic_reservations.engine.leases import replan as lease_replan
from ironic_reservations.engine.leases import slides as lease_slides
from ironic_reservations.engine.leases import terms as lease_terms
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import leases
from ironic_reservations.model import told_times


def change(engine: Engine, lease_id: str, changes: leases.LeaseChange,
           project_id: str | None = None,
           dry_run: bool = False,
           allowed: limits.Limits | None = None) -> leases.Lease:
    """Extend, shorten, move, grow, shrink, heal or rename a lease.

    Nodes of a lease that has started stay; others make room for it.

    :param project_id: whose it has to be; ``None``: anybody's.
    :param dry_run: plan and answer, and change nothing.
    :param allowed: the limits that hold for the caller; ``None``: those of
        a project.
    :raises LeaseNotFound: there is none.
    :raises LeaseFrozen: that cannot be changed any more.
    :raises InvalidValue: the change makes no sense.
    :raises LeaseLimit: the operator does not allow it.
    :raises LeaseNotPermitted: the service that the operator asks does not.
    :raises LeaseRefused: it could not be served; nothing has changed.
    :raises Contention: others changed the hosts each time.
    :raises OutcomeUnknown: it may or may not have been changed.
    """
    return _change(engine, lease_id, changes, project_id, dry_run, allowed)[0]


def rehearse(engine: Engine, lease_id: str, changes: leases.LeaseChange,
             allowed: limits.Limits | None = None
             ) -> lease_rehearsal.Rehearsal:
    """Return what :func:`change` would do, and do nothing.

    :raises: as that.
    """
    return lease_rehearsal.rehearsal(engine, *_change(
        engine, lease_id, changes, None, True, allowed))


def _change(engine: Engine, lease_id: str, changes: leases.LeaseChange,
            project_id: str | None, dry_run: bool,
            allowed: limits.Limits | None
            ) -> tuple[leases.Lease, lease_rehearsal.Displaced]:
    permitted: set[Hashable] = set()
    healed: list[bool] = []
    tried: list[leases.Lease] = []
    # NOTE: of whom nobody knows whether they have slid.
    unsure: list[lease_slides.Change] = []
    hold = limits.of(engine.conf, 'leases') if allowed is None else allowed

    def attempt() -> tuple[leases.Lease, lease_rehearsal.Displaced]:
        now = engine.clock()
        before = lease_find.get(engine, lease_id, project_id)
        after = _terms(engine, before, changes, now, hold)
        if after is before:
            lease_slides.tell(engine, unsure)
            return before, lease_rehearsal.Displaced(slid=tuple(unsure))
        unsure.clear()
        if _same_promise(before, after, changes):
            replanned = None
        else:
            project = limit_checks.project(
                engine, hold, before.project_id, now, before.id)
            compared = dry_run or bool(tried)
            tried.append(before)
            until = project.latest_end(before, after.end)
            window = _window(after, changes, hold, now)
            try:
                replanned = lease_replan.replan(
                    engine, before, after, changes, now, until, project,
                    compared, window)
            except errors.LeaseRefused as exc:
                if not healed:
                    healed.append(True)
                    if lease_heal.makes_room(engine):
                        raise db_connection.Conflict(
                            'others have been planned anew') from exc
                first, last = (after.start, after.start) if (
                    window is None) else (window.first, window.last)
                others = lease_slides.read_others(
                    engine, now, first, last + (after.end - after.start),
                    before.id)
                # NOTE: of a window not all starts have been tried yet.
                if not others.leases and first == last:
                    raise
                replanned = lease_replan.replan(
                    engine, before, after, changes, now, until, project,
                    window=window, sliding=lease_replan.Sliding(others, hold))
            after = replanned.lease
            if replanned.slid:
                project = lease_slides.beside(engine, hold, before,
                                              replanned.slid, now)
            project.check_lease(after, before)
        # NOTE: where others were in the way, it may be planned otherwise.
        if enforcement.terms(after) not in permitted:
            enforcement.check_update(engine.conf, before, after)
            permitted.add(enforcement.terms(after))
        if not dry_run:
            slid = () if replanned is None else replanned.slid
            try:
                commit_change(engine, before, after, replanned, now, hold)
            except errors.OutcomeUnknown:
                unsure.extend(slid)
                raise
            lease_slides.tell(engine, slid)
        return after, (
            lease_rehearsal.Displaced() if replanned is None
            else lease_rehearsal.Displaced(replanned.difference.homes,
                                           replanned.slid))
    changed = retry.until_committed(attempt, repeatable=True)
    if not dry_run:
        engine.announcer.tell_lease(announce.LEASE_UPDATE, changed[0])
    return changed


def _window(lease: leases.Lease, changes: leases.LeaseChange,
            allowed: limits.Limits, now: datetime.datetime
            ) -> lease_replan.Window | None:
    """Return when a lease may start, where its dates are open.

    :param lease: with its new terms.
    """
    between = lease.between
    if between is None or changes.opened is None and (
            between.fix_at is None or between.fix_at <= now):
        return None
    until = lease_terms.latest_end(allowed, now)
    latest = between.latest if until is None else min(between.latest, until)
    first = max(between.earliest, now)
    if changes.opened is None:
        # NOTE: whoever does not ask for other dates gets none without the
        # notice that was promised; where it is, it may stay.
        first = max(between.earliest, min(
            lease.start, lease_dates.soonest(between, now)))
    length = lease.end - lease.start
    if until is not None and until < first + length:
        # NOTE: the operator has lowered the limit since. It stays where it
        # is, and does not move to where it would not be allowed either.
        return None
    return lease_replan.Window(first, max(first, latest - length), until)


def _same_promise(before: leases.Lease, after: leases.Lease,
                  changes: leases.LeaseChange) -> bool:
    return not changes.heal and all(
        (one.least, one.most, one.hypervisor_properties,
         one.resource_properties, one.instances)
        == (other.least, other.most, other.hypervisor_properties,
            other.resource_properties, other.instances)
        for one, other in zip(before.reservations, after.reservations,
                              strict=True)) and (
        (before.start, before.end) == (after.start, after.end)) and not any(
            wish.give_back for wish in changes.wishes)


def _terms(engine: Engine, lease: leases.Lease, changes: leases.LeaseChange,
           now: datetime.datetime, allowed: limits.Limits) -> leases.Lease:
    """Return the lease as it would be, without its bookings planned anew."""
    if changes.opened is not None:
        if lease_replan.started(lease, now) or (
                lease.status is not leases.LeaseStatus.PENDING):
            raise errors.LeaseFrozen(
                f'The lease {lease.id} has started or is over, so its dates '
                'cannot be left open. Send "end_date" to change its end.')
        lease = lease_reopen.reopened(engine.conf, lease, changes.opened,
                                      now, allowed)
    begin = _start(lease, changes, now)
    end = lease.end if changes.end is None else changes.end
    if end != lease.end and lease_replan.started(lease, now) and (
            now.replace(second=0, microsecond=0) <= end <= now):
        # NOTE: a client that says "now" in whole minutes is late by itself.
        end = now + datetime.timedelta(seconds=1)
    moved = (begin, end) != (lease.start, lease.end)
    over = lease.status.over or lease.end <= now
    if over and (moved or changes.wishes or changes.heal
                 or changes.before_end is not None):
        raise errors.LeaseFrozen(
            f'The lease {lease.id} is over; only its name can be changed.')
    if moved:
        lease_terms.check_window(allowed, begin, end, now)
    extended = end > lease.end and lease_replan.started(lease, now)
    if extended:
        lease_terms.check_extension(allowed, lease, now)
    told = changes.before_end
    if told is None and lease.before_end is not None and moved:
        told = max(begin, end - (lease.end - lease.before_end))
    told = (lease.before_end if told is None
            else lease_terms.before_end(engine.conf, begin, end, told))
    wishes = _wishes(lease, changes, now)
    if any(wish.hypervisor_properties or wish.resource_properties
           for wish in changes.wishes):
        lease_terms.check_terms(lease_terms.requirement(
            each.hypervisor_properties, each.resource_properties,
            each.instances) for each in wishes)
    # NOTE: dates that its owner sets are open no more, even if they are those
    # that it has.
    is_set = moved or (lease.between is not None
                       and lease.between.fix_at is not None
                       and (changes.start, changes.end) != (None, None))
    after = dataclasses.replace(
        lease, name=lease.name if changes.name is None else changes.name,
        start=begin, end=end, before_end=told,
        reservations=wishes,
        between=None if is_set else lease.between,
        queued=None if moved else lease.queued,
        extensions=lease.extensions + extended,
        events=lease_dates.events(lease, begin, told, end, now))
    if after == lease and not changes.heal and not any(
            wish.give_back for wish in changes.wishes):
        return lease
    return dataclasses.replace(after, updated_at=now)


def _start(lease: leases.Lease, changes: leases.LeaseChange,
           now: datetime.datetime) -> datetime.datetime:
    if changes.start is None or changes.start == lease.start:
        return lease.start
    if lease_replan.started(lease, now):
        raise errors.LeaseFrozen(
            f'The lease {lease.id} started at '
            f'{told_times.moment(lease.start)}; its start cannot be changed '
            'any more.')
    return lease_terms.start(changes.start, now)


def _wishes(lease: leases.Lease, changes: leases.LeaseChange,
            now: datetime.datetime) -> tuple[leases.LeaseReservation, ...]:
    asked = {wish.id: wish for wish in changes.wishes}
    started = lease_replan.started(lease, now)
    unknown = asked.keys() - {each.id for each in lease.reservations}
    if unknown:
        raise errors.InvalidValue(
            f'The lease {lease.id} has no reservation '
            f"{', '.join(sorted(unknown))}. The reservations of a lease can "
            'be changed, but none can be added.')
    return tuple(each if each.id not in asked
                 else _wish(each, _spoken(each, asked[each.id], started), now)
                 for each in lease.reservations)


def _spoken(each: leases.LeaseReservation, wish: leases.WishChange,
            started: bool) -> leases.WishChange:
    """Return a change in numbers of nodes; what it says has to make sense.

    :raises InvalidValue: it is about hosts, and the reservation about
        instances, or the other way round.
    :raises LeaseFrozen: instances that are there stay what they are.
    """
    if each.instances is None:
        if wish.amount is not None or wish.instances is not None:
            raise errors.InvalidValue(
                f'The reservation {each.id} reserves hosts: change "min" and '
                '"max". The keys of instances (amount, sizes, affinity) do '
                'not apply to it.')
        return wish
    if (wish.least, wish.most, wish.hypervisor_properties) != (None,) * 3:
        raise errors.InvalidValue(
            f'The reservation {each.id} reserves instances: change "amount". '
            'The keys "min", "max" and "hypervisor_properties" do not apply '
            'to it.')
    change = wish.instances or instance_reservations.InstanceChange()
    after = each.instances.changed(change, each.most)
    if started and after != each.instances:
        raise errors.LeaseFrozen(
            f'The reservation {each.id} has started: its amount can be '
            'changed, but not the size or the affinity of its instances. Make '
            'another lease for other instances.')
    if (each.resource_type == instance_reservations.FLAVOR_INSTANCE
            and after != each.instances):
        raise errors.InvalidValue(
            f'The reservation {each.id} was made for a flavor, which sets the '
            'size of its instances, and it has no affinity. Make another '
            'lease for other instances.')
    return dataclasses.replace(wish, least=wish.amount, most=wish.amount,
                               instances=change)


def _wish(each: leases.LeaseReservation, wish: leases.WishChange,
          now: datetime.datetime) -> leases.LeaseReservation:
    least, most = wish.least, wish.most
    there = {booking.node_uuid for booking in each.bookings
             if booking.state is not leases.BookingState.ENDING}
    unknown = set(wish.give_back) - there
    if unknown:
        raise errors.InvalidValue(
            f'The reservation {each.id} does not have the hosts '
            f"{', '.join(sorted(unknown))}, so they cannot be given back.")
    if wish.give_back and least is None and most is None:
        # What is given back is not to be made good for.
        left = len(there) - len(set(wish.give_back))
        if not left:
            raise errors.InvalidValue(
                f'The reservation {each.id} would have no host left. Delete '
                'the lease, or state with "min" how many other hosts it '
                'needs.')
        least, most = min(each.least, left), min(each.most, left)
    changed = dataclasses.replace(
        each, least=each.least if least is None else least,
        most=each.most if most is None else most,
        hypervisor_properties=(
            each.hypervisor_properties if wish.hypervisor_properties is None
            else wish.hypervisor_properties),
        resource_properties=(
            each.resource_properties if wish.resource_properties is None
            else wish.resource_properties))
    if each.instances is not None and wish.instances is not None:
        changed = dataclasses.replace(changed, instances=(
            each.instances.changed(wish.instances, changed.most)))
    lease_terms.check_wish(changed.least, changed.most,
                           changed.resource_type, changed.instances)
    lease_terms.requirement(changed.hypervisor_properties,
                            changed.resource_properties, changed.instances)
    return (each if changed == each
            else dataclasses.replace(changed, updated_at=now))


def commit_change(engine: Engine, before: leases.Lease, after: leases.Lease,
                  replanned: lease_replan.Replanned | None,
                  now: datetime.datetime, allowed: limits.Limits,
                  notice: notices.Kind | None = None,
                  ahead: bool = False) -> None:
    """Write a lease as it has become.

    :param replanned: with its bookings; ``None``: they stay.
    :param notice: what is told of it, in the same transaction.
    :param ahead: whether it may not have begun by then.
    :raises Conflict: something is not as it was.
    """
    slid = () if replanned is None else replanned.slid
    lessees = [] if replanned is None else _lessees(engine, before,
                                                    replanned)
    with engine.database.write() as connection:
        if replanned is not None:
            counted = lease_slides.projects(engine.conf, slid)
            if allowed.counted:
                counted.add(after.project_id)
            limit_checks.queue_up(connection, counted, now)
            commit.commit(connection, replanned.difference.seen,
                          replanned.snapshot.now, replanned.difference)
            lease_slides.write(connection, slid, now)
            limit_checks.check_again(allowed, connection, after, now, before)
            _write(connection, before, replanned, now)
        if not db_leases.update(connection, before, after,
                                lease_terms.due(after, now)):
            raise db_connection.Conflict('the lease has changed meanwhile')
        if notice is not None:
            notices.write(engine.conf, connection, notice, after, now,
                          occurrence=str(before.generation + 1))
        lease_slides.check(engine, connection, slid, now)
        lease_asked_back.write(engine, connection, lessees, now)
        enforcement_commits.write(
            engine.conf, connection,
            [after.id, *(change.after.id for change in slid)], now)
        moment = engine.clock()
        lease_dates.check_unpassed(before, after, now, moment)
        if replanned is not None:
            lease_dates.check_movable(replanned.difference.homes, now, moment)
        if after.extensions != before.extensions:
            _check_extended(allowed, before, moment)
        if ahead:
            lease_dates.check_ahead(after, moment)
        elif after.start != before.start:
            lease_dates.check_begun(after, now, moment)
    # NOTE: when a booking ends that is taken back, the statement decides.
    if replanned is not None and not replanned.ended:
        engine.snapshots.commit(
            replanned.difference.seen.generations, replanned.snapshot.now,
            [*before.bookings, *lease_slides.removed(slid)],
            [*snapshots.promised(after, after.bookings),
             *lease_slides.added(slid)],
            replanned.difference.homes)
    lease_asked_back.tell(engine, lessees)


def _check_extended(allowed: limits.Limits, lease: leases.Lease,
                    moment: datetime.datetime) -> None:
    """Check that a lease may be extended when that is written.

    :param lease: as it was.
    :raises Conflict: it is too late by now.
    """
    try:
        lease_terms.check_extension(allowed, lease, moment)
    except errors.LeaseLimit as exc:
        # NOTE: planned anew, it is found out before, and said.
        raise db_connection.Conflict(str(exc)) from exc


def _lessees(engine: Engine, before: leases.Lease,
             replanned: lease_replan.Replanned
             ) -> list[lease_asked_back.Lessee]:
    """Return who has nodes that a lease of their owner has after them."""
    homes = replanned.difference.homes
    gone = {*homes, *lease_slides.removed(replanned.slid)}
    found = lease_asked_back.find_moved(engine, replanned.snapshot, homes,
                                        gone)
    for was, made in ((before, replanned.lease),
                      *((one.before, one.after) for one in replanned.slid)):
        had = {(row.node_uuid, row.starts_at) for row in was.bookings}
        found.extend(lease_asked_back.find(
            engine, replanned.snapshot, made,
            [row for row in made.bookings
             if (row.node_uuid, row.starts_at) not in had], gone))
    return found


def _write(connection: sa.Connection, before: leases.Lease,
           replanned: lease_replan.Replanned,
           now: datetime.datetime) -> None:
    db_bookings.delete_planned(connection, replanned.dropped)
    db_bookings.update_window(connection, replanned.kept, None,
                              replanned.lease.end, now)
    db_bookings.end(connection, replanned.ended, now)
    db_bookings.insert_many(connection, replanned.added, before.user_id, now)

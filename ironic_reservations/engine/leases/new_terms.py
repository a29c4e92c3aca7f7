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

"""The terms of a lease after a change, before its hosts are planned again."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

from oslo_config import cfg

from ironic_reservations import errors
from ironic_reservations.engine.leases import dates as lease_dates
from ironic_reservations.engine.leases import replan as lease_replan
from ironic_reservations.engine.leases import request_checks
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from ironic_reservations.model import time_text

#: The reconciler does not write such leases, unless they have nodes.
_ENDED = (leases.LeaseStatus.TERMINATED, leases.LeaseStatus.ERROR)


def apply(conf: cfg.ConfigOpts, lease: leases.Lease,
          changes: leases.LeaseChange, now: datetime.datetime,
          allowed: limits.Limits) -> leases.Lease:
    """Return a lease with its new terms, and the bookings that it has.

    :param allowed: the limits of the caller.
    :returns: the lease itself if nothing changes.
    :raises InvalidValue: the change makes no sense.
    :raises LeaseFrozen: a part of the change is not possible any more.
    :raises LeaseLimit: the lease exceeds a limit of the operator.
    """
    if changes.opened is not None:
        if lease_replan.started(lease, now) or (
                lease.status is not leases.LeaseStatus.PENDING):
            raise errors.LeaseFrozen(
                f'The lease {lease.id} has started or is over, so its dates '
                'cannot be left open. Send "end_date" to change its end.')
        lease = _reopened(conf, lease, changes.opened, now, allowed)
    begin = _start(lease, changes, now)
    end = lease.end if changes.end is None else changes.end
    if end != lease.end and lease_replan.started(lease, now) and (
            now.replace(second=0, microsecond=0) <= end <= now):
        # A client that says "now" in whole minutes is late by itself.
        end = now + datetime.timedelta(seconds=1)
    moved = (begin, end) != (lease.start, lease.end)
    over = lease.status.over or lease.end <= now
    if over and (moved or changes.reservations or changes.heal
                 or changes.before_end is not None):
        raise errors.LeaseFrozen(
            f'The lease {lease.id} is over; only its name can be changed.')
    if over and changes.name not in (None, lease.name) and (
            lease.status not in _ENDED or lease.bookings):
        # Changed again and again, it would outrun the reconciler, and
        # its owner could keep the nodes.
        raise errors.LeaseFrozen(
            f'The lease {lease.id} is over, and its nodes are being taken '
            'back. Change its name after that.')
    if moved:
        request_checks.check_window(allowed, begin, end, now)
    extended = end > lease.end and lease_replan.started(lease, now)
    if extended:
        request_checks.check_extension(allowed, lease, now)
    told = changes.before_end
    if told is None and moved:
        told = lease_dates.before_end(lease, begin, end)
    told = (lease.before_end if told is None
            else request_checks.before_end(conf, begin, end, told))
    requests = _reservations(lease, changes, now)
    if any(requested.hypervisor_properties or requested.resource_properties
           for requested in changes.reservations):
        request_checks.check_comparisons(
            map(request_checks.requirement_of, requests))
    # Dates that its owner sets are open no more, even if they are those
    # that it has.
    is_set = moved or (lease.between is not None
                       and lease.between.fix_at is not None
                       and (changes.start, changes.end) != (None, None))
    after = dataclasses.replace(
        lease, name=lease.name if changes.name is None else changes.name,
        start=begin, end=end, before_end=told,
        reservations=requests,
        between=None if is_set else lease.between,
        queued=None if moved else lease.queued,
        extensions=lease.extensions + extended,
        events=lease_dates.events(lease, begin, told, end, now))
    if after == lease and not changes.heal and not any(
            requested.give_back for requested in changes.reservations):
        return lease
    return dataclasses.replace(after, updated_at=now)


def _reopened(conf: cfg.ConfigOpts, lease: leases.Lease,
              asked: leases.OpenDates, now: datetime.datetime,
              allowed: limits.Limits) -> leases.Lease:
    """Return a lease with other open dates, before it is planned again.

    It keeps its planned start if this is still within its window.

    :param allowed: the limits of the caller.
    :raises LeaseFrozen: the lease has started, or its dates are fixed.
    :raises InvalidValue: its dates are not open, or the window is too short.
    :raises LeaseLimit: the lease is too long, or too far in the future.
    """
    there = lease.between
    if asked.between is None:
        if there is None:
            raise errors.InvalidValue(
                f'The dates of the lease {lease.id} were set, so there is no '
                'window to change. Send "between", too, to leave them open; '
                'or send "start_date" and "end_date".')
        if there.fix_at is None or there.fix_at <= now:
            raise errors.LeaseFrozen(
                f'The dates of the lease {lease.id} are fixed: it starts at '
                f'{time_text.moment(lease.start)}. Send "between", too, to '
                'leave them open again.')
    first, latest = asked.between or (now, now)
    if asked.between is None and there is not None:
        first, latest = there.earliest, there.latest
    length = asked.duration or lease.end - lease.start
    seconds = asked.fix_before
    if seconds is None and there is not None:
        seconds = there.fix_before
    flexible = leases.Flexible(latest, length, seconds)
    request_checks.check_flexible(flexible, max(first, now))
    start = lease.start
    if start < first or start + length > latest:
        start = max(first, now)
    request_checks.check_window(allowed, start, start + length, now)
    end = lease.start + length
    warned_at = lease_dates.before_end(lease, lease.start, end)
    after = dataclasses.replace(
        lease, end=end, before_end=warned_at,
        between=request_checks.between(conf, first, flexible),
        events=lease_dates.events(lease, lease.start, warned_at, end, now))
    after = lease_dates.starting_at(after, start, now)
    if dataclasses.replace(after, updated_at=lease.updated_at) == lease:
        return lease
    # A lease with open dates does not wait in the queue.
    return dataclasses.replace(after, queued=None)


def _start(lease: leases.Lease, changes: leases.LeaseChange,
           now: datetime.datetime) -> datetime.datetime:
    if changes.start is None or changes.start == lease.start:
        return lease.start
    if lease_replan.started(lease, now):
        raise errors.LeaseFrozen(
            f'The lease {lease.id} started at '
            f'{time_text.moment(lease.start)}; its start cannot be changed '
            'any more.')
    return request_checks.start(changes.start, now)


def _reservations(lease: leases.Lease, changes: leases.LeaseChange,
            now: datetime.datetime) -> tuple[leases.LeaseReservation, ...]:
    asked = {requested.id: requested for requested in changes.reservations}
    started = lease_replan.started(lease, now)
    unknown = asked.keys() - {each.id for each in lease.reservations}
    if unknown:
        raise errors.InvalidValue(
            f'The lease {lease.id} has no reservation '
            f"{', '.join(sorted(unknown))}. The reservations of a lease can "
            'be changed, but none can be added.')
    return tuple(each if each.id not in asked
                 else _changed(each, _in_hosts(each, asked[each.id], started),
                               now)
                 for each in lease.reservations)


def _in_hosts(each: leases.LeaseReservation,
              requested: leases.LeaseReservationChange,
              started: bool) -> leases.LeaseReservationChange:
    """Return a change in numbers of nodes, and check that it makes sense."""
    if requested.resource_type not in (None, each.resource_type):
        raise errors.InvalidValue(
            f'The reservation {each.id} is of the type {each.resource_type}, '
            'which cannot be changed. Make another lease for another type.')
    if each.instances is None:
        if requested.amount is not None or requested.instances is not None:
            raise errors.InvalidValue(
                f'The reservation {each.id} reserves hosts: change "min" and '
                '"max". The keys of instances (amount, sizes, affinity) do '
                'not apply to it.')
        return requested
    if (requested.least, requested.most, requested.before_end,
            requested.hypervisor_properties or None) != (None,) * 4:
        raise errors.InvalidValue(
            f'The reservation {each.id} reserves instances: change "amount". '
            'The keys "min", "max", "before_end" and "hypervisor_properties" '
            'do not apply to it.')
    requested = dataclasses.replace(requested, hypervisor_properties=None)
    change = requested.instances or instance_reservations.InstanceChange()
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
    return dataclasses.replace(requested,
                               least=requested.amount,
                               most=requested.amount,
                               instances=change)


def _changed(each: leases.LeaseReservation,
             requested: leases.LeaseReservationChange,
             now: datetime.datetime) -> leases.LeaseReservation:
    least, most = requested.least, requested.most
    there = {row.node_uuid for row in each.bookings if not row.ending}
    unknown = set(requested.give_back) - there
    if unknown:
        raise errors.InvalidValue(
            f'The reservation {each.id} does not have the hosts '
            f"{', '.join(sorted(unknown))}, so they cannot be given back.")
    if requested.give_back and least is None and most is None:
        # Hosts that are given back are not replaced.
        left = len(there) - len(set(requested.give_back))
        if not left:
            raise errors.InvalidValue(
                f'The reservation {each.id} would have no host left. Delete '
                'the lease, or state with "min" how many other hosts it '
                'needs.')
        least, most = min(each.least, left), min(each.most, left)
    terms: dict[str, Any] = {
        'least': least, 'most': most, 'before_end': requested.before_end,
        'hypervisor_properties': requested.hypervisor_properties,
        'resource_properties': requested.resource_properties}
    changed = dataclasses.replace(each, **{
        name: value for name, value in terms.items() if value is not None})
    if each.instances is not None and requested.instances is not None:
        changed = dataclasses.replace(changed, instances=(
            each.instances.changed(requested.instances, changed.most)))
    request_checks.check_amounts(changed)
    request_checks.requirement_of(changed)
    return (each if changed == each
            else dataclasses.replace(changed, updated_at=now))

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

"""Check the dates, amounts and requirements of a lease request."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
import datetime

from oslo_config import cfg

from ironic_reservations import errors
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from ironic_reservations.model import requirements
from ironic_reservations.model import time_text

#: The reconciler is in the middle of these.
_TURNING = (leases.LeaseStatus.STARTING, leases.LeaseStatus.TERMINATING,
            leases.LeaseStatus.DELETING)

#: An older plan does not promise leases that would have begun by now.
_OLD = datetime.timedelta(minutes=1)

#: The size of each instance.
_Sized = (instance_reservations.InstanceRequest
          | instance_reservations.InstanceReservation)
#: The same, where instances are asked for.
Instances = _Sized | None
#: A reservation as it is requested, or with its new terms.
Asked = leases.LeaseReservation | leases.LeaseReservationRequest


def requirement(hypervisor_properties: str, resource_properties: str,
                instances: Instances = None) -> requirements.Requirement:
    """Return the requirement that hosts have to meet.

    :param instances: the size of an instance, which has to fit on an empty
        host.
    :raises InvalidValue: the properties cannot be read.
    """
    try:
        return requirements.parse(
            hypervisor_properties, resource_properties,
            None if instances is None else instances.need)
    except ValueError as exc:
        raise errors.InvalidValue(str(exc)) from exc


def requirement_of(asked: Asked) -> requirements.Requirement:
    """Return the requirement that the hosts of a reservation have to meet.

    :raises InvalidValue: the properties cannot be read.
    """
    return requirement(asked.hypervisor_properties, asked.resource_properties,
                       asked.instances)


def check_comparisons(wanted: Iterable[requirements.Requirement]) -> None:
    """Check that the requirements of a lease make few enough comparisons.

    Each comparison is made for each host; equal requirements are
    compared once.

    :raises InvalidValue: the requirements make too many comparisons.
    """
    terms = sum(each.terms for each in set(wanted))
    if terms > requirements.MAX_TERMS:
        raise errors.InvalidValue(
            f'The properties of all reservations of the lease make {terms} '
            f'comparisons; at most {requirements.MAX_TERMS} are allowed. '
            'Write fewer.')


def start(asked: datetime.datetime | None,
          now: datetime.datetime) -> datetime.datetime:
    """Return the start of a lease.

    :param asked: ``None``: now.
    :raises InvalidValue: the start has passed.
    """
    if asked is None:
        return now.replace(microsecond=0)
    # Clients send whole minutes, and mean the current minute.
    if asked < now.replace(second=0, microsecond=0):
        raise errors.InvalidValue(
            f'start_date {time_text.moment(asked)} is in the past; the time '
            f'of the service is {time_text.moment(now)}. Send "now" for a '
            'lease that starts at once.')
    return asked


def check_window(allowed: limits.Limits, begin: datetime.datetime,
                 end: datetime.datetime, now: datetime.datetime) -> None:
    """Check the start and the end of a lease.

    :param allowed: the limits that hold for the caller.
    :raises InvalidValue: the lease does not end after its start, or has ended.
    :raises LeaseLimit: the lease is too long, or too far in the future.
    """
    if end <= begin or end <= now:
        raise errors.InvalidValue(
            f'end_date {time_text.moment(end)} is not after '
            + (f'start_date {time_text.moment(begin)}.' if end <= begin
               else f'now, which is {time_text.moment(now)}.')
            + ' Send a later end_date.')
    seconds = (end - begin).total_seconds()
    if allowed.max_duration and seconds > allowed.max_duration:
        raise errors.LeaseLimit(
            f'The lease would last {time_text.duration(seconds)}; the '
            f'operator allows {time_text.duration(allowed.max_duration)}. '
            'Ask for a shorter lease.',
            limit='max_duration', allowed=allowed.max_duration,
            asked=int(seconds))
    ahead = (end - now).total_seconds()
    if allowed.max_horizon and ahead > allowed.max_horizon:
        raise errors.LeaseLimit(
            f'The lease would end {time_text.duration(ahead)} from now; the '
            f'operator allows {time_text.duration(allowed.max_horizon)}. Ask '
            'for a lease that ends earlier.',
            limit='max_horizon', allowed=allowed.max_horizon,
            asked=int(ahead))


def begun_from(lease: leases.Lease, planned: datetime.datetime
               ) -> tuple[datetime.datetime, ...]:
    """Return the instants from which a planned start is not valid any more.

    The process may be stopped between the plan and the commit.

    :param planned: the time at which the start was planned.
    """
    return max(lease.start, planned + _OLD), lease.end


def passed_from(before: leases.Lease, after: leases.Lease,
                planned: datetime.datetime) -> Iterator[datetime.datetime]:
    """Yield the instants from which a planned change is not valid any more.

    The generation of a lease does not change when one of its dates passes, but
    only when the reconciler acts on it.

    :param before: the lease as it was.
    :param after: the lease as it is written.
    :param planned: the time at which the change was planned.
    """
    fixed = [lease.between.fix_at for lease in (before, after)
             if lease.between is not None and lease.between.fix_at is not None]
    # A lease that is over must not come back by a change.
    for instant in (*fixed, before.start, before.end):
        if instant > planned:
            yield instant
    if after.end != before.end:
        # An owner who ends a lease now gets an end one second after the plan,
        # which may pass before the COMMIT.
        yield max(after.end, planned + _OLD)


def check_extension(allowed: limits.Limits, lease: leases.Lease,
                    now: datetime.datetime) -> None:
    """Check that a lease that has started may be extended once more.

    :param allowed: the limits that hold for the caller.
    :param lease: the present lease.
    :raises LeaseLimit: the notice period has begun, or the lease was extended
        too often.
    """
    end, most = lease.end, allowed.max_extensions
    if most and lease.extensions >= most:
        raise errors.LeaseLimit(
            'Since its start, the lease has been extended as often as '
            f'[leases] max_extensions allows ({most}). It still ends at '
            f'{time_text.moment(end)}. Make another lease that starts then.',
            limit='max_extensions', allowed=most, used=lease.extensions,
            asked=1)
    notice = allowed.extension_notice
    left = int((end - now).total_seconds())
    if left < notice:
        latest = last_extension(allowed, lease)
        raise errors.LeaseLimit(
            f'The lease ends at {time_text.moment(end)}, and could be '
            f'extended until {time_text.moment(latest)}, '
            f'{time_text.duration(notice)} before '
            '([leases] extension_notice). Make another lease for the time '
            'after it.', limit='extension_notice', allowed=notice, asked=left)


def last_extension(allowed: limits.Limits,
                   lease: leases.Lease) -> datetime.datetime:
    """Return the last instant at which a lease may be extended."""
    return lease.end - datetime.timedelta(seconds=allowed.extension_notice)


def check_flexible(flexible: leases.Flexible,
                   first: datetime.datetime) -> None:
    """Check that a lease of open dates fits into its window.

    :param first: the earliest start.
    :raises InvalidValue: the window is shorter than the duration.
    """
    if first + flexible.duration > flexible.latest:
        raise errors.InvalidValue(
            f'A lease of {time_text.duration(flexible.duration)} that starts '
            f'at {time_text.moment(first)} at the earliest does not end '
            f'before {time_text.moment(flexible.latest)}. Send a longer '
            'window in "between", or a shorter "duration".')


def between(conf: cfg.ConfigOpts, earliest: datetime.datetime,
            flexible: leases.Flexible) -> leases.Between:
    """Return the window in which a lease of open dates may be planned."""
    before = flexible.fix_before
    return leases.Between(
        earliest, flexible.latest,
        conf.leases.fix_before if before is None else before)


def latest_end(allowed: limits.Limits,
               now: datetime.datetime) -> datetime.datetime | None:
    """Return the latest end of any lease; ``None`` without a limit."""
    ahead = allowed.max_horizon
    return now + datetime.timedelta(seconds=ahead) if ahead else None


def before_end(conf: cfg.ConfigOpts, begin: datetime.datetime,
               end: datetime.datetime,
               asked: datetime.datetime | None) -> datetime.datetime:
    """Return the time of the notification that the end is near.

    :param asked: the requested time; ``None``: the configured one.
    :raises InvalidValue: the time is not within the lease.
    """
    if asked is None:
        return max(begin, end - datetime.timedelta(
            seconds=conf.leases.before_end_time))
    if not begin <= asked <= end:
        raise errors.InvalidValue(
            f'before_end_date {time_text.moment(asked)} is not within the '
            f'lease, which lasts from {time_text.moment(begin)} until '
            f'{time_text.moment(end)}. '
            'Send a date within it, or leave it out.')
    return asked


def check_amounts(asked: Asked) -> None:
    """Check the amounts and the kind of a requested reservation.

    :raises InvalidValue: the amounts contradict each other, or are out of
        bounds.
    """
    least, most, kind = asked.least, asked.most, asked.resource_type
    instances = asked.instances
    if kind not in (leases.PHYSICAL_HOST, *instance_reservations.KINDS):
        raise errors.InvalidValue(
            f'The resource_type {kind!r} is not supported. Use '
            f'"{leases.PHYSICAL_HOST}", or one of '
            f"{', '.join(instance_reservations.KINDS)}.")
    if (instances is None) is not (kind == leases.PHYSICAL_HOST):
        raise errors.InvalidValue(
            f'A reservation of {kind} '
            + ('needs the size of an instance.' if instances is None
               else 'reserves hosts, and takes no sizes of instances.'))
    if instances is not None:
        _check_instances(least, most, instances)
    if not 1 <= least <= most:
        raise errors.InvalidValue(
            f'A reservation has min {least} and max {most}. Send numbers with '
            '1 <= min <= max.')


def _check_instances(least: int, most: int, instances: _Sized) -> None:
    if not 1 <= least == most:
        raise errors.InvalidValue(
            f'A reservation has from {least} to {most} instances. Send one '
            'amount, of at least 1.')
    if min(instances.sizes) < 0 or (
            instances.flavor is None and not any(instances.sizes)):
        raise errors.InvalidValue(
            f'The sizes of an instance are {instances.sizes}. Send vcpus, '
            'memory_mb and disk_gb that are not negative, and at least one of '
            'them above zero.')


def due(lease: leases.Lease, now: datetime.datetime) -> datetime.datetime:
    """Return the time at which the reconciler has to check a changed lease."""
    if lease.status in _TURNING or any(
            booking.ending or booking.starts_at <= now
            and booking.state is leases.BookingState.PLANNED
            for booking in lease.bookings):
        return now
    return min((event.time for event in lease.events
                if event.status is not leases.EventStatus.DONE),
               default=now)

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

"""Open the dates of a lease, or change the window of its open dates."""

from __future__ import annotations

import dataclasses
import datetime

from oslo_config import cfg

from ironic_reservations import errors
from ironic_reservations.engine.leases import dates as lease_dates
from ironic_reservations.engine.leases import request_checks
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from ironic_reservations.model import time_text


def reopened(conf: cfg.ConfigOpts, lease: leases.Lease,
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
    warned_at = lease.before_end
    if warned_at is not None and length != lease.end - lease.start:
        warned_at = max(lease.start,
                        lease.start + length - (lease.end - warned_at))
    after = dataclasses.replace(
        lease, end=lease.start + length, before_end=warned_at,
        between=request_checks.between(conf, first, flexible),
        events=lease_dates.events(lease, lease.start, warned_at,
                                  lease.start + length, now))
    after = lease_dates.starting_at(after, start, now)
    if dataclasses.replace(after, updated_at=lease.updated_at) == lease:
        return lease
    # A lease with open dates does not wait in the queue.
    return dataclasses.replace(after, queued=None)

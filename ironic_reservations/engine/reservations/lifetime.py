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

"""The lifetime of reservations."""

from __future__ import annotations

import datetime

from oslo_config import cfg

from ironic_reservations import errors
from ironic_reservations.model import limits
from ironic_reservations.model import node_reservation
from ironic_reservations.model import time_text


def expiry(conf: cfg.ConfigOpts, now: datetime.datetime,
           expires_at: datetime.datetime | None = None,
           ttl: int | None = None) -> datetime.datetime:
    """Return the end of a reservation that is made or renewed now.

    :param expires_at: the requested end, zone-aware; or
    :param ttl: the requested time to live, in seconds.
    :raises InvalidValue: both are given, or the time is out of bounds.
    """
    options = conf.reservations
    if expires_at is not None and ttl is not None:
        raise errors.InvalidValue(
            'Both expires_at and ttl are given. Send one of them.')
    if expires_at is not None:
        seconds = (expires_at - now).total_seconds()
        if seconds <= 0:
            raise errors.InvalidValue(
                f'expires_at {time_text.moment(expires_at)} is in the past; '
                f'the time of the service is {time_text.moment(now)}. Send a '
                'later time.')
        # One second of tolerance for the time that the request took.
        if seconds < options.min_ttl - 1 or seconds > options.max_ttl:
            raise errors.InvalidValue(
                f'expires_at {time_text.moment(expires_at)} is '
                f'{time_text.duration(seconds)} from now; a reservation '
                f'lasts from {time_text.duration(options.min_ttl)} to '
                f'{time_text.duration(options.max_ttl)}.')
        return expires_at
    if ttl is None:
        ttl = max(options.min_ttl, min(options.default_ttl, options.max_ttl))
    if not options.min_ttl <= ttl <= options.max_ttl:
        raise errors.InvalidValue(
            f'ttl {ttl} is out of range; a reservation lasts from '
            f'{options.min_ttl} to {options.max_ttl} seconds.')
    return now + datetime.timedelta(seconds=ttl)


def check_latest(allowed: limits.Limits, held: node_reservation.Reservation,
                 end: datetime.datetime) -> None:
    """Check that a renewal does not exceed the longest lifetime.

    :param end: the new end.
    :raises ReservationLimit: the renewal exceeds it.
    """
    most = allowed.max_lifetime
    latest = held.created_at + datetime.timedelta(seconds=most)
    if (most and held.state is node_reservation.State.RESERVED
            and end > max(latest, held.expires_at)):
        raise errors.ReservationLimit(
            f'The reservation began at {time_text.moment(held.created_at)} '
            f'and can be renewed until {time_text.moment(latest)}, '
            f'{time_text.duration(most)} later '
            '([reservations] max_lifetime). Renew it until that time at most, '
            'use it, or lease a node.', limit='max_lifetime', allowed=most,
            used=int((held.expires_at - held.created_at).total_seconds()),
            asked=int((end - held.created_at).total_seconds()),
            latest=latest.isoformat())

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

"""How many hosts are free, when (``GET /v1/availability``)."""

from __future__ import annotations

import dataclasses
import datetime

from ironic_reservations import errors
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import terms as lease_terms
from ironic_reservations.model import instants
from ironic_reservations.planner import availability
from ironic_reservations.planner import bookings
from ironic_reservations.planner import fleet
from ironic_reservations.planner.pool import offers as pool_offers

#: How far ahead the earliest start is looked for.
_AHEAD = datetime.timedelta(days=366)


@dataclasses.dataclass(frozen=True)
class Span:
    """A stretch of time over which as many hosts are free."""

    start: datetime.datetime
    end: datetime.datetime
    free: int


@dataclasses.dataclass(frozen=True)
class ClassAvailability:
    """The hosts of one resource class.

    :ivar hosts: how many there are; those that cannot be used are never
        free.
    """

    resource_class: str | None
    hosts: int
    spans: tuple[Span, ...]


@dataclasses.dataclass(frozen=True)
class Availability:
    """What is free.

    :ivar earliest: when as many hosts as were asked about can be had for as
        long as was asked about.
    """

    classes: tuple[ClassAvailability, ...]
    earliest: datetime.datetime | None = None


def look(engine: Engine, start: datetime.datetime, end: datetime.datetime,
         resource_class: str | None = None, hypervisor_properties: str = '',
         resource_properties: str = '', count: int | None = None,
         duration: int | None = None) -> Availability:
    """Count the free hosts of each resource class over time.

    :param resource_class: of one class only.
    :param hypervisor_properties: of hosts that are like this, as a lease
        asks for them.
    :param count: find the earliest start, within a year of ``start``, for so
        many hosts
    :param duration: for so many seconds.
    :raises InvalidValue: the window or the properties make no sense.
    """
    if end <= start:
        raise errors.InvalidValue(
            f'end {end.isoformat()} is not after start {start.isoformat()}. '
            'Send a later end.')
    if (count is None) != (duration is None):
        raise errors.InvalidValue(
            'For the earliest start, send both "count" and "duration".')
    if count is not None and not (count > 0 and (duration or 0) > 0):
        raise errors.InvalidValue(
            '"count" and "duration" must be greater than zero.')
    wanted = lease_terms.requirement(hypervisor_properties,
                                     resource_properties)
    horizon = retry.until_committed(lambda: engine.snapshots.snapshot(
        engine.database, engine.clock(), (wanted,)))
    hosts = horizon.eligible(wanted)
    by_class: dict[str | None, list[int]] = {}
    for number in fleet.members(hosts):
        name = horizon.standing(number).host.node.resource_class
        if resource_class in (None, name):
            by_class.setdefault(name, []).append(number)
    classes = tuple(ClassAvailability(name, len(numbers), tuple(
        Span(instants.moment(span.start), instants.moment(span.end),
             span.free)
        for span in availability.free_counts(
            horizon.timeline, fleet.mask(numbers), instants.instant(start),
            instants.instant(end))))
        for name, numbers in sorted(by_class.items(),
                                    key=lambda item: item[0] or ''))
    if count is None or duration is None:
        return Availability(classes)
    everyone = [number for numbers in by_class.values()
                for number in numbers]
    return Availability(classes, _earliest(
        engine, horizon, fleet.mask(everyone), max(start, horizon.now),
        count, datetime.timedelta(seconds=duration)))


def _earliest(engine: Engine, horizon: snapshots.Snapshot, hosts: int,
              start: datetime.datetime, count: int,
              duration: datetime.timedelta) -> datetime.datetime | None:
    try:
        end = start + duration
        latest = end + _AHEAD
    except OverflowError as exc:
        raise errors.InvalidValue(
            f'A lease of {duration.total_seconds():.0f} seconds would end '
            'after the year 9999. Send a shorter duration.') from exc
    if hosts.bit_count() < count:
        return None
    margin = engine.conf.leases.cleaning_time * instants.SECOND
    offer = pool_offers.soonest(horizon.pool, [bookings.Demand(
        'earliest', instants.instant(start), instants.instant(end), count,
        count, hosts, margin)], instants.instant(latest))
    return None if offer is None else instants.moment(offer.demands[0].start)

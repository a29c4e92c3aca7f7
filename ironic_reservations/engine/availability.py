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

"""The number of free hosts over time (``GET /v1/availability``)."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import datetime
import itertools

from ironic_reservations import errors
from ironic_reservations.engine import ceiling
from ironic_reservations.engine import Engine
from ironic_reservations.engine import hard_requests
from ironic_reservations.engine import retry
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import ladder
from ironic_reservations.engine.leases import request_checks
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from ironic_reservations.model import time_text
from ironic_reservations.planner import availability
from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import offers

_MINUTE = datetime.timedelta(minutes=1)


@dataclasses.dataclass(frozen=True)
class Span:
    """A span of time with a constant number of free hosts."""

    start: datetime.datetime
    end: datetime.datetime
    free: int


@dataclasses.dataclass(frozen=True)
class ClassAvailability:
    """The hosts of one resource class.

    :ivar hosts: the number of hosts; unusable hosts are never free.
    """

    resource_class: str | None
    hosts: int
    spans: tuple[Span, ...]


@dataclasses.dataclass(frozen=True)
class Availability:
    """The free hosts in a window.

    :ivar earliest: the first instant from which the requested number of hosts
        is free for the requested duration.
    :ivar slots: the first possible starts of such a lease, if slots are
        requested.
    """

    classes: tuple[ClassAvailability, ...]
    earliest: datetime.datetime | None = None
    slots: tuple[datetime.datetime, ...] = ()


@dataclasses.dataclass(frozen=True)
class Caller:
    """The project that would request a lease, and its limits.

    :ivar allowed: the limits of the caller.
    """

    project_id: str | None
    allowed: limits.Limits


def count_free(engine: Engine, start: datetime.datetime,
               end: datetime.datetime, resource_class: str | None = None,
               hypervisor_properties: str = '',
               resource_properties: str = '', count: int | None = None,
               duration: int | None = None, slots: int | None = None,
               caller: Caller = Caller(None, limits.NONE)) -> Availability:
    """Count the free hosts of each resource class over time.

    :param resource_class: count hosts of this class only.
    :param hypervisor_properties: count hosts with these properties only, in
        the syntax of a lease.
    :param count: the number of hosts for which to find the earliest start,
        within a year of ``start``.
    :param duration: the duration of that lease in seconds.
    :param slots: the number of starts to find; the lease has to end within
        the window.
    :param caller: the caller for whom the lease would be.
    :raises InvalidValue: the window or the properties make no sense.
    """
    if end <= start:
        raise errors.InvalidValue(
            f'end {time_text.moment(end)} is not after start '
            f'{time_text.moment(start)}. Send a later end.')
    if (count is None) != (duration is None):
        raise errors.InvalidValue(
            'For the earliest start, send both "count" and "duration".')
    if slots is not None and count is None:
        raise errors.InvalidValue(
            'For slots, send "count" and "duration" as well.')
    if count is not None and not (count > 0 and (duration or 0) > 0):
        raise errors.InvalidValue(
            '"count" and "duration" must be greater than zero.')
    wanted = request_checks.requirement(hypervisor_properties,
                                        resource_properties)
    snapshot = retry.until_committed(
        lambda: engine.snapshot(engine.clock(), (wanted,)))
    hosts = snapshot.eligible(wanted)
    lent = snapshot.loans.to(caller.project_id)
    by_class: dict[str | None, list[int]] = {}
    for number in host_sets.members(hosts):
        name = snapshot.host_state(number).host.node.resource_class
        if resource_class in (None, name):
            by_class.setdefault(name, []).append(number)
    classes = tuple(ClassAvailability(name, len(numbers), tuple(
        Span(instants.moment(span.start), instants.moment(span.end),
             span.free)
        for span in availability.free_beside_loans(
            snapshot.timeline, host_sets.mask(numbers), lent,
            snapshot.loans.until - snapshot.margin, instants.instant(start),
            instants.instant(end))))
        for name, numbers in sorted(by_class.items(),
                                    key=lambda item: item[0] or ''))
    if count is None or duration is None:
        return Availability(classes)
    wanted_hosts = host_sets.mask(itertools.chain(*by_class.values()))
    lasting = datetime.timedelta(seconds=duration)
    earliest = _earliest(snapshot, wanted_hosts, max(start, snapshot.now),
                         count, lasting, caller.project_id)
    return Availability(classes, earliest, () if slots is None else _slots(
        engine, snapshot, wanted_hosts, (start, end), count, lasting, slots,
        caller, (hypervisor_properties, resource_properties), resource_class))


def _earliest(snapshot: snapshots.Snapshot, hosts: int,
              start: datetime.datetime, count: int,
              duration: datetime.timedelta,
              project_id: str | None) -> datetime.datetime | None:
    try:
        end = start + duration
        latest = ladder.search_end(end)
    except OverflowError as exc:
        raise errors.InvalidValue(
            f'A lease of {time_text.duration(duration)} would end after the '
            'year 9999. Send a shorter duration.') from exc
    if hosts.bit_count() < count:
        return None
    demand = snapshot.limited(bookings.Demand(
        'earliest', instants.instant(start), instants.instant(end), count,
        count, hosts, snapshot.margin), project_id)
    offer = offers.soonest(snapshot.timeline, [demand],
                           instants.instant(latest), hard_requests.limits(),
                           instants.SECOND)
    return None if offer is None else instants.moment(offer.demands[0].start)


def _slots(engine: Engine, snapshot: snapshots.Snapshot, hosts: int,
           window: tuple[datetime.datetime, datetime.datetime], count: int,
           duration: datetime.timedelta, most: int,
           caller: Caller, properties: tuple[str, str],
           resource_class: str | None) -> tuple[datetime.datetime, ...]:
    """Return the first starts of leases that would be accepted."""
    begin, latest = window
    if begin <= snapshot.now:
        # The first start leaves the caller some time to request it.
        begin = snapshot.now.replace(second=0, microsecond=0) + _MINUTE
    if latest - begin < duration or hosts.bit_count() < count:
        return ()
    project = ceiling.of_project(engine, caller.allowed, caller.project_id,
                                 snapshot.now)
    if resource_class is not None:
        # Added to the text of the request, the class could make it too long
        # or nested too deep.
        project = project.of_class(resource_class)

    def permits(demands: Sequence[bookings.Demand]) -> bool:
        start, end = (instants.moment(demands[0].start),
                      instants.moment(demands[0].end))
        try:
            project.check_one_more()
            request_checks.check_window(caller.allowed, start, end,
                                        snapshot.now)
        except errors.LeaseLimit:
            return False
        return project.permits(
            leases.LeaseRequest('', end, (leases.LeaseReservationRequest(
                count, count, *properties),), start))
    demand = snapshot.limited(bookings.Demand(
        'slot', instants.instant(begin), instants.instant(begin + duration),
        count, count, hosts, snapshot.margin), caller.project_id)
    found = offers.starts(
        snapshot.timeline, [demand],
        instants.instant(latest), most, instants.SECOND, permits,
        hard_requests.limits(), project.opens())
    return tuple(instants.moment(demands[0].start) for demands in found)

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

"""The bodies of requests about leases and hosts."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from ironic_reservations_client import fields
from ironic_reservations_client import requirement_text
from ironic_reservations_client import resources
from ironic_reservations_client import times

#: The version of leases and hosts, the same that Blazar's clients ask for.
VERSION = 'reservation 1.0'
#: The states of leases to which nothing is promised any more.
OVER = ('TERMINATING', 'TERMINATED', 'DELETING', 'ERROR')
#: The fields of the size of an instance.
SIZES = ('vcpus', 'memory_mb', 'disk_gb')


def hosts(least: int = 1, most: int | None = None,
          resource_class: str | None = None,
          traits: Iterable[str] = (),
          conditions: Iterable[str] = ()) -> dict[str, Any]:
    """Return one reservation of a new lease.

    :param least: the minimum number of hosts.
    :param most: the maximum number of hosts; by default the minimum.
    :param resource_class: the resource class of the hosts.
    :param traits: the traits that each host must have.
    :param conditions: conditions such as ``vcpus>=8``.
    :raises ValueError: a condition cannot be read.
    """
    return resources.PART.body(
        resource_type='physical:host', min=least,
        max=least if most is None else most, hypervisor_properties='',
        resource_properties=requirement_text.properties(
            conditions, resource_class, traits))


def instances(amount: int, *, resource_class: str | None = None,
              traits: Iterable[str] = (), conditions: Iterable[str] = (),
              **size: Any) -> dict[str, Any]:
    """Return one reservation of a new lease, of instances.

    :param amount: the number of instances.
    :param size: ``vcpus``, ``memory_mb`` and ``disk_gb`` of each instance; or
        ``flavor_id``, the id or the name of a flavor that the service reads
        from Nova; or ``flavor``, the flavor itself, as Nova's API or the
        commands show it. ``affinity``: true for all instances on one host,
        false for all on different hosts.
    :raises ValueError: a condition cannot be read.
    """
    body = resources.PART.body(
        resource_type='flavor:instance', amount=amount,
        resource_properties=requirement_text.properties(
            conditions, resource_class, traits), **size)
    if not body.keys() & {'flavor_id', 'flavor'}:
        body = {**dict.fromkeys(SIZES, 0), **body,
                'resource_type': 'virtual:instance'}
    return {'affinity': None, **body}


def creation(name: str, end: times.Instant | str | None,
             reservations: Iterable[Mapping[str, Any]],
             start: times.Instant | str = times.NOW,
             before_end: times.Instant | str | None = None,
             duration: int | None = None) -> dict[str, Any]:
    """Return the body of a request for a lease.

    :param end: the end; ``None`` with a duration.
    :param duration: the duration in seconds, instead of the end.
    """
    return {**resources.LEASE.body(
        name=name, start=start, end=end, duration=duration,
        reservations=reservations, before_end=before_end), 'events': []}


def queued(body: Mapping[str, Any],
           priority: int | None = None) -> dict[str, Any]:
    """Return a request for a lease that is queued instead of refused.

    :param body: the result of :func:`creation`.
    :param priority: the priority in the queue; a lease with a higher one comes
        first.
    """
    return {**body, **resources.LEASE.body(on_refusal='queue',
                                           priority=priority)}


def flexible(name: str, earliest: times.Instant | str,
             latest: times.Instant | str, duration: int,
             reservations: Iterable[Mapping[str, Any]],
             fix_before: int | None = None) -> dict[str, Any]:
    """Return the body of a request for a lease with open dates.

    :param earliest: the earliest start.
    :param latest: the latest end.
    :param duration: the duration in seconds.
    :param fix_before: the seconds before the planned start at which the dates
        are fixed; by default as configured.
    """
    return resources.LEASE.body(
        name=name, between=(earliest, latest), duration=duration,
        reservations=reservations, fix_before=fix_before)


def change(*, heal: bool = False,
           reservations: Iterable[Mapping[str, Any]] = (),
           **changes: Any) -> dict[str, Any]:
    """Return the body of a change of a lease, with only the changes.

    :param heal: whether broken nodes are replaced.
    :param reservations: each with its ``id`` and its changes:
        ``min``, ``max``, ``resource_properties``, ``give_back``.
    :param changes: ``name``, ``start``, ``end``, ``before_end``;
        ``between``, the earliest start and the latest end, from now on;
        ``duration``, in seconds, if its dates are open; ``fix_before``, the
        number of seconds before its planned start when they are fixed.
    """
    return resources.LEASE.body(heal=heal or None,
                                reservations=fields.several(reservations)
                                or None,
                                **changes)


def availability(*, resource_class: str | None = None,
                 traits: Iterable[str] = (),
                 conditions: Iterable[str] = (), **asked: Any
                 ) -> dict[str, str]:
    """Return the query for free hosts.

    :param asked: ``start`` and ``end``; ``hosts``, ``duration``, in seconds,
        and ``slots``, which are numbers.
    :raises ValueError: a condition cannot be parsed, or one of ``hosts`` and
        ``duration`` is given without the other, or ``slots`` without both.
    """
    if (asked.get('hosts') is None) != (asked.get('duration') is None):
        raise ValueError('The earliest start depends on the number of hosts '
                         'and on the duration: set both, or neither.')
    if asked.get('slots') is not None and asked.get('hosts') is None:
        raise ValueError('Slots depend on the number of hosts and on the '
                         'duration: set both, too.')
    query = resources.AVAILABILITY.body(
        resource_class=resource_class or None,
        resource_properties=requirement_text.properties(
            conditions, None, traits) or None, **asked)
    return {name: str(value) for name, value in query.items()}

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

from ironic_reservations_client import requirement_text
from ironic_reservations_client import resources
from ironic_reservations_client import times

#: The version of leases and hosts, the same that Blazar's clients ask for.
VERSION = 'reservation 1.0'
#: The states of leases to which nothing is promised any more.
OVER = ('TERMINATING', 'TERMINATED', 'DELETING', 'ERROR')
_SIZES = ('vcpus', 'memory_mb', 'disk_gb')


def hosts(least: int = 1, most: int | None = None,
          resource_class: str | None = None,
          traits: Iterable[str] = (),
          conditions: Iterable[str] = ()) -> dict[str, Any]:
    """Return one reservation of a new lease.

    :param least: how many hosts it takes at least.
    :param most: and at most; as many as at least by default.
    :param resource_class: the class that they are of.
    :param traits: which they all have.
    :param conditions: ``vcpus>=8`` and the like.
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

    :param amount: how many.
    :param size: ``vcpus``, ``memory_mb`` and ``disk_gb`` of each;
        or ``flavor_id``, the id or the name of a flavor, which the service
        reads from Nova; or ``flavor``, the flavor itself, as Nova's API or
        the commands show it.  ``affinity`` is true for all on one host, and
        false for all on different ones.
    :raises ValueError: a condition cannot be read.
    """
    body = resources.PART.body(
        resource_type='flavor:instance', amount=amount,
        resource_properties=requirement_text.properties(
            conditions, resource_class, traits), **size)
    if not body.keys() & {'flavor_id', 'flavor'}:
        body = {**dict.fromkeys(_SIZES, 0), **body,
                'resource_type': 'virtual:instance'}
    return {'affinity': None, **body}


def creation(name: str, end: times.Instant | str | None,
             reservations: Iterable[Mapping[str, Any]],
             start: times.Instant | str = times.NOW,
             before_end: times.Instant | str | None = None,
             duration: int | None = None) -> dict[str, Any]:
    """Return the body that asks for a lease.

    :param end: when it ends; ``None`` with a duration.
    :param duration: how long it lasts, in seconds, instead of its end.
    """
    return {**resources.LEASE.body(
        name=name, start=start, end=end, duration=duration,
        reservations=reservations, before_end=before_end), 'events': []}


def queued(body: Mapping[str, Any],
           priority: int | None = None) -> dict[str, Any]:
    """Return a request for a lease that waits if it does not fit.

    :param body: as :func:`creation` gives it.
    :param priority: among the leases that wait; a higher one comes first.
    """
    return {**body, **resources.LEASE.body(on_refusal='queue',
                                           priority=priority)}


def flexible(name: str, earliest: times.Instant | str,
             latest: times.Instant | str, duration: int,
             reservations: Iterable[Mapping[str, Any]],
             fix_before: int | None = None) -> dict[str, Any]:
    """Return the body that asks for a lease at any time of a window.

    :param earliest: it does not start before.
    :param latest: it does not end after.
    :param duration: how long it lasts, in seconds.
    :param fix_before: so many seconds before its planned start its dates are
        fixed; by default as the operator has configured it.
    """
    return resources.LEASE.body(
        name=name, between=(earliest, latest), duration=duration,
        reservations=reservations, fix_before=fix_before)


def change(*, heal: bool = False,
           reservations: Iterable[Mapping[str, Any]] = (),
           **changes: Any) -> dict[str, Any]:
    """Return the body that changes a lease, with the changes only.

    :param heal: whether nodes that broke are replaced.
    :param reservations: each with its ``id`` and its changes:
        ``min``, ``max``, ``resource_properties``, ``give_back``.
    :param changes: ``name``, ``start``, ``end``, ``before_end``;
        ``between``, the earliest start and the latest end, from now on;
        ``duration``, in seconds, if its dates are open; ``fix_before``, the
        number of seconds before its planned start when they are fixed.
    """
    return resources.LEASE.body(heal=heal or None,
                                reservations=list(reservations) or None,
                                **changes)


def look(*, resource_class: str | None = None, traits: Iterable[str] = (),
         conditions: Iterable[str] = (), **asked: Any) -> dict[str, str]:
    """Return the query for free hosts.

    :param asked: ``start`` and ``end``; ``hosts``, ``duration``, in seconds,
        and ``slots``, which are numbers.
    :raises ValueError: a condition cannot be read, or one of ``hosts`` and
        ``duration`` comes without the other, or ``slots`` without both.
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

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

from ironic_reservations_client import flavors
from ironic_reservations_client import requirement_text
from ironic_reservations_client import times

#: What leases and hosts are served as, which is what Blazar's clients ask.
VERSION = 'reservation 1.0'
#: The states of leases to which nothing is promised any more.
OVER = ('TERMINATING', 'TERMINATED', 'DELETING', 'ERROR')


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
    return {'resource_type': 'physical:host', 'min': least,
            'max': least if most is None else most,
            'hypervisor_properties': '',
            'resource_properties': requirement_text.properties(
                conditions, resource_class, traits)}


def instances(amount: int, vcpus: int | None = None,
              memory_mb: int | None = None, disk_gb: int | None = None,
              flavor_id: str | None = None,
              flavor: Mapping[str, Any] | None = None,
              affinity: bool | None = None,
              resource_class: str | None = None,
              traits: Iterable[str] = (),
              conditions: Iterable[str] = ()) -> dict[str, Any]:
    """Return one reservation of a new lease, of instances.

    :param amount: how many.
    :param vcpus: of each, unless a flavor says so.
    :param flavor_id: the id or the name of a flavor, which the service reads
        from Nova.
    :param flavor: or the flavor itself, as Nova's API or the commands show
        it.
    :param affinity: true: all on one host; false: all on different ones.
    :raises ValueError: a condition cannot be read.
    """
    given = {
        'vcpus': vcpus, 'memory_mb': memory_mb, 'disk_gb': disk_gb,
        'flavor_id': flavor_id,
        'flavor': None if flavor is None else flavors.shown(flavor)}
    named = flavor_id is not None or flavor is not None
    if not named:
        given.update({key: value or 0 for key, value in given.items()
                      if key in ('vcpus', 'memory_mb', 'disk_gb')})
    return {
        'resource_type': 'flavor:instance' if named else 'virtual:instance',
        'amount': amount, 'affinity': affinity,
        'resource_properties': requirement_text.properties(
            conditions, resource_class, traits),
        **{key: value for key, value in given.items() if value is not None}}


def creation(name: str, end: times.Instant | str,
             reservations: Iterable[Mapping[str, Any]],
             start: times.Instant | str = times.NOW,
             before_end: times.Instant | str | None = None,
             ) -> dict[str, Any]:
    """Return the body that asks for a lease."""
    body = {'name': name, 'start_date': times.written(start),
            'end_date': times.written(end),
            'reservations': [dict(each) for each in reservations],
            'events': []}
    if before_end is not None:
        body['before_end_date'] = times.written(before_end)
    return body


def queued(body: Mapping[str, Any],
           priority: int | None = None) -> dict[str, Any]:
    """Return a request for a lease that waits if it does not fit.

    :param body: as :func:`creation` gives it.
    :param priority: among the leases that wait; a higher one comes first.
    """
    waits = {**body, 'on_refusal': 'queue'}
    if priority is not None:
        waits['priority'] = priority
    return waits


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
    body = {'name': name, 'between': [times.written(earliest),
                                      times.written(latest)],
            'duration': duration,
            'reservations': [dict(each) for each in reservations]}
    if fix_before is not None:
        body['fix_before'] = fix_before
    return body


def change(name: str | None = None,
           start: times.Instant | str | None = None,
           end: times.Instant | str | None = None,
           before_end: times.Instant | str | None = None,
           reservations: Iterable[Mapping[str, Any]] = (),
           heal: bool = False,
           between: tuple[times.Instant | str,
                          times.Instant | str] | None = None,
           duration: int | None = None,
           fix_before: int | None = None) -> dict[str, Any]:
    """Return the body that changes a lease, without what stays.

    :param reservations: each with its ``id`` and what changes of it:
        ``min``, ``max``, ``resource_properties``, ``give_back``.
    :param heal: whether nodes that broke are replaced.
    :param between: the earliest start and the latest end, from now on.
    :param duration: how long it lasts, in seconds, if its dates are open.
    :param fix_before: so many seconds before its planned start it is fixed.
    """
    body: dict[str, Any] = {
        key: times.written(when) for key, when in (
            ('start_date', start), ('end_date', end),
            ('before_end_date', before_end)) if when is not None}
    if name is not None:
        body['name'] = name
    changed = [dict(each) for each in reservations]
    if changed:
        body['reservations'] = changed
    if heal:
        body['heal'] = True
    if between is not None:
        body['between'] = [times.written(each) for each in between]
    for key, seconds in (('duration', duration), ('fix_before', fix_before)):
        if seconds is not None:
            body[key] = seconds
    return body


def look(start: times.Instant | str | None = None,
         end: times.Instant | str | None = None,
         resource_class: str | None = None,
         traits: Iterable[str] = (),
         conditions: Iterable[str] = (),
         hosts: int | None = None,
         duration: int | None = None,
         slots: int | None = None) -> dict[str, str]:
    """Return the query that asks what is free.

    :raises ValueError: a condition cannot be read, or one of ``hosts`` and
        ``duration`` comes without the other, or ``slots`` without both.
    """
    if (hosts is None) != (duration is None):
        raise ValueError('The earliest start depends on the number of hosts '
                         'and on the duration: set both, or neither.')
    if slots is not None and hosts is None:
        raise ValueError('Slots depend on the number of hosts and on the '
                         'duration: set both, too.')
    query = {
        'start_date': None if start is None else times.written(start),
        'end_date': None if end is None else times.written(end),
        'resource_class': resource_class,
        'resource_properties': requirement_text.properties(
            conditions, None, traits),
        'count': None if hosts is None else str(hosts),
        'duration': None if duration is None else str(duration),
        'slots': None if slots is None else str(slots)}
    return {name: value for name, value in query.items() if value}

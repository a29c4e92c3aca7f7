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
"""The types of requests about leases."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import re
from typing import Any

from ironic_reservations.api import versions
from ironic_reservations.api.types import basic
from ironic_reservations.api.types import dates
from ironic_reservations.model import flavors
from ironic_reservations.model import instance_flavors
from ironic_reservations.model import leases
from ironic_reservations.model import node_flavors

_MAX_HOSTS = 1_000_000
_MAX_ITEMS = 1000
_MAX_PRIORITY = 100
#: The maximum number of reservations of a lease.
_MAX_RESERVATIONS = 50
_BEFORE_END = ('', 'default', 'snapshot')
_NUMBER = re.compile('[0-9]{1,9}')
_WHOLE = re.compile('0|[1-9][0-9]{0,8}')
_AFFINITIES: Mapping[str, bool | None] = {
    'true': True, 'True': True, 'false': False, 'False': False,
    'none': None, 'None': None}

to_name = basic.text_of(80)
_to_flavor_name = basic.text_of(255, 'the id of a flavor,')


def to_dates(value: Any) -> tuple[Any, Any]:
    """Return two dates; the second one must not be "now"."""
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError('a list of two dates is expected, not '
                         f'{basic.shown(value)}')
    first, last = (dates.read(each) for each in value)
    if last == dates.NOW:
        raise ValueError('the second date must not be "now"')
    return first, last


def count_of(what: str) -> Callable[[Any], int]:
    """Return a function that reads a number of hosts or instances.

    :param what: the word for hosts or instances in refusals.
    """
    def to_count(value: Any) -> int:
        return basic.to_number(_whole(value), 1, _MAX_HOSTS, f' of {what}')
    return to_count


def to_size(value: Any) -> int:
    """Return a size of an instance."""
    return basic.to_number(_whole(value), 0, flavors.MAX_AMOUNT)


def _whole(value: Any) -> Any:
    """Return the number in a text as in Blazar: ``"4"``, and not ``"04"``.

    Any other value is returned as it is.
    """
    return (int(value) if isinstance(value, str) and _WHOLE.fullmatch(value)
            else value)


def to_affinity(value: Any) -> tuple[bool | None]:
    """Return whether instances must be on one host, or on different ones."""
    # Blazar's clients send words. The tuple distinguishes "None", which means
    # neither, from a missing value.
    word = str(value) if isinstance(value, bool | str) else ''
    if word not in _AFFINITIES:
        raise ValueError('true, false or "None" is expected, not '
                         f'{basic.shown(value)}')
    return (_AFFINITIES[word],)


def to_flavor_id(value: Any) -> str:
    """Return the id of a flavor; Blazar's clients send it as a number."""
    if isinstance(value, int) and not isinstance(value, bool) and (
            0 <= value <= flavors.MAX_AMOUNT):
        value = str(value)
    return _to_flavor_name(value)


@dataclasses.dataclass(frozen=True)
class NamedFlavor:
    """A flavor with its id and its names.

    :ivar id: ``None`` if the client has not sent it.
    """

    flavor: flavors.Flavor
    id: str | None
    names: frozenset[str]


def to_flavor(value: Any) -> NamedFlavor:
    """Return a flavor as Nova shows it, for a reservation of instances."""
    return basic.of_flavor(value, _named)


def _named(document: Mapping[str, Any]) -> NamedFlavor:
    flavor = node_flavors.read(document)
    instance_flavors.request(flavor)
    ident = document.get('id')
    names = {str(name) for name in (ident, document.get('name'))
             if name is not None}
    return NamedFlavor(flavor, None if ident is None else to_flavor_id(ident),
                       frozenset(names))


def to_before_end(value: Any) -> str:
    """Return the action that Blazar takes before the end of a lease."""
    if value not in list(_BEFORE_END):
        raise ValueError(f'{basic.shown(value)} is not one of "", '
                         'default, snapshot')
    # Blazar also treats an empty one as the default.
    return value or 'default'


def to_objects(value: Any) -> list[dict[str, Any]]:
    """Return a list of objects, which are parsed later."""
    if not isinstance(value, list) or len(value) > _MAX_RESERVATIONS:
        raise ValueError(f'a list of at most {_MAX_RESERVATIONS} objects '
                         f'is expected, not {basic.shown_list(value)}')
    for item in value:
        if not isinstance(item, dict):
            raise ValueError('a list of objects is expected, not one '
                             f'with {basic.shown(item)}')
    return value


def to_no_events(value: Any) -> tuple[()]:
    """Check that a change has no events; Blazar sends an empty list."""
    if value != []:
        raise ValueError(
            'an empty list is expected. The events of a lease are made from '
            'its dates; send "start_date", "end_date" or "before_end_date" '
            'to change these')
    return ()


def to_hosts(value: Any) -> tuple[int | str, ...]:
    """Return hosts by their ids, or by the uuids of their nodes."""
    if not isinstance(value, list) or len(value) > _MAX_ITEMS:
        raise ValueError(f'a list of at most {_MAX_ITEMS} hosts is expected, '
                         f'not {basic.shown_list(value)}')
    return tuple(dict.fromkeys(map(_host, value)))


def _host(item: Any) -> int | str:
    if isinstance(item, str) and _NUMBER.fullmatch(item):
        return int(item)
    try:
        return basic.to_uuid(item)
    except ValueError as exc:
        raise ValueError(f'{basic.shown(item)} is neither the id of a host '
                         'nor the UUID of a node') from exc


def to_fix_before(value: Any) -> int:
    """Return a number of seconds; 0: the dates stay open until the start."""
    return basic.to_seconds(value, least=0)


def to_priority(value: Any) -> int:
    """Return the priority of a queued lease."""
    return basic.to_number(value, 0, _MAX_PRIORITY)


class Window(basic.Parts):
    """A start and an end, in both spellings."""

    start_date = basic.attribute(dates.read)
    end_date = basic.attribute(dates.read)
    start = basic.attribute(dates.read)
    end = basic.attribute(dates.read)


class _Lease(basic.BlazarParts, Window):
    """The parts of a new lease and of a change that mean the same."""

    before_end_date = basic.attribute(dates.read)
    name = basic.attribute(to_name)
    reservations = basic.attribute(to_objects)


class NewLease(_Lease):
    """The body of ``POST /v1/leases``."""

    events = basic.attribute(to_objects)
    between = basic.attribute(to_dates, since=versions.FLEXIBLE)
    duration = basic.attribute(basic.to_seconds, since=versions.FLEXIBLE)
    fix_before = basic.attribute(to_fix_before, since=versions.FLEXIBLE)
    on_refusal = basic.attribute(
        basic.OneOf(refuse=versions.SEED, queue=versions.SEED),
        since=versions.QUEUE)
    priority = basic.attribute(to_priority, since=versions.QUEUE)


class NewReservation(basic.BlazarParts):
    """A reservation of hosts in a new lease."""

    resource_type = basic.attribute(basic.to_text)
    min = basic.attribute(count_of('hosts'))
    max = basic.attribute(count_of('hosts'))
    hypervisor_properties = basic.attribute(basic.to_properties, null='')
    resource_properties = basic.attribute(basic.to_properties, null='')
    before_end = basic.attribute(to_before_end)


class NewInstances(basic.BlazarParts):
    """A reservation of instances in a new lease."""

    resource_type = basic.attribute(basic.to_text)
    vcpus = basic.attribute(to_size)
    memory_mb = basic.attribute(to_size)
    disk_gb = basic.attribute(to_size)
    amount = basic.attribute(count_of('instances'))
    affinity = basic.attribute(to_affinity, null='None')
    resource_properties = basic.attribute(basic.to_properties, null='')


class NewFlavored(NewInstances):
    """A reservation of instances of a flavor in a new lease."""

    flavor_id = basic.attribute(to_flavor_id)
    flavor = basic.attribute(to_flavor)


class NewEvent(basic.BlazarParts):
    """An event that a client of Blazar may add."""

    event_type = basic.attribute(basic.to_text)
    event_date = basic.attribute(dates.read)
    time = basic.attribute(dates.read)


class LeaseUpdate(_Lease):
    """The body of ``PUT /v1/leases/<id>``."""

    events = basic.attribute(to_no_events)
    heal = basic.attribute(basic.to_boolean)
    between = basic.attribute(to_dates, since=versions.OPEN_DATES)
    duration = basic.attribute(basic.to_seconds, since=versions.OPEN_DATES)
    fix_before = basic.attribute(to_fix_before, since=versions.OPEN_DATES)


class ReservationUpdate(NewReservation, NewInstances):
    """A change of one reservation of a lease, of hosts or of instances."""

    id = basic.attribute(basic.to_uuid)
    give_back = basic.attribute(to_hosts)


class ChangeQuery(basic.Parts):
    """The query of a request that has a dry run."""

    dry_run = basic.attribute(basic.to_flag)


class LeaseQuery(basic.BlazarQuery):
    """The query of ``GET /v1/leases``."""

    limit = basic.attribute(basic.to_limit)
    marker = basic.attribute(basic.to_uuid)
    project = basic.attribute(basic.to_project)
    name = basic.attribute(to_name, since=versions.LEASE_FILTERS)
    status = basic.attribute(
        basic.Some(**{each.value: versions.LEASE_FILTERS
                      for each in leases.LeaseStatus}),
        since=versions.LEASE_FILTERS)
    node = basic.attribute(basic.to_uuid, since=versions.LEASE_FILTERS)
    # "from" is a keyword of Python.
    from_ = basic.attribute(dates.read, name='from',
                            since=versions.LEASE_FILTERS)
    to = basic.attribute(dates.read, since=versions.LEASE_FILTERS)

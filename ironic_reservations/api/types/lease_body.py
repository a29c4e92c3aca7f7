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
"""Converts the bodies of requests about leases for the engine."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any

from ironic_reservations import errors
from ironic_reservations.api import versions
from ironic_reservations.api.types import basic
from ironic_reservations.api.types import dates
from ironic_reservations.api.types import lease as lease_types
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import instants
from ironic_reservations.model import leases

_SIZES = ('vcpus', 'memory_mb', 'disk_gb')
#: The keys of dates in a change, with the attributes of a lease.
_DATES = {'start_date': 'start', 'start': 'start', 'end_date': 'end',
          'end': 'end', 'before_end_date': 'before_end'}
#: The types of reservations, by resource_type.
_KINDS = {
    leases.PHYSICAL_HOST: lease_types.NewReservation,
    instance_reservations.VIRTUAL_INSTANCE: lease_types.NewInstances,
    instance_reservations.FLAVOR_INSTANCE: lease_types.NewFlavored}

#: Returns the uuids of the nodes of hosts, by the ids of the hosts.
Resolve = Callable[[Collection[int]], Mapping[int, str]]


def new_lease(document: Any, now: datetime.datetime,
              project_id: str | None, user_id: str | None,
              key: str | None, minor: int) -> leases.LeaseRequest:
    """Parse the body of a request for a lease.

    :param now: the time that "now" means, except for the start.
    :param key: the client's idempotency key.
    :param minor: our own version, which is requested beside Blazar's.
    :raises InvalidValue: a value is missing, wrong or out of range.
    :raises UnknownKey: a key does not exist in this version.
    """
    wanted = basic.read(lease_types.NewLease, document, minor, 'key')
    name = wanted.name
    flexible = _flexible(wanted, now, key is not None, minor)
    lasts = None
    queue = _queue(wanted, flexible)
    if flexible is None:
        start, end = either(wanted, 'start'), either(wanted, 'end')
        lasts = _lasts(wanted, end)
        if lasts is not None:
            end = _after(at(start, now), lasts)
    else:
        start = wanted.between[0]
        end = _after(at(start, now), flexible.duration)
    for what, value in (('name', name), ('start_date', start),
                        ('end_date', end)):
        if value is None:
            raise _missing(what)
    for index, event in enumerate(_each(wanted, 'events',
                                        lease_types.NewEvent)):
        # Blazar stores events without an effect; here they are only parsed, so
        # that its clients work.
        _check_event(f'events[{index}]', event)
    request = leases.LeaseRequest(
        name=name, start=None if start == dates.NOW else start,
        end=at(end, now),
        before_end=at(wanted.before_end_date, now),
        reservations=tuple(_reservations(wanted)), project_id=project_id,
        user_id=user_id, key=key, flexible=flexible, queue=queue,
        priority=wanted.priority or 0,
        before_end_now=wanted.before_end_date == dates.NOW, lasts=lasts)
    # A repeated request whose lease is over by now is answered with that
    # lease; the engine refuses all others.
    again = key is not None and request.start is None and end != dates.NOW
    if request.end <= (request.start or now) and not again:
        raise errors.InvalidValue('End date must be later than start date.')
    return request


def _check_event(where: str, event: Any) -> None:
    """Check that an event has only one time.

    The reference of Blazar calls it "time", and its command sends
    "event_date".
    """
    if None not in (event.time, event.event_date):
        raise errors.InvalidValue(
            f'{where}: time and event_date mean the same. Send one of them.')


def _lasts(wanted: Any, end: Any) -> datetime.timedelta | None:
    """Return the duration of a new lease, ``None`` if its end is given."""
    if wanted.duration is None:
        return None
    if end is not None:
        raise errors.InvalidValue(
            'duration and end_date both say when the lease ends. Send one of '
            'them.')
    if either(wanted, 'start') is None:
        raise _missing('start_date')
    return datetime.timedelta(seconds=wanted.duration)


def _flexible(wanted: Any, now: datetime.datetime, again: bool,
              minor: int) -> leases.Flexible | None:
    """Return the open dates of a new lease, ``None`` without them.

    :param again: whether the request may be a repeated one whose dates have
        passed; the engine refuses all others.
    """
    between = wanted.between
    if between is None:
        for name in (('fix_before',) if minor >= versions.LASTING
                     else ('duration', 'fix_before')):
            if getattr(wanted, name) is not None:
                raise errors.InvalidValue(
                    f'{name} applies to leases with open dates only. Send '
                    f'"between", too, or leave {name} out.')
        return None
    _check_no_dates(wanted)
    duration = wanted.duration
    if duration is None:
        raise _missing('duration')
    last = between[1]
    if between[0] != dates.NOW or not again:
        _window(between, now)
    return leases.Flexible(last, datetime.timedelta(seconds=duration),
                           wanted.fix_before)


def _queue(wanted: Any, flexible: leases.Flexible | None) -> bool:
    """Return whether a lease is to be queued if it does not fit."""
    queue = wanted.on_refusal == 'queue'
    if queue and flexible is not None:
        raise errors.InvalidValue(
            'A lease whose dates are open cannot be queued: "between" says '
            'how late it may start. Leave "on_refusal" out.')
    if not queue and wanted.priority is not None:
        raise errors.InvalidValue(
            'priority applies to queued leases only. Send "on_refusal": '
            '"queue", too, or leave priority out.')
    return queue


def _after(begin: datetime.datetime,
           duration: datetime.timedelta) -> datetime.datetime:
    end = begin + duration
    if end.year > instants.LAST_YEAR:
        raise errors.InvalidValue(
            f'The lease would end after the year {instants.LAST_YEAR}. Send '
            'a shorter "duration".')
    return end


def lease_change(document: Any, now: datetime.datetime,
                 resolve: Resolve, minor: int) -> leases.LeaseChange:
    """Parse the body of a request that changes a lease.

    :param now: the time that "now" means.
    :param resolve: returns the nodes of hosts of the lease by the ids of the
        hosts.
    :param minor: our own version, which is requested beside Blazar's.
    :raises InvalidValue: a value is wrong or out of range.
    :raises UnknownKey: a key does not exist in this version.
    """
    wanted = basic.read(lease_types.LeaseUpdate, document, minor, 'key')
    changes = list(_each(wanted, 'reservations',
                         lease_types.ReservationUpdate))
    uuids = _resolved([each for change in changes
                       for each in change.give_back or ()],
                      resolve)
    requested = tuple(_reservation_change(index, change, uuids)
                      for index, change in enumerate(changes))
    _check_once(requested)
    return leases.LeaseChange(
        name=wanted.name,
        start=at(either(wanted, 'start'), now),
        end=at(either(wanted, 'end'), now),
        before_end=at(wanted.before_end_date, now),
        reservations=requested, heal=bool(wanted.heal),
        opened=_opened(wanted, now))


def without_repeated_dates(document: Any, change: leases.LeaseChange,
                           lease: leases.Lease) -> leases.LeaseChange:
    """Return a change without dates that a client only repeats in minutes.

    Blazar's clients omit the seconds, which "now" has. Such a date equals the
    date of the lease.

    :param document: the body of the request for the change.
    :param lease: the present lease.
    """
    same = {}
    for key, name in _DATES.items():
        held = getattr(lease, name)
        if held is not None and dates.in_minutes(document.get(key)) and (
                getattr(change, name) == held.replace(second=0,
                                                      microsecond=0)):
            same[name] = held
    return dataclasses.replace(change, **same)


def _check_once(changes: Iterable[leases.LeaseReservationChange]) -> None:
    """Check that no reservation is changed twice.

    Only the last change would be carried out.
    """
    seen = set[str]()
    for change in changes:
        if change.id in seen:
            raise errors.InvalidValue(
                f'The reservation {change.id} is changed twice. Send all of '
                'its changes in one object.')
        seen.add(change.id)


def _opened(wanted: Any, now: datetime.datetime) -> leases.OpenDates | None:
    """Return the change of open dates, ``None`` without one."""
    between = wanted.between
    duration = wanted.duration
    opened = leases.OpenDates(
        None if between is None else _window(between, now),
        None if duration is None else datetime.timedelta(seconds=duration),
        wanted.fix_before)
    if opened == leases.OpenDates():
        return None
    _check_no_dates(wanted)
    return opened


def _window(between: tuple[Any, datetime.datetime], now: datetime.datetime
            ) -> tuple[datetime.datetime, datetime.datetime]:
    """Return the window of open dates."""
    first, last = at(between[0], now), between[1]
    if last <= first:
        raise errors.InvalidValue('The second date of "between" must be later '
                                  'than the first one.')
    return first, last


def _check_no_dates(wanted: Any) -> None:
    """Check that no date is set beside open dates."""
    for name in ('start_date', 'end_date', 'start', 'end', 'before_end_date'):
        if getattr(wanted, name) is not None:
            raise errors.InvalidValue(
                f'{name} sets a date; "between", "duration" and "fix_before" '
                f'leave the dates open. Send either {name} or these.')


def either(wanted: Any, name: str) -> Any:
    """Return a date in the spelling of Blazar's clients, or in the older one.

    :raises InvalidValue: the date is given in both.
    """
    later = getattr(wanted, f'{name}_date')
    older = getattr(wanted, name)
    if None not in (later, older):
        raise errors.InvalidValue(
            f'{name} and {name}_date mean the same. Send one of them.')
    return older if later is None else later


def at(date: Any, now: datetime.datetime) -> Any:
    """Return a date, with ``now`` for "now"."""
    return now if date == dates.NOW else date


def _each(wanted: Any, name: str, datatype: Any) -> Iterator[Any]:
    for index, item in enumerate(getattr(wanted, name) or ()):
        yield _one(f'{name}[{index}]', item, datatype)


def _one(where: str, item: dict[str, Any], datatype: Any) -> Any:
    try:
        return basic.read(datatype, item, versions.BLAZAR.minimum, 'key')
    except (errors.InvalidValue, errors.UnknownKey) as exc:
        raise type(exc)(f'{where}: {exc}') from exc


def _reservations(wanted: Any) -> Iterator[leases.LeaseReservationRequest]:
    for index, item in enumerate(wanted.reservations or ()):
        # Checked first, since each kind has its own keys.
        _check_kind(f'reservations[{index}]', item.get('resource_type'))
    for index, item in enumerate(wanted.reservations or ()):
        where, kind = f'reservations[{index}]', item['resource_type']
        read = _one(where, item, _KINDS[kind])
        yield (_of_hosts(where, read) if kind == leases.PHYSICAL_HOST
               else _of_instances(where, kind, read))


def _of_hosts(where: str, read: Any) -> leases.LeaseReservationRequest:
    least, most = read.min, read.max
    for name, value in (('min', least), ('max', most)):
        if value is None:
            raise _missing(name, where)
    _check_range(where, least, most)
    return leases.LeaseReservationRequest(
        least=least, most=most,
        hypervisor_properties=read.hypervisor_properties or '',
        resource_properties=read.resource_properties or '',
        before_end=read.before_end or 'default')


def _of_instances(where: str, kind: str,
                  read: Any) -> leases.LeaseReservationRequest:
    amount = read.amount
    if amount is None:
        raise _missing('amount', where)
    requested = leases.LeaseReservationRequest(
        least=amount, most=amount, resource_type=kind,
        resource_properties=read.resource_properties or '')
    (affinity,) = read.affinity or (None,)
    if kind == instance_reservations.FLAVOR_INSTANCE:
        if affinity is not None:
            raise errors.InvalidValue(
                f'{where}: affinity cannot be chosen for the instances of a '
                'flavor. Leave affinity out, or send the resource_type '
                f'{instance_reservations.VIRTUAL_INSTANCE}.')
        return _of_flavor(where, read, requested)
    return dataclasses.replace(
        requested, instances=_of_sizes(where, read, affinity))


def _of_flavor(
    where: str, read: Any, requested: leases.LeaseReservationRequest
) -> leases.LeaseReservationRequest:
    sent = read.flavor
    flavor_id = read.flavor_id
    if flavor_id is None and sent is not None:
        flavor_id = sent.id
    if flavor_id is None:
        raise _missing('flavor_id', where)
    sizes = [name for name in _SIZES
             if getattr(read, name) is not None]
    if sent is None:
        # If sizes are sent, Nova is not asked for the flavor.
        return dataclasses.replace(
            requested, flavor_id=None if sizes else flavor_id,
            instances=_of_sizes(where, read, None, flavor_id) if sizes
            else None)
    if sizes:
        raise errors.InvalidValue(
            f'{where}: the flavor determines the sizes. Leave '
            f'{", ".join(sizes)} out.')
    if sent.names and flavor_id not in sent.names:
        raise errors.InvalidValue(
            f'{where}: flavor_id is {basic.shown(flavor_id)}, but flavor is '
            'a different one. Leave one of them out.')
    return dataclasses.replace(requested, instances=(
        instance_reservations.InstanceRequest.of_flavor(flavor_id,
                                                        sent.flavor)))


def _of_sizes(where: str, read: Any, affinity: bool | None,
              flavor_id: str | None = None
              ) -> instance_reservations.InstanceRequest:
    sizes = {name: getattr(read, name) for name in _SIZES}
    for name, value in sizes.items():
        if value is None:
            raise _missing(name, where)
    if not any(sizes.values()):
        raise errors.InvalidValue(
            f'{where}: an instance cannot have a size of 0 in everything. '
            'Set vcpus, memory_mb or disk_gb above 0.')
    return instance_reservations.InstanceRequest(
        **sizes, affinity=affinity, source_flavor_id=flavor_id)


def _check_kind(where: str, kind: Any) -> None:
    if kind is None:
        raise _missing('resource_type', where)
    if not isinstance(kind, str) or kind not in _KINDS:
        raise errors.InvalidValue(
            f'{where}: the resource_type {basic.shown(kind)} is not served '
            f'here. Ask for one of {", ".join(_KINDS)}.')


def _check_range(where: str, least: int | None, most: int | None) -> None:
    if None not in (least, most) and least > most:  # type: ignore[operator]
        raise errors.InvalidValue(
            f'{where}: min is {least} and max is {most}; max must not be '
            'less than min.')


def _reservation_change(index: int, read: Any, uuids: Mapping[int, str]
                        ) -> leases.LeaseReservationChange:
    where = f'reservations[{index}]'
    ident = read.id
    if ident is None:
        raise _missing('id', where)
    least, most = read.min, read.max
    _check_range(where, least, most)
    affinity = read.affinity
    instances = instance_reservations.InstanceChange(
        read.vcpus, read.memory_mb, read.disk_gb,
        affinity and affinity[0], affinity is None)
    return leases.LeaseReservationChange(
        id=ident, least=least, most=most, amount=read.amount,
        instances=None if instances == instance_reservations.InstanceChange()
        else instances,
        hypervisor_properties=read.hypervisor_properties,
        resource_properties=read.resource_properties,
        before_end=read.before_end,
        resource_type=read.resource_type,
        give_back=tuple(uuids[each] if isinstance(each, int) else each
                        for each in read.give_back or ()))


def _resolved(hosts: Collection[int | str],
              resolve: Resolve) -> Mapping[int, str]:
    """Return the nodes of hosts by the ids of the hosts.

    If the lease does not have the host, the id replaces the node. The engine
    refuses it, unless it has served the same request before.
    """
    ids = {each for each in hosts if isinstance(each, int)}
    found = resolve(ids) if ids else {}
    return {each: found.get(each, str(each)) for each in ids}


def _missing(name: str, where: str = '') -> errors.InvalidValue:
    # These are Blazar's words, which its clients know.
    return errors.InvalidValue(
        f'{where}{": " if where else ""}Missing parameter {name}.')

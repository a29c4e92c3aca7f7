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


from __future__ import annotations

DOCUMENTATION = r'''
---
module: lease
short_description: Lease bare metal nodes for a time
version_added: 0.1.0
author: ironic-reservations !UNKNOWN
description:
  - Makes, changes or ends a lease. A lease is identified by its name among
    the leases that have not ended.
  - In check mode the service plans what it would do, so that a lease that
    cannot be had fails there as well, with the reasons and the offers; for
    one that can be had, it tells which other leases would make room.
options:
  name:
    description: Name of the lease, or its ID if it exists.
    type: str
    required: true
  start_date:
    description:
      - Start of the lease, C(2030-01-31 12:00) in UTC, ISO 8601 with a zone,
        V(now), or a time from now, such as V(+4h). An existing lease that has
        not started gets this start, unless it counts from now.
    type: str
    default: now
  end_date:
    description:
      - End of the lease, like O(start_date). An end that counts from now, such
        as V(+4h), is used for a new lease only.
    type: str
  duration:
    description:
      - Duration of a new lease, like V(4h), V(7d) or V(1h30m), always with a
        unit, instead of O(end_date). An existing lease keeps its end, unless
        O(between) is set.
    type: str
  between:
    description:
      - Two times between which the lease is planned at the earliest time;
        until it is fixed, it may be moved between them to make room for
        others. Requires O(duration), instead of O(start_date) and
        O(end_date).
      - For an existing lease that has not started, they are compared, with
        O(duration) and O(fix_before). A time that counts from now, such as
        V(now) or V(+4h), differs in each run, so it is used for a new lease
        only.
    type: list
    elements: str
  fix_before:
    description:
      - Time before its planned start at which the dates of a lease with
        O(between) are fixed, like V(1d); by default, as the operator has
        configured.
    type: str
  reservations:
    description:
      - The reservations of the lease, all of which are granted, or none.
        Required to make a lease. For an existing lease, the numbers are
        compared one by one. Nothing else of a reservation can be changed; a
        different class or property causes a warning.
    type: list
    elements: dict
    suboptions:
      min:
        description: The minimum number of hosts.
        type: int
      max:
        description: The maximum number of hosts; by default the minimum.
        type: int
      resource_class:
        description: Only hosts of this class.
        type: str
      traits:
        description: Only hosts with all of these traits.
        type: list
        elements: str
        default: []
      properties:
        description: Only hosts with these properties, like C(vcpus>=8).
        type: list
        elements: str
        default: []
      amount:
        description: The number of instances, instead of O(reservations[].min)
          hosts.
        type: int
      vcpus:
        description: VCPUs of each instance.
        type: int
      memory_mb:
        description: Memory of each instance.
        type: int
      disk_gb:
        description: Disk of each instance.
        type: int
      flavor_id:
        description: ID or name of the flavor of the instances.
        type: str
      affinity:
        description:
          - Whether the instances are on one host, or on different ones.
        type: bool
  heal:
    description: Whether to replace broken nodes.
    type: bool
    default: false
  wait:
    description: Whether to wait until the lease has started.
    type: bool
    default: false
  timeout:
    description: Maximum time to wait, in seconds.
    type: int
    default: 600
  state:
    description: Whether the lease should exist.
    type: str
    choices: [present, absent]
    default: present
attributes:
  check_mode:
    support: full
    description: The service plans the change, but does not make it.
  diff_mode:
    support: full
    description: The lease before and after is shown.
extends_documentation_fragment:
  - ironic.reservations.connection
'''

EXAMPLES = r'''
- name: Four gold nodes for two days
  ironic.reservations.lease:
    cloud: metal
    name: training
    duration: 2d
    reservations:
      - min: 4
        resource_class: gold
    wait: true

- name: Four gold nodes for two days at any time until the 20th
  ironic.reservations.lease:
    cloud: metal
    name: experiment
    between: ["2030-01-01 00:00", "2030-01-20 00:00"]
    duration: 2d
    fix_before: 12h
    reservations:
      - min: 4
        resource_class: gold

- name: It is over
  ironic.reservations.lease:
    cloud: metal
    name: training
    state: absent
'''

RETURN = r'''
lease:
  description: The lease as the API has it; null if it is absent.
  returned: success
  type: dict
moves:
  description:
    - The other leases that would make room. C(leases) has those that the user
      may see, C(others) is the number of the other ones. Null if the service
      does not return them.
  returned: in check mode, if a lease would be made or changed
  type: dict
'''

import time
from typing import Any

from ansible_collections.ironic.reservations.plugins.module_utils import (
    service,
)

_POLL = 2
_OF_INSTANCES = ('vcpus', 'memory_mb', 'disk_gb', 'flavor_id', 'affinity')


def _find(module: Any, conn: Any) -> Any:
    name = module.params['name']
    found = [each for each in service.leases.leases(conn)
             if name in (each.name, each.id)
             and each.status not in service.lease_payload.OVER]
    if len(found) > 1:
        module.fail_json(msg=(
            f'{len(found)} leases have the name {name!r}: '
            f'{", ".join(each.id for each in found)}. Use the id of one of '
            'them.'))
    return found[0] if found else None


def _seconds(text: str | None) -> int | None:
    return None if text is None else int(service.times.seconds(text))


def _reservation(wanted: dict[str, Any]) -> dict[str, Any]:
    """Return one reservation in the form of the API."""
    of_instances = {key: wanted[key] for key in _OF_INSTANCES}
    of_which = {'resource_class': wanted['resource_class'],
                'traits': wanted['traits'],
                'conditions': wanted['properties']}
    if wanted['amount'] is None:
        if wanted['min'] is None:
            raise ValueError('A reservation needs "min", the number of hosts, '
                             'or "amount", the number of instances.')
        for key, value in of_instances.items():
            if value is not None:
                raise ValueError(f'"{key}" is for instances: use "amount", '
                                 'their number, instead of "min".')
        return dict(service.lease_payload.hosts(
            wanted['min'], wanted['max'], **of_which))
    for key in ('min', 'max'):
        if wanted[key] is not None:
            raise ValueError(f'"{key}" is a number of hosts, and "amount" is '
                             'one of instances: use one of them.')
    return dict(service.lease_payload.instances(
        wanted['amount'], **of_instances, **of_which))


def _new(params: dict[str, Any]) -> dict[str, Any]:
    """Return the body of the request for the lease."""
    start, end = (service.instant(params[name])
                  for name in ('start_date', 'end_date'))
    if not params['reservations']:
        raise ValueError('There is no such lease, and a new one needs '
                         '"reservations".')
    wanted = [_reservation(each) for each in params['reservations']]
    if params['between'] is not None:
        return dict(service.lease_payload.flexible(
            params['name'], *map(service.instant, params['between']),
            _seconds(params['duration']), wanted,
            _seconds(params['fix_before'])))
    if end is None and params['duration'] is None:
        raise ValueError('A new lease needs "end_date" or "duration".')
    return dict(service.lease_payload.creation(
        params['name'], end, wanted, start, duration=None if end is not None
        else _seconds(params['duration'])))


def _changes(module: Any, there: Any) -> dict[str, Any]:
    """Return the differences between the wanted and the present lease."""
    params = module.params
    changes: dict[str, Any] = {}
    start, end = (None if service.relative(params[name])
                  else service.instant(params[name])
                  for name in ('start_date', 'end_date'))
    if (there.status == 'PENDING' and start is not None
            and start != service.times.parsed(there.start_date)):
        changes['start'] = start
    if end is not None and end != service.times.parsed(there.end_date):
        changes['end'] = end
    if there.status == 'PENDING' and params['between'] is not None:
        changes.update(_open_dates(params, there))
    if params['reservations']:
        if len(params['reservations']) != len(there.reservations):
            raise ValueError(
                f'The lease has {len(there.reservations)} reservations, and '
                f'{len(params["reservations"])} are requested. Their number '
                'cannot be changed: make another lease.')
        pairs = list(zip(map(_reservation, params['reservations']),
                         there.reservations, strict=True))
        _warn(module, pairs)
        changed = [change for wanted, each in pairs
                   if (change := _numbers(wanted, each))]
        if changed:
            changes['reservations'] = changed
    if params['heal'] and there.degraded:
        changes['heal'] = True
    return changes


def _open_dates(params: dict[str, Any], there: Any) -> dict[str, Any]:
    """Return the differences between the wanted and the present open dates."""
    changes: dict[str, Any] = {}
    if not any(map(service.relative, params['between'])):
        window = tuple(map(service.instant, params['between']))
        if there.between is None or window != tuple(
                map(service.times.parsed, there.between)):
            changes['between'] = window
    for name in ('duration', 'fix_before'):
        wanted = _seconds(params[name])
        if wanted not in (None, getattr(there, name)):
            changes[name] = wanted
    return changes


def _warn(module: Any,
          pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    """Warn of requested hosts other than those of the lease."""
    for place, (wanted, there) in enumerate(pairs):
        asked = wanted['resource_properties'] if 'min' in wanted else ''
        if asked and asked != there['resource_properties']:
            module.warn(
                f'Reservation {place} of the lease is for hosts with '
                f'{there["resource_properties"] or "any properties"}, which '
                f'cannot be changed to {asked}. Make another lease.')


def _numbers(wanted: dict[str, Any], there: dict[str, Any]
             ) -> dict[str, Any] | None:
    changed = {key: wanted[key] for key in ('min', 'max', 'amount')
               if key in wanted and wanted[key] != there.get(key)}
    return {'id': there['id'], **changed} if changed else None


def _waited(module: Any, conn: Any, lease: Any, changed: bool) -> Any:
    """Wait until the lease has started.

    :param changed: whether this task has made or changed the lease.
    """
    deadline = time.monotonic() + module.params['timeout']
    while lease.status != 'ACTIVE':
        if lease.status in service.lease_payload.OVER:
            module.fail_json(changed=changed, lease=service.plain(lease), msg=(
                f'The lease {lease.id} is over: {lease.status}.'))
        if time.monotonic() >= deadline:
            module.fail_json(changed=changed, lease=service.plain(lease), msg=(
                f'The lease {lease.id} is still {lease.status} after '
                f'{module.params["timeout"]} seconds'
                + (f': {lease.waiting}' if lease.waiting else '.')))
        time.sleep(_POLL)
        lease = service.leases.get(conn, lease)
    return lease


def _check(params: dict[str, Any]) -> None:
    if params['between'] is None:
        return
    if len(params['between']) != 2:
        raise ValueError('"between" takes two times: the lease does not start '
                         'before the first one, nor end after the second '
                         'one.')
    if params['start_date'] != 'now':
        raise ValueError('"between" leaves the dates open, and "start_date" '
                         'sets one: use one of them.')


def _act(module: Any, conn: Any) -> dict[str, Any]:
    _check(module.params)
    params, there = module.params, _find(module, conn)
    before = {} if there is None else service.plain(there)
    if params['state'] == 'absent':
        if there is not None and not module.check_mode:
            service.leases.end(conn, there)
        return {'changed': there is not None, 'lease': None,
                'diff': {'before': before, 'after': {}}}
    changed, rehearsed = True, {}
    if there is None:
        lease = service.leases.post(conn, _new(params),
                                    dry_run=module.check_mode)
    elif changes := _changes(module, there):
        lease = service.leases.change(conn, there, dry_run=module.check_mode,
                                      **changes)
    else:
        lease, changed = there, False
    if changed and module.check_mode:
        rehearsed['moves'] = lease.moves
    if params['wait'] and not module.check_mode:
        lease = _waited(module, conn, lease, changed)
    after = service.plain(lease)
    return {'changed': changed, 'lease': after, **rehearsed,
            'diff': {'before': before, 'after': after}}


def main() -> None:
    """Run the module."""
    module = service.module({
        'name': {'type': 'str', 'required': True},
        'start_date': {'type': 'str', 'default': 'now'},
        'end_date': {'type': 'str'},
        'duration': {'type': 'str'},
        'between': {'type': 'list', 'elements': 'str'},
        'fix_before': {'type': 'str'},
        'reservations': {'type': 'list', 'elements': 'dict', 'options': {
            'min': {'type': 'int'}, 'max': {'type': 'int'},
            'resource_class': {'type': 'str'},
            'traits': {'type': 'list', 'elements': 'str', 'default': []},
            'properties': {'type': 'list', 'elements': 'str', 'default': []},
            'amount': {'type': 'int'}, 'vcpus': {'type': 'int'},
            'memory_mb': {'type': 'int'}, 'disk_gb': {'type': 'int'},
            'flavor_id': {'type': 'str'}, 'affinity': {'type': 'bool'}}},
        'heal': {'type': 'bool', 'default': False},
        'wait': {'type': 'bool', 'default': False},
        'timeout': {'type': 'int', 'default': 600},
        'state': {'type': 'str', 'choices': ['present', 'absent'],
                  'default': 'present'}},
        mutually_exclusive=[('end_date', 'duration'),
                            ('end_date', 'between')],
        required_by={'between': 'duration', 'fix_before': 'between'})
    service.run(module, lambda conn: _act(module, conn))


if __name__ == '__main__':
    main()

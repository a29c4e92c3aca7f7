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
module: maintenance
short_description: Book nodes of Ironic for maintenance, or end that
version_added: 0.1.0
author: ironic-reservations !UNKNOWN
description:
  - Books nodes for a maintenance window, in which nothing is promised on them
    and they are in maintenance in Ironic; or ends a window.
  - A window is known by its name among those that are not over. One that
    exists stays as it is, whatever the other options are.
options:
  name:
    description: Name of the window.
    type: str
    required: true
  reason:
    description: Reason to show in Ironic. Default is the name.
    type: str
  starts_at:
    description:
      - Start in ISO 8601, in UTC where it has no zone, or a time from now,
        such as V(+1h). Default is V(now).
    type: str
  ends_at:
    description:
      - End in ISO 8601, in UTC where it has no zone, or a time from now, such
        as V(+4h).
    type: str
  nodes:
    description: Names or UUIDs of nodes.
    type: list
    elements: str
  resource_class:
    description: All nodes of this class; with O(nodes), those of them.
    type: str
  resource_properties:
    description:
      - All nodes with these properties, in the grammar of leases; with
        O(nodes), those of them.
    type: str
  drain:
    description: Whether to wait for the users of nodes.
    type: bool
    default: false
  force:
    description: Whether to book the nodes even if others have them.
    type: bool
    default: false
  wait:
    description:
      - Whether to wait until all nodes are in maintenance, or, with
        O(state=absent), until nothing of the window is left on them.
    type: bool
    default: false
  timeout:
    description: Maximum time to wait, in seconds.
    type: int
    default: 180
  state:
    description: Whether the window should exist.
    type: str
    choices: [present, absent]
    default: present
attributes:
  check_mode:
    support: full
    description:
      - Nothing is booked or ended. The service plans the window, so that the
        task fails if the window would be refused.
  diff_mode:
    support: full
    description: The window before and after is shown.
extends_documentation_fragment:
  - ironic.reservations.connection
'''

EXAMPLES = r'''
- name: All nodes of the class gold get new firmware tonight
  ironic.reservations.maintenance:
    cloud: metal
    name: firmware
    resource_class: gold
    starts_at: '2030-01-31 22:00'
    ends_at: '2030-02-01 02:00'
    drain: true
'''

RETURN = r'''
maintenance:
  description: The window as the API has it; null if it is absent.
  returned: success
  type: dict
'''

import time
from typing import Any

from ansible_collections.ironic.reservations.plugins.module_utils import (
    service,
)

_FIELDS = ('name', 'reason', 'nodes', 'resource_class', 'resource_properties',
           'drain', 'force')


def _find(conn: Any, name: str) -> list[dict[str, Any]]:
    """Return the windows with a name that are not over."""
    return [each for each in service.maintenances.maintenances(conn)
            if each['name'] == name and each['state'] != 'over']


def _body(params: dict[str, Any]) -> dict[str, Any]:
    body = {name: params[name] for name in _FIELDS if params[name]}
    for name in ('starts_at', 'ends_at'):
        written = service.instant(params[name])
        if written == service.times.NOW and name == 'ends_at':
            raise ValueError('"ends_at" is the end of the window, which is '
                             'after its start: "now" cannot be used.')
        if written not in (None, service.times.NOW):
            body[name] = service.times.written(written)
    return body


def _await(module: Any, conn: Any, uuid: str,
           states: tuple[str, ...]) -> dict[str, Any]:
    """Wait until all nodes of a window are in given states, and return it."""
    until = time.monotonic() + module.params['timeout']
    while True:
        found: dict[str, Any] = next(
            each for each in service.maintenances.maintenances(conn)
            if each['uuid'] == uuid)
        if all(each['state'] in states for each in found['nodes']):
            return found
        if time.monotonic() > until:
            module.fail_json(
                msg=f'The maintenance {uuid} was waited for in vain for '
                    f'{module.params["timeout"]} seconds. See the states of '
                    'its nodes.', maintenance=found)
        time.sleep(2)


def _act(module: Any, conn: Any) -> dict[str, Any]:
    params = module.params
    there = _find(conn, params['name'])
    if params['state'] == 'absent':
        for each in [] if module.check_mode else there:
            service.maintenances.end(conn, each['uuid'])
            if params['wait']:
                _await(module, conn, each['uuid'], ('over',))
        return {'changed': bool(there), 'maintenance': None,
                'diff': {'before': there[0] if there else {}, 'after': {}}}
    made = there[0] if there else None
    if made is None:
        made = service.maintenances.create(conn, _body(params),
                                           module.check_mode)
        if module.check_mode and not made['accepted']:
            module.fail_json(
                msg='The maintenance would be refused.',
                code='maintenance.refused', reasons=made['reasons'],
                maintenance=made)
    if params['wait'] and not module.check_mode:
        made = _await(module, conn, made['uuid'],
                      ('active', 'foreign', 'over'))
    return {'changed': not there, 'maintenance': made,
            'diff': {'before': there[0] if there else {}, 'after': made}}


def main() -> None:
    """Run the module."""
    module = service.module({
        'name': {'type': 'str', 'required': True},
        'reason': {'type': 'str'},
        'starts_at': {'type': 'str'},
        'ends_at': {'type': 'str'},
        'nodes': {'type': 'list', 'elements': 'str'},
        'resource_class': {'type': 'str'},
        'resource_properties': {'type': 'str'},
        'drain': {'type': 'bool', 'default': False},
        'force': {'type': 'bool', 'default': False},
        'wait': {'type': 'bool', 'default': False},
        'timeout': {'type': 'int', 'default': 180},
        'state': {'type': 'str', 'choices': ['present', 'absent'],
                  'default': 'present'}},
        required_if=[
            ('state', 'present', ('ends_at',)),
            ('state', 'present',
             ('nodes', 'resource_class', 'resource_properties'), True)])
    service.run(module, lambda conn: _act(module, conn))


if __name__ == '__main__':
    main()

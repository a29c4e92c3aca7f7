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
module: host
short_description: Open nodes of Ironic to leases, or take them back
version_added: 0.1.0
author: ironic-reservations !UNKNOWN
description:
  - Opens a node of Ironic to leases, changes its properties, or takes it
    back from leases. The node itself is not changed.
options:
  name:
    description: Name or UUID of the node.
    type: str
    required: true
    aliases: [node]
  reservable:
    description:
      - Whether new leases may get the host. Leases that have started keep it.
      - Without it, an existing host is not changed in this respect.
    type: bool
  properties:
    description:
      - Properties that leases can ask for, besides those of the node. A
        property that is null is removed; others that the host has are kept.
      - Each value is stored as a text, V(true) and V(false) in lower case.
        A list or a dictionary is refused.
    type: dict
  state:
    description: Whether the node should be a host.
    type: str
    choices: [present, absent]
    default: present
attributes:
  check_mode:
    support: full
    description:
      - Nothing is changed. Whether a new host exists as a node is not checked.
  diff_mode:
    support: full
    description: The fields that change are shown.
extends_documentation_fragment:
  - ironic.reservations.connection
'''

EXAMPLES = r'''
- name: The node can be leased, and leases can ask for its rack
  ironic.reservations.host:
    cloud: metal
    name: gold-0
    properties:
      rack: r1
'''

RETURN = r'''
host:
  description: The host as the API has it; null if it is absent.
  returned: success
  type: dict
'''

from typing import Any

from ansible_collections.ironic.reservations.plugins.module_utils import (
    service,
)


def _find(conn: Any, name: str) -> dict[str, Any] | None:
    try:
        return service.plain(service.leases.get_host(conn, name))
    except service.exceptions.NotFoundException as error:
        # NOTE: an Ironic without reservations has no hosts, either.
        if getattr(error, 'refusal', None) is None:
            raise
        return None


def _texts(properties: dict[str, Any] | None) -> dict[str, str | None]:
    """Return properties with the texts of their values.

    :raises ValueError: a value has no text, or its name is an option.
    """
    found = dict[str, str | None]()
    for name, value in (properties or {}).items():
        if name == 'reservable':
            raise ValueError('"reservable" is an option of its own, and no '
                             'property.')
        if isinstance(value, list | dict):
            raise ValueError(f'The property {name!r} is a '
                             f'{type(value).__name__}: write it as a text.')
        found[name] = (str(value).lower() if isinstance(value, bool) else
                       None if value is None else str(value))
    return found


def _wanted(params: dict[str, Any], there: dict[str, Any]) -> dict[str, Any]:
    """Return the fields whose wanted values differ from the present ones."""
    changes: dict[str, Any] = {
        name: value for name, value in _texts(params['properties']).items()
        if value != there.get(name)}
    reservable = params['reservable']
    if reservable is not None and reservable != there['reservable']:
        changes['reservable'] = reservable
    return changes


def _act(module: Any, conn: Any) -> dict[str, Any]:
    params, name = module.params, module.params['name']
    there = _find(conn, name)
    if params['state'] == 'absent':
        if there is not None and not module.check_mode:
            service.leases.close_host(conn, there['id'])
        return {'changed': there is not None, 'host': None,
                'diff': {'before': there or {}, 'after': {}}}
    given = {key: value for key, value
             in _texts(params['properties']).items() if value is not None}
    if there is None:
        # NOTE: a host is open when it is made.
        after: dict[str, Any] = {
            **given, 'name': name,
            'reservable': params['reservable'] is not False}
        if not module.check_mode:
            made = service.leases.open_host(conn, name, given)
            if params['reservable'] is False:
                made = service.leases.change_host(conn, made, False)
            after = service.plain(made)
        return {'changed': True, 'host': after,
                'diff': {'before': {}, 'after': after}}
    changes = _wanted(params, there)
    after = {key: value for key, value in {**there, **changes}.items()
             if value is not None or key not in changes}
    if changes and not module.check_mode:
        reservable = changes.pop('reservable', None)
        after = service.plain(service.leases.change_host(
            conn, there['id'], reservable, changes))
        changes = {'done': True}
    return {'changed': bool(changes), 'host': after,
            'diff': {'before': there, 'after': after}}


def main() -> None:
    """Run the module."""
    module = service.module({
        'name': {'type': 'str', 'required': True, 'aliases': ['node']},
        'reservable': {'type': 'bool'},
        'properties': {'type': 'dict'},
        'state': {'type': 'str', 'choices': ['present', 'absent'],
                  'default': 'present'}})
    service.run(module, lambda conn: _act(module, conn))


if __name__ == '__main__':
    main()

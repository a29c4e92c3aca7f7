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
module: reservation
short_description: Reserve a node of Ironic, or give it back
version_added: 0.1.0
author: ironic-reservations !UNKNOWN
description:
  - Reserves the first free node of a list, or any node of a class, for an
    instance. The UUID of the reservation is the proof with which the
    node can be deployed; keep it secret.
  - The same O(instance_uuid) gets the same reservation again.
options:
  instance_uuid:
    description: UUID of the instance that the node is for.
    type: str
    required: true
  nodes:
    description: Names or UUIDs of nodes, in the order of preference.
    type: list
    elements: str
  resource_class:
    description: Only nodes of this class.
    type: str
  traits:
    description: Only nodes with all of these traits.
    type: list
    elements: str
  ttl:
    description:
      - Seconds until the reservation expires. Applies to a new reservation,
        and with O(renew).
    type: int
  renew:
    description:
      - Whether to renew an existing reservation with O(ttl), which is
        required then.
    type: bool
    default: false
  wait:
    description: Whether to wait for a free node.
    type: bool
    default: false
  timeout:
    description: Maximum time to wait, in seconds; 0 sets no limit.
    type: int
    default: 180
  state:
    description: Whether the reservation should exist.
    type: str
    choices: [present, absent]
    default: present
attributes:
  check_mode:
    support: full
    description:
      - Nothing is reserved or given back. The nodes must exist; whether one
        of them is free is not checked.
  diff_mode:
    support: full
    description: The reservation before and after is shown.
extends_documentation_fragment:
  - ironic.reservations.connection
'''

EXAMPLES = r'''
- name: Any gold node, for a quarter of an hour
  ironic.reservations.reservation:
    cloud: metal
    instance_uuid: 5d2b2d0e-3f43-4f0e-9d6b-0d5f6b2f6a11
    resource_class: gold
    ttl: 900
    wait: true
  register: held
'''

RETURN = r'''
reservation:
  description: The reservation as the API has it; null if it is absent.
  returned: success
  type: dict
'''

from typing import Any

from ansible_collections.ironic.reservations.plugins.module_utils import (
    service,
)


def _find(conn: Any, instance: str) -> Any:
    found = service.sdk.reservations(conn, instance=instance)
    return found[0] if found else None


def _uuids(conn: Any, nodes: list[str] | None) -> list[str] | None:
    return None if nodes is None else [
        conn.baremetal.get_node(node, fields=['uuid']).id for node in nodes]


def _act(module: Any, conn: Any) -> dict[str, Any]:
    params, instance = module.params, module.params['instance_uuid']
    there = _find(conn, instance)
    before = {} if there is None else service.plain(there)
    if params['state'] == 'absent':
        if there is not None and not module.check_mode:
            service.sdk.release(conn, there)
        return {'changed': there is not None, 'reservation': None,
                'diff': {'before': before, 'after': {}}}
    if there is not None and not params['renew']:
        return {'changed': False, 'reservation': before,
                'diff': {'before': before, 'after': before}}
    nodes = None if there is not None else _uuids(conn, params['nodes'])
    if module.check_mode:
        after = before or {'instance_uuid': instance}
    elif there is not None:
        after = service.plain(service.sdk.renew(conn, there,
                                                ttl=params['ttl']))
    else:
        after = service.plain(service.sdk.reserve(
            conn, nodes, instance_id=instance,
            ttl=params['ttl'], resource_class=params['resource_class'],
            traits=params['traits'],
            wait=params['timeout'] if params['wait'] else None))
    return {'changed': True, 'reservation': after,
            'diff': {'before': before, 'after': after}}


def main() -> None:
    """Run the module."""
    module = service.module({
        'instance_uuid': {'type': 'str', 'required': True},
        'nodes': {'type': 'list', 'elements': 'str'},
        'resource_class': {'type': 'str'},
        'traits': {'type': 'list', 'elements': 'str'},
        'ttl': {'type': 'int'},
        'renew': {'type': 'bool', 'default': False},
        'wait': {'type': 'bool', 'default': False},
        'timeout': {'type': 'int', 'default': 180},
        'state': {'type': 'str', 'choices': ['present', 'absent'],
                  'default': 'present'}},
        required_if=[('renew', True, ('ttl',))])
    service.run(module, lambda conn: _act(module, conn))


if __name__ == '__main__':
    main()

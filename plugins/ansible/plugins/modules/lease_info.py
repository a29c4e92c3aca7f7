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
module: lease_info
short_description: Read leases of bare metal nodes
version_added: 0.1.0
author: ironic-reservations !UNKNOWN
description:
  - Reads the leases that the user may see, with their reservations, nodes
    and events. The ID of a lease's reservation is the proof for its nodes.
  - Leases that ended more than seven days ago are not among them, unless the
    operator has configured another time.
options:
  name:
    description: Only leases with this name or ID.
    type: str
  status:
    description: Only leases with one of these states.
    type: list
    elements: str
    choices: [PENDING, STARTING, ACTIVE, TERMINATING, TERMINATED, DELETING,
              ERROR]
  project:
    description: Only leases of the project with this ID.
    type: str
attributes:
  check_mode:
    support: full
    description: It changes nothing.
extends_documentation_fragment:
  - ironic.reservations.connection
'''

EXAMPLES = r'''
- name: What is leased now
  ironic.reservations.lease_info:
    cloud: metal
    status: [ACTIVE]
  register: found
'''

RETURN = r'''
leases:
  description: The leases as the API has them, the oldest first.
  returned: success
  type: list
  elements: dict
'''

from typing import Any

from ansible_collections.ironic.reservations.plugins.module_utils import (
    service,
)


def _act(module: Any, conn: Any) -> dict[str, Any]:
    name, states = module.params['name'], module.params['status']
    return {'changed': False, 'leases': [
        service.plain(each) for each in service.leases.leases(
            conn, module.params['project'])
        if (name is None or name in (each.name, each.id))
        and (not states or each.status in states)]}


def main() -> None:
    """Run the module."""
    module = service.module({
        'name': {'type': 'str'},
        'status': {'type': 'list', 'elements': 'str', 'choices': [
            'PENDING', 'STARTING', 'ACTIVE', 'TERMINATING', 'TERMINATED',
            'DELETING', 'ERROR']},
        'project': {'type': 'str'}})
    service.run(module, lambda conn: _act(module, conn))


if __name__ == '__main__':
    main()

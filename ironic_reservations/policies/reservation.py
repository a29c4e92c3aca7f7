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

"""The rules of /v1/reservations."""

from __future__ import annotations

import functools

from ironic_reservations.policies import roles
from ironic_reservations.policies import rules

_rule = functools.partial(rules.rule, 'baremetal:reservation:')

RULES = [
    _rule('create', roles.ANY_MEMBER,
          'Reserve a node that the project owns or leases.',
          'POST /v1/reservations', legacy=True),
    _rule('create_any_node', roles.SYSTEM_MEMBER,
          'Reserve a node of any owner.',
          'POST /v1/reservations', legacy=True),
    _rule('get', f'({roles.SYSTEM_READER}) or ({roles.OWN_READER})',
          'Show a reservation. Its uuid is a proof: everybody who can read it '
          'may deploy with it.',
          'GET /v1/reservations/{uuid}', legacy=True),
    _rule('list', roles.ANY_READER,
          "List the reservations of the caller's own project.",
          'GET /v1/reservations'),
    _rule('list_all', roles.SYSTEM_READER,
          'List the reservations of all projects.',
          'GET /v1/reservations', legacy=True),
    _rule('update', f'({roles.SYSTEM_MEMBER}) or ({roles.OWN_MEMBER})',
          'Renew a reservation.',
          'PATCH /v1/reservations/{uuid}', legacy=True),
    _rule('delete', f'({roles.SYSTEM_MEMBER}) or ({roles.OWN_MEMBER})',
          'Delete a reservation.',
          'DELETE /v1/reservations/{uuid}', legacy=True),
    _rule('exceed_limits', roles.SYSTEM_MEMBER,
          'Make and renew reservations beyond the limits of a project in '
          '[reservations].',
          'POST /v1/reservations', 'PATCH /v1/reservations/{uuid}',
          legacy=True),
    _rule('vouch', roles.SERVICE,
          'Be trusted when naming the instance that a node is deployed for, '
          'if instance_uuid_from_service or proof_by_placement is set in the '
          'section [guard].',
          'PATCH /v1/nodes/{node}', 'PUT /v1/nodes/{node}/states/provision'),
    _rule('use_any_proof', f'({roles.SYSTEM_MEMBER}) or ({roles.SERVICE})',
          'Use the proof of a reservation or a lease that belongs to another '
          'project.',
          'PATCH /v1/nodes/{node}', 'PUT /v1/nodes/{node}/states/provision',
          'POST /v1/allocations'),
    _rule('act_without_proof', f'({roles.SYSTEM_MEMBER}) or ({roles.SERVICE})',
          'Do the actions that [guard] protected_acts lists on nodes that '
          'others have reserved or leased. Deploying and rebuilding are never '
          'included.',
          'PUT /v1/nodes/{node}/...', 'POST /v1/nodes/{node}/...',
          'DELETE /v1/nodes/{node}/...', 'PATCH /v1/nodes/{node}',
          'DELETE /v1/allocations/{allocation}'),
]

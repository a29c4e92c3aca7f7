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

"""The rules of /v1/os-hosts."""

from __future__ import annotations

import functools

from ironic_reservations.policies import roles
from ironic_reservations.policies import rules

_rule = functools.partial(rules.rule, 'reservation:host:')

RULES = [
    _rule('create', roles.SYSTEM_MEMBER,
          'Open a node, or all nodes of a resource class, to leases.',
          'POST /v1/os-hosts', legacy=True),
    _rule('get', roles.SYSTEM_READER,
          'List and show hosts.',
          'GET /v1/os-hosts', 'GET /v1/os-hosts/{id}', legacy=True),
    _rule('update', roles.SYSTEM_MEMBER,
          'Change the capabilities of a host, or close it to new leases.',
          'PUT /v1/os-hosts/{id}', legacy=True),
    _rule('delete', roles.SYSTEM_MEMBER,
          'Remove a host from leases.',
          'DELETE /v1/os-hosts/{id}', legacy=True),
    _rule('get_allocations', roles.SYSTEM_READER,
          'Show which lease has which host at which times. The id of a '
          'reservation is a proof: everybody who can read it may deploy with '
          'it.',
          'GET /v1/os-hosts/allocations', 'GET /v1/os-hosts/{id}/allocation',
          legacy=True),
    _rule('get_allocation_times', roles.SYSTEM_READER,
          'Show at which times hosts are promised, but not to which lease: '
          'with this rule alone, a caller gets null for each lease, and for '
          'each reservation an id that is the same on all of its hosts and '
          'proves nothing. The calendars of blazar-dashboard need this rule '
          'and reservation:host:get.',
          'GET /v1/os-hosts/allocations', 'GET /v1/os-hosts/{id}/allocation',
          legacy=True),
    _rule('list_properties', roles.ANY_READER,
          'List the host properties that leases may use.',
          'GET /v1/os-hosts/properties'),
    _rule('list_private_properties', roles.SYSTEM_READER,
          'List private host properties, too, and use them in leases.',
          'GET /v1/os-hosts/properties', legacy=True),
    _rule('update_property', roles.SYSTEM_MEMBER,
          'Make a host property private or public.',
          'PATCH /v1/os-hosts/properties/{name}', legacy=True),
]

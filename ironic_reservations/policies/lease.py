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

"""The rules of /v1/leases."""

from __future__ import annotations

import functools

from ironic_reservations.policies import roles
from ironic_reservations.policies import rules

_rule = functools.partial(rules.rule, 'reservation:lease:')

RULES = [
    _rule('create', roles.ANY_MEMBER,
          "Make a lease for the caller's own project, or check whether it "
          "could be made.",
          'POST /v1/leases', legacy=True),
    _rule('get', f'({roles.SYSTEM_READER}) or ({roles.OWN_READER})',
          'Show a lease. The id of each of its reservations is a proof: '
          'everybody who can read it may deploy with it.',
          'GET /v1/leases/{id}', legacy=True),
    _rule('list', roles.ANY_READER,
          "List the leases of the caller's own project.",
          'GET /v1/leases'),
    _rule('list_all', roles.SYSTEM_READER,
          'List the leases of all projects.',
          'GET /v1/leases', legacy=True),
    _rule('update', f'({roles.SYSTEM_MEMBER}) or ({roles.OWN_MEMBER})',
          'Change a lease.',
          'PUT /v1/leases/{id}', legacy=True),
    _rule('delete', f'({roles.SYSTEM_MEMBER}) or ({roles.OWN_MEMBER})',
          'End a lease.',
          'DELETE /v1/leases/{id}', legacy=True),
    _rule('exceed_limits', roles.SYSTEM_MEMBER,
          'Make and change leases beyond the limits of a project in [leases].',
          'POST /v1/leases', 'PUT /v1/leases/{id}', legacy=True),
    _rule('set_priority', roles.SYSTEM_MEMBER,
          'Queue a lease with a priority above 0.',
          'POST /v1/leases', legacy=True),
]

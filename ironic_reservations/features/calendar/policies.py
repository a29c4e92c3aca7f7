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

"""The policies of the calendar."""

from __future__ import annotations

import functools

from ironic_reservations.policies import rules

_rule = functools.partial(rules.prefixed, 'reservation:calendar:')
RULES = [
    _rule('get', rules.ANY_READER,
          'See the numbers of free hosts over time, and when each host is '
          'taken. Leases that the caller may not list are shown without id, '
          'name and project.',
          'GET /v1/calendar'),
    _rule('get_hosts', rules.SYSTEM_READER,
          'See the name, the node and the provision state of every host in '
          'the calendar. Without this rule, a caller sees them only for hosts '
          'that its project owns, is the lessee of, or has in a lease.',
          'GET /v1/calendar?rows=true'),
    _rule('token', rules.ANY_READER,
          "Make and revoke a token with which a calendar program reads the "
          "leases of the caller's project. Whenever the token is used, this "
          "rule and reservation:lease:list are checked again, with the user's "
          "roles at that time.",
          'POST /v1/calendar/token', 'GET /v1/calendar/token',
          'DELETE /v1/calendar/token', 'GET /v1/leases.ics'),
]

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

"""The policies of maintenance windows."""

from __future__ import annotations

import functools

from ironic_reservations.policies import rules

_rule = functools.partial(rules.prefixed, 'reservation:maintenance:')
RULES = [
    _rule('create', rules.SYSTEM_MEMBER,
          'Book nodes for maintenance, or see the effects in a dry run.',
          'POST /v1/maintenances'),
    _rule('get', rules.SYSTEM_READER,
          'List and show maintenance windows.',
          'GET /v1/maintenances', 'GET /v1/maintenances/{id}'),
    _rule('delete', rules.SYSTEM_MEMBER,
          'End a maintenance window, or cancel it before its start.',
          'DELETE /v1/maintenances/{id}'),
]

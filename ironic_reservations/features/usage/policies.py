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

"""The policies of usage."""

from __future__ import annotations

import functools

from ironic_reservations.policies import rules

_rule = functools.partial(rules.prefixed, 'reservation:usage:')
RULES = [
    _rule('get', rules.ANY_READER,
          "See the promised and the used host hours of the caller's own "
          "project.",
          'GET /v1/usage'),
    _rule('get_all', rules.SYSTEM_READER,
          'See the host hours of any project, and of all projects.',
          'GET /v1/usage?project={project}'),
]

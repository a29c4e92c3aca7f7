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

"""The rules of /v1/usage."""

from __future__ import annotations

from oslo_policy import policy

from ironic_reservations.policies import roles

NAME = 'reservation:usage:%s'

_rules = [
    policy.DocumentedRuleDefault(
        name=NAME % 'get',
        check_str=roles.ANY_READER,
        scope_types=['system', 'project'],
        description="See the promised and the used host hours of the caller's "
                    'own project.',
        operations=[{'path': '/v1/usage', 'method': 'GET'}]),
    policy.DocumentedRuleDefault(
        name=NAME % 'get_all',
        check_str=roles.SYSTEM_READER,
        scope_types=['system', 'project'],
        description='See the host hours of any project, and of all projects.',
        operations=[{'path': '/v1/usage?project={project}',
                     'method': 'GET'}]),
]


def list_rules() -> list[policy.RuleDefault]:
    """Return the rules."""
    return list(_rules)

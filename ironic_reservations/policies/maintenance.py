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

"""The rules of /v1/maintenances."""

from __future__ import annotations

from oslo_policy import policy

from ironic_reservations.policies import roles

NAME = 'reservation:maintenance:%s'

_rules = [
    policy.DocumentedRuleDefault(
        name=NAME % 'create',
        check_str=roles.SYSTEM_MEMBER,
        scope_types=['system', 'project'],
        description='Book nodes for maintenance, or see the effects in a dry '
                    'run.',
        operations=[{'path': '/v1/maintenances', 'method': 'POST'}]),
    policy.DocumentedRuleDefault(
        name=NAME % 'get',
        check_str=roles.SYSTEM_READER,
        scope_types=['system', 'project'],
        description='List and show maintenance windows.',
        operations=[{'path': '/v1/maintenances', 'method': 'GET'},
                    {'path': '/v1/maintenances/{id}', 'method': 'GET'}]),
    policy.DocumentedRuleDefault(
        name=NAME % 'delete',
        check_str=roles.SYSTEM_MEMBER,
        scope_types=['system', 'project'],
        description='End a maintenance window, or cancel it before its start.',
        operations=[{'path': '/v1/maintenances/{id}', 'method': 'DELETE'}]),
]


def list_rules() -> list[policy.RuleDefault]:
    """Return the rules."""
    return list(_rules)

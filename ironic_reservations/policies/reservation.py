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

from oslo_policy import policy

from ironic_reservations.policies import roles

NAME = 'baremetal:reservation:%s'

_rules = [
    policy.DocumentedRuleDefault(
        name=NAME % 'create',
        check_str=roles.ANY_MEMBER,
        scope_types=['system', 'project'],
        description='Reserve a node that the project owns or leases.',
        operations=[{'path': '/v1/reservations', 'method': 'POST'}]),
    policy.DocumentedRuleDefault(
        name=NAME % 'create_any_node',
        check_str=roles.WRITES_ALL,
        scope_types=['system', 'project'],
        description='Reserve a node of any owner.',
        operations=[{'path': '/v1/reservations', 'method': 'POST'}]),
    policy.DocumentedRuleDefault(
        name=NAME % 'get',
        check_str=f'({roles.READS_ALL}) or ({roles.OWN_READER})',
        scope_types=['system', 'project'],
        description='Show a reservation. Its uuid is a proof: whoever reads '
                    'it may deploy with it.',
        operations=[{'path': '/v1/reservations/{uuid}', 'method': 'GET'}]),
    policy.DocumentedRuleDefault(
        name=NAME % 'list',
        check_str=roles.ANY_READER,
        scope_types=['system', 'project'],
        description='List the reservations of the own project.',
        operations=[{'path': '/v1/reservations', 'method': 'GET'}]),
    policy.DocumentedRuleDefault(
        name=NAME % 'list_all',
        check_str=roles.READS_ALL,
        scope_types=['system', 'project'],
        description='List the reservations of all projects.',
        operations=[{'path': '/v1/reservations', 'method': 'GET'}]),
    policy.DocumentedRuleDefault(
        name=NAME % 'update',
        check_str=f'({roles.WRITES_ALL}) or ({roles.OWN_MEMBER})',
        scope_types=['system', 'project'],
        description='Renew a reservation.',
        operations=[{'path': '/v1/reservations/{uuid}',
                     'method': 'PATCH'}]),
    policy.DocumentedRuleDefault(
        name=NAME % 'delete',
        check_str=f'({roles.WRITES_ALL}) or ({roles.OWN_MEMBER})',
        scope_types=['system', 'project'],
        description='Release a reservation.',
        operations=[{'path': '/v1/reservations/{uuid}',
                     'method': 'DELETE'}]),
]


def list_rules() -> list[policy.RuleDefault]:
    """List the rules."""
    return list(_rules)

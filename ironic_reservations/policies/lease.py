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

from oslo_policy import policy

from ironic_reservations.policies import roles

NAME = 'reservation:lease:%s'

_rules = [
    policy.DocumentedRuleDefault(
        name=NAME % 'create',
        check_str=roles.ANY_MEMBER,
        scope_types=['system', 'project'],
        description="Make a lease for the caller's own project, or check "
                    'whether it could be made.',
        operations=[{'path': '/v1/leases', 'method': 'POST'}],
        deprecated_rule=roles.legacy(NAME % 'create')),
    policy.DocumentedRuleDefault(
        name=NAME % 'get',
        check_str=f'({roles.SYSTEM_READER}) or ({roles.OWN_READER})',
        scope_types=['system', 'project'],
        description='Show a lease. The id of each of its reservations is a '
                    'proof: everybody who can read it may deploy with it.',
        operations=[{'path': '/v1/leases/{id}', 'method': 'GET'}],
        deprecated_rule=roles.legacy(NAME % 'get')),
    policy.DocumentedRuleDefault(
        name=NAME % 'list',
        check_str=roles.ANY_READER,
        scope_types=['system', 'project'],
        description="List the leases of the caller's own project.",
        operations=[{'path': '/v1/leases', 'method': 'GET'}]),
    policy.DocumentedRuleDefault(
        name=NAME % 'list_all',
        check_str=roles.SYSTEM_READER,
        scope_types=['system', 'project'],
        description='List the leases of all projects.',
        operations=[{'path': '/v1/leases', 'method': 'GET'}],
        deprecated_rule=roles.legacy(NAME % 'list_all')),
    policy.DocumentedRuleDefault(
        name=NAME % 'update',
        check_str=f'({roles.SYSTEM_MEMBER}) or ({roles.OWN_MEMBER})',
        scope_types=['system', 'project'],
        description='Change a lease.',
        operations=[{'path': '/v1/leases/{id}', 'method': 'PUT'}],
        deprecated_rule=roles.legacy(NAME % 'update')),
    policy.DocumentedRuleDefault(
        name=NAME % 'delete',
        check_str=f'({roles.SYSTEM_MEMBER}) or ({roles.OWN_MEMBER})',
        scope_types=['system', 'project'],
        description='End a lease.',
        operations=[{'path': '/v1/leases/{id}', 'method': 'DELETE'}],
        deprecated_rule=roles.legacy(NAME % 'delete')),
    policy.DocumentedRuleDefault(
        name=NAME % 'exceed_limits',
        check_str=roles.SYSTEM_MEMBER,
        scope_types=['system', 'project'],
        description='Make and change leases beyond the limits of a project '
                    'in [leases].',
        operations=[{'path': '/v1/leases', 'method': 'POST'},
                    {'path': '/v1/leases/{id}', 'method': 'PUT'}],
        deprecated_rule=roles.legacy(NAME % 'exceed_limits')),
    policy.DocumentedRuleDefault(
        name=NAME % 'set_priority',
        check_str=roles.SYSTEM_MEMBER,
        scope_types=['system', 'project'],
        description='Queue a lease with a priority above 0.',
        operations=[{'path': '/v1/leases', 'method': 'POST'}],
        deprecated_rule=roles.legacy(NAME % 'set_priority')),
]


def list_rules() -> list[policy.RuleDefault]:
    """List the rules."""
    return list(_rules)

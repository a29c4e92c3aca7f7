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
        operations=[{'path': '/v1/reservations', 'method': 'POST'}],
        deprecated_rule=roles.legacy(NAME % 'create')),
    policy.DocumentedRuleDefault(
        name=NAME % 'create_any_node',
        check_str=roles.SYSTEM_MEMBER,
        scope_types=['system', 'project'],
        description='Reserve a node of any owner.',
        operations=[{'path': '/v1/reservations', 'method': 'POST'}],
        deprecated_rule=roles.legacy(NAME % 'create_any_node')),
    policy.DocumentedRuleDefault(
        name=NAME % 'get',
        check_str=f'({roles.SYSTEM_READER}) or ({roles.OWN_READER})',
        scope_types=['system', 'project'],
        description='Show a reservation. Its uuid is a proof: everybody who '
                    'can read it may deploy with it.',
        operations=[{'path': '/v1/reservations/{uuid}', 'method': 'GET'}],
        deprecated_rule=roles.legacy(NAME % 'get')),
    policy.DocumentedRuleDefault(
        name=NAME % 'list',
        check_str=roles.ANY_READER,
        scope_types=['system', 'project'],
        description="List the reservations of the caller's own project.",
        operations=[{'path': '/v1/reservations', 'method': 'GET'}]),
    policy.DocumentedRuleDefault(
        name=NAME % 'list_all',
        check_str=roles.SYSTEM_READER,
        scope_types=['system', 'project'],
        description='List the reservations of all projects.',
        operations=[{'path': '/v1/reservations', 'method': 'GET'}],
        deprecated_rule=roles.legacy(NAME % 'list_all')),
    policy.DocumentedRuleDefault(
        name=NAME % 'update',
        check_str=f'({roles.SYSTEM_MEMBER}) or ({roles.OWN_MEMBER})',
        scope_types=['system', 'project'],
        description='Renew a reservation.',
        operations=[{'path': '/v1/reservations/{uuid}',
                     'method': 'PATCH'}],
        deprecated_rule=roles.legacy(NAME % 'update')),
    policy.DocumentedRuleDefault(
        name=NAME % 'delete',
        check_str=f'({roles.SYSTEM_MEMBER}) or ({roles.OWN_MEMBER})',
        scope_types=['system', 'project'],
        description='Delete a reservation.',
        operations=[{'path': '/v1/reservations/{uuid}',
                     'method': 'DELETE'}],
        deprecated_rule=roles.legacy(NAME % 'delete')),
    policy.DocumentedRuleDefault(
        name=NAME % 'exceed_limits',
        check_str=roles.SYSTEM_MEMBER,
        scope_types=['system', 'project'],
        description='Make and renew reservations beyond the limits of a '
                    'project in [reservations].',
        operations=[{'path': '/v1/reservations', 'method': 'POST'},
                    {'path': '/v1/reservations/{uuid}', 'method': 'PATCH'}],
        deprecated_rule=roles.legacy(NAME % 'exceed_limits')),
    policy.DocumentedRuleDefault(
        name=NAME % 'vouch',
        check_str=roles.SERVICE,
        scope_types=['system', 'project'],
        description='Be trusted when naming the instance that a node is '
                    'deployed for, if instance_uuid_from_service or '
                    'proof_by_placement is set in the section [guard].',
        operations=[{'path': '/v1/nodes/{node}', 'method': 'PATCH'},
                    {'path': '/v1/nodes/{node}/states/provision',
                     'method': 'PUT'}]),
    policy.DocumentedRuleDefault(
        name=NAME % 'use_any_proof',
        check_str=f'({roles.SYSTEM_MEMBER}) or ({roles.SERVICE})',
        scope_types=['system', 'project'],
        description='Use the proof of a reservation or a lease that belongs '
                    'to another project.',
        operations=[{'path': '/v1/nodes/{node}', 'method': 'PATCH'},
                    {'path': '/v1/nodes/{node}/states/provision',
                     'method': 'PUT'},
                    {'path': '/v1/allocations', 'method': 'POST'}]),
    policy.DocumentedRuleDefault(
        name=NAME % 'act_without_proof',
        check_str=f'({roles.SYSTEM_MEMBER}) or ({roles.SERVICE})',
        scope_types=['system', 'project'],
        description='Do the actions that [guard] protected_acts lists on '
                    'nodes that others have reserved or leased. Deploying and '
                    'rebuilding are never included.',
        operations=[{'path': '/v1/nodes/{node}/...', 'method': 'PUT'},
                    {'path': '/v1/nodes/{node}/...', 'method': 'POST'},
                    {'path': '/v1/nodes/{node}/...', 'method': 'DELETE'},
                    {'path': '/v1/nodes/{node}', 'method': 'PATCH'},
                    {'path': '/v1/allocations/{allocation}',
                     'method': 'DELETE'}]),
]


def list_rules() -> list[policy.RuleDefault]:
    """List the rules."""
    return list(_rules)

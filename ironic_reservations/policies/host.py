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

from oslo_policy import policy

from ironic_reservations.policies import roles

NAME = 'reservation:host:%s'

_rules = [
    policy.DocumentedRuleDefault(
        name=NAME % 'create',
        check_str=roles.SYSTEM_MEMBER,
        scope_types=['system', 'project'],
        description='Open a node, or all nodes of a resource class, to '
                    'leases.',
        operations=[{'path': '/v1/os-hosts', 'method': 'POST'}],
        deprecated_rule=roles.legacy(NAME % 'create')),
    policy.DocumentedRuleDefault(
        name=NAME % 'get',
        check_str=roles.SYSTEM_READER,
        scope_types=['system', 'project'],
        description='List and show hosts.',
        operations=[{'path': '/v1/os-hosts', 'method': 'GET'},
                    {'path': '/v1/os-hosts/{id}', 'method': 'GET'}],
        deprecated_rule=roles.legacy(NAME % 'get')),
    policy.DocumentedRuleDefault(
        name=NAME % 'update',
        check_str=roles.SYSTEM_MEMBER,
        scope_types=['system', 'project'],
        description='Change the capabilities of a host, or close it to new '
                    'leases.',
        operations=[{'path': '/v1/os-hosts/{id}', 'method': 'PUT'}],
        deprecated_rule=roles.legacy(NAME % 'update')),
    policy.DocumentedRuleDefault(
        name=NAME % 'delete',
        check_str=roles.SYSTEM_MEMBER,
        scope_types=['system', 'project'],
        description='Remove a host from leases.',
        operations=[{'path': '/v1/os-hosts/{id}', 'method': 'DELETE'}],
        deprecated_rule=roles.legacy(NAME % 'delete')),
    policy.DocumentedRuleDefault(
        name=NAME % 'get_allocations',
        check_str=roles.SYSTEM_READER,
        scope_types=['system', 'project'],
        description='Show which lease has which host at which times. The id '
                    'of a reservation is a proof: everybody who can read it '
                    'may deploy with it.',
        operations=[{'path': '/v1/os-hosts/allocations', 'method': 'GET'},
                    {'path': '/v1/os-hosts/{id}/allocation',
                     'method': 'GET'}],
        deprecated_rule=roles.legacy(NAME % 'get_allocations')),
    policy.DocumentedRuleDefault(
        name=NAME % 'get_allocation_times',
        check_str=roles.SYSTEM_READER,
        scope_types=['system', 'project'],
        description='Show at which times hosts are promised, but not to which '
                    'lease: with this rule alone, a caller gets null for each '
                    'lease, and for each reservation an id that is the same '
                    'on all of its hosts and proves nothing. The calendars of '
                    'blazar-dashboard need this rule and '
                    'reservation:host:get.',
        operations=[{'path': '/v1/os-hosts/allocations', 'method': 'GET'},
                    {'path': '/v1/os-hosts/{id}/allocation',
                     'method': 'GET'}],
        deprecated_rule=roles.legacy(NAME % 'get_allocation_times')),
    policy.DocumentedRuleDefault(
        name=NAME % 'list_properties',
        check_str=roles.ANY_READER,
        scope_types=['system', 'project'],
        description='List the host properties that leases may use.',
        operations=[{'path': '/v1/os-hosts/properties', 'method': 'GET'}]),
    policy.DocumentedRuleDefault(
        name=NAME % 'list_private_properties',
        check_str=roles.SYSTEM_READER,
        scope_types=['system', 'project'],
        description='List private host properties, too, and use them in '
                    'leases.',
        operations=[{'path': '/v1/os-hosts/properties', 'method': 'GET'}],
        deprecated_rule=roles.legacy(NAME % 'list_private_properties')),
    policy.DocumentedRuleDefault(
        name=NAME % 'update_property',
        check_str=roles.SYSTEM_MEMBER,
        scope_types=['system', 'project'],
        description='Make a host property private or public.',
        operations=[{'path': '/v1/os-hosts/properties/{name}',
                     'method': 'PATCH'}],
        deprecated_rule=roles.legacy(NAME % 'update_property')),
]


def list_rules() -> list[policy.RuleDefault]:
    """List the rules."""
    return list(_rules)

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

"""The rules of the core, in the order of the sample.

An administrator of a project is a member of that project, and no more. Rights
on others' resources need a role on the whole system, or a service that the
operator of Ironic has given such rights.
"""

from __future__ import annotations

import functools

from oslo_policy import policy

SERVICE_ROLE = 'service_role'
#: ironic.common.policy has these rules under the same names.
SYSTEM_READER = ('(role:reader and system_scope:all) or '
                 '(role:service and system_scope:all) or '
                 f'rule:{SERVICE_ROLE}')
SYSTEM_MEMBER = ('(role:member and system_scope:all) or '
                 f'rule:{SERVICE_ROLE}')
SYSTEM_SERVICE = 'role:service and system_scope:all'
#: A service in the project that owns the node is trusted with that node.
PROJECT_SERVICE = 'role:service and project_id:%(node.owner)s'
#: A service of the cloud, or of the project that owns the node.
SERVICE = (f'({SYSTEM_SERVICE}) or rule:{SERVICE_ROLE} or '
           f'({PROJECT_SERVICE})')
OWN_READER = 'role:reader and project_id:%(project_id)s'
OWN_MEMBER = 'role:member and project_id:%(project_id)s'
#: A role in any project, for answers about the caller's own project.
ANY_READER = '(role:reader) or (role:service)'
ANY_MEMBER = f'({SYSTEM_MEMBER}) or (role:member)'


def prefixed(prefix: str, name: str, check_str: str, description: str,
             *operations: str, legacy: bool = False
             ) -> policy.DocumentedRuleDefault:
    """Return a rule with its documentation.

    :param prefix: the prefix of the names of the rules of one resource.
    :param check_str: the callers to whom the rule grants it.
    :param operations: each a method and a path, such as ``GET /v1/leases``.
    :param legacy: whether administrators may do it, too, while ``[oslo_policy]
        enforce_new_defaults`` is false.
    """
    deprecated = policy.DeprecatedRule(
        name=prefix + name, check_str='rule:is_admin',
        deprecated_reason='The rules use system scope and the default roles: '
                          'an administrator of a project is not an '
                          'administrator of the cloud.',
        deprecated_since='1.0')
    return policy.DocumentedRuleDefault(
        name=prefix + name, check_str=check_str,
        scope_types=['system', 'project'], description=description,
        operations=[{'path': path, 'method': method} for method, path in (
            operation.split(' ', 1) for operation in operations)],
        deprecated_rule=deprecated if legacy else None)


RULES: list[policy.RuleDefault] = [
    policy.RuleDefault(
        name=SERVICE_ROLE,
        check_str='role:service and '
                  'project_name:%(config.service_project_name)s',
        description="A service user of the services' project, which acts for "
                    'the whole cloud if rbac_service_role_elevated_access is '
                    'set.'),
    policy.RuleDefault(
        name='is_admin',
        check_str='role:admin and is_admin_project:True',
        description='An administrator as defined before roles had a scope. '
                    'Used only if [oslo_policy] enforce_new_defaults is '
                    'false.'),
]

_rule = functools.partial(prefixed, 'baremetal:reservation:')
RULES += [
    _rule('create', ANY_MEMBER,
          'Reserve a node that the project owns or leases.',
          'POST /v1/reservations', legacy=True),
    _rule('create_any_node', SYSTEM_MEMBER,
          'Reserve a node of any owner.',
          'POST /v1/reservations', legacy=True),
    _rule('get', f'({SYSTEM_READER}) or ({OWN_READER})',
          'Show a reservation. Its uuid is a proof: everybody who can read it '
          'may deploy with it.',
          'GET /v1/reservations/{uuid}', legacy=True),
    _rule('list', ANY_READER,
          "List the reservations of the caller's own project, with their "
          'proofs.',
          'GET /v1/reservations'),
    _rule('list_all', SYSTEM_READER,
          'List the reservations of all projects, with their proofs.',
          'GET /v1/reservations', legacy=True),
    _rule('update', f'({SYSTEM_MEMBER}) or ({OWN_MEMBER})',
          'Renew a reservation.',
          'PATCH /v1/reservations/{uuid}', legacy=True),
    _rule('delete', f'({SYSTEM_MEMBER}) or ({OWN_MEMBER})',
          'Delete a reservation.',
          'DELETE /v1/reservations/{uuid}', legacy=True),
    _rule('exceed_limits', SYSTEM_MEMBER,
          'Make and renew reservations beyond the limits of a project in '
          '[reservations].',
          'POST /v1/reservations', 'PATCH /v1/reservations/{uuid}',
          legacy=True),
    _rule('vouch', SERVICE,
          'Be trusted when naming the instance that a node is deployed for, '
          'if instance_uuid_from_service or proof_by_placement is set in the '
          'section [guard].',
          'PATCH /v1/nodes/{node}', 'PUT /v1/nodes/{node}/states/provision'),
    _rule('use_any_proof', f'({SYSTEM_MEMBER}) or ({SERVICE})',
          'Use the proof of a reservation or a lease that belongs to another '
          'project.',
          'PATCH /v1/nodes/{node}', 'PUT /v1/nodes/{node}/states/provision',
          'POST /v1/allocations'),
    _rule('use_own_leases', 'role:member',
          "Use a node of a lease of the caller's own project without a proof, "
          'as clients do that know nothing of leases. A wrong proof is '
          'refused nevertheless. "!" requires the proof for each use.',
          'PATCH /v1/nodes/{node}', 'PUT /v1/nodes/{node}/states/provision'),
    _rule('use_own_reservations', '!',
          "Use a node of a reservation of the caller's own project without a "
          'proof. By default nobody may: one program of a project would '
          'deploy on a node that another one has reserved.',
          'PATCH /v1/nodes/{node}', 'PUT /v1/nodes/{node}/states/provision'),
    _rule('act_without_proof', f'({SYSTEM_MEMBER}) or ({SERVICE})',
          'Do the actions that [guard] protected_acts lists on nodes that '
          'others have reserved or leased. Deploying and rebuilding are never '
          'included.',
          'PUT /v1/nodes/{node}/...', 'POST /v1/nodes/{node}/...',
          'DELETE /v1/nodes/{node}/...', 'PATCH /v1/nodes/{node}',
          'DELETE /v1/allocations/{allocation}'),
]

_rule = functools.partial(prefixed, 'reservation:lease:')
RULES += [
    _rule('create', ANY_MEMBER,
          "Make a lease for the caller's own project, or check whether it "
          "could be made.",
          'POST /v1/leases', legacy=True),
    _rule('get', f'({SYSTEM_READER}) or ({OWN_READER})',
          'Show a lease. The id of each of its reservations is a proof: '
          'everybody who can read it may deploy with it.',
          'GET /v1/leases/{id}', 'GET /v1/leases/{id}/history', legacy=True),
    _rule('list', ANY_READER,
          "List the leases of the caller's own project, with their proofs.",
          'GET /v1/leases'),
    _rule('list_all', SYSTEM_READER,
          'List the leases of all projects, with their proofs.',
          'GET /v1/leases', legacy=True),
    _rule('update', f'({SYSTEM_MEMBER}) or ({OWN_MEMBER})',
          'Change a lease.',
          'PUT /v1/leases/{id}', legacy=True),
    _rule('delete', f'({SYSTEM_MEMBER}) or ({OWN_MEMBER})',
          'End a lease.',
          'DELETE /v1/leases/{id}', legacy=True),
    _rule('exceed_limits', SYSTEM_MEMBER,
          'Make and change leases beyond the limits of a project in [leases].',
          'POST /v1/leases', 'PUT /v1/leases/{id}', legacy=True),
    _rule('set_priority', SYSTEM_MEMBER,
          'Queue a lease with a priority above 0.',
          'POST /v1/leases', legacy=True),
]

_rule = functools.partial(prefixed, 'reservation:host:')
RULES += [
    _rule('create', SYSTEM_MEMBER,
          'Open a node, or all nodes of a resource class, to leases.',
          'POST /v1/os-hosts', legacy=True),
    _rule('get', SYSTEM_READER,
          'List and show hosts.',
          'GET /v1/os-hosts', 'GET /v1/os-hosts/{id}', legacy=True),
    _rule('update', SYSTEM_MEMBER,
          'Change the capabilities of a host, or close it to new leases.',
          'PUT /v1/os-hosts/{id}', legacy=True),
    _rule('delete', SYSTEM_MEMBER,
          'Remove a host from leases.',
          'DELETE /v1/os-hosts/{id}', legacy=True),
    _rule('get_allocations', SYSTEM_READER,
          'Show which lease has which host at which times. The id of a '
          'reservation is a proof: everybody who can read it may deploy with '
          'it.',
          'GET /v1/os-hosts/allocations', 'GET /v1/os-hosts/{id}/allocation',
          legacy=True),
    _rule('get_allocation_times', SYSTEM_READER,
          'Show at which times hosts are promised, but not to which lease: '
          'with this rule alone, a caller gets null for each lease, and for '
          'each reservation an id that is the same on all of its hosts and '
          'proves nothing. The calendars of blazar-dashboard need this rule '
          'and reservation:host:get.',
          'GET /v1/os-hosts/allocations', 'GET /v1/os-hosts/{id}/allocation',
          legacy=True),
    _rule('list_properties', ANY_READER,
          'List the host properties that leases may use.',
          'GET /v1/os-hosts/properties'),
    _rule('list_private_properties', SYSTEM_READER,
          'List private host properties, too, and use them in leases.',
          'GET /v1/os-hosts/properties', legacy=True),
    _rule('update_property', SYSTEM_MEMBER,
          'Make a host property private or public.',
          'PATCH /v1/os-hosts/properties/{name}', legacy=True),
]

_rule = functools.partial(prefixed, 'reservation:availability:')
RULES += [
    _rule('get', ANY_READER,
          'Show the numbers of free hosts over time, without the names of '
          'hosts.',
          'GET /v1/availability'),
]

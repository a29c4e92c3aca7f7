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

"""Who is the cloud's and who is a project's, as Ironic's own policies put it.

An administrator of a project is a member of that project, and no more: what
belongs to others is for those whose roles are on the whole system, and for
services that the operator of Ironic has raised to it.
"""

from __future__ import annotations

from oslo_policy import policy

SERVICE_ROLE = 'service_role'
#: As of ironic.common.policy, where they have the same names.
SYSTEM_READER = ('(role:reader and system_scope:all) or '
                 '(role:service and system_scope:all) or '
                 f'rule:{SERVICE_ROLE}')
SYSTEM_MEMBER = ('(role:member and system_scope:all) or '
                 f'rule:{SERVICE_ROLE}')
SYSTEM_SERVICE = 'role:service and system_scope:all'
#: A service in the project that owns the node is trusted with that node.
PROJECT_SERVICE = 'role:service and project_id:%(node.owner)s'
#: Of the cloud, or of the project that owns the node.
SERVICE = (f'({SYSTEM_SERVICE}) or rule:{SERVICE_ROLE} or '
           f'({PROJECT_SERVICE})')
OWN_READER = 'role:reader and project_id:%(project_id)s'
OWN_MEMBER = 'role:member and project_id:%(project_id)s'
#: Whoever has the role in some project, where the answer is its own.
ANY_READER = '(role:reader) or (role:service)'
ANY_MEMBER = f'({SYSTEM_MEMBER}) or (role:member)'

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

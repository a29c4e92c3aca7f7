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

"""A rule of the policies, as each of them is written."""

from __future__ import annotations

from oslo_policy import policy


def rule(prefix: str, name: str, check_str: str, description: str,
         *operations: str, legacy: bool = False
         ) -> policy.DocumentedRuleDefault:
    """Return a rule with its documentation.

    :param prefix: of the names of the rules of one resource.
    :param check_str: who may do it.
    :param operations: each a method and a path, such as ``GET /v1/leases``.
    :param legacy: whether administrators may do it, too, while
        ``[oslo_policy] enforce_new_defaults`` is false.
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

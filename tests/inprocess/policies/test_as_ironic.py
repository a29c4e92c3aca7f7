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

"""Our rules decide for each caller as Ironic's rules for allocations.

The oracle is Ironic's own policy, without overrides.
"""

from collections.abc import Iterator
import itertools
from typing import Any

from ironic.common import policy as ironic_policy
from oslo_context import context as oslo_context
from oslo_policy import policy
import testtools

from ironic_reservations import conf as project_conf
from ironic_reservations import policies

_PAIRS = {
    'baremetal:reservation:create': 'create',
    'baremetal:reservation:create_any_node': 'create_restricted',
    'baremetal:reservation:get': 'get',
    'baremetal:reservation:list': 'list',
    'baremetal:reservation:list_all': 'list_all',
    'baremetal:reservation:update': 'update',
    'baremetal:reservation:delete': 'delete',
    'baremetal:reservation:exceed_limits': 'create_restricted',
    'reservation:lease:exceed_limits': 'create_restricted',
    'reservation:lease:set_priority': 'create_restricted',
    'reservation:lease:create': 'create',
    'reservation:lease:get': 'get',
    'reservation:lease:list': 'list',
    'reservation:lease:list_all': 'list_all',
    'reservation:lease:update': 'update',
    'reservation:lease:delete': 'delete',
    'reservation:host:get': 'list_all',
    'reservation:host:create': 'create_restricted',
    'reservation:host:update': 'create_restricted',
    'reservation:host:delete': 'create_restricted',
    'reservation:host:get_allocations': 'list_all',
    'reservation:host:get_allocation_times': 'list_all',
    'reservation:host:list_properties': 'list',
    'reservation:host:list_private_properties': 'list_all',
    'reservation:host:update_property': 'create_restricted',
    'reservation:availability:get': 'list',
    'reservation:calendar:get': 'list',
    'reservation:calendar:get_hosts': 'list_all',
    'reservation:calendar:token': 'list',
    'reservation:limits:get': 'list',
    'reservation:limits:get_all': 'list_all',
    'reservation:usage:get': 'list',
    'reservation:usage:get_all': 'list_all',
    'reservation:maintenance:get': 'list_all',
    'reservation:maintenance:create': 'create_restricted',
    'reservation:maintenance:delete': 'create_restricted',
}
_ROLES = (
    (), ('reader',), ('member', 'reader'), ('manager', 'member', 'reader'),
    ('admin', 'manager', 'member', 'reader'), ('service',), ('admin',),
    ('service', 'member', 'reader'), ('swift-user',))
_SCOPES: tuple[dict[str, Any], ...] = (
    {'project_id': 'ours', 'project_name': 'red'},
    {'project_id': 'ours', 'project_name': 'service'},
    {'project_id': 'ours', 'project_name': 'red',
     'is_admin_project': False},
    {'system_scope': 'all'}, {'domain_id': 'default'}, {})


def _callers() -> Iterator[oslo_context.RequestContext]:
    for roles, scope in itertools.product(_ROLES, _SCOPES):
        yield oslo_context.RequestContext(user_id='me', roles=list(roles),
                                          **scope)


def _of_ironic() -> policy.Enforcer:
    enforcer = policy.Enforcer(project_conf.load(config_files=[]))
    enforcer.suppress_default_change_warnings = True
    enforcer.suppress_deprecation_warnings = True
    # NOTE: registering these rules with old defaults changes the rule objects
    # of the whole process.
    enforcer.register_defaults([
        policy.RuleDefault(rule.name, rule.check_str,
                           scope_types=rule.scope_types)
        for rule in ironic_policy.list_policies()])
    return enforcer


class TestAsIronic(testtools.TestCase):
    """Every role in every scope, on own and foreign objects."""

    def _compare(self, elevated: bool) -> None:
        conf = project_conf.load(config_files=[])
        conf.set_override('rbac_service_role_elevated_access', elevated)
        ours = policies.Enforcer(conf, 'keystone')
        theirs = _of_ironic()
        more = ({'config.service_project_name': 'service'} if elevated
                else {})
        for caller, owner, (rule, like) in itertools.product(
                _callers(), ('ours', 'theirs', ''), _PAIRS.items()):
            values = {**dict(caller.to_policy_values().items()),
                      'project_name': caller.project_name}
            expected = theirs.authorize(
                f'baremetal:allocation:{like}',
                {'allocation.owner': owner, **values, **more}, values)
            self.assertEqual(
                bool(expected),
                ours.check(caller, rule, {'project_id': owner}),
                (rule, caller.roles, caller.to_policy_values(), owner))

    def test_every_caller_may_what_ironic_lets_it(self) -> None:
        self._compare(elevated=False)

    def test_services_that_ironic_has_raised(self) -> None:
        self._compare(elevated=True)

    def test_every_rule_of_the_api_has_its_like(self) -> None:
        self.assertEqual(
            {*_PAIRS, 'baremetal:reservation:vouch',
             'baremetal:reservation:use_any_proof',
             'baremetal:reservation:use_own_leases',
             'baremetal:reservation:use_own_reservations',
             'baremetal:reservation:act_without_proof'},
            {rule.name for rule in policies.list_rules()
             if ':' in rule.name})

    def test_who_acts_without_proof_may_act_on_any_node(self) -> None:
        """These are the callers whom Ironic lets change the nodes of others.
        """
        conf = project_conf.load(config_files=[])
        ours = policies.Enforcer(conf, 'keystone')
        theirs = _of_ironic()
        for caller in _callers():
            values = {**dict(caller.to_policy_values().items()),
                      'project_name': caller.project_name}
            self.assertEqual(
                bool(theirs.authorize(
                    'baremetal:node:set_maintenance',
                    {'node.owner': 'theirs', 'node.lessee': '', **values},
                    values)),
                ours.check(caller, 'baremetal:reservation:act_without_proof',
                           {'node.owner': 'theirs', 'node.lessee': ''}),
                (caller.roles, caller.to_policy_values()))


class TestForeignAdministrator(testtools.TestCase):
    """An administrator of a project is not an administrator of the cloud."""

    def _check(self, new: bool, roles: list[str], rule: str) -> bool:
        conf = project_conf.load(config_files=[])
        policies.Enforcer(conf, 'keystone')
        # These options exist only from here on.
        conf.set_override('enforce_new_defaults', new, 'oslo_policy')
        enforcer = policies.Enforcer(conf, 'keystone')
        return enforcer.check(
            oslo_context.RequestContext(user_id='mallory', roles=roles,
                                        project_id='hers'),
            rule, {'project_id': 'ours'})

    def test_reads_no_proof_and_ends_nothing(self) -> None:
        for roles, rule in itertools.product(
                (['admin', 'member', 'reader'], ['service']),
                ('baremetal:reservation:get', 'baremetal:reservation:delete',
                 'baremetal:reservation:update',
                 'baremetal:reservation:create_any_node',
                 'reservation:lease:get', 'reservation:lease:update',
                 'reservation:lease:delete', 'reservation:host:create',
                 'reservation:host:get_allocations')):
            self.assertFalse(self._check(True, roles, rule), (roles, rule))

    def test_operator_may_keep_the_old_meaning(self) -> None:
        self.assertTrue(self._check(
            False, ['admin', 'member', 'reader'], 'baremetal:reservation:get'))
        self.assertFalse(self._check(
            False, ['service'], 'baremetal:reservation:get'))

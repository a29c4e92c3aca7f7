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

"""The default policies, with OpenStack's default roles.

The uuid of a reservation or of a lease reservation is the proof for a deploy,
so every caller that can read it can use it. Therefore a project reads only its
own, and a reader of the whole system reads all. The numbers of free hosts over
time are visible to everybody.
"""

from __future__ import annotations

from collections.abc import Mapping
import copy
from typing import Any

from oslo_config import cfg
from oslo_context import context as oslo_context
from oslo_log import log
from oslo_policy import policy

from ironic_reservations import conf as project_conf
from ironic_reservations import errors
from ironic_reservations.features import policies as of_features
from ironic_reservations.policies import rules

LOG = log.getLogger(__name__)


def list_rules() -> list[policy.RuleDefault]:
    """List the rules for oslopolicy-sample-generator."""
    return [*rules.RULES, *of_features.list_rules()]


def get_enforcer() -> policy.Enforcer:
    """Return an enforcer for oslopolicy-checker and similar tools."""
    return _enforcer(project_conf.load())


def _enforcer(conf: cfg.ConfigOpts) -> policy.Enforcer:
    enforcer = policy.Enforcer(conf)
    # An operator who keeps the old defaults knows that they are old.
    enforcer.suppress_default_change_warnings = True
    # oslo.policy writes deprecated names into the rule itself, as the
    # configuration of the first enforcer has them.
    enforcer.register_defaults(copy.deepcopy(list_rules()))
    return enforcer


class Enforcer:
    """Applies the policies, unless all callers have the same rights.

    :param conf: the configuration.
    :param auth_strategy: the way in which callers are authenticated; with any
        other strategy than ``keystone`` everybody may do everything, as in
        Ironic.
    :raises oslo_config.cfg.Error: the operator's file cannot be read.
    """

    def __init__(self, conf: cfg.ConfigOpts, auth_strategy: str) -> None:
        self._request = auth_strategy == 'keystone'
        self._enforcer = _enforcer(conf)
        # Loaded now: otherwise the first requests do it on several threads at
        # once, and while one thread replaces the rules, the others may find
        # some missing.
        try:
            self._enforcer.load_rules()
        except cfg.Error:
            raise
        except Exception as exc:
            # oslo.policy does not catch the exceptions of its parser.
            files = [self._enforcer.policy_path or '',
                     *conf.oslo_policy.policy_dirs]
            raise cfg.ConfigFileValueError(
                'A policy file cannot be read ([oslo_policy] policy_file, '
                f'policy_dirs: {", ".join(filter(None, files))}): {exc}. '
                'Correct it, and check it with oslopolicy-validator.'
            ) from exc
        self._config = ({'config.service_project_name':
                         conf.rbac_service_project_name}
                        if conf.rbac_service_role_elevated_access else {})

    @property
    def projects(self) -> bool:
        """Whether callers belong to projects."""
        return self._request

    def check(self, context: oslo_context.RequestContext, rule: str,
              target: Mapping[str, Any] | None = None) -> bool:
        """Return whether a policy rule allows a caller an action."""
        if not self._request:
            return True
        values: dict[str, Any] = {
            **dict(context.to_policy_values().items()),
            'project_name': context.project_name}
        wanted = (rule, {**(target or {}), **self._config}, values)
        try:
            return bool(self._enforcer.authorize(*wanted))
        except policy.PolicyNotRegistered:
            raise
        except Exception as exc:
            # oslo.policy reads a changed file once, and keeps the former
            # rules if it cannot. A check of another service fails again.
            allowed = bool(self._enforcer.authorize(*wanted))
            LOG.error('A policy file was changed and cannot be read, so the '
                      'former rules apply until it is corrected: %s. Check it '
                      'with oslopolicy-validator', exc)
            return allowed

    def authorize(self, context: oslo_context.RequestContext, rule: str,
                  target: Mapping[str, Any] | None = None) -> None:
        """Check that a policy rule allows a caller an action.

        :raises Forbidden: the policy does not allow it.
        """
        if not self.check(context, rule, target):
            scoped = context.project_id or context.system_scope
            raise errors.Forbidden(
                f'The policy rule {rule} does not allow you to do that. '
                + ('Ask the operator for a role that may.' if scoped
                   else errors.USE_A_PROJECT), policy=rule)

    def visible_project(self, context: oslo_context.RequestContext,
                        rules: str, asked: str | None,
                        things: str) -> str | None:
        """Return the project to list, ``None`` for all, '' for none.

        :param rules: the prefix of the names of the rules.
        :param asked: the project that the caller has requested.
        :param things: the listed resources, in words.
        :raises Forbidden: the caller may not see that project.
        """
        own = {'project_id': context.project_id}
        if self.check(context, rules + 'list_all', own):
            return asked
        self.authorize(context, rules + 'list', own)
        if asked not in (None, context.project_id):
            raise errors.Forbidden(
                f'Only an administrator may list the {things} of another '
                'project. Leave the project out to list your own.')
        return context.project_id or ''

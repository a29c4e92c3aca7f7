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

"""Which limits hold for who calls."""

from __future__ import annotations

from oslo_config import cfg
from oslo_context import context as oslo_context

from ironic_reservations import policies
from ironic_reservations.engine import limits

_POLICIES = {'leases': 'reservation:lease:exceed_limits',
             'reservations': 'baremetal:reservation:exceed_limits'}


def of(conf: cfg.ConfigOpts, enforcer: policies.Enforcer,
       context: oslo_context.RequestContext, group: str,
       project_id: str | None) -> limits.Limits:
    """Return the limits of a group of options that hold for a caller.

    Without keystone there are no policies by which anybody could exceed
    them.

    :param project_id: whose reservation or lease it is.
    """
    exempt = enforcer.projects and enforcer.check(
        context, _POLICIES[group], {'project_id': project_id or ''})
    return limits.of(conf, group, exempt, enforcer.projects)

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

"""Determines the limits of a caller."""

from __future__ import annotations

from oslo_context import context as oslo_context

from ironic_reservations import policies
from ironic_reservations.engine import ceiling
from ironic_reservations.engine import Engine
from ironic_reservations.model import limits

_POLICIES = {'leases': 'reservation:lease:exceed_limits',
             'reservations': 'baremetal:reservation:exceed_limits'}


def of(engine: Engine, enforcer: policies.Enforcer,
       context: oslo_context.RequestContext, group: str,
       project_id: str | None) -> limits.Limits:
    """Return the limits of a group of options for a caller.

    Without keystone there are no policies, so no caller is exempt.

    :param project_id: the project of the reservation or lease.
    """
    if enforcer.projects and enforcer.check(
            context, _POLICIES[group], {'project_id': project_id or ''}):
        return limits.NONE
    return ceiling.limits_of(engine, group, enforcer.projects)

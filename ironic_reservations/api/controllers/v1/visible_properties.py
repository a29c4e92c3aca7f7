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

"""Checks that callers may use the host properties in their requirements.

A request with a property reveals which free hosts have it. With repeated
requests, a caller who could use any property would learn names, owners and
private capabilities.
"""

from __future__ import annotations

from collections.abc import Iterable

from oslo_context import context as oslo_context

from ironic_reservations import errors
from ironic_reservations import policies
from ironic_reservations.engine import Engine
from ironic_reservations.engine import hosts
from ironic_reservations.engine.leases import request_checks

_SEES_ALL = 'reservation:host:list_private_properties'


def check(engine: Engine, enforcer: policies.Enforcer,
          context: oslo_context.RequestContext,
          texts: Iterable[tuple[str | None, str | None]]) -> None:
    """Raise if a caller uses a property of hosts that it may not see.

    Hidden and unknown properties get the same answer. The operator's default
    condition is accepted, since offers contain it.

    :param texts: pairs of hypervisor properties and resource properties.
    :raises InvalidValue: a text cannot be parsed, or uses such a property.
    """
    if enforcer.check(context, _SEES_ALL, {'project_id': context.project_id}):
        return
    default = engine.conf.leases.default_resource_properties
    named = {name for hypervisor, resource in texts
             for name in request_checks.requirement(
                 hypervisor or '', '' if resource == default
                 else resource or '').names_beside_own(
                     context.project_id)}
    unknown = _unknown(engine, named)
    if unknown:
        raise errors.InvalidValue(
            f'There is no property ${sorted(unknown)[0][:80]} that you may '
            'use in a requirement. GET /v1/os-hosts/properties lists the '
            'properties that the operator has made public.')


def may_name(engine: Engine, enforcer: policies.Enforcer,
             context: oslo_context.RequestContext, name: str) -> bool:
    """Return whether a caller may use a property of hosts."""
    return enforcer.check(context, _SEES_ALL, {
        'project_id': context.project_id}) or not _unknown(engine, {name})


def _unknown(engine: Engine, named: set[str]) -> set[str]:
    unknown = named.difference(engine.conf.leases.tenant_properties)
    if unknown:
        unknown -= {each.name for each in hosts.properties(
            engine, with_private=False)}
    return unknown

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

"""The rights of callers that Ironic has authenticated."""

from __future__ import annotations

import dataclasses

from oslo_context import context as oslo_context

from ironic_reservations import policies
from ironic_reservations.api import identity as api_identity
from ironic_reservations.api import wsgi
from ironic_reservations.guard import identity
from ironic_reservations.lifecycle import admit
from ironic_reservations.lifecycle import protect

_POLICY = 'baremetal:reservation:'


@dataclasses.dataclass(frozen=True)
class Node:
    """A node as the caller sees it, and the caller.

    :ivar chosen_by: the project that has chosen the proof of the request,
        according to the caller; ``None``: the caller itself has chosen it.
    :ivar parent: the node whose power it shares, if it has one.
    """

    uuid: str
    instance_uuid: str | None
    caller: wsgi.Environ
    owner: str | None = None
    lessee: str | None = None
    provision_state: str | None = None
    chosen_by: str | None = None
    parent: str | None = None


class Callers:
    """Applies our policies to callers.

    :param strategy: Ironic's ``auth_strategy``; if it has no projects, every
        caller is an administrator, and no caller a service.
    :param any_proof: whether a proof is valid for every caller, and not only
        for the project of its holder.
    """

    def __init__(self, strategy: str, enforcer: policies.Enforcer,
                 any_proof: bool) -> None:
        self._keystone = strategy == identity.KEYSTONE
        self._any_proof = any_proof
        self._enforcer = enforcer

    @property
    def has_roles(self) -> bool:
        """Whether the rights of callers differ."""
        return self._keystone

    def serves(self, node: Node) -> bool:
        """Return whether the caller is a service that may name an instance."""
        return self._keystone and self._may(node, 'vouch')

    def trusted(self, node: Node) -> bool:
        """Return whether the caller has more rights than its project."""
        return not self._keystone or any(
            self._may(node, action)
            for action in ('act_without_proof', 'vouch'))

    def bearer(self, node: Node) -> admit.Bearer:
        """Return the caller as the bearer of a proof.

        A service may show the proofs of all projects, but not on behalf of a
        project that may not show them itself.
        """
        if not self._keystone:
            return admit.ANYBODY
        own = admit.Bearer(
            self.context(node.caller).project_id,
            self._any_proof or self._may(node, 'use_any_proof'),
            self._may(node, 'use_own_leases'),
            self._may(node, 'use_own_reservations'))
        if node.chosen_by is None:
            return own
        return self.bearer_in(node.chosen_by if own.may_show(node.chosen_by)
                              else None)

    def bearer_in(self, project_id: str | None) -> admit.Bearer:
        """Return a project as the bearer of a proof that it has chosen."""
        return admit.Bearer(project_id, self._any_proof)

    def actor(self, node: Node, claim: admit.Claim) -> protect.Actor:
        """Return the caller of an act on a node."""
        return protect.Actor(claim, self.context(node.caller).project_id,
                             self._may(node, 'act_without_proof'))

    def creates_any(self, caller: wsgi.Environ) -> bool:
        """Return whether the caller may allocate nodes of any owner."""
        if not self._keystone:
            return True
        context = api_identity.keystone(caller)
        return self._enforcer.check(
            context, _POLICY + 'create_any_node',
            {'project_id': context.project_id})

    def context(self, caller: wsgi.Environ) -> oslo_context.RequestContext:
        """Return the context of the caller, for policies and audit."""
        return (api_identity.keystone(caller) if self._keystone
                else api_identity.administrator(caller))

    def _may(self, node: Node, action: str) -> bool:
        return self._enforcer.check(
            self.context(node.caller), _POLICY + action,
            {'node.owner': node.owner or '', 'node.lessee': node.lessee or ''})

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

"""What a caller that Ironic has authenticated may do to a node here."""

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
    """A node as the caller sees it, and who the caller is."""

    uuid: str
    instance_uuid: str | None
    caller: wsgi.Environ
    owner: str | None = None
    lessee: str | None = None


class Callers:
    """Judges callers by our policies.

    :param strategy: how Ironic authenticates its callers; where it does not
        know projects, everybody is an administrator, and nobody a service.
    :param any_proof: whether a proof counts whoever shows it.
    """

    def __init__(self, strategy: str, enforcer: policies.Enforcer,
                 any_proof: bool) -> None:
        self._keystone = strategy == identity.KEYSTONE
        self._any_proof = any_proof
        self._enforcer = enforcer

    @property
    def told_apart(self) -> bool:
        """Return whether some callers may do more than others."""
        return self._keystone

    def serves(self, node: Node) -> bool:
        """Return whether the caller's word for an instance counts."""
        return self._keystone and self._may(node, 'vouch')

    def trusted(self, node: Node) -> bool:
        """Return whether the caller may do more than its project."""
        return not self._keystone or any(
            self._may(node, action)
            for action in ('act_without_proof', 'vouch'))

    def bearer(self, node: Node) -> admit.Bearer:
        """Return in whose hands the proof of a request is."""
        if not self._keystone or self._any_proof:
            return admit.ANYBODY
        return admit.Bearer(self.context(node.caller).project_id,
                            self._may(node, 'use_any_proof'))

    def actor(self, node: Node, claim: admit.Claim) -> protect.Actor:
        """Return who wants something to be done to a node."""
        return protect.Actor(claim, self.context(node.caller).project_id,
                             self._may(node, 'act_without_proof'))

    def creates_any(self, caller: wsgi.Environ) -> bool:
        """Return whether the caller may have a node of any owner."""
        if not self._keystone:
            return True
        context = api_identity.keystone(caller)
        return self._enforcer.check(
            context, _POLICY + 'create_any_node',
            {'project_id': context.project_id})

    def context(self, caller: wsgi.Environ) -> oslo_context.RequestContext:
        """Return who the caller is, for the policies and for the records."""
        return (api_identity.keystone(caller) if self._keystone
                else api_identity.administrator(caller))

    def _may(self, node: Node, action: str) -> bool:
        return self._enforcer.check(
            self.context(node.caller), _POLICY + action,
            {'node.owner': node.owner or '', 'node.lessee': node.lessee or ''})

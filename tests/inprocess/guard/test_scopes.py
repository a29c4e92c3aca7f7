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

"""Tokens that are for no project and not for the system.

Ironic answers 500 to a token for a domain wherever it applies a policy, also
where the guard asks it on behalf of the caller.
"""

from __future__ import annotations

from tests.inprocess.guard import acts
from tests.inprocess.guard import base

_DOMAIN = {'X-Auth-Token': 'token-of-the-domain'}
_NOWHERE = {'X-Auth-Token': 'token-without-scope'}


class ScopesTest(acts.ActsTestCase):

    def answers(self, identity: dict[str, str]) -> list[base.Reply]:
        """Return the answers to guarded requests of a caller."""
        node, _ = self.reserved()
        self.identity = identity
        path = f'/v1/nodes/{node.uuid}'
        return [self.send(*request) for request in (
            ('PUT', f'{path}/states/provision', {'target': 'active'}),
            ('PATCH', path, [{'op': 'add', 'path': '/extra/a', 'value': 1}]),
            ('PUT', f'{path}/states/power', {'target': 'power off'}),
            ('DELETE', path),
            ('POST', '/v1/ports', {'node_uuid': node.uuid,
                                   'address': '52:54:00:00:00:01'}),
            ('POST', '/v1/allocations', {'resource_class': 'gold'}),
            ('POST', '/v1/reservations', {'node_uuid': [node.uuid],
                                          'instance_uuid': node.uuid}))]

    def test_token_for_a_domain_is_refused_with_what_to_do(self) -> None:
        for reply in self.answers(_DOMAIN):
            self.assertEqual((403, 'identity.forbidden'),
                             (reply.status, reply.code), reply.document)
            self.assertIn('scope is a project', str(reply.document))

    def test_token_without_a_scope_is_no_error_of_ours(self) -> None:
        self.assertEqual({403, 404}, {
            reply.status for reply in self.answers(_NOWHERE)})

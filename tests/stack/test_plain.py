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


"""Servers that nobody reserved anything for."""

from __future__ import annotations

from tests.stack import base


class TestPlain(base.TestCase):

    def test_server_is_booted_rebuilt_and_deleted(self) -> None:
        """Reservations beside it change nothing for a plain server."""
        server = self.booted()
        node = self.where(server)
        self.assertEqual(('active', server), (
            self.node(node)['provision_state'],
            self.node(node)['instance_uuid']))
        self.assertEqual([server], self.holders(node))
        self.rebuilt(server)
        self.assertEqual(node, self.where(server))
        self.assert_clean()
        self.deleted(server, base.MEMBER)
        self.assert_free(node)
        self.assert_clean()

    def test_as_many_as_there_are_nodes_and_no_more(self) -> None:
        servers = [self.boot() for _ in self.nodes]
        for server in servers:
            self.assertEqual('ACTIVE', self.settled(server)['status'])
        self.assertEqual(sorted(self.nodes), sorted(map(self.where,
                                                        servers)))
        self.assert_no_valid_host(self.boot())

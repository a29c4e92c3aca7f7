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

from typing import Any

from tests.inprocess.api import asking


class TestGivenBackHostId(asking.AskingCase):
    """A member releases a host by its id that the lease does not have."""

    version = asking.since(24)

    def setUp(self) -> None:
        super().setUp()
        self.hosts = {host['id']: host['node_uuid'] for host in (
            self.open_host(name) for name in ('rack-7', 'rack-8'))}
        self.lease = self.book('01 10', '02 10')

    def change(self, status: int, *changes: dict[str, Any],
               **headers: str) -> Any:
        ident = self.lease['reservations'][0]['id']
        return self.ask('PUT', f'/v1/leases/{self.lease["id"]}', status, {
            'reservations': [{'id': ident, **each} for each in changes]},
            **headers)

    def test_refusal_does_not_name_its_node(self) -> None:
        """Otherwise, the UUIDs of all hosts could be found by their ids."""
        own = self.lease['reservations'][0]['nodes'][0]['uuid']
        ident, node = next((ident, node) for ident, node
                           in self.hosts.items() if node != own)
        answer = self.change(400, {'give_back': [ident]})
        self.assertNotIn(node, str(answer))
        self.assertIn(str(ident), answer['error_message'])

    def test_unknown_host_is_told_like_one_of_others(self) -> None:
        """Otherwise, the number of hosts could be found."""
        own = self.lease['reservations'][0]['nodes'][0]['uuid']
        ident = next(ident for ident, node in self.hosts.items()
                     if node != own)
        known, unknown = (
            self.change(400, {'give_back': [each]})[
                'error_message'].replace(f' {each},', ' HOST,')
            for each in (ident, '77'))
        self.assertEqual(known, unknown)

    def test_reservation_changed_twice_in_a_request(self) -> None:
        """The request is refused, and the first change is not lost silently.
        """
        answer = self.change(400, {'min': 1, 'max': 2}, {'min': 1, 'max': 1})
        self.assertIn('twice', answer['error_message'])

    def test_repeated_request_is_answered(self) -> None:
        """The lease no longer has the host."""
        self.lease = self.book('03 10', '04 10',
                               reservations=asking.hosts(1, 2))
        ident = next(iter(self.hosts))
        for _ in range(2):
            changed = self.change(200, {'give_back': [ident]},
                                  idempotency_key='once')['lease']
            self.assertNotIn(self.hosts[ident], str(changed))

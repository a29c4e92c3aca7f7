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


"""An unmodified Nova, and a guard that does not take its word, or does."""

from __future__ import annotations

import os
import signal

from tests.stack import base
from tests.stack import shared


class TestWithoutProofs(base.TestCase):
    """The driver of Nova shows nothing, and nothing else is taken for it."""

    setup = shared.Setup(guard={})

    def test_server_of_a_lease_is_refused_and_leaks_nothing(self) -> None:
        self.open_hosts(*self.nodes)
        lease = self.lease(self.hosts(2))
        refused = self.boot(lease['reservations'][0]['id'])
        # NOTE: Nova's own driver does not pass on what Ironic says.
        self.assert_user_is_told(refused, 'Failure prepping block device')
        self.assertEqual({}, self.allocations(refused))
        self.assert_untouched(*self.nodes_of(lease))
        self.assert_clean()

    def test_plain_server_needs_none(self) -> None:
        self.booted()


class TestRebuild(base.TestCase):
    """Of a rebuild Nova passes on the refusal, and cuts off the reason."""

    def test_user_is_told_what_was_refused(self) -> None:
        """What the scheduler wrote in Placement is gone: there is no proof.
        """
        self.open_hosts(*self.nodes)
        lease = self.lease(self.hosts(1))
        server = self.booted(lease['reservations'][0]['id'])
        node = self.where(server)
        self.cloud.placement_api('DELETE', f'/allocations/{server}')
        self.rebuild(server)
        told = self.assert_user_is_told(
            server,
            f'Failed to request Ironic to rebuild instance {server}: Failed '
            f'to set provision state for bare metal node {node} to rebuild: '
            'Client Error for url: ')
        self.assertEqual(255, len(told))
        self.assertIn(f'Node {node} is leased, and the request shows no '
                      'proof.', self.cloud.ground.children[
                          self.cloud.compute.name].log_file.read_text())


class TestAlways(base.TestCase):
    """Nobody deploys without a reservation, not even on a free node."""

    setup = shared.Setup(guard={'require': 'always',
                                **shared.UNMODIFIED})

    def test_plain_server_is_refused_and_leaks_nothing(self) -> None:
        """Nova's own driver gives up at the first node."""
        refused = self.boot()
        self.assert_user_is_told(refused, 'Failure prepping block device')
        self.assertEqual({}, self.allocations(refused))
        self.assert_untouched(*self.nodes)
        self.assert_clean()

    def test_server_with_a_lease_is_not(self) -> None:
        self.open_hosts(*self.nodes)
        lease = self.lease(self.instances(1))
        server = self.booted(lease['reservations'][0]['id'])
        self.assertEqual(self.nodes_of(lease), [self.where(server)])
        self.rebuilt(server)

    def test_server_with_a_reservation_is_not(self) -> None:
        """Somebody reserves the node that the scheduler found for it.

        Here while nova-compute stands still; the instance_uuid is the proof.
        """
        process = self.cloud.ground.children[self.cloud.compute.name].process
        os.kill(process.pid, signal.SIGSTOP)
        self.addCleanup(os.kill, process.pid, signal.SIGCONT)
        server = self.boot()
        node = min(self.until('the scheduler has found a node',
                              lambda: self.allocations(server)))
        reservation = self.reserve(node, instance=server)
        self.assertEqual([server], self.holders(node))
        os.kill(process.pid, signal.SIGCONT)
        self.assertEqual('ACTIVE', self.settled(server)['status'])
        self.assertEqual(node, self.where(server))
        self.until('the reservation is in use', lambda: [
            each['state'] for each in self.reservations()
            if each['uuid'] == reservation['uuid']] == ['in_use'])
        self.rebuilt(server)
        self.deleted(server, base.MEMBER)
        self.until('the reservation is gone',
                   lambda: not self.reservations())
        self.assert_free(node)

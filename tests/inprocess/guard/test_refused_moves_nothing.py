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

"""A request that Ironic's policy refuses moves and degrades no lease.

The leases that need a node later moved to other nodes, or lost it, before
Ironic was asked whether the caller may use the node at all.
"""

from typing import Any

from ironic_reservations.guard import failed_attempts
from ironic_reservations.guard import resolve
from tests import guarded
from tests import leasing
from tests import world


class RefusedTestCase(guarded.TestCase):

    options: dict[str, Any] = {'leases__without_reservation': 'allow'}
    token = 'reader'

    def setUp(self) -> None:
        super().setUp()
        self.guard = self.guard_of(self.ironic, 'keystone')
        self.leasing = leasing.Leasing(self.world)
        (self.node,) = self.leasing.hosts()
        self.lease = self.leasing.create(24, 48, project_id='tenant')

    def assert_refused(self, ask: Any, *how: Any) -> None:
        # Until earlier failures are forgotten.
        self.world.clock.advance(failed_attempts.BURST * failed_attempts.PAUSE)
        # NOTE: Ironic answers a wrong version with 406, before the policy.
        for status in (403, 404, 406):
            self.ironic.answers = {'PUT': [status] * 3, 'PATCH': [status] * 3}
            try:
                answered = ask(*how).status
            except resolve.RefusedByIronic as refusal:
                answered = refusal.answer.status
            self.assertEqual(status, answered)

    def assert_refusals_move_nothing(self) -> None:
        for ask, *how in ((self.deploy,), (self.provision, 'manage'),
                          (self.bind, world.new_uuid())):
            self.assert_refused(ask, *how)
            after = self.leasing.reload(self.lease)
            self.assertEqual((self.lease.bookings, self.lease.degraded),
                             (after.bookings, after.degraded))

    def test_lease_that_would_lose_the_node_keeps_it(self) -> None:
        self.assert_refusals_move_nothing()

    def test_lease_that_could_move_stays(self) -> None:
        self.leasing.hosts()
        self.assert_refusals_move_nothing()

    def test_reader_does_not_learn_who_has_the_node(self) -> None:
        """A refused PATCH of the instance named the holder; a deploy did not.
        """
        self.world.clock.now = leasing.at(25)
        self.leasing.bind()
        self.assert_refused(self.deploy)
        self.assert_refused(self.bind, world.new_uuid())

    def test_who_may_use_the_node_still_moves_it(self) -> None:
        (other,) = self.leasing.hosts()
        self.assertEqual(202, self.deploy().status)
        self.assertEqual({other}, self.leasing.nodes(self.lease))

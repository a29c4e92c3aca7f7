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

"""Rows that mean nothing any more are deleted, and no others."""

from ironic_reservations.engine import sweep
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.reservations import renew
from tests import servers
from tests import world


@servers.also
class TestSweep(world.TestCase):

    def setUp(self):
        super().setUp()
        self.world = self.new_world()
        self.nodes = self.world.enrol(4)

    def test_expired_rows_go_and_the_rest_stays(self):
        gone, renewed, used, later = (
            self.world.reserve(node, ttl=ttl) for node, ttl
            in zip(self.nodes, (10, 10, 10, 99), strict=True))
        renew.renew(self.world.engine, renewed.uuid, ttl=60)
        self.world.use(used)
        self.world.clock.advance(10)
        self.assertEqual(1, sweep.sweep(self.world.engine))
        self.assertEqual({renewed.uuid, used.uuid, later.uuid},
                         set(self.world.reservations()))

    def test_nothing_to_sweep_is_no_error(self):
        self.world.reserve(self.nodes[0])
        self.assertEqual(0, sweep.sweep(self.world.engine))
        self.assertEqual(1, len(self.world.reservations()))

    def test_in_flight_requests_of_dead_processes_stay(self):
        """Time alone does not tell what became of them."""
        admission.admit(self.world.engine, self.nodes[0])
        self.world.clock.advance(86400)
        sweep.sweep(self.world.engine)
        self.assertEqual(1, len(self.world.in_flight()))

    def test_reservation_renewed_while_it_is_swept_stays(self):
        held = self.world.reserve(self.nodes[0], ttl=10)
        late, self.world.clock.now = (
            self.world.clock.now, held.expires_at)

        def renewed_in_time():
            now, self.world.clock.now = self.world.clock.now, late
            renew.renew(self.world.engine, held.uuid, ttl=60)
            self.world.clock.now = now
        self.world.before_next_write(renewed_in_time)
        sweep.sweep(self.world.engine)
        self.assertEqual('reserved', self.world.state_of(held))

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

"""A node that is put back after its reservation stays held until then."""

import dataclasses

from ironic_reservations.engine.in_flight import acted
from ironic_reservations.engine.reservations import release
from ironic_reservations.features.placement import sync
from ironic_reservations.features.placement.holds import values
from ironic_reservations.reconciler import lease_workers
from tests.inprocess.placement import held_reservations


class TestPutBack(held_reservations.TestCase):

    def test_node_is_held_until_it_is_back(self) -> None:
        node = self.enrol()
        engine = dataclasses.replace(self.engine, ironic=self.world.ironic)
        made = self.reserve(node, engine=engine)
        acted.write(engine, node, ('/description',))
        release.release(engine, made.uuid)
        sync.recover(engine)
        (held,) = self.rows()
        self.assertEqual((made.uuid, values.HoldState.ACTIVE),
                         (held.owner, held.state))
        self.assert_clean()
        crew = lease_workers.LeaseWorkers(engine)
        for _ in range(6):
            crew.one_pass()
            self.world.clock.advance(400)
        self.assertEqual(({}, []), (self.world.lease_rows(), [
            row for row in self.rows()
            if row.state is not values.HoldState.RELEASING]))

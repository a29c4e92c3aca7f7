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

"""A hold of a promise that is gone is told by Placement alone."""

from ironic_reservations.engine import lost_promises
from tests import gone_back
from tests.inprocess.placement import ground


class TestLostPromises(ground.TestCase):

    def test_hold_that_is_gone(self) -> None:
        node = self.enrol()
        with gone_back.undone(self.engine.database):
            self.held(node)
            self.assertEqual([], lost_promises.find(self.engine))
        (found,) = lost_promises.find(self.engine)
        self.assertEqual((lost_promises.Kind.PLACEMENT, node),
                         (found.kind, found.node_uuid))
        self.assertIn('placement audit --repair', found.remedy)

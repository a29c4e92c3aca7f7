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

"""Of a deploy and the release of a node that nobody had deployed, one is."""

from ironic_reservations.engine.in_flight import admission
from ironic_reservations.features.no_show import no_show
from tests.inprocess.reconciler import no_shows


class TestDeployBeforeRelease(no_shows.TestCase):
    """Ironic has said that the node is free, and nothing is written yet."""

    def setUp(self):
        super().setUp()
        self.run_at(2)

    def release(self, before):
        """Release all, and have something happen right before the write."""
        self.pass_until(3.01)
        no_show.wake(self.engine)
        self.ironic.interrupt('node', lambda: self.ironic.interrupt(
            'node', lambda: self.world.before_next_write(before)))
        self.work()
        self.assertEqual([], self.ironic.interruptions['node'])

    def test_deployed_node_stays(self):
        self.release(lambda: self.deploy(self.mine[0]))
        self.assertEqual(self.mine[1:], self.released())

    def test_node_with_a_deploy_on_its_way_stays(self):
        self.release(lambda: admission.admit(self.engine, self.mine[0],
                                             self.proof))
        self.assertEqual(self.mine[1:], self.released())

    def test_failed_deploy_is_no_use(self):
        self.release(lambda: self.deploy(self.mine[0], False))
        self.assertEqual(self.mine, self.released())

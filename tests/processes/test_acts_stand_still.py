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
"""An act on a node outlives no process that stood still (SIGSTOP).

The guard had looked, and nobody had the node; then the machine paused.  When
it went on, Ironic switched off a node that had been somebody else's for
minutes.
"""

from __future__ import annotations

from concurrent import futures
import os
import pathlib
import signal
import tempfile
import time
from unittest import mock

from ironic_reservations import clock
from ironic_reservations import engine as engine_module
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine.in_flight import protect
from ironic_reservations.engine.reservations import reserve
from ironic_reservations.model import node_reservation
from ironic_reservations.planner import pick
from tests import world
from tests.inprocess.guard import base
from tests.inprocess.guard import keystone_ironic
from tests.inprocess.guard import with_keystone
from tests.processes import stopping_ironic
from tools import all_in_one

_ROOT = pathlib.Path(__file__).parents[2]
_SERVICE = (f'import sys; sys.path.insert(0, {str(_ROOT)!r}); '
            'from tests.processes import stopping_ironic as s; s.main()')
_POWER = {'target': 'power on'}


class StandsStillTestCase(base.GuardTestCase):

    identity = with_keystone.token('the-system')
    stop: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.stop = pathlib.Path(cls.enterClassContext(
            tempfile.TemporaryDirectory()), 'stop')
        with mock.patch.object(with_keystone, '_SERVICE', _SERVICE), \
                mock.patch.dict(os.environ, {
                    stopping_ironic.VARIABLE: str(cls.stop)}):
            super().setUpClass()

    @classmethod
    def make(cls, folder: str) -> all_in_one.AllInOne:
        return with_keystone.WithKeystone(
            folder, options={
                'DEFAULT': {'auth_strategy': 'keystone'},
                'keystone_authtoken': {'auth_type': 'none'}},
            reservations={
                'database': {'connection': f'sqlite:///{folder}/ours.sqlite'},
                'ironic': {'auth_type': 'admin_token',
                           'endpoint': 'http://not.asked.invalid',
                           'token': 'token-of-our-service'}})

    def setUp(self) -> None:
        super().setUp()
        # NOTE: another process on the same rows: ours.
        self.other = engine_module.build(world.configured(
            f'sqlite:///{self.ironic.folder}/ours.sqlite'))
        self.addCleanup(self.other.database.close)
        self.addCleanup(self.stop.unlink, missing_ok=True)

    def _stopped(self) -> int | None:
        """Return the process that stands still, once it does."""
        left = self.stop.with_suffix('.pid')
        pid = left.read_text() if left.exists() else ''
        if not pid:
            return None
        stat = pathlib.Path(f'/proc/{pid}/stat').read_text()
        return int(pid) if stat.rpartition(')')[2].split()[0] == 'T' else None

    def _power_on(self, node: str) -> base.Reply:
        self.identity = with_keystone.token('one')
        return self.send('PUT', f'/v1/nodes/{node}/states/power', _POWER)

    def _held_up(self, node: str) -> base.Reply:
        """Ask for power; the guard stands still, and the node is reserved."""
        self.stop.touch()
        with futures.ThreadPoolExecutor(1) as threads:
            asked = threads.submit(self._power_on, node)
            pid = self.wait_for(self._stopped)
            try:
                begun = clock.elapsed()
                self.held = reserve.reserve(
                    self.other,
                    pick.NodeRequest(instance_uuid=world.new_uuid(),
                                     node_uuids=(node,),
                                     project_id='another'), world.ALL_NODES)
                # NOTE: nothing but time makes what it knows too old.
                time.sleep(max(0.0, begun + protect.FRESH
                               - clock.elapsed()))
            finally:
                os.kill(pid, signal.SIGCONT)
            return asked.result()

    def test_power_of_a_node_that_is_anothers_by_then(self) -> None:
        (node,) = self.enroll(owner=keystone_ironic.PROJECTS['one'])
        self.wait_for(lambda: self._mirrored(node.uuid))
        reply = self._held_up(node.uuid)
        self.assertEqual((503, 'guard.handed_over_late'),
                         (reply.status, reply.code), reply)
        # NOTE: sent again, it is judged by who has the node now.
        again = self._power_on(node.uuid)
        self.assertEqual((403, 'reservation.proof_required'),
                         (again.status, again.code), again)
        self.identity = with_keystone.token('the-system')
        there = self.node(node.uuid)
        self.assertEqual((None, None), (there['power_state'],
                                        there['target_power_state']))
        self.assertIs(node_reservation.State.RESERVED, self.held.state)

    def _mirrored(self, node: str) -> bool:
        with self.other.database.read() as connection:
            return node in db_nodes.read_nodes(connection, (node,))

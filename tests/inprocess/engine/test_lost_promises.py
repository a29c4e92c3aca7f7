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

"""What was promised and is gone is found by what others tell of it."""

import argparse
import contextlib
import io
import json
import pathlib

import fixtures

from ironic_reservations import errors
from ironic_reservations.cmd import lost_promises as command
from ironic_reservations.cmd import manage
from ironic_reservations.engine import lost_promises
from ironic_reservations.model import node_window
from tests import gone_back
from tests import servers
from tests import world
from tests.inprocess.engine import timelines
from tests.inprocess.timeline import windows

_LESSEE = lost_promises.Kind.LESSEE
_INSTANCE = lost_promises.Kind.INSTANCE
_MAINTENANCE = lost_promises.Kind.MAINTENANCE
#: The reason in Ironic of a maintenance that the holder of a node has set.
_OF_HOLDER = f'[by the holder of the node, {world.new_uuid()}] wait'


@servers.also
class TestLostPromises(timelines.TestCase):

    def found(self):
        return [(each.kind, each.node_uuid)
                for each in lost_promises.find(self.engine)]

    def started(self):
        """Return the node of a lease that has begun, and its instance."""
        node = self.home(self.leasing.started(0, 2))
        self.world.ironic.change(node, lessee='ours')
        return node

    def test_lease_that_is_gone(self):
        self.leasing.hosts(2)
        self.world.enrol(lessee='an operator wrote it')
        with gone_back.undone(self.engine.database):
            node = self.started()
            self.assertEqual([], self.found())
            self.world.ironic.deploy(node, world.new_uuid())
            self.assertEqual([], self.found())
        self.assertEqual([(_INSTANCE, node), (_LESSEE, node)], self.found())

    def test_remedies_can_be_followed(self):
        """A lease was to be made again for a node that was deployed."""
        self.leasing.hosts(1)
        with gone_back.undone(self.engine.database):
            node = self.started()
        self.world.ironic.deploy(node, world.new_uuid())
        self.world.refresh()
        for each in lost_promises.find(self.engine):
            self.assertIn('leave it; else', each.remedy)
        self.assertRaises(errors.LeaseRefused, self.started)
        self.world.ironic.free(node)
        self.world.refresh()
        only, = lost_promises.find(self.engine)
        self.assertIn('make it again', only.remedy)
        self.started()

    def test_reservation_that_is_gone(self):
        (node,) = self.leasing.hosts()
        with gone_back.undone(self.engine.database):
            self.world.use(self.world.reserve(node))
            self.assertEqual([], self.found())
        self.assertEqual([(_INSTANCE, node)], self.found())

    def test_deploy_without_an_instance_left_no_trace(self):
        """As by "reservation deploy" without projects."""
        self.leasing.hosts()
        with gone_back.undone(self.engine.database):
            node = self.home(self.leasing.started(0, 2))
            self.world.ironic.change(node, provision_state='active')
            self.assertEqual([], self.found())
        self.assertEqual([(_INSTANCE, node)], self.found())
        (trace,) = lost_promises.find(self.engine)
        self.assertIn('is in the state active', trace.detail)

    def test_reservation_that_is_void_in_the_backup_hid_its_instance(self):
        (node,) = self.leasing.hosts()
        made = self.world.reserve(node)
        with gone_back.undone(self.engine.database):
            self.world.use(made)
        self.assertEqual([], self.found())
        self.world.clock.now = made.expires_at
        self.assertEqual([(_INSTANCE, node)], self.found())

    def maintain(self, node, reason):
        self.world.ironic.change(node, maintenance=True)
        self.world.ironic.why[node] = reason

    def test_maintenance_of_a_window_that_is_gone(self):
        """Nobody else would ever take the node out of maintenance."""
        node, broken = self.leasing.hosts(2)
        self.maintain(broken, 'broken fan')
        dump = gone_back.Dump(self.engine.database)
        made = windows.book(self.engine, 0, 2, [node])
        self.maintain(node, node_window.marked(made.window.id, 'a new fan'))
        self.assertEqual([], self.found())
        dump.restore()
        self.assertEqual([(_MAINTENANCE, node)], self.found())
        (trace,) = lost_promises.find(self.engine)
        self.assertIn(made.window.id, trace.detail)
        self.assertIn(f'baremetal node maintenance unset {node}', trace.remedy)

    def test_maintenance_of_a_node_that_is_no_host(self):
        """It was not listed, though windows book any node."""
        node, broken = self.world.enrol(2)
        self.maintain(broken, 'broken fan')
        dump = gone_back.Dump(self.engine.database)
        made = windows.book(self.engine, 0, 2, [node])
        self.maintain(node, node_window.marked(made.window.id, 'a new fan'))
        self.world.ironic.change(node, lessee='an operator wrote it')
        self.assertEqual([], self.found())
        dump.restore()
        self.assertEqual([(_MAINTENANCE, node)], self.found())

    def test_maintenance_of_a_holder_whose_lease_is_gone(self):
        self.leasing.hosts()
        with gone_back.undone(self.engine.database):
            node = self.started()
            self.maintain(node, _OF_HOLDER)
            self.assertEqual([], self.found())
        self.assertEqual([(_LESSEE, node), (_MAINTENANCE, node)], self.found())

    def test_trace_that_goes_meanwhile_is_none(self):
        """The lease has just ended, and the reconciler removes its lessee."""
        (node,) = self.leasing.hosts()
        self.world.ironic.change(node, lessee='ours')
        self.world.ironic.interrupt('node', lambda: self.world.ironic.change(
            node, lessee=None))
        self.assertEqual([], self.found())

    def test_command_lists_them(self):
        (node,) = self.leasing.hosts()
        self.assertEqual((0, []), self.listed('json'))
        self.world.ironic.change(node, lessee='ours')
        status, (row,) = self.listed('json')
        self.assertEqual((1, 'lessee', node),
                         (status, row['kind'], row['node_uuid']))
        status, text = self.listed('table')
        self.assertEqual(1, status)
        self.assertIn('1 trace of promises', text)

    def test_lessee_with_brackets_stopped_the_command(self):
        """The owner of a node could hide all traces, or write links."""
        self.useFixture(fixtures.EnvironmentVariable('COLUMNS', '500'))
        (node,) = self.leasing.hosts()
        for lessee in ('[/red]', ':smile:', '[link=http://x]y[/link]'):
            self.world.ironic.change(node, lessee=lessee)
            _, text = self.listed('table')
            self.assertIn(lessee, text)

    def listed(self, form):
        """Return the exit status of the command, and what it prints."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            status = command.run(self.engine, argparse.Namespace(format=form))
        text = said.getvalue()
        return status, json.loads(text) if form == 'json' else text

    def test_command_that_cannot_know_says_so(self):
        """Nobody answers at the address of Ironic."""
        config = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'conf')
        config.write_text(f'[database]\nconnection = {self.world.url}\n'
                          '[ironic]\nauth_type = none\n'
                          'endpoint_override = http://127.0.0.1:9\n')
        complained = io.StringIO()
        with contextlib.redirect_stderr(complained):
            status = manage.main(['--config-file', str(config), 'audit'])
        self.assertEqual((2, 1), (status, len(
            complained.getvalue().splitlines())), complained.getvalue())
        self.assertIn('[ironic] in ironic-reservations.conf',
                      complained.getvalue())
        self.assertNotIn('promised', complained.getvalue())

    def test_without_ironic_nobody_knows(self):
        self.leasing.hosts()
        self.world.ironic.down = True
        self.assertRaises(errors.IronicUnavailable, self.found)

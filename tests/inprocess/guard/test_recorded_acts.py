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

"""The records of acts agree with the acts that Ironic has carried out."""

from __future__ import annotations

from typing import Any
from unittest import mock

from ironic_reservations import errors
from ironic_reservations.db import handovers as db_handovers
from ironic_reservations.engine.in_flight import acted
from ironic_reservations.engine.in_flight import protect
from ironic_reservations.model import handovers
from tests import guarded
from tests import leasing
from tests import servers
from tests.inprocess.guard import asked

LONG = 600.0
ON = ('PUT', ('maintenance',), {'reason': 'mine'})
OFF = ('DELETE', ('maintenance',), None)
POWER = ('PUT', ('states', 'power'), {'target': 'power off'})
VENDOR = {'interface': 'vendor', 'step': 'anything'}


class RecordedTestCase(asked.TestCase):

    token = 'owner'

    def recorded(self, node: str | None = None) -> handovers.Handover | None:
        """Return the handover of a node; by default, of the usual one."""
        with self.engine.database.read() as connection:
            return db_handovers.read(connection, (node or self.node,)).get(
                node or self.node)


@servers.also
class TestFamily(RecordedTestCase):
    """The holder of a node powers it with its child."""

    def setUp(self) -> None:
        super().setUp()
        self.child, self.other = self.world.enrol(2)
        self.world.ironic.change(self.child, parent_node=self.node)
        self.world.refresh()
        self.reserve('owner')

    def test_refused_request_stayed_in_the_record_of_the_parent(self) -> None:
        """Any provision target but "provide" left it there."""
        for target in ('provide', 'manage', 'active', 'deleted', 'clean'):
            self.ironic.answers['PUT'] = [404]
            self.provision(target, node=self.child)
            self.assertIsNone(self.recorded(), target)

    def test_request_that_was_not_sent_stayed_in_the_record(self) -> None:
        self.world.ironic.change(self.child, parent_node=None)
        self.world.refresh()
        self.world.reserve(self.child, project_id='tenant')
        self.world.ironic.change(self.child, parent_node=self.node)
        self.world.refresh()
        for target in ('manage', 'active', 'deleted', 'clean'):
            self.assertRaises(errors.ReservationError, self.provision,
                              target, node=self.child)
            self.assertIsNone(self.recorded(), target)

    def test_answer_left_the_act_on_the_parent_unsettled(self) -> None:
        """The end of the lease of the parent waited for minutes."""
        for target in ('manage', 'provide'):
            self.assertEqual(202, self.provision(target,
                                                 node=self.child).status)
            self.assertEqual((), self.recorded().unanswered, target)
            self.assertEqual({'power'}, self.recorded().acts)
            self.assertTrue(self.recorded().settled)

    def test_lost_database_let_an_act_on_the_parent_pass(self) -> None:
        """It came back before the request was sent, without a record."""
        self.engine.conf.set_override('protected_acts', ['power'], 'guard')
        self.patch(protect, 'keep', mock.Mock(
            side_effect=errors.DatabaseUnavailable('x')))
        self.provision('clean', node=self.child)
        self.assertEqual({'power'}, self.recorded().acts)


@servers.also
class TestMaintenance(RecordedTestCase):
    """An operator sets maintenance while the request of a holder hangs."""

    def setUp(self) -> None:
        super().setUp()
        self.reserve('owner', ttl=9999)

    def operated(self) -> None:
        self.world.ironic.change(self.node, maintenance=True)
        self.world.ironic.why[self.node] = 'smoke'

    def hangs(self, seconds: float) -> None:
        """Stop the process right before the act is recorded."""
        real = acted.write

        def write(*args: Any, **known: Any) -> handovers.Handover | None:
            self.operated()
            self.world.clock.advance(seconds)
            return real(*args, **known)
        self.patch(acted, 'write', write)

    def assert_stays(self) -> None:
        self.assertEqual('smoke', self.world.ironic.why[self.node])
        self.assertEqual([], self.ironic.done)
        self.assertEqual([], self.world.in_flight())
        self.assertIsNone(self.recorded())

    def test_holder_replaced_that_of_the_operator(self) -> None:
        """The guard had read the node before the operator acted."""
        for act in (ON, OFF):
            self.hangs(1)
            self.assertRaises(errors.MaintenanceOfOthers, self.ask, act)
            self.assert_stays()

    def test_request_that_hangs_after_the_last_look_is_not_sent(self) -> None:
        real = self.world.ironic.maintained

        def maintained(uuid: str) -> Any:
            seen = real(uuid)
            self.operated()
            self.world.clock.advance(10)
            return seen
        for act in (ON, OFF):
            self.world.ironic.change(self.node, maintenance=False)
            self.patch(self.world.ironic, 'maintained', maintained)
            self.assertRaises(errors.HandedOverLate, self.ask, act)
            self.patch(self.world.ironic, 'maintained', real)
            self.assert_stays()

    def test_own_is_replaced_and_cleared(self) -> None:
        for act in (ON, ON, OFF, OFF):
            self.assertEqual(202, self.ask(act).status)
        self.assertFalse(self.there().maintenance)


@servers.also
class TestSteps(RecordedTestCase):
    """A step of a vendor may change anything, once Ironic begins with it."""

    def setUp(self) -> None:
        super().setUp()
        self.lets = leasing.Leasing(self.world)
        (self.node,) = self.lets.hosts()
        self.lets.create(None, 2, project_id='owner')
        self.lets.bind()

    def test_steps_that_ironic_refused_kept_the_node(self) -> None:
        for target, kind in (('clean', 'clean_steps'),
                             ('service', 'service_steps'),
                             ('active', 'deploy_steps')):
            for status in (400, 409):
                self.ironic.answers['PUT'] = [status]
                self.provision(target, **{kind: [VENDOR]})
                self.assertIsNone(self.recorded(), (target, status))

    def test_steps_whose_outcome_is_unknown_count(self) -> None:
        self.ironic.answers['PUT'] = [500]
        self.provision('clean', clean_steps=[VENDOR])
        self.assertIn(handovers.UNKNOWN_STEPS, self.recorded().acts)

    def test_refused_steps_leave_those_that_were_carried_out(self) -> None:
        self.ironic.answers['PUT'] = [202, 400]
        for _ in range(2):
            self.provision('clean', clean_steps=[VENDOR])
        self.assertIn(handovers.UNKNOWN_STEPS, self.recorded().acts)


@servers.also
class TestChildOfOthers(RecordedTestCase):
    """An administrator gives a parent to a node that somebody has."""

    def setUp(self) -> None:
        super().setUp()
        self.parent, self.child = self.node, self.world.enrol()[0]
        self.world.reserve(self.child, project_id='tenant')
        self.world.ironic.change(self.child, parent_node=self.parent)
        self.world.refresh()
        self.reserve('owner')

    def refuses_all_targets(self) -> None:
        for target in ('active', 'manage', 'provide', 'clean', 'deleted'):
            self.assertRaises(errors.ProofRequired, self.provision,
                              target, node=self.parent)

    def test_holder_of_the_parent_powered_it_off(self) -> None:
        self.assertRaises(errors.ProofRequired, self.ask, POWER)
        self.refuses_all_targets()
        self.assertNotIn('states/power', str(self.ironic.done))
        self.assertEqual('available', self.there().provision_state)
        self.assertIsNone(self.recorded())

    def test_grandchild_is_a_part_as_well(self) -> None:
        (middle,) = self.world.enrol()
        self.world.ironic.change(middle, parent_node=self.parent)
        self.world.ironic.change(self.child, parent_node=middle)
        self.world.refresh()
        self.assertRaises(errors.ProofRequired, self.ask, POWER)

    def test_who_has_both_and_an_administrator_power_them(self) -> None:
        self.assertEqual(202, self.ask(POWER, guarded.SYSTEM).status)
        own, = self.world.enrol()
        self.world.reserve(own, project_id='owner')
        self.world.ironic.change(self.child, parent_node=None)
        self.world.ironic.change(own, parent_node=self.parent)
        self.world.refresh()
        self.assertEqual(202, self.ask(POWER).status)
        for node in (self.parent, own):
            self.assertEqual({'power'}, self.recorded(node).acts)

    def test_steps_on_a_child_were_in_the_record_of_the_parent_only(
            self) -> None:
        own, = self.world.enrol()
        self.world.reserve(own, project_id='owner')
        self.world.ironic.change(self.child, parent_node=None)
        self.world.ironic.change(own, parent_node=self.parent)
        self.world.refresh()
        self.ironic.answers['PUT'] = [202]
        self.provision('clean', node=self.parent, clean_steps=[
            {**VENDOR, 'execute_on_child_nodes': True}])
        self.assertIn(handovers.UNKNOWN_STEPS, self.recorded(own).acts)

    def test_parents_in_a_ring_end_the_search(self) -> None:
        self.world.ironic.change(self.parent, parent_node=self.child)
        self.world.refresh()
        self.assertRaises(errors.ProofRequired, self.ask, POWER)


class TestBootMode(RecordedTestCase):
    """A deploy sets the boot mode that instance_info names."""

    def test_deploy_left_the_boot_mode_to_the_next_holder(self) -> None:
        self.reserve('owner')
        self.ask(('PATCH', (), [{
            'op': 'add', 'path': '/instance_info/capabilities',
            'value': {'boot_mode': 'bios'}}]))
        self.assertLessEqual({'boot_mode', 'secure_boot'},
                             self.recorded().acts)

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

"""Acts of holders, beside the ends of their leases."""

import dataclasses
import logging

import fixtures

from ironic_reservations import errors
from ironic_reservations.clouds import ironic
from ironic_reservations.db import handovers as db_handovers
from ironic_reservations.engine.in_flight import acted
from tests import servers
from tests.inprocess.reconciler import acts


@servers.also
class TestActs(acts.TestCase):

    def test_act_that_an_end_overtakes_is_refused(self) -> None:
        """It was let through unrecorded to a node that was given back."""
        self.write('power')
        before = self.handover()
        self.world.before_next_write(lambda: self.leasing.end(self.made))
        self.assertRaises(errors.Contention, self.write, 'vmedia')
        self.assertEqual(before, self.handover())

    def test_act_after_the_end_is_refused(self) -> None:
        self.at(4)
        self.assertRaises(errors.Contention, self.write, 'power')
        self.assertIsNone(self.handover())

    def test_row_that_a_holder_before_left_is_replaced(self) -> None:
        self.write('power')
        before = self.handover()
        with self.engine.database.write() as connection:
            db_handovers.delete_of_node(connection, before)
            db_handovers.insert(connection, dataclasses.replace(
                before, holder='somebody-before'))
        made = self.write('/extra/a')
        self.assertEqual(made, self.handover())
        self.assertEqual(['/extra/a'], [*made.acts])

    def test_act_under_way_was_forgotten_where_a_node_was_made_anew(
            self) -> None:
        """It had no answer, and may still reach the node with that uuid."""
        before = self.write('/extra/a', within=66)
        assert before is not None
        self.ironic.change(self.node, enrolled_at='2027-01-01T00:00:00+00:00')
        after = self.write('/extra/b')
        assert after is not None and after.document is not None
        self.assertEqual('2027-01-01T00:00:00+00:00',
                         after.document.node['created_at'])
        self.assertEqual({'/extra/a', '/extra/b'}, after.acts)
        self.assertFalse(after.settled)
        self.assertLess(before.settles_at, after.settles_at)

    def test_media_that_ironic_refused_keep_no_node(self) -> None:
        """One refused request kept a node of such a driver for ever."""
        self.write('vmedia')
        real = self.ironic.put_back

        def put_back(uuid, method, path, body, ticket=None):
            if path == 'vmedia':
                raise ironic.Refused(400, 'the driver has none')
            real(uuid, method, path, body, ticket)
        self.patch(self.ironic, 'put_back', put_back)
        self.work_at(4)
        self.soon()
        self.assert_over()

    def _is_refused(self, status, told):
        """Have Ironic refuse to put the node back."""
        self.write('/description')
        self.ironic.fields[self.node] = {'description': 'his'}

        def put_back(*_):
            raise ironic.Refused(status, told)
        self.patch(self.ironic, 'put_back', put_back)

    def _assert_told(self, told):
        """Assert that the lease is flagged until its node is left alone."""
        over = self.lease(self.made)
        self.assertTrue(over.degraded)
        self.assertIn(told, over.waiting)
        # NOTE: as the page tells the operator to do.
        self.ironic.change(self.node, maintenance=True)
        self.soon()
        self.assert_over()

    def test_what_ironic_refuses_to_put_back_is_told(self) -> None:
        self._is_refused(400, 'never')
        self.work_at(4)
        self._assert_told('cannot be put back')

    def test_conflict_that_no_lock_causes_keeps_no_node(self) -> None:
        """A holder gave what it had removed to another node, for ever.

        Ironic answers 409 to a connector that another node has by then, as it
        does while a node is locked.
        """
        self._is_refused(409, 'another node has it already')
        # NOTE: a locked node is tried again, and nothing is told.
        self.ironic.refuses.add(self.node)
        self.work_at(4)
        self.assertFalse(self.lease(self.made).degraded)
        self.ironic.refuses.clear()
        self.soon()
        self._assert_told('another node has it already')

    def test_lock_that_was_gone_a_moment_later_flagged_the_lease(
            self) -> None:
        """The refusal was taken for final, and the node kept for ever."""
        fields = self.ironic.fields[self.node] = {'boot_interface': 'pxe'}
        self.write('/boot_interface')
        fields['boot_interface'] = 'his'
        real, refusals = self.ironic.put_back, [ironic.Refused(409, 'locked')]

        def put_back(*asked):
            if refusals:
                raise refusals.pop()
            real(*asked)
        self.patch(self.ironic, 'put_back', put_back)
        self.work_at(4)
        self.assertFalse(self.lease(self.made).degraded)
        self.soon()
        self.assert_over()
        self.assertEqual('pxe', fields['boot_interface'])

    def _settles(self):
        return self.handover().settles_at - self.world.clock()

    def test_act_that_a_conductor_delays_keeps_its_node(self) -> None:
        """It was released as soon as a request had to be handed over."""
        self.at(4 - 1 / 3600)
        self.write('/extra/his', within=66)
        self.work_at(4)
        self.soon(10, times=6)
        self.assertIn('may still be changed', self.lease(self.made).waiting)
        self.soon(times=6)
        self.assert_over()

    def test_conductor_that_was_stopped_answers_before_the_release(
            self) -> None:
        """It carries out what was sent to it before, however late that is.

        The node was released once a request had to be over by the clock.
        """
        self.at(1)
        self.write('power', within=66)
        self.ironic.conductor_silent = True
        self.work_at(4)
        self.assertIn('conductor does not answer',
                      self.lease(self.made).waiting)
        self.ironic.conductor_silent = False
        self.soon()
        self.assertIn('may still be changed', self.lease(self.made).waiting)
        # NOTE: it takes the lock of the node, and does it.
        self.ironic.fields[self.node] = {'power_state': 'power on'}
        self.soon(times=6)
        self.assert_over()
        self.assertEqual('power off',
                         self.ironic.fields[self.node]['power_state'])

    def test_answered_act_asks_no_conductor(self) -> None:
        self.settled(self.write('/extra/his', within=66))
        self.work_at(4)
        self.assertNotIn('ask_conductor', self.ironic.asked)

    def test_answer_says_nothing_of_an_act_that_got_none(self) -> None:
        self.write('/extra/his', within=66)
        self.world.clock.advance(70)
        self.settled(self.write('/extra/his', within=66))
        self.assertFalse(self.handover().settled)
        acted.cleaned(self.engine, self.write('deleted'))
        self.assertTrue(self.handover().dirty)

    def test_act_that_is_answered_after_the_end_is_told(self) -> None:
        """A process that was stopped in between said nothing."""
        log = self.useFixture(fixtures.FakeLogger(level=logging.ERROR))
        made = self.write('power', within=66)
        self.work_at(4)
        self.soon(times=8)
        self.settled(made)
        self.assertIn(f'the former holder of node {self.node} (power)',
                      log.output)

    def test_boot_device_is_read_before_it_is_set(self) -> None:
        device = {'boot_device': 'pxe', 'persistent': True}
        self.ironic.parts[self.node] = {'boot_device': device}
        self.write('power')
        self.assertEqual({}, self.handover().document.parts)
        self.write('boot_device')
        self.ironic.parts[self.node] = {'boot_device': {
            'boot_device': 'cdrom', 'persistent': True}}
        self.write('boot_device')
        self.assertEqual({'boot_device': device},
                         self.handover().document.parts)
        self.work_at(4)
        self.soon()
        self.assert_over()
        self.assertEqual(device, self.ironic.parts[self.node]['boot_device'])

    def test_setting_that_does_not_take_is_told(self) -> None:
        """It was sent again for ever, and nobody was told."""
        self.ironic.fields[self.node] = {'secure_boot': True}
        self.write('secure_boot')
        self.ironic.fields[self.node] = {
            'secure_boot': False, 'last_error': 'Failed to change secure_boot '
                                                'state: no'}
        self.work_at(4)
        self.soon(times=4)
        over = self.lease(self.made)
        self.assertTrue(over.degraded)
        self.assertIn('Failed to change secure_boot', over.waiting)
        self.ironic.fields[self.node] = {'secure_boot': True}
        self.soon(times=4)
        self.assert_over()

    def test_act_that_was_answered_delays_nothing(self) -> None:
        self.settled(self.write('/extra/his', within=66))
        self.assertEqual(0, self._settles().total_seconds())

    def test_answer_to_one_act_says_nothing_of_another(self) -> None:
        self.write('/extra/his', within=66)
        self.world.clock.advance(5)
        self.settled(self.write('/extra/his', within=66))
        self.assertEqual(61, self._settles().total_seconds())

    def test_answer_beside_another_act_says_nothing(self) -> None:
        first = self.write('/extra/his', within=66)
        self.write('/extra/hers', within=66)
        self.settled(first)
        self.assertLess(65, self._settles().total_seconds())

    def test_undeploy_beside_an_act_does_not_count_as_cleaning(self) -> None:
        self.write('power', within=6)
        made = self.write('deleted')
        acted.cleaned(self.engine, made)
        self.assertTrue(self.handover().dirty)
        self.world.clock.advance(7)
        # NOTE: nobody knows what became of the first one.
        made = self.write('deleted')
        acted.cleaned(self.engine, made)
        self.assertTrue(self.handover().dirty)

    def test_undeploy_after_all_acts_counts_as_cleaning(self) -> None:
        self.settled(self.write('power', within=6))
        made = self.write('deleted')
        self.world.clock.advance(1)
        acted.cleaned(self.engine, made)
        self.assertFalse(self.handover().dirty)

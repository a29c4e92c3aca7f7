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

"""Acts of holders that Ironic has refused are no longer written down.

What its operator changes after such an act would be undone otherwise.
"""

from ironic_reservations import errors
from ironic_reservations.db import handovers as db_handovers
from ironic_reservations.engine.in_flight import acted
from ironic_reservations.model import handovers
from tests import servers
from tests.inprocess.reconciler import acts


@servers.also
class TestRefusedActs(acts.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.ironic.fields[self.node] = {'driver_info': {}, 'owner': None}

    def write(self, *acts, within=66):
        return super().write(*acts, within=within)

    def _refused(self, written):
        acted.refused(self.engine, written)

    def test_first_act_that_ironic_refused_was_put_back(self) -> None:
        self._refused(self.write('/driver_info', 'vendor_passthru'))
        self.assertIsNone(self.handover())
        self.ironic.fields[self.node]['driver_info'] = {'of': 'operator'}
        self.work_at(4)
        self.assert_over()
        self.assertEqual({'of': 'operator'},
                         self.ironic.fields[self.node]['driver_info'])

    def test_later_act_that_ironic_refused_leaves_the_row_as_it_was(
            self) -> None:
        before = self.settled(self.write('/extra/a'))
        self._refused(self.write('/driver_info', 'boot_device'))
        self.assertEqual(before, self.handover())

    def test_refused_act_after_an_undeploy_makes_nothing_dirty(self) -> None:
        self.settled(self.write('power', within=6))
        self.world.clock.advance(1)
        acted.cleaned(self.engine, self.write('deleted', within=0))
        before = self.handover()
        self.assertFalse(before.dirty)
        first, second = self.write('power'), self.write('vmedia')
        self.assertTrue(self.handover().dirty)
        self._refused(first)
        self.assertTrue(self.handover().dirty)
        self._refused(second)
        self.assertFalse(self.handover().dirty)
        self.assertEqual(before.acts, self.handover().acts)

    def test_two_refused_at_once_leave_nothing(self) -> None:
        for last in (0, 1):
            both = (self.write('/driver_info'),
                    self.write('/driver_info', '/owner'))
            self._refused(both[1 - last])
            self._refused(both[last])
            self.assertIsNone(self.handover())

    def test_act_that_another_request_adds_stays(self) -> None:
        for is_first in (True, False):
            both = self.write('/extra/a'), self.write('/extra/a', 'power')
            refused, done = both if is_first else both[::-1]
            self._refused(refused)
            self.assertIn('/extra/a', self.handover().acts)
            self.assertEqual(done.acts - {'power'} if not is_first
                             else done.acts, self.settled(done).acts)
            self.assertTrue(self.handover().dirty)
            self._delete()

    def test_act_that_was_answered_before_the_refusal_stays(self) -> None:
        for is_first in (True, False):
            both = self.write('/extra/a'), self.write('/extra/a', '/owner')
            refused, done = both if is_first else both[::-1]
            self.settled(done)
            self._refused(refused)
            self.assertEqual(
                {'/extra/a', '/owner'} if is_first else {'/extra/a'},
                self.handover().acts)
            self.assertTrue(self.handover().dirty)
            self._delete()

    def _delete(self) -> None:
        with self.engine.database.write() as connection:
            db_handovers.delete_of_node(connection, self.handover())

    def test_act_without_an_answer_stays(self) -> None:
        """The process died, so nobody knows what Ironic did."""
        self.write('/driver_info')
        self._refused(self.write('/driver_info'))
        self.assertEqual({'/driver_info'}, self.handover().acts)
        self.world.clock.advance(handovers.LONGEST_UNANSWERED + 1)
        self.settled(self.write('power'))
        self._refused(self.write('/driver_info'))
        self.assertEqual({'/driver_info', 'power'}, self.handover().acts)

    def test_field_with_many_parts_does_not_hide_one(self) -> None:
        """Many parts are kept as their field, also those of others."""
        many = [f'/extra/{number}' for number in range(60)]
        self.settled(self.write('/extra/his'))
        refused = self.write(*many)
        self.assertEqual({'/extra'}, self.handover().acts)
        beside = self.write('power')
        self._refused(refused)
        self.settled(beside)
        self.assertEqual({'/extra', 'power'}, self.handover().acts)
        self._delete()
        self.settled(self.write('power'))
        refused, beside = self.write(*many), self.write('vmedia')
        self._refused(refused)
        self.settled(beside)
        self.assertEqual({'vmedia', 'power'}, self.handover().acts)

    def test_refusal_beside_a_node_made_anew_leaves_the_document(
            self) -> None:
        before = self.settled(self.write('/extra/a'))
        self.ironic.change(self.node, enrolled_at='2027-01-01T00:00:00+00:00')
        self._refused(self.write('/driver_info'))
        self.assertEqual(before, self.handover())

    def test_refusal_says_nothing_to_the_next_holder(self) -> None:
        written = self.write('/driver_info')
        self.work_at(4)
        self.soon(times=8)
        self.assertIsNone(self.handover())
        self._refused(written)
        self.assertIsNone(self.handover())

    def test_too_many_without_an_answer_are_refused(self) -> None:
        """Otherwise one of them could not be taken out any more."""
        every = [self.write('/driver_info')
                 for _ in range(handovers.MOST_UNANSWERED)]
        self.assertRaises(errors.Contention, self.write, 'power')
        self._refused(every.pop())
        every.append(self.write('power'))
        for each in every:
            self._refused(each)
        self.assertIsNone(self.handover())

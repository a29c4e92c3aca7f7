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

from __future__ import annotations

import dataclasses

from ironic_reservations import errors
from ironic_reservations.clouds import ironic
from ironic_reservations.db import handovers as db_handovers
from ironic_reservations.engine.in_flight import acted
from tests import servers
from tests.inprocess.reconciler import leases


@servers.also
class TestActs(leases.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.made = self.started()
        self.node = self.node_of(self.made)

    def _handover(self):
        with self.engine.database.read() as connection:
            return db_handovers.read(connection, (self.node,)).get(self.node)

    def test_act_that_an_end_overtakes_is_refused(self) -> None:
        """It was let through unrecorded to a node that was given back."""
        acted.write(self.engine, self.node, ('power',))
        before = self._handover()

        def end() -> None:
            self.leasing.end(self.made)
        self.world.engine.database.interruptions.append(end)
        self.assertRaises(errors.Contention, acted.write, self.engine,
                          self.node, ('vmedia',))
        self.assertEqual(before, self._handover())

    def test_act_after_the_end_is_refused(self) -> None:
        self.at(4)
        self.assertRaises(errors.Contention, acted.write, self.engine,
                          self.node, ('power',))
        self.assertIsNone(self._handover())

    def test_row_that_a_holder_before_left_is_replaced(self) -> None:
        acted.write(self.engine, self.node, ('power',))
        before = self._handover()
        with self.engine.database.write() as connection:
            db_handovers.delete_of_node(connection, before)
            db_handovers.insert(connection, dataclasses.replace(
                before, holder='somebody-before'))
        made = acted.write(self.engine, self.node, ('/extra/a',))
        self.assertEqual(made, self._handover())
        self.assertEqual(['/extra/a'], [*made.acts])

    def test_media_that_ironic_refused_keep_no_node(self) -> None:
        """One refused request kept a node of such a driver for ever."""
        acted.write(self.engine, self.node, ('vmedia',))
        real = self.ironic.put_back

        def put_back(uuid, method, path, body, ticket=None):
            if path == 'vmedia':
                raise ironic.Refused(400, 'the driver has none')
            real(uuid, method, path, body, ticket)
        self.patch(self.ironic, 'put_back', put_back)
        self.work_at(4)
        self.soon()
        self.assertEqual(leases.STATUS.TERMINATED,
                         self.lease(self.made).status)

    def test_what_ironic_refuses_to_put_back_is_told(self) -> None:
        acted.write(self.engine, self.node, ('/description',))
        self.ironic.fields[self.node] = {'description': 'his'}

        def put_back(*_):
            raise ironic.Refused(400, 'never')
        self.patch(self.ironic, 'put_back', put_back)
        self.work_at(4)
        over = self.lease(self.made)
        self.assertTrue(over.degraded)
        self.assertIn('cannot be put back', over.waiting)
        # NOTE: as the page tells the operator to do.
        self.ironic.change(self.node, maintenance=True)
        self.soon()
        self.assertEqual(leases.STATUS.TERMINATED,
                         self.lease(self.made).status)

    def _settles(self):
        return self._handover().settles_at - self.world.clock()

    def test_act_that_a_conductor_delays_keeps_its_node(self) -> None:
        """It was released as soon as a request had to be handed over."""
        self.at(4 - 1 / 3600)
        acted.write(self.engine, self.node, ('/extra/his',), within=66)
        self.work_at(4)
        for _ in range(6):
            self.soon(10)
        self.assertIn('may still be changed', self.lease(self.made).waiting)
        for _ in range(6):
            self.soon()
        self.assertEqual(leases.STATUS.TERMINATED,
                         self.lease(self.made).status)

    def test_act_that_was_answered_delays_nothing(self) -> None:
        acted.settled(self.engine, acted.write(
            self.engine, self.node, ('/extra/his',), within=66))
        self.assertEqual(0, self._settles().total_seconds())

    def test_answer_to_one_act_says_nothing_of_another(self) -> None:
        acted.write(self.engine, self.node, ('/extra/his',), within=66)
        self.world.clock.advance(5)
        acted.settled(self.engine, acted.write(
            self.engine, self.node, ('/extra/his',), within=66))
        self.assertEqual(61, self._settles().total_seconds())

    def test_answer_beside_another_act_says_nothing(self) -> None:
        first = acted.write(self.engine, self.node, ('/extra/his',),
                            within=66)
        acted.write(self.engine, self.node, ('/extra/hers',), within=66)
        acted.settled(self.engine, first)
        self.assertLess(65, self._settles().total_seconds())

    def test_undeploy_beside_an_act_does_not_count_as_cleaning(self) -> None:
        acted.write(self.engine, self.node, ('power',), within=6)
        made = acted.write(self.engine, self.node, ('deleted',))
        acted.cleaned(self.engine, made)
        self.assertTrue(self._handover().dirty)
        self.world.clock.advance(7)
        made = acted.write(self.engine, self.node, ('deleted',))
        acted.cleaned(self.engine, made)
        self.assertFalse(self._handover().dirty)

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

"""A lease that follows another on the same node."""

import datetime

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.clouds import ironic
from ironic_reservations.db import handovers as db_handovers
from ironic_reservations.db import tables
from ironic_reservations.engine.in_flight import acted
from ironic_reservations.engine.in_flight import conductors
from tests import servers
from tests.inprocess.reconciler import leases

_SECOND = datetime.timedelta(seconds=1)
_LONG_AGO = datetime.timedelta(days=1)


@servers.also
class TestBackToBack(leases.TestCase):
    """The first lease ends at four, when the next one starts."""

    def setUp(self) -> None:
        super().setUp()
        self.first = self.started()
        self.node = self.node_of(self.first)
        self.next = self.leasing.create(4, 6)

    def next_is_looked_at_first(self) -> None:
        """Have the next pass begin with the lease that waits."""
        lease = tables.leases
        self.execute(sa.update(lease).where(lease.c.id == self.next.id)
                     .values(due_at=self.world.clock() - _LONG_AGO))

    def status(self) -> leases.STATUS:
        """Return the status of the next lease."""
        return self.lease(self.next).status

    def test_late_act_of_the_first_was_an_act_of_the_next(self) -> None:
        """What the first had done was forgotten, and not put back."""
        written = acted.write(self.engine, self.node, ('power',))
        self.at(4)
        self.assertRaises(errors.Contention, acted.write, self.engine,
                          self.node, ('vmedia',))
        with self.engine.database.read() as connection:
            self.assertEqual({self.node: written}, db_handovers.read(
                connection, (self.node,)))

    def test_next_lease_slept_on_when_its_node_was_free(self) -> None:
        """It was looked at before the node was released, and not after."""
        self.at(4)
        self.next_is_looked_at_first()
        self.work()
        self.assertEqual((leases.STATUS.TERMINATED, leases.STATUS.STARTING), (
            self.lease(self.first).status, self.status()))
        self.work()
        self.assertEqual(leases.STATUS.ACTIVE, self.status())

    def test_node_that_was_cleaned_for_long(self) -> None:
        """The next lease waited as long again as the cleaning had taken."""
        self.ironic.change(self.node, provision_state='active')
        self.ironic.cleaning = 'cleaning'
        self.work_at(4)
        self.soon(60, times=8)
        self.assert_status(leases.STATUS.TERMINATING, self.first)
        self.world.change(self.node, provision_state='available')
        self.next_is_looked_at_first()
        self.work()
        self.assert_status(leases.STATUS.TERMINATED, self.first)
        self.work()
        self.assertEqual(leases.STATUS.ACTIVE, self.status())

    def test_node_on_its_way_to_be_cleaned_was_taken_for_broken(self) -> None:
        """The next lease started without it, and its owner was told so."""
        acted.write(self.engine, self.node, ('power',))

        def provide(*_: object) -> None:
            raise ironic.Refused(409, 'the node is locked')
        real = self.ironic.provide
        self.ironic.provide = provide
        self.work_at(4)
        self.work()
        self.assertEqual('manageable',
                         self.ironic.there[self.node].provision_state)
        waiting = self.lease(self.next)
        self.assertEqual((leases.STATUS.STARTING, False), (
            waiting.status, waiting.degraded))
        self.assertIn('still being taken back', waiting.waiting)
        self.ironic.provide = real
        self.soon(times=3)
        self.assertEqual((leases.STATUS.ACTIVE, False), (
            self.status(), self.lease(self.next).degraded))

    def test_request_of_the_holder_is_waited_for_no_longer(self) -> None:
        """The end was tried again at a time of its own, which was later."""
        self.at(4)
        self.world.clock.now -= 2 * _SECOND
        settled = self.world.clock() + 6 * _SECOND
        acted.write(self.engine, self.node, ('power',), 6)
        self.at(4)
        # NOTE: then its conductor is asked, which takes some seconds.
        for over in (settled, settled + conductors.BETWEEN_CHECKS * _SECOND):
            for _ in range(12):
                self.work()
                if self.due(self.first) == over:
                    break
                self.assertLess(self.due(self.first), over)
                self.world.clock.now = self.due(self.first)
            self.world.clock.now = over
        self.work()
        self.assert_status(leases.STATUS.TERMINATED, self.first)

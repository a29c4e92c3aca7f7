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

"""A reconciler that stood still before the last step of a lease's end.

Meanwhile another one ended the lease, and its node was promised to somebody
else, in a row that had got the same id: SQLite uses them again, unless it is
told not to.  Then the first one went on, and took the new promise back.
"""

import sqlalchemy as sa

from ironic_reservations.db import tables
from tests import cuts
from tests import leasing
from tests import servers
from tests.inprocess.reconciler import leases


@servers.also
class TestReusedBookingId(leases.TestCase):

    def test_promise_of_the_next_one_stays(self):
        cuts.everywhere(self._attempt, 10)

    def _attempt(self, cut):
        self.begin()
        self.world.empty()
        other = self.world.another_engine()
        theirs = leasing.Leasing(self.world, other)
        self.leasing.hosts()
        lease = self.leasing.create(0, 1)
        self.work()
        (before,) = self.lease(lease).bookings
        self.at(1)
        made = []

        def come_first():
            self.world.clock.advance(3600)
            self.work(self.another_crew())
            if self.lease(lease).bookings:
                # It was to be looked at later; that is no end of it.
                return
            made.append(theirs.create(None, 9, project_id='theirs'))
            self._use_again(before.id)
            self.work(self.another_crew())
        with cut.by(come_first, self.engine):
            self.crew.one_pass()
        for new in made:
            (booking,) = self.lease(new).bookings
            self.assertEqual((before.id, before.node_uuid, leasing.BOUND),
                             (booking.id, booking.node_uuid, booking.state),
                             cut.key)
            self.assertEqual('theirs', self.ironic.there[
                booking.node_uuid].lessee)

    def _use_again(self, booking_id):
        with self.world.engine.database.engine.begin() as connection:
            connection.execute(sa.update(tables.reservations).values(
                id=booking_id))

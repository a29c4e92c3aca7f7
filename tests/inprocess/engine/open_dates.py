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

"""Leases whose dates may still change."""

import datetime

from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.features.open_dates import rows as db_open_dates
from ironic_reservations.model import leases
from tests import leasing
from tests import world
from tests.inprocess.engine import timelines

HOUR = datetime.timedelta(hours=1)


class TestCase(timelines.TestCase):
    """A timeline, and what is told of its leases."""

    def setUp(self):
        super().setUp()
        self.told = self.listen()

    def hours(self, lease):
        """Return when a lease starts and ends, as its rows are."""
        read = self.leasing.reload(lease)
        self.assertEqual({(read.start, read.end)}, {
            (row.starts_at, row.ends_at) for row in read.bookings})
        self.assertEqual(
            [read.start, read.before_end, read.end],
            [event.time for event in read.events])
        return tuple((at - world.NOON) / HOUR
                     for at in (read.start, read.end))

    def assert_hours(self, *expected):
        """Assert when leases start and end, as their rows are."""
        self.assertEqual([hours for _, *hours in expected], [
            [*self.hours(lease)] for lease, *_ in expected])

    def flexible(self, first, last, hours, *wishes, fix_before=HOUR, **more):
        """Make a lease that starts and ends between two hours."""
        dry_run = more.pop('dry_run', False)
        asked = leasing.ask(
            first, (first or 0) + hours, *wishes, flexible=leases.Flexible(
                leasing.at(last), hours * HOUR,
                int(fix_before.total_seconds())), **more)
        if dry_run:
            return lease_create.rehearse(self.engine, asked).lease
        return lease_create.create(self.engine, asked)

    def stall(self, hours):
        """Have a process stand still between its plan and its commit."""
        def wait():
            self.world.clock.now += hours * HOUR
        self.world.before_next_write(wait)

    def end_while_read(self, lease):
        """Have a lease end once it has been read as one that may slide."""
        read = db_open_dates.read_loose

        def read_and_end(connection, *args):
            db_open_dates.read_loose = read
            found = read(connection, *args)
            connection.rollback()
            self.leasing.end(lease)
            return found
        self.patch(db_open_dates, 'read_loose', read_and_end)

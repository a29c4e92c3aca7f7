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
from ironic_reservations.model import leases
from tests import leasing
from tests import world

HOUR = datetime.timedelta(hours=1)


class TestCase(world.TestCase):
    """A timeline, and what is told of its leases."""

    def setUp(self):
        super().setUp()
        self.leasing = leasing.Leasing(self.new_world())
        self.engine = self.leasing.engine
        self.told = []
        self.engine.announcer.tell_lease = lambda event, lease, reason=None: (
            self.told.append((lease.id, reason)))

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

    def flexible(self, first, last, hours, *wishes, fix_before=HOUR, **more):
        """Make a lease that starts and ends between two hours."""
        return lease_create.create(self.engine, leasing.ask(
            first, first + hours, *wishes, flexible=leases.Flexible(
                leasing.at(last), hours * HOUR,
                int(fix_before.total_seconds())), **more))

    def limit(self, hosts):
        """Limit how many hosts a project may have at once."""
        for name, value in (('project_limits', True),
                            ('max_hosts_per_project', hosts)):
            self.engine.conf.set_override(name, value, 'leases')

    def stall(self, hours):
        """Have a process stand still between its plan and its commit."""
        def wait():
            self.leasing.world.clock.now += hours * HOUR
        self.leasing.world.before_next_write(wait)

    def assert_sound(self):
        self.assertEqual([], self.leasing.overlaps())
        self.assertEqual([], self.leasing.overfull())
        self.assertEqual({}, self.leasing.stale())

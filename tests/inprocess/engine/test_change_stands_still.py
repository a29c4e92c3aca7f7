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

"""What was planned is not what it was by the time that it is committed."""

from unittest import mock

from ironic_reservations import errors
from ironic_reservations.features.enforcement import client as enforcement
from ironic_reservations.model import leases
from tests import leasing
from tests.inprocess.engine import open_dates

HOUR = open_dates.HOUR


class TestStandsStill(open_dates.TestCase):

    opened = 1

    def test_lease_that_has_begun_meanwhile_is_not_moved(self):
        """Nobody has bound it yet, so that no generation tells."""
        for changes in ({'start': 5, 'end': 7}, {'opened': leases.OpenDates(
                between=(leasing.at(6), leasing.at(30)), duration=2 * HOUR)}):
            lease = self.leasing.create(1, 3)
            self.stall(2)
            self.assertRaises(errors.LeaseFrozen, self.leasing.change, lease,
                              **changes)
            self.assertEqual((1, 3), self.hours(lease))
            self.leasing.end(lease)
            self.world.clock.now -= 2 * HOUR

    def test_lease_that_is_fixed_meanwhile_keeps_its_dates(self):
        """It had to make room for more hosts of its own."""
        self.leasing.hosts()
        lease = self.flexible(3, 20, 2)
        self.leasing.create(2.5, 6)
        self.stall(2.5)
        self.assertRaises(errors.LeaseRefused, self.leasing.resize, lease, 2,
                          2)
        self.assertEqual((3, 5), self.hours(lease))

    def test_more_hosts_leave_the_notice_that_was_promised(self):
        self.leasing.hosts()
        first = self.leasing.create(None, 3, leasing.wish(2))
        lease = self.flexible(0.01, 20, 2)
        self.leasing.end(first)
        self.leasing.create(2.5, 6)
        self.leasing.resize(lease, 2, 2)
        self.assertLessEqual(self.engine.clock() + HOUR,
                             self.leasing.reload(lease).start)
        self.assertIsNotNone(self.leasing.reload(lease).between.fix_at)

    def test_enforcement_service_is_asked_for_the_start_that_it_gets(self):
        self.begin(leases__enforcement_url='http://127.0.0.1:1')
        created, changed = [], []
        with mock.patch.object(
                enforcement, 'check', lambda conf, before, after, hosts: (
                    created if before is None else changed
                ).append(after.start)):
            lease = self.flexible(1, 3, 2)
            self.outrun(6, 9)
            self.leasing.change(lease, opened=leases.OpenDates(
                between=(leasing.at(6), leasing.at(30)), duration=2 * HOUR))
            self.outrun(12, 15)
            made = self.flexible(12, 30, 2)
        self.assertEqual(self.leasing.reload(lease).start, changed[-1])
        self.assertIn(made.start, created)

    def test_lease_that_is_over_meanwhile_is_not_extended(self):
        """It is void at its end, whether or not anybody has seen to it."""
        self.leasing.compute_hosts(1)
        for wish in leasing.wish(), leasing.instances(1, 8):
            lease = self.leasing.started(None, 3, wish)
            self.world.clock.now = leasing.at(2.9)
            self.stall(1)
            self.assertRaises(errors.LeaseFrozen, self.leasing.change, lease,
                              end=9)
            self.assertEqual((0, 3), self.hours(lease))
            self.world.clock.now = leasing.at(0)

    def test_lease_that_is_over_meanwhile_keeps_its_name(self):
        lease = self.leasing.started(None, 3)
        self.stall(4)
        self.assertRaises(errors.LeaseFrozen, self.leasing.change, lease,
                          name='other')
        self.assertEqual(lease.name, self.leasing.reload(lease).name)
        self.assertEqual((0, 3), self.hours(lease))

    def test_lease_is_not_shortened_to_before_the_present(self):
        lease = self.leasing.started(None, 5)
        self.world.clock.now = leasing.at(2)
        self.stall(1)
        self.assertRaises(errors.InvalidValue, self.leasing.change, lease,
                          end=2.5)
        self.assertEqual((0, 5), self.hours(lease))

    def test_lease_that_its_owner_ends_now_need_not_be_written_at_once(self):
        lease = self.leasing.started(None, 5)
        self.world.clock.now = leasing.at(2)
        self.stall(30 / 3600)
        self.leasing.change(lease, end=2)
        self.assertEqual((0, 2 + 1 / 3600), self.hours(lease))

    def test_extension_notice_holds_where_the_extension_is_written(self):
        self.configure(extension_notice=3600, project_limits=True)
        lease = self.leasing.started(None, 5)
        self.world.clock.now = leasing.at(3)
        self.stall(1.5)
        limit = self.assertRaises(errors.LeaseLimit, self.leasing.change,
                                  lease, end=9)
        self.assertEqual('extension_notice', limit.details['limit'])
        self.assertEqual((0, 5), self.hours(lease))

    def test_short_lease_that_would_be_over_is_not_promised(self):
        self.stall(30 / 3600)
        self.assertRaises(errors.InvalidValue, self.leasing.create, None,
                          20 / 3600)
        self.assertEqual([], self.leasing.all())

    def test_lease_that_has_begun_meanwhile_is_not_moved_for_others(self):
        """Nobody has bound it yet; it stays on its host all the same."""
        self.leasing.hosts()
        lease = self.leasing.create(1, 3)
        there = self.leasing.nodes(lease)
        named = leasing.wish(
            properties=f'["==", "$node_uuid", "{min(there)}"]')
        self.stall(1.5)
        self.leasing.refused(2.5, 4, named)
        self.assertEqual(there, self.leasing.nodes(lease))
        made = self.leasing.create(3, 4, named)
        self.world.clock.now = leasing.at(0)
        self.stall(1.5)
        self.refuse(made, start=2.5)
        self.assertEqual(there, self.leasing.nodes(lease))

    def outrun(self, start, end):
        """Have somebody be quicker with a lease."""
        self.world.before_next_write(lambda: self.leasing.create(start, end))

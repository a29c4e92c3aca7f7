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

"""What heal makes room for is not refused because heal has not run yet.

A booking that overlaps another one does not move for a new lease: it is
planned anew by the next pass of the reconciler. What it keeps meanwhile was
missing to a request that came before that pass, which was told that there is
proof of there being no room.
"""

import contextlib
from unittest import mock

from ironic_reservations import errors
from ironic_reservations.engine.leases import heal as lease_heal
from tests import leasing
from tests.inprocess.engine import timelines
from tests.inprocess.timeline import windows

_GOLD = leasing.of_class('gold')


class TestRefusedBeforeHeal(timelines.TestCase):

    def setUp(self):
        super().setUp()
        (self.gold,) = self.leasing.hosts(resource_class='gold')
        self.planned = self.leasing.create(2, 4)
        self.leasing.overlap(self.gold, 3)

    def assert_sound(self, there):
        """Assert that nothing is outdated; a host is promised twice."""
        self.assertEqual({}, there.stale())

    def test_lease_that_finds_room_when_others_have_been_planned_anew(self):
        """It is made at once, and they have another host."""
        (silver,) = self.leasing.hosts(resource_class='silver')
        lease = self.leasing.create(3, 4, leasing.wish(properties=_GOLD))
        self.assertEqual({self.gold}, self.hosts_of(lease))
        self.assertEqual({silver}, self.hosts_of(self.planned))
        self.assertEqual([], self.leasing.overlaps())

    def test_dry_run_says_the_same(self):
        """And promises nothing."""
        self.leasing.hosts(resource_class='silver')
        self.leasing.create(3, 4, leasing.wish(properties=_GOLD), dry_run=True)
        self.assertEqual(1, len(self.leasing.all()))

    def test_extension_likewise(self):
        """Of a lease that has to stay where it is."""
        first = self.leasing.create(5, 6, leasing.wish(properties=_GOLD))
        (silver,) = self.leasing.hosts(resource_class='silver')
        changed = self.leasing.change(first, start=3)
        self.assertEqual({self.gold}, self.hosts_of(changed))
        self.assertEqual({silver}, self.hosts_of(self.planned))

    def test_maintenance_likewise(self):
        """A lease leaves the node, for the place that another one has left."""
        (silver,) = self.leasing.hosts(resource_class='silver')
        either = leasing.wish(properties=(
            f'["or", {_GOLD}, {leasing.of_class("silver")}]'))
        lease = self.leasing.create(3, 4, either)
        self.assertEqual({silver}, self.hosts_of(lease))
        (bronze,) = self.leasing.hosts(resource_class='bronze')
        made = windows.book(self.engine, 3, 4, [silver])
        self.assertEqual([], made.cannot_move)
        self.assertEqual({self.gold}, self.hosts_of(lease))
        self.assertEqual({bronze}, self.hosts_of(self.planned))

    def test_what_has_no_other_host_is_looked_at_once(self):
        """A request that is refused all the same costs no more than that."""
        with self.heals_once():
            refused = self.leasing.refused(
                3, 4, leasing.wish(properties=_GOLD))
        self.assertEqual('shortage', self.code(refused))
        self.assertEqual({self.gold}, self.hosts_of(self.planned))

    @contextlib.contextmanager
    def heals_once(self):
        """Assert that all are planned anew once meanwhile."""
        heal = lease_heal.heal
        with mock.patch.object(lease_heal, 'heal', side_effect=heal) as healed:
            yield
        self.assertEqual(1, healed.call_count)

    def test_offers_of_a_refused_change_look_no_more_than_it_does(self):
        """They are attempts of the same request."""
        lease = self.leasing.create(5, 6, leasing.wish(properties=_GOLD))
        with self.heals_once():
            self.assertRaises(errors.LeaseRefused, self.leasing.resize,
                              lease, 9, 9)

    def hosts_of(self, lease):
        return {booking.node_uuid
                for booking in self.leasing.reload(lease).bookings}

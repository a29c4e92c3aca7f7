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

"""Nobody gets a node across a maintenance window of it."""


import contextlib

import hypothesis
from hypothesis import strategies as st

from ironic_reservations import errors
from ironic_reservations.engine.leases import heal as lease_heal
from ironic_reservations.features.maintenance import find
from ironic_reservations.features.maintenance import sync
from tests import examples
from tests import leasing
from tests import servers
from tests.inprocess.engine import open_dates
from tests.inprocess.timeline import windows

EXAMPLES = examples.drawn(30)


def crossing(there):
    """Return what is planned, by the booking, across windows of its node."""
    now = there.world.clock.now
    windows = [each for window in find.page(there.engine)
               for each in window.nodes if each.stands(now)]
    return {(row['uuid'], row['node_uuid']) for row in there.rows() if any(
        each.node_uuid == row['node_uuid']
        and row['starts_at'] < each.ends_at
        and each.starts_at < row['expires_at'] for each in windows)}


class TestMovedForOthers(windows.MaintenanceTestCase):
    """A lease is planned across a window, since nothing else is there."""

    def test_lease_that_starts_in_a_window_leaves_it_to_nobody(self) -> None:
        """It looks for another node; who has that one would have to go."""
        self.leasing.hosts(2)
        starts = self.leasing.create(1, 5)
        moves = self.leasing.create(2, 4)
        (node,) = self.leasing.nodes(starts)
        before = self.leasing.nodes(moves)
        self.book(0.5, 3, node, force=True)
        self._maintain(0.6)
        self.at(1)
        self.work()
        self.assertEqual(before, self.leasing.nodes(moves))
        self.assertEqual({node}, self.leasing.nodes(starts))

    def test_nor_to_one_that_moves_after_it(self) -> None:
        """The first one finds another node, and the next one does not."""
        gold, *others = (self.leasing.hosts(
            1, resource_class=name)[0] for name in ('gold', 'silver', 'tin'))
        starts = self.leasing.create(1, 5, leasing.wish_of('gold'))
        moves = self.leasing.create(2, 4, leasing.wish_of('tin'))
        self.assertEqual({gold}, self.leasing.nodes(starts))
        self.book(0.5, 3, gold, force=True)
        self._maintain(0.6)
        for node, name in ((gold, 'tin'), (others[0], 'gold'),
                           (others[1], 'silver')):
            self.leasing.change_host(node, resource_class=name)
        self.at(1)
        self.assertEqual(1, lease_heal.heal(self.engine))
        self.assertEqual({others[0]}, self.leasing.nodes(starts))
        self.assertEqual({others[1]}, self.leasing.nodes(moves))

    def _maintain(self, hour) -> None:
        self.at(hour)
        sync.sync(self.engine, self.ironic)
        self.leasing.refresh()


class TestAnyOrder(windows.MaintenanceTestCase):
    """Leases, windows that are forced, and the hours that pass."""

    @hypothesis.settings(max_examples=EXAMPLES, deadline=None,
                         suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(
        st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4)),
                 min_size=2, max_size=6),
        st.lists(st.tuples(st.integers(0, 1), st.sampled_from((0.5, 1, 2)),
                           st.integers(1, 3)), min_size=1, max_size=3),
        st.lists(st.tuples(st.integers(0, 1), st.booleans(),
                           st.sampled_from((0.0, 0.5, 0.5))),
                 min_size=2, max_size=6))
    def test_nobody_is_moved_across_a_window(self, asks, windows, steps):
        """What was planned across one when it came may stay so."""
        self.begin()
        gold = leasing.wish_of('gold')
        nodes = self.leasing.hosts(2, resource_class='gold')
        for start, hours in asks:
            with contextlib.suppress(errors.LeaseRefused):
                self.leasing.create(start, start + hours, gold)
        for number, start, hours in windows:
            with contextlib.suppress(errors.MaintenanceRefused):
                self.book(start, start + hours, nodes[number], force=True)
        there = crossing(self.leasing)
        hour = 0.0
        for number, stays, passes in steps:
            self.ironic.change(nodes[number], resource_class=(
                'gold' if stays else 'silver'))
            hour += passes
            self.at(hour)
            self.leasing.refresh()
            for act in (lambda: sync.sync(self.engine, self.ironic),
                        self.leasing.refresh, self.work,
                        lambda: lease_heal.heal(self.engine)):
                act()
                after = crossing(self.leasing)
                assert after <= there, (after - there, act)


@servers.also
class TestBetweenPlanAndCommit(open_dates.TestCase):
    """A window is booked when a lease has been planned, and not written."""

    def setUp(self):
        super().setUp()
        self.other = self.leasing.world.another_engine()

    def window(self, node, start=1, end=3, **more):
        """Have a window come between the next plan and its commit."""
        self.leasing.world.before_next_write(lambda: windows.book(
            self.other, start, end, [node], **more))

    def assert_uncrossed(self):
        self.assertEqual(set(), crossing(self.leasing))
        self.assert_sound()

    def test_created(self):
        (node,) = self.leasing.hosts()
        self.window(node)
        self.leasing.refused(2, 4)
        self.assert_uncrossed()

    def test_created_elsewhere(self):
        for node in self.leasing.hosts(2):
            self.window(node)
            self.leasing.create(2, 4)
            self.leasing.end(self.leasing.all()[-1])
            find.end(self.engine, find.page(self.engine)[-1].id)
        self.assert_uncrossed()

    def test_moved(self):
        (node,) = self.leasing.hosts()
        lease = self.leasing.create(6, 8)
        self.window(node)
        self.assertRaises(errors.LeaseRefused, self.leasing.change, lease,
                          start=2, end=4)
        self.assertEqual((6, 8), self.hours(lease))
        self.assert_uncrossed()

    def test_extended(self):
        (node,) = self.leasing.hosts()
        lease = self.leasing.started(None, 1)
        self.window(node)
        self.assertRaises(errors.LeaseRefused, self.leasing.change, lease,
                          end=2)
        self.assert_uncrossed()

    def test_slid(self):
        """The one that slides, and the one for which it does."""
        (node,) = self.leasing.hosts()
        loose = self.flexible(2, 12, 2)
        self.window(node, 4, 6, drain=True)
        self.leasing.create(2, 4)
        self.assertEqual((6, 8), self.hours(loose))
        self.assert_uncrossed()

    def test_pulled(self):
        (node,) = self.leasing.hosts()
        first = self.leasing.create(0, 5)
        lease = self.leasing.create(1, 3, queue=True)
        self.leasing.end(first)
        self.window(node)
        leasing.pull(self.engine)
        self.assertEqual((3, 5), self.hours(lease))
        self.assert_uncrossed()

    def test_healed(self):
        """Of two nodes that would do one is booked meanwhile."""
        for free in range(2):
            (broken,) = self.leasing.hosts()
            lease = self.leasing.create(2, 4)
            there = self.leasing.hosts(2)
            self.leasing.break_node(broken)
            self.window(there[free])
            self.assertEqual(1, lease_heal.heal(self.engine))
            self.assertEqual({there[1 - free]}, self.leasing.nodes(lease))
            self.leasing.end(lease)
            for node in there:
                self.leasing.break_node(node)
        self.assert_uncrossed()

    def test_replaced_at_its_start(self):
        """One that would have made room for it has to stay."""
        first, other = self.leasing.hosts(2)
        starts = self.leasing.create(1, 5)
        moves = self.leasing.create(2, 4)
        (node,), (there,) = (self.leasing.nodes(each)
                             for each in (starts, moves))
        self.leasing.world.clock.now = leasing.at(1)
        self.leasing.change_host(node, provision_state='cleaning')
        self.window(node, 1.5, 3, force=True)
        (row,) = self.leasing.reload(starts).bookings
        self.assertEqual(0, lease_heal.replace(
            self.engine, starts.id, [row.id]))
        self.assertEqual({there}, self.leasing.nodes(moves))
        self.assertEqual({node}, self.leasing.nodes(starts))

    def test_window_is_not_over_when_it_is_written(self):
        """Who booked it stood still for longer than it lasts."""
        (node,) = self.leasing.hosts()
        self.stall(4)
        self.assertRaises(errors.InvalidValue, windows.book, self.engine, 1,
                          3, [node])
        self.assertEqual([], find.page(self.engine))

    def test_ended_meanwhile(self):
        """Nobody is refused for a window that is there no more."""
        (node,) = self.leasing.hosts()
        made = windows.book(self.other, 1, 3, [node])
        lease = self.leasing.create(4, 6)
        self.leasing.world.before_next_write(
            lambda: find.end(self.other, made.window.id))
        self.leasing.change(lease, end=7)
        self.leasing.change(lease, start=2, end=7)
        self.assertEqual((2, 7), self.hours(lease))
        self.assert_uncrossed()

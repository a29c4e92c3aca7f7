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
"""Windows that wait for leases which then end earlier than planned."""

import datetime
from typing import Any

from ironic_reservations import errors
from ironic_reservations.engine import change
from ironic_reservations.features.maintenance import drained
from ironic_reservations.features.maintenance import find
from ironic_reservations.features.maintenance import rows
from tests import leasing
from tests import servers
from tests.inprocess.reconciler import windows

_MINUTE = datetime.timedelta(minutes=1)


@servers.also
class TestDrained(windows.KeepTestCase):
    """A node that has a lease from one to six, and a window at two."""

    def setUp(self) -> None:
        super().setUp()
        self.theirs = self.leasing.create(1, 6)
        self.work_at(1)
        self.made = self.book(2, 4, self.node, drain=True)
        self.margin = datetime.timedelta(
            seconds=self.engine.conf.leases.cleaning_time)
        self.assert_window(leasing.at(6) + self.margin)

    def assert_window(self, start: datetime.datetime) -> None:
        """Check when the window of the node is, two hours long."""
        window = find.get(self.engine, self.made.window.id)
        (there,) = window.nodes
        self.assertEqual((start, start + 120 * _MINUTE, start + 120 * _MINUTE),
                         (there.starts_at, there.ends_at, window.ends_at))

    def over(self, hours: float) -> None:
        """Have the lease be deleted, and its node be given back."""
        self.at(hours)
        self.leasing.end(self.theirs)
        self.work()

    def test_lease_that_was_deleted_is_waited_for_no_longer(self) -> None:
        """The node was idle until the planned end, and nobody's."""
        self.over(3)
        self.keep()
        self.assert_window(leasing.at(3))
        self.assertEqual(self.told(self.made), self.shown())
        self.leasing.refused(3, 4.9)
        self.leasing.create(5 + self.margin.total_seconds() / 3600, 6)

    def test_not_before_the_start_that_was_asked_for(self) -> None:
        self.over(1.5)
        self.keep()
        self.assert_window(leasing.at(2))
        self.assertEqual((False, None), self.shown())
        self.keep_at(2)
        self.assertEqual(self.told(self.made), self.shown())

    def test_lease_that_was_shortened_is_waited_for(self) -> None:
        self.at(1.5)
        self.leasing.change(self.theirs, end=4)
        self.keep()
        self.assert_window(leasing.at(4) + self.margin)
        self.keep()
        self.assert_window(leasing.at(4) + self.margin)

    def test_node_that_is_promised_in_between_stays_so(self) -> None:
        self.over(3)
        self.leasing.create(4, 5)
        self.keep()
        self.assert_window(leasing.at(6) + self.margin)

    def test_lease_made_at_the_same_moment_wins(self) -> None:
        """The window moves, or the lease gets the node: never both."""
        self.over(3)
        made: list[Any] = []

        def comes() -> None:
            made.append(self.leasing.create(3.5, 5))
        self.world.before_next_write(comes)
        self.keep()
        self.assertEqual(1, len(made))
        self.assert_window(leasing.at(6) + self.margin)

    def test_window_that_was_ended_at_the_same_moment_stays_so(self) -> None:
        self.over(3)
        self.world.before_next_write(
            lambda: find.end(self.engine, self.made.window.id))
        self.keep()
        self.assertEqual((False, None), self.shown())
        self.assertEqual('over', self.state(self.made).value)

    def test_lost_commit_is_found(self) -> None:
        """The features follow it, and the pass goes on."""
        self.over(3)
        followed: list[change.Change] = []
        self.patch(change, '_follow', followed.append)
        self.world.lose_next_write()
        drained.begin_earlier(self.engine)
        self.assert_window(leasing.at(3))
        self.assertEqual(1, len(followed))

    def test_window_is_not_moved_into_the_past(self) -> None:
        """The process stood still: it would be over before it began."""
        self.over(3)
        self.world.before_next_write(lambda: self.at(6))
        self.keep()
        self.assert_window(leasing.at(6) + self.margin)
        self.keep()
        self.assert_window(leasing.at(6))
        self.assertEqual(self.told(self.made), self.shown())

    def test_two_processes_that_move_its_nodes_agree_on_its_end(self) -> None:
        """The window ended later than each of its nodes."""
        find.end(self.engine, self.made.window.id)
        (second,) = self.leasing.hosts()
        longer = self.leasing.create(self.world.clock.elapsed() / 3600, 8)
        self.work()
        window = self.book(2, 4, self.node, second, drain=True).window
        other = self.world.another_engine()

        def meanwhile() -> None:
            self.at(6 + 10 / 3600)
            self.leasing.end(longer)
            self.work()
            drained.begin_earlier(other)
        self.over(6 - 20 / 3600)
        self.world.before_next_write(meanwhile)
        drained.begin_earlier(self.engine)
        drained.begin_earlier(self.engine)
        moved = find.get(self.engine, window.id)
        self.assertEqual(max(each.ends_at for each in moved.nodes),
                         moved.ends_at)
        self.assertGreater(leasing.at(10), moved.ends_at)

    def test_window_that_is_forgotten_meanwhile_ends_no_pass(self) -> None:
        """The process stood still for longer than windows are kept."""
        self.over(3)
        real = rows.read_postponed

        def read(*asked: Any) -> Any:
            found = real(*asked)
            self.assertEqual(1, len(found))
            find.end(self.engine, self.made.window.id)
            self.at(24 * 400)
            find.purge(self.engine)
            self.assertRaises(errors.MaintenanceNotFound, find.get,
                              self.engine, self.made.window.id)
            return found
        self.patch(rows, 'read_postponed', read)
        drained.begin_earlier(self.engine)

    def test_reservation_may_be_used_and_have_no_end(self) -> None:
        """The window would be over while somebody has the node."""
        self.over(3)
        self.world.reserve(self.node, ttl=300)
        self.keep()
        self.assert_window(leasing.at(6) + self.margin)
        self.at(3.1)
        self.keep()
        self.assert_window(leasing.at(3.1))

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

"""The database goes back while processes know what was committed since.

Two histories begin at the same state: one that this process has seen, and one
that another process has written after the first one was lost.
"""

from __future__ import annotations

import dataclasses

from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import commit
from ironic_reservations.engine import seen
from tests import gone_back
from tests import servers
from tests.inprocess.engine import timelines


@servers.also
class TestGoneBack(timelines.TestCase):
    """Numbers that are equal in two histories are not taken for the same."""

    def setUp(self):
        super().setUp()
        self.gold, self.silver = self.gold_and_silver()
        self.other = self.another()
        for each in (self.leasing, self.other):
            self.snapshot(each)

    def snapshot(self, of=None):
        return (of or self.leasing).engine.snapshots.snapshot(
            self.engine.database, self.world.clock())

    def lost(self, act):
        """Return what was done in a history that is gone then."""
        dump = gone_back.Dump(self.engine.database)
        done = act()
        self.snapshot()
        dump.restore()
        self.world.clock.advance(1)
        return done

    def test_window_that_another_took_is_not_promised_again(self):
        """One commit was lost, and another made on the same node."""
        self.lost(lambda: self.leasing.create(1, 2, self.gold))
        self.other.create(3, 4, self.gold)
        self.leasing.refused(3, 4, self.gold)
        self.assert_sound()

    def test_free_window_is_promised(self):
        self.lost(lambda: self.leasing.create(1, 2, self.gold))
        self.other.create(3, 4, self.gold)
        self.leasing.create(1, 2, self.gold)
        self.assert_sound()

    def test_commit_on_another_node_does_not_hide_the_lost_one(self):
        """The sum over both nodes is what it was in the lost history."""
        self.lost(lambda: self.leasing.create(1, 2, self.gold))
        self.other.create(1, 2, self.silver)
        self.leasing.create(2, 3, self.gold)
        self.assert_sound()

    def test_plan_on_the_lost_history_is_not_committed(self):
        def look():
            self.other.create(1, 2, self.gold)
            found = self.snapshot()
            return [seen.Seen(dict([found.generation(number)]))
                    for number in range(2)]
        planned = self.lost(look)
        self.other.create(3, 4, self.gold)
        with self.engine.database.read() as connection:
            now = seen.read(connection, self.snapshot().host_set.uuids)
        (outdated,) = [each for each in planned
                       if not each.generations.items()
                       <= now.generations.items()]

        def write():
            with self.engine.database.write() as connection:
                commit.commit(connection, outdated, self.world.clock())
        self.assertRaises(db_connection.Conflict, write)

    def test_calendars_differ(self):
        self.lost(lambda: self.leasing.create(1, 2, self.gold))
        self.other.create(3, 4, self.gold)
        lost = self.another()
        self.snapshot(lost)
        self.assertEqual(self.snapshot().state.digest(),
                         self.snapshot(lost).state.digest())
        self.assertEqual({}, self.leasing.stale())

    def test_state_of_a_node_is_read(self):
        """One observation was lost, and another one was written."""
        node = self.node(self.gold)
        self.lost(lambda: self.leasing.break_node(node))
        self.other.change_host(node, owner='somebody')
        found = self.snapshot()
        number = found.host_set.number(node)
        self.assertTrue(found.usable >> number & 1)
        self.assertEqual({}, self.leasing.stale())

    def node(self, wish):
        found = self.snapshot()
        return next(found.generation(number)[0] for number in range(2)
                    if found.host_state(number).host.node.resource_class
                    in wish.resource_properties)

    def test_list_shows_what_there_is(self):
        lease = self.leasing.create(1, 2, self.gold)

        def rename():
            self.leasing.change(lease, name='lost')
            self.assertEqual(['lost'], [each.name for each
                                        in self.leasing.all()])
        self.lost(rename)
        self.other.change(lease, name='kept')
        self.assertEqual(['kept'], [each.name for each in self.leasing.all()])

    def test_lease_of_the_lost_history_is_not_overwritten(self):
        lease = self.leasing.create(1, 2, self.gold)

        def rename():
            self.leasing.change(lease, name='lost')
            return self.leasing.reload(lease)
        lost = self.lost(rename)
        self.other.change(lease, name='kept')
        with self.engine.database.write() as connection:
            self.assertFalse(db_leases.update(
                connection, lost, dataclasses.replace(lost, name='late'),
                None))
            self.assertFalse(db_leases.delete(connection, lost))
        self.assertEqual('kept', self.leasing.reload(lease).name)

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

import dataclasses
import logging
from unittest import mock

import fixtures
import sqlalchemy as sa

from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import leases as db_leases
from ironic_reservations.db import tables
from ironic_reservations.engine import seen
from ironic_reservations.engine import sweep
from ironic_reservations.engine.lease_cycle import health
from ironic_reservations.features.placement.holds import rows as db_holds
from ironic_reservations.features.placement.holds import values
from tests import gone_back
from tests import leasing
from tests import servers
from tests import world
from tests.inprocess.engine import timelines


@servers.also
class TestGoneBack(timelines.TestCase):
    """Numbers that are equal in two histories are not taken for the same."""

    def setUp(self):
        super().setUp()
        self.gold, self.silver = self.gold_and_silver()
        self.other = self.another()
        for each in (self.leasing, self.other):
            each.snapshot()

    def lost(self, act):
        """Return what was done in a history that is gone then."""
        with gone_back.undone(self.engine.database):
            done = act()
            self.leasing.snapshot()
        self.world.clock.advance(1)
        return done

    def test_window_that_another_took_is_not_promised_again(self):
        """One commit was lost, and another made on the same node."""
        self.lost(lambda: self.leasing.create(1, 2, self.gold))
        self.other.create(3, 4, self.gold)
        self.leasing.refused(3, 4, self.gold)
        self.leasing.create(1, 2, self.gold)

    def test_commit_on_another_node_does_not_hide_the_lost_one(self):
        """The sum over both nodes is what it was in the lost history."""
        self.lost(lambda: self.leasing.create(1, 2, self.gold))
        self.other.create(1, 2, self.silver)
        self.leasing.create(2, 3, self.gold)

    def test_plan_on_the_lost_history_is_not_committed(self):
        def look():
            self.other.create(1, 2, self.gold)
            found = self.leasing.snapshot()
            return [seen.Seen(dict([found.generation(number)]))
                    for number in range(2)]
        planned = self.lost(look)
        self.other.create(3, 4, self.gold)
        with self.engine.database.read() as connection:
            now = seen.read(connection, self.leasing.snapshot().host_set.uuids)
        for outdated in planned:
            self.assertFalse(outdated.generations.items()
                             & now.generations.items())
            self.assertRaises(db_connection.Conflict, self.write, outdated)

    def write(self, planned):
        with self.engine.database.write() as connection:
            seen.advance(connection, planned, self.world.clock())

    def test_calendars_differ(self):
        self.lost(lambda: self.leasing.create(1, 2, self.gold))
        self.other.create(3, 4, self.gold)
        lost = self.another()
        lost.snapshot()
        self.assertEqual(self.leasing.snapshot().state.digest(),
                         lost.snapshot().state.digest())

    def test_state_of_a_node_is_read(self):
        """One observation was lost, and another one was written."""
        node = self.node(self.gold)
        self.lost(lambda: self.leasing.break_node(node))
        self.other.change_host(node, owner='somebody')
        found = self.leasing.snapshot()
        number = found.host_set.number(node)
        self.assertTrue(found.usable >> number & 1)

    def node(self, wish):
        found = self.leasing.snapshot()
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
            self.assertFalse(db_leases.delete_many(connection, [lost]))
        self.assertEqual('kept', self.leasing.reload(lease).name)

    def test_hold_of_the_lost_history_is_not_overwritten(self):
        """Another hold has the same number."""
        def hold(node):
            with self.engine.database.write() as connection:
                return db_holds.insert(connection, values.Hold(
                    0, world.new_uuid(), node, world.new_uuid(),
                    (('CUSTOM_GOLD', 1),), 'project', 'user',
                    values.HoldState.ACTIVE, *[self.world.clock()] * 2))
        lost = self.lost(lambda: hold(self.node(self.gold)))
        kept = hold(self.node(self.silver))
        self.assertEqual(lost.id, kept.id)
        with self.engine.database.write() as connection:
            self.assertIsNone(db_holds.change(
                connection, lost, self.world.clock(), confirmed=True))
            self.assertFalse(db_holds.delete(connection, lost))

    def test_notice_of_the_lost_history_is_another_one(self):
        """Who got the lost notice does not take this one for a copy."""
        self.engine.conf.set_override('webhook_urls', ['https://x.invalid/'],
                                      'notices')
        # A process that starts with the option.
        self.engine = self.leasing.engine = dataclasses.replace(self.engine)
        self.leasing.started(0, 2, self.gold)
        node = self.node(self.gold)

        def breaks():
            self.leasing.break_node(node)
            health.check(self.engine)
            with self.engine.database.read() as connection:
                (ident,) = connection.scalars(
                    sa.select(tables.outbox.c.notice_id))
            return ident
        self.assertNotEqual(self.lost(breaks), breaks())


@servers.also
class TestNoticed(timelines.TestCase):
    """A process that finds another history says so, once."""

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger(level=logging.WARNING))
        self.leasing.hosts(2)
        self.other = self.another()
        self.cache = self.engine.snapshots
        for each in (self.leasing, self.other):
            each.snapshot()

    def assert_noticed(self, times):
        self.assertEqual(times, self.cache.other_histories)
        self.assertEqual(
            times + self.other.engine.snapshots.other_histories,
            self.log.output.count('another history'))
        self.assertEqual({}, self.leasing.stale())

    def test_own_commit_that_is_gone(self):
        with gone_back.undone(self.engine.database):
            self.leasing.create(1, 2)
        self.leasing.snapshot()
        self.assert_noticed(1)
        self.leasing.snapshot()
        self.assert_noticed(1)

    def test_own_commit_that_is_gone_and_others_that_followed(self):
        """The number of the change is used again, and the node as well."""
        with gone_back.undone(self.engine.database):
            self.leasing.create(1, 2, leasing.wish(2))
        for hour in (3, 4):
            self.other.create(hour, hour + 1, leasing.wish(2))
        self.leasing.snapshot()
        self.assert_noticed(1)

    def test_commit_of_another_that_is_gone(self):
        with gone_back.undone(self.engine.database):
            self.other.create(1, 2, leasing.wish(2))
            self.leasing.snapshot()
        for hour in (3, 4):
            self.other.create(hour, hour + 1, leasing.wish(2))
        self.leasing.snapshot()
        self.assert_noticed(1)

    def test_request_that_plans_finds_it(self):
        with gone_back.undone(self.engine.database):
            self.leasing.create(1, 2, leasing.wish(2))
        self.other.create(1, 2, leasing.wish(2))
        self.leasing.refused(1, 2)
        self.assert_noticed(1)

    def test_observation_that_is_gone(self):
        node, _ = self.leasing.snapshot().generation(0)
        with gone_back.undone(self.engine.database):
            self.leasing.change_host(node, owner='somebody')
            self.leasing.snapshot()
        self.leasing.snapshot()
        self.assert_noticed(1)

    def test_nothing_is_said_of_one_history(self):
        """Changes are purged, nodes forgotten, and enrolled again."""
        for _ in range(3):
            self.leasing.end(self.other.create(1, 2, leasing.wish(2)))
            self.leasing.snapshot()
            self.leasing.create(1, 2, leasing.wish(2))
            with mock.patch.object(sweep, '_CHANGES', 1):
                sweep.sweep(self.engine)
            self.other.end(self.leasing.all()[0])
            self.leasing.snapshot()
        (node,) = self.world.enrol()
        self.leasing.snapshot()
        gone = self.world.ironic.there.pop(node)
        self.world.refresh()
        self.leasing.snapshot()
        self.world.ironic.put(gone)
        self.world.refresh()
        self.leasing.snapshot()
        self.assert_noticed(0)

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

"""Leases that are listed again: what has not changed is not read again."""

import dataclasses
from unittest import mock

import sqlalchemy as sa

from ironic_reservations.db import lease_parts
from ironic_reservations.db import leases as db_leases
from ironic_reservations.db import tables
from ironic_reservations.engine import seen
from ironic_reservations.engine.leases import find
from ironic_reservations.model import leases
from tests import leasing
from tests import servers
from tests.inprocess.engine import timelines


@servers.also
class TestListedAgain(timelines.TestCase):

    def setUp(self):
        super().setUp()
        self.other = self.another()
        self.leasing.hosts(3)
        self.leases = [self.leasing.create(hour, hour + 2, leasing.wish())
                       for hour in (1, 4, 7)]

    def page(self):
        return find.page(self.engine)

    def parts_read(self):
        """Return of how many leases the events were read for a page."""
        with self.statements() as sent:
            self.page()
        return [len(parameters) for statement, parameters in sent
                if 'FROM lease_events' in statement]

    def test_page_is_read_once(self):
        self.assertEqual([3], self.parts_read())
        self.assertEqual([], self.parts_read())
        self.assertEqual({each.id for each in self.leases},
                         {each.id for each in self.page()})

    def test_lease_that_another_process_changes_is_read_alone(self):
        self.page()
        changed = self.other.change(self.leases[1], end=6.5)
        self.assertEqual([1], self.parts_read())
        self.assertEqual(leasing.at(6.5), next(
            event.time for each in self.page() if each.id == changed.id
            for event in each.events if event.type == 'end_lease'))

    def test_booking_that_moves_is_seen_though_the_lease_is_the_same(self):
        self.page()
        node, = self.leasing.nodes(self.leases[0])
        # NOTE: takes the node from now on, and moves the lease off it.
        self.world.reserve(node, expires_at=leasing.at(2))
        self.assertEqual([], self.parts_read())
        self.assertNotIn(node, {
            booking.node_uuid for each in self.page()
            if each.id == self.leases[0].id for booking in each.bookings})

    def whole(self):
        """Return a page, and the same leases read without what is known."""
        with self.engine.database.snapshot() as connection:
            return self.page(), db_leases.read_page(connection, None, None,
                                                    None)

    def test_page_is_what_the_rows_say_after_each_change(self):
        """Whatever changes, and whether it raises a generation or not."""
        self.assertEqual(*self.whole())
        for act in (
                lambda: self.other.change(self.leases[1], end=6.5),
                lambda: self.leasing.change(self.leases[0], name='other'),
                lambda: self.world.reserve(
                    *self.leasing.nodes(self.leases[0]),
                    expires_at=leasing.at(2)),
                lambda: self.wait(self.leases[2], 'for Ironic'),
                lambda: self.leasing.clock_passes(1),
                lambda: self.wait(self.leases[2], None),
                lambda: self.leasing.end(self.leases[1]),
                lambda: self.leasing.clock_passes(10)):
            act()
            self.assertEqual(*self.whole())

    def wait(self, lease, why):
        """Write what a lease waits for, which raises no generation."""
        with self.engine.database.write() as connection:
            connection.execute(sa.update(tables.leases).where(
                tables.leases.c.id == lease.id).values(waiting=why))

    def test_booking_that_changes_on_its_node_is_seen(self):
        """Each column that can change, and nothing else of the lease."""
        row = tables.reservations.c
        booking, = self.leasing.reload(self.leases[0]).bookings
        self.page()
        for changed in ({'starts_at': leasing.at(1.25)},
                        {'expires_at': leasing.at(2.5)},
                        {'state': 'bound'}, {'lessee': 'somebody'},
                        {'lessee_before': 'another'}):
            with self.engine.database.write() as connection:
                seen.advance(connection, seen.read(
                    connection, [booking.node_uuid]), self.world.clock())
                connection.execute(sa.update(tables.reservations).where(
                    row.uuid == booking.uuid).values(changed))
            self.assertEqual(*self.whole())

    def test_what_was_read_first_is_forgotten_first(self):
        two = sum(each.kilobytes for each in self.leases[1:])
        with mock.patch.object(lease_parts, '_MOST', two):
            self.page()
            self.assertEqual([1], self.parts_read())

    def test_events_of_one_instant_are_in_the_order_of_a_life(self):
        """The end of a short lease is near at its start."""
        short = self.leasing.create(10, 10.5)
        self.page()
        with self.engine.database.write() as connection:
            # NOTE: a row that is written anew is read last on PostgreSQL.
            for kind in (leases.EventType.START, leases.EventType.BEFORE_END):
                before, = db_leases.read(connection, (short.id,))
                assert db_leases.update(
                    connection, before, dataclasses.replace(
                        before, events=tuple(
                            dataclasses.replace(
                                each, status=leases.EventStatus.DONE)
                            if each.type is kind else each
                            for each in before.events)), None)
                read, = db_leases.read(connection, (short.id,))
                self.assertEqual([*leases.EventType],
                                 [each.type for each in read.events])

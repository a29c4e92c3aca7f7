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


"""Rows that have become others since they were read are left alone."""

import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import node_windows as db_windows
from ironic_reservations.db import tables
from ironic_reservations.features.maintenance import rows as db_maintenance
from ironic_reservations.features.maintenance import values
from ironic_reservations.features.no_show import rows as db_no_shows
from ironic_reservations.model import node_window
from tests import servers
from tests import world

_HOUR = datetime.timedelta(hours=1)
_LATER = world.NOON + datetime.timedelta(microseconds=1)
_U = tables.usable_bookings.c


@servers.also
class TestWindows(world.TestCase):

    def setUp(self) -> None:
        super().setUp()
        around = self.new_world()
        self.database = around.engine.database
        (self.node,) = around.enrol()
        self.window = self.insert(node_window.State.OVER)

    def insert(self, state: node_window.State) -> values.Window:
        """Write a window of an hour before noon."""
        ident, start = world.new_uuid(), world.NOON - _HOUR
        made = values.Window(
            ident, 'firmware', 'firmware', start, world.NOON, start,
            nodes=(node_window.NodeWindow(ident, self.node, start,
                                          world.NOON, state),))
        with self.database.write() as connection:
            db_maintenance.insert(connection, made)
            if state is node_window.State.OVER:
                db_maintenance.insert_over(connection, made.nodes)
            else:
                db_windows.write(connection, [
                    (None, each) for each in made.nodes], start)
        return made

    def touch(self, seen: values.Window,
              now: datetime.datetime) -> None:
        with self.database.write() as connection:
            db_maintenance.end_window(connection, seen, now)

    def read(self) -> list[values.Window]:
        with self.database.read() as connection:
            return db_maintenance.read(connection)

    def test_window_that_others_have_changed_is_read_again(self) -> None:
        self.touch(self.window, world.NOON)
        self.assertRaises(db_connection.Conflict, self.touch, self.window,
                          _LATER)
        (changed,) = self.read()
        self.assertEqual(world.NOON, changed.updated_at)
        self.touch(changed, _LATER)
        self.assertRaises(db_connection.Conflict, self.touch, changed, _LATER)
        self.assertRaises(
            db_connection.Conflict, self.touch,
            dataclasses.replace(self.read()[0], id='gone'), _LATER)

    def test_window_that_is_not_over_is_not_forgotten(self) -> None:
        """Whatever was read of it before."""
        lasting = self.insert(node_window.State.ACTIVE)
        with self.database.write() as connection:
            for before in (world.NOON, world.NOON + _HOUR):
                db_maintenance.delete_many(
                    connection, [self.window.id, lasting.id], before)
                found = db_maintenance.read(connection)
                self.assertEqual(
                    {lasting.id} | ({self.window.id} if before == world.NOON
                                    else set()), {one.id for one in found})


@servers.also
class TestUsableBookings(world.TestCase):

    def test_one_that_has_begun_anew_stays(self) -> None:
        """Its owner would be given more time than has been promised."""
        database = self.new_world().engine.database
        old, new = world.new_uuid(), world.new_uuid()
        with database.write() as connection:
            db_no_shows.begin(connection, [old, new], world.NOON)
            over = db_no_shows.read_over(connection)
            connection.execute(sa.update(tables.usable_bookings).where(
                _U.booking_uuid == new).values(since=_LATER))
            db_no_shows.finish(connection, over)
            self.assertEqual([(new, _LATER)],
                             db_no_shows.read_over(connection))

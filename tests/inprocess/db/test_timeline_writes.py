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

"""Whatever writes the timeline names what it has read, and so do new ones."""

import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import in_flight_requests as db_in_flight
from ironic_reservations.db import leases as db_leases
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.db import tables
from ironic_reservations.engine import seen
from ironic_reservations.model import mirrored_node
from tests import leasing
from tests import timeline_writes
from tests import world

_R = tables.reservations.c


class TestWatch(world.TestCase):
    """What the watch objects to, and what it lets pass."""

    def setUp(self):
        super().setUp()
        self.world = self.new_world()
        self.leasing = leasing.Leasing(self.world)
        self.node, self.other = self.leasing.hosts(2)
        self.lease = self.leasing.reload(self.leasing.create(1, 2))
        self.held = self.world.reserve(*self.world.enrol())
        self.watch = self.useFixture(timeline_writes.Watch(everybody=True))

    def _wrong(self, *acts):
        self.watch.wrong.clear()
        try:
            with self.world.engine.database.write() as connection:
                for act in acts:
                    act(connection)
                raise _Undone
        except (_Undone, db_connection.Conflict):
            return ' '.join(self.watch.wrong)

    def _raise(self, connection):
        seen.advance(connection, seen.read(connection, [
            self.node, self.other, self.held.node_uuid]), world.NOON)

    def _execute(self, statement, *given):
        return lambda connection: connection.execute(statement, *given)

    def test_delete_by_id_alone_is_wrong(self):
        for condition in (_R.id == 1, _R.id.in_([1, 2]), _R.uuid == 'a',
                          sa.and_(_R.id == 1, _R.state == 'ending')):
            self.assertIn('does not name', self._wrong(
                self._raise, self._execute(
                    sa.delete(tables.reservations).where(condition))))

    def test_update_of_everything_is_wrong(self):
        for table in timeline_writes.NAMED:
            table = tables.metadata.tables[table]
            column = next(iter(table.c))
            self.assertIn('does not name', self._wrong(
                self._raise, self._execute(sa.update(table).values(
                    {column: column}))), table.name)
            self.assertIn('does not name', self._wrong(
                self._raise, self._execute(sa.delete(table))), table.name)

    def test_every_column_that_has_to_be_named_counts(self):
        for name, columns in timeline_writes.NAMED.items():
            table = tables.metadata.tables[name]
            for left_out in columns:
                self.assertIn(left_out, self._wrong(
                    self._raise, self._execute(sa.delete(table).where(*[
                        table.c[column].is_(None)
                        for column in columns if column != left_out]))))

    def test_generation_raised_whatever_it_is_is_wrong(self):
        self.assertIn('generation', self._wrong(self._execute(
            sa.update(tables.nodes)
            .where(tables.nodes.c.uuid == self.node)
            .values(generation=tables.nodes.c.generation + 1))))

    def test_booking_written_without_a_commit_is_wrong(self):
        now = self.world.clock()
        bookings = self.lease.bookings
        (node,) = {booking.node_uuid for booking in bookings}
        home = self.other if node == self.node else self.node
        for act in (
                lambda to: db_bookings.delete_planned(to, bookings),
                lambda to: db_bookings.delete(to, bookings),
                lambda to: db_bookings.end(to, bookings, now),
                lambda to: db_bookings.move(to, {bookings[0]: home}, now),
                lambda to: db_bookings.insert_many(to, [dataclasses.replace(
                    bookings[0], uuid='', place=7)], None, now),
                lambda to: db_reservations.delete(to, self.held),
                lambda to: db_reservations.update(
                    to, self.held, dataclasses.replace(
                        self.held, expires_at=now + datetime.timedelta(
                            hours=9)), now),
                lambda to: db_in_flight.insert(to, self.node, world.new_uuid(),
                                              None, None, now)):
            self.assertIn('has not raised', self._wrong(act))
            self.assertEqual('', self._wrong(self._raise, act))

    def test_booking_moved_to_a_node_that_was_not_raised_is_wrong(self):
        (booking,) = self.lease.bookings
        home = (self.other if booking.node_uuid == self.node else self.node)

        def raised(connection):
            seen.advance(connection, seen.read_again(
                connection, [booking]), world.NOON)
        self.assertIn(home, self._wrong(raised, lambda connection: (
            db_bookings.move(connection, {booking: home}, world.NOON))))

    def test_part_of_a_lease_written_alone_is_wrong(self):
        events = tables.lease_events
        act = self._execute(sa.update(events).where(
            events.c.id == self.lease.events[0].id,
            events.c.lease_id == self.lease.id).values(status='DONE'))
        self.assertIn('has not raised', self._wrong(act))
        renamed = dataclasses.replace(self.lease, name='other')
        self.assertEqual('', self._wrong(lambda connection: db_leases.update(
            connection, self.lease, renamed, None), act))

    def test_commit_of_another_transaction_is_of_no_use(self):
        with self.world.engine.database.write() as connection:
            self._raise(connection)
        self.assertIn('has not raised', self._wrong(
            lambda connection: db_reservations.delete(connection,
                                                      self.held)))

    def test_node_that_begins_to_be_mirrored_may_be_written(self):
        node = mirrored_node.Node(world.new_uuid())
        self.assertEqual('', self._wrong(
            lambda connection: db_nodes.insert_node(connection, node,
                                                    world.NOON),
            lambda connection: db_in_flight.insert(
                connection, node.uuid, world.new_uuid(), None, None,
                world.NOON)))


class _Undone(Exception):
    pass


class TestSources(world.TestCase):
    """Statements that no test happens to execute, too."""

    def _found(self):
        found = {}
        for path in timeline_writes.PACKAGE.rglob('*.py'):
            if 'migrations' in path.parts:
                continue
            for writer, names in timeline_writes.written_in(
                    path.read_text(),
                    timeline_writes.name_of(path)).items():
                found[writer] = (path, names)
        return found

    def test_all_of_them_are_in_the_room_for_sql(self):
        self.assertEqual(set(), {
            path for path, _ in self._found().values()
            if not timeline_writes.has_statements(str(path))})

    def test_all_of_them_are_known(self):
        """Whoever adds one thinks of what it has to name, and tests it."""
        self.assertEqual(_WRITERS, set(self._found()))

    def test_exceptions_are_of_writers_that_there_are(self):
        self.assertEqual(set(), (timeline_writes.OTHERWISE.keys()
                                 | timeline_writes.UNRAISED) - _WRITERS)

    def test_new_one_is_found(self):
        for source in ('sa.delete(tables.leases).where(_s.id == x)',
                       'tables.reservations.delete()',
                       'connection.execute(sa.update(tables.in_flight_requests))',
                       'connection.execute(sa.update(table))'):
            self.assertEqual({'new.forget'}, set(timeline_writes.written_in(
                f'def forget(connection, x):\n    {source}\n', 'new')))


#: Every function that writes the timeline; ``file.`` for a statement that is
#: put together once in it.
_WRITERS = {
    'bookings.', 'bookings.insert_many', 'bookings.move', 'claimed_rows.drop',
    'claimed_rows.take', 'claims._lock_projects', 'claims.delete_over',
    'claims.drop', 'claims.take', 'histories.begin', 'holds.rows._release',
    'holds.rows.change', 'holds.rows.delete', 'holds.rows.insert',
    'hosts.delete',
    'hosts.insert', 'hosts.update', 'in_flight_requests.',
    'in_flight_requests.delete', 'in_flight_requests.delete_as_read',
    'in_flight_requests.delete_settled',
    'in_flight_requests.insert', 'in_flight_requests.insert_ticket',
    'in_flight_requests.insert_unknown',
    'in_flight_requests.mark', 'in_flight_requests.prolong_unknown',
    'in_flight_requests.take_ticket',
    'in_flight_requests.void_acts', 'in_flight_requests.void_ticket',
    'in_flight_requests.void_tickets', 'in_flight_requests.write_seen',
    'instance_reservations.delete_many', 'instance_reservations.insert_many',
    'instance_reservations.update', 'keys.rows.insert',
    'keys.rows.insert_undone', 'keys.rows.replace', 'leasable.insert',
    'lease_flags._outdate', 'lease_flags.degrade',
    'lease_flags.flag_replaced', 'lease_work.extend', 'lease_work.give_back',
    'lease_work.keep', 'lease_work.make_due', 'leases.', 'leases.delete_many',
    'leases.insert', 'leases.update', 'maintenance.rows.delete_many',
    'maintenance.rows.end_window', 'maintenance.rows.insert',
    'maintenance.rows.write_end', 'migration_turn._release',
    'migration_turn._is_mine_after', 'migration_turn._read_row',
    'migration_turn._renew', 'no_show.rows.begin', 'no_show.rows.finish',
    'node_windows.delete_of_node', 'node_windows.write', 'nodes.',
    'nodes._advance', 'nodes.delete_node', 'nodes.mark_stale',
    'nodes._insert_if_certain', 'nodes.insert_in_any_case',
    'nodes.update_facts', 'reservations.', 'reservations.delete',
    'reservations.delete_void', 'reservations.insert', 'reservations.update',
    'store.__init__'
}

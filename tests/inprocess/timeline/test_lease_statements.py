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


"""What leases cost the database is a constant number of statements."""

import contextlib
import dataclasses
import datetime
import functools
import pathlib
import sqlite3
import tempfile

import sqlalchemy as sa

from benchmarks import booked
from ironic_reservations import errors
from ironic_reservations.db import lease_parts
from ironic_reservations.engine import availability
from ironic_reservations.engine.leases import find as lease_find
from ironic_reservations.engine.snapshots import cache
from ironic_reservations.features.calendar import document as calendar
from ironic_reservations.features.calendar import values as calendar_model
from ironic_reservations.features.history import history
from ironic_reservations.model import limits
from tests import leasing
from tests import world
from tests.inprocess.engine import timelines

#: Of a new lease, in a process that has read the timeline; and of a change.
MOST = 15
MOST_OF_CHANGE = 20


def _new(engine):
    """Return an engine as a process has it that has listed no lease yet."""
    return dataclasses.replace(engine, lease_parts=lease_parts.KnownParts())


@functools.cache
def _filled(nodes, bookings, together):
    """Return a database with many hosts and leases, written once."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, 'filled.sqlite')
        path.write_bytes(world.empty_sqlite())
        booked.fill(f'sqlite:///{path}', nodes, bookings, together,
                    leasing.at(2))
        filled = sqlite3.connect(':memory:')
        with contextlib.closing(sqlite3.connect(path)) as source:
            source.backup(filled)
        return filled


class TestLeaseStatements(timelines.TestCase):

    def setUp(self):
        super().setUp()
        # On a busy machine all nodes would be compared in between.
        self.patch(cache, '_COMPARED', 3600)

    def new_leasing(self):
        self.begin()
        return self.leasing

    def cost(self, call, *args, **kwargs):
        with self.statements() as sent:
            call(*args, **kwargs)
        return len(sent)

    def assert_same(self, cost, *sizes, most=MOST_OF_CHANGE):
        """Assert that something costs the same, whatever its size."""
        seen = {each: cost(*each) for each in sizes}
        self.assertEqual(1, len(set(seen.values())), seen)
        self.assertLessEqual(max(seen.values()), most)

    def filled(self, nodes, bookings, together=1):
        """Return many hosts and leases, and one lease made just now."""
        there = self.new_leasing()
        with contextlib.closing(sqlite3.connect(
                sa.make_url(there.world.url).database)) as target:
            _filled(nodes, bookings, together).backup(target)
        there.create(1, 2)
        return there

    def test_history_costs_the_same_for_1_and_20_nodes(self):
        there = self.new_leasing()
        there.hosts(30)
        self.assert_same(lambda nodes: self.cost(
            history.read, there.engine,
            there.create(1, 2, leasing.wish(nodes))), (1,), (20,))

    def test_create_costs_the_same_whatever_there_is(self):
        """Nodes, bookings of them, hosts and reservations of the lease."""
        def create(nodes, bookings, hosts=1, reservations=1):
            return self.cost(self.filled(nodes, bookings).create, 0.5, 0.75,
                             *[leasing.wish(hosts)] * reservations)
        self.assert_same(create, (1, 2), (10, 20), (1000, 2000), (100, 100),
                         (100, 10000), (100, 100, 10), (100, 100, 100),
                         most=MOST)
        self.assert_same(create, (100, 100), (100, 100, 1, 20))

    def crowded(self, moves):
        """Return two sets of hosts: the first is free late, the second early.

        A lease that needs one of the sets throughout has all of the bookings
        of the other one move there.
        """
        there = self.new_leasing()
        booked.fill(there.world.url, 2 * moves, 0, 1, leasing.at(0))
        wish = leasing.wish(moves)
        there.create(1, 3, wish)
        between = there.create(3, 6, wish)
        there.create(5, 7, wish)
        there.end(between)
        return there, wish

    def test_create_costs_the_same_for_1_and_100_moves(self):
        def create(moves):
            there, wish = self.crowded(moves)
            before = {row['uuid']: row['node_uuid'] for row in there.rows()}
            cost = self.cost(there.create, 2, 6, wish)
            self.assertEqual(moves, sum(
                before.get(row['uuid'], row['node_uuid'])
                != row['node_uuid'] for row in there.rows()))
            return cost
        self.assert_same(create, (1,), (100,), most=MOST)

    def test_create_refused_writes_nothing_and_costs_less(self):
        there = self.filled(10, 10)
        there.create(0.5, 0.75, leasing.wish(10))
        self.assertLessEqual(self.cost(
            self.assertRaises, errors.LeaseRefused, there.create, 0.6, 0.7),
            MOST)

    def test_change_costs_the_same_for_1_and_100_moves(self):
        def change(moves):
            there, wish = self.crowded(moves)
            lease = there.create(2, 4, wish)
            return self.cost(there.change, lease, end=6)
        self.assert_same(change, (1,), (100,))

    def test_change_costs_the_same_whatever_there_is(self):
        def change(nodes, bookings):
            there = self.filled(nodes, bookings)
            lease = there.create(0.25, 0.5)
            return self.cost(there.change, lease, end=0.75)
        self.assert_same(change, (1, 1), (100, 10000))

    def test_change_costs_the_same_once_started(self):
        def change(hosts):
            there = self.filled(100, 100)
            lease = there.create(0.25, 0.5, leasing.wish(hosts))
            there.clock_passes(0.3)
            there.create(0.8, 0.9)
            return self.cost(there.change, lease, end=0.75)
        self.assert_same(change, (1,), (100,))

    def test_delete_costs_the_same_whatever_there_is(self):
        def delete(nodes, bookings):
            there = self.filled(nodes, bookings)
            lease = there.create(0.25, 0.5, leasing.wish(nodes))
            return self.cost(there.end, lease)
        self.assert_same(delete, (1, 1), (100, 10000), most=MOST)

    def test_page_costs_the_same_for_1_and_1000_leases(self):
        there = self.filled(100, 2000)
        first, again = ({limit: self.cost(
            lease_find.page, engine, None, limit)
            for limit, engine in engines.items()}
            for engines in [{limit: _new(there.engine)
                             for limit in (1, 1000)}] * 2)
        for seen in (first, again):
            self.assertEqual(seen[1], seen[1000])
            self.assertLessEqual(seen[1], MOST)
        self.assertLess(again[1], first[1])

    def test_instances_cost_one_statement_more(self):
        """To write, to read and to take back what they ask for."""
        there = self.new_leasing()
        there.hosts(100, properties=leasing.sizes(4))
        there.create(4, 5)
        seen = []
        for wish in (leasing.wish(), leasing.instances(1, 4),
                     leasing.instances(50, 4, affinity=False)):
            made = []
            seen.append((
                self.cost(lambda wish=wish, made=made: made.append(
                    there.create(1, 2, wish))),
                self.cost(there.reload, *made),
                self.cost(lease_find.page, _new(there.engine)),
                self.cost(there.end, *made)))
        hosts, one, many = seen
        self.assertEqual(one, many)
        # NOTE: the end reads them as well.
        self.assertEqual((1, 1, 1, 2), tuple(
            more - less for more, less in zip(one, hosts, strict=True)))

    def test_availability_costs_the_same_whatever_there_is(self):
        def look(nodes, bookings):
            return self.cost(
                availability.count_free, self.filled(nodes, bookings).engine,
                leasing.at(0), leasing.at(0) + datetime.timedelta(days=90),
                count=1, duration=3600)
        self.assert_same(look, (1, 1), (100, 10000), most=MOST)

    def test_slots_cost_the_same_whatever_there_is(self):
        """The limits of the project are read besides, where there are any."""
        seen = set()
        for nodes, bookings, slots in ((1, 1, 1), (100, 1000, 20)):
            there = self.filled(nodes, bookings)
            self.configure(project_limits=True)
            for most in (0, 1000):
                found = []
                seen.add((most, self.cost(
                    lambda t=there, m=most, s=slots, f=found: f.append(
                        availability.count_free(
                            t.engine, leasing.at(0),
                            leasing.at(0) + datetime.timedelta(days=90),
                            count=1, duration=3600, slots=s,
                            caller=availability.Caller(
                                leasing.PROJECT, limits.Limits(
                                    max_leases_per_project=m)))))))
                self.assertTrue(found[0].slots)
        self.assertEqual(2, len(seen), seen)

    def test_calendar_costs_the_same_whatever_there_is(self):
        """One statement beside the snapshot, of which there is one, too."""
        viewer = calendar_model.Viewer(lists_all=True)
        seen = {}
        for nodes, bookings, limit in (
                (1, 1, 1), (100, 10000, 1), (100, 10000, 100)):
            there = self.filled(nodes, bookings)
            calendars = calendar.Calendars(there.engine)
            start = leasing.at(0)
            for rows in (False, True):
                wanted = calendar_model.CalendarRequest(
                    start, start + datetime.timedelta(days=90), None, rows,
                    None, limit)
                drawn = []
                seen[nodes, limit, rows] = (
                    self.cost(lambda w=wanted, d=drawn, c=calendars:
                              d.append(c.read(w, viewer).calendar())),
                    self.cost(calendars.sequence, wanted, viewer))
                self.assertEqual(limit if rows else 0,
                                 len(drawn[0].rows or ()))
                self.assertEqual(bool(rows), bool(drawn[0].leases))
        self.assertEqual({(1, 1), (2, 2)}, set(seen.values()), seen)

    def test_nothing_is_read_again_that_has_not_changed(self):
        there = self.filled(100, 1000)
        there.snapshot()
        self.assertEqual(1, self.cost(there.snapshot))

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

"""What a process knows: what it commits itself, what others do, and when."""

import contextlib
import dataclasses
import os
import secrets
import threading
from unittest import mock

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import changes as db_changes
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import in_flight_requests as db_in_flight
from ironic_reservations.db import node_sums
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.db import tables
from ironic_reservations.engine import seen
from ironic_reservations.engine import snapshots
from ironic_reservations.engine import sweep
from ironic_reservations.engine.leases.replan import pending
from ironic_reservations.engine.snapshots import cache as snapshot_cache
from ironic_reservations.engine.snapshots import node_versions
from ironic_reservations.engine.snapshots import readings
from tests import leasing
from tests import servers
from tests import world
from tests.inprocess.engine import timelines


class _TestCase(timelines.TestCase):

    def setUp(self):
        super().setUp()
        self.cache = self.engine.snapshots
        self.other = self.another()

    def snapshot(self):
        return self.leasing.snapshot()

    def promised(self, found=None):
        found = found or self.snapshot()
        return {(row.node_uuid, row.starts_at, row.ends_at)
                for here in found.states if here is not None
                for row, _ in here.promised}

    def generation(self, number=0):
        """Return a host at the generation that is known, to commit on."""
        return seen.Seen(dict([self.snapshot().generation(number)]))

    def queries(self):
        """Return how many queries a snapshot takes."""
        with self.statements() as sent:
            self.snapshot()
        return sum(each.startswith('SELECT') for each, _ in sent)

    @contextlib.contextmanager
    def after_the_sums(self, act):
        """Have something happen when the sums of a reading are there."""
        read, acts = node_sums.read_sums, [act]

        def read_sums(*given):
            found = read(*given)
            if acts:
                acts.pop()()
            return found
        with mock.patch.object(node_sums, 'read_sums', read_sums):
            yield


class TestOwn(_TestCase):
    """What a process commits itself it does not read."""

    def test_lease_is_not_read_again(self):
        self.leasing.hosts(2)
        self.snapshot()
        for act in (lambda: self.leasing.create(1, 2),
                    lambda: self.leasing.change(self.leasing.all()[0], end=5),
                    lambda: self.leasing.end(self.leasing.all()[0])):
            act()
            self.assertEqual(1, self.queries())
            self.assert_sound()

    def test_lease_of_instances_is_not_read_again(self):
        self.leasing.hosts(2, properties=leasing.sizes(4))
        self.snapshot()
        for act in (
                lambda: self.leasing.create(1, 2, leasing.instances(2, 2)),
                lambda: self.leasing.end(self.leasing.all()[0])):
            act()
            self.assertEqual(1, self.queries())
            self.assert_sound()

    def test_bookings_of_others_that_moved_are_not_read_again(self):
        self.leasing.hosts(1, resource_class='gold')
        self.leasing.create(2, 4)
        self.leasing.hosts(1, resource_class='silver')
        before = self.promised()
        wish = leasing.wish(properties='["!=", "$resource_class", "silver"]')
        self.leasing.create(1, 3, wish)
        self.assertEqual(1, self.queries())
        self.assertFalse(before <= self.promised())

    def test_one_that_is_at_another_generation_is_left_alone(self):
        """What is not known of others would be lost."""
        self.leasing.hosts(1)
        known = self.snapshot()
        uuid, generation = known.generation(0)
        before = self.promised(known)
        self.cache.commit(seen.Seen({uuid: generation + 1}))
        self.assertEqual(generation, self.snapshot().generation(0)[1])
        self.other.create(1, 2)
        self.cache.commit(seen.Seen({uuid: generation + 5}))
        self.assertNotEqual(before, self.promised())

    def test_one_that_names_too_few_nodes_is_left_alone(self):
        self.leasing.hosts(2)
        lease = self.leasing.create(1, 2)
        (row,) = self.leasing.reload(lease).bookings
        known = self.snapshot()
        (other,) = {*known.host_set.uuids} - {row.node_uuid}
        number = known.host_set.number(other)
        for changed in ({'removed': [row]},
                        {'added': snapshots.promised(lease, [row])},
                        {'homes': {row: other}}):
            self.cache.commit(self.generation(number), **changed)
            self.assert_sound()

    def test_one_whose_booking_is_not_there_is_left_alone(self):
        (node,) = self.leasing.hosts(1)
        lease = self.leasing.reload(self.leasing.create(1, 2))
        row = dataclasses.replace(lease.bookings[0], uuid=world.new_uuid())
        known = self.generation()
        for changed in ({'removed': [row]}, {'homes': {row: node}}):
            self.cache.commit(known, **changed)
            self.assert_sound()

    def test_one_that_is_not_known_whole_is_read_like_others(self):
        """Its generation is as expected, and its bookings would be lost."""
        (node,) = self.leasing.hosts(1)
        lease = self.leasing.reload(self.leasing.create(1, 2))
        row = dataclasses.replace(lease.bookings[0], uuid=world.new_uuid())
        elsewhere = dataclasses.replace(row, node_uuid=world.new_uuid())
        for number, changed in enumerate((
                {'removed': [row]}, {'homes': {row: node}},
                {'removed': [elsewhere]}, {'homes': {row: world.new_uuid()}},
                {'added': snapshots.promised(lease, [elsewhere])})):
            known = self.generation()
            self.other.create(3 + 2 * number, 4 + 2 * number)
            self.cache.commit(known, **changed)
            self.assertEqual(2 + number, len(self.promised()), changed)
            self.assert_sound()

    def test_node_that_is_no_host_is_left_alone(self):
        uuids = self.world.enrol()
        self.leasing.hosts(1)
        self.snapshot()
        self.cache.commit(seen.Seen({uuids[0]: 1}))

    def test_commit_during_a_reading_stays(self):
        """The reading has older rows; and the sum of both is as it was."""
        self.leasing.hosts(2)
        known = self.snapshot()
        (row,) = self.other.reload(self.other.create(1, 2)).bookings

        def commit():
            # NOTE: written by another engine, since one thread does it all.
            lease = self.other.reload(self.other.create(1, 2))
            (mine,) = lease.bookings
            self.assertNotEqual(row.node_uuid, mine.node_uuid)
            _, before = known.generation(known.host_set.number(mine.node_uuid))
            with self.engine.database.read() as connection:
                after = seen.read(connection, [mine.node_uuid])
            self.cache.commit(
                seen.Seen({mine.node_uuid: before}, step=after.generations[
                    mine.node_uuid] - before),
                added=snapshots.promised(lease, lease.bookings))
        with self.after_the_sums(commit):
            self.assertEqual(2, len(self.promised()))
        self.assertEqual(1, self.queries())


class TestOthers(_TestCase):
    """What others commit is read, and nothing more."""

    def test_change_is_seen_and_nothing_is_read_again(self):
        self.leasing.hosts(3)
        before = self.promised()
        self.other.create(1, 2)
        self.assertEqual(1, len(self.promised() - before))
        self.assertEqual(1, self.queries())

    def test_node_that_is_used_no_more_is_seen(self):
        (node,) = self.leasing.hosts(1)
        self.snapshot()
        with self.engine.database.write() as connection:
            token = world.new_uuid()
            seen.advance(connection, seen.read(connection, [node]),
                         self.world.clock())
            db_in_flight.insert(connection, node, token, None, None,
                               self.world.clock())
        self.assertTrue(self.snapshot().host_state(0).busy)
        self.assertEqual(2, self.queries())
        with self.engine.database.write() as connection:
            db_in_flight.delete(connection, token, node)
        self.assertFalse(self.snapshot().host_state(0).busy)


@servers.also
class TestChanges(_TestCase):
    """What is newer than what is known is enough for who only tries."""

    def setUp(self):
        super().setUp()
        self.leasing.hosts(3)
        self.snapshot()

    def quick(self):
        return self.cache.snapshot(self.engine.database, self.world.clock(),
                                   compared=False)

    def older_release(self, act):
        """Have something happen that nobody writes down."""
        with mock.patch.object(db_changes, 'insert'):
            return act()

    @contextlib.contextmanager
    def no_time_passes(self):
        with mock.patch.object(snapshot_cache, '_COMPARED', 3600):
            yield

    def test_own_are_known(self):
        with self.no_time_passes():
            self.leasing.create(1, 2)
            with mock.patch.object(node_sums, 'read_sums',
                                   side_effect=AssertionError):
                found = self.quick()
                self.leasing.create(1, 2)
        self.assertFalse(found.compared)
        self.assertEqual(1, len(self.promised(found)))
        self.assertEqual(2, len(self.promised()))

    def test_commit_that_is_being_made_here_is_not_waited_for(self):
        """Who comes meanwhile plans without it, and the next one with it."""
        meanwhile = []

        def committed(*given, **more):
            meanwhile.append(self.quick())
            snapshot_cache.SnapshotCache.commit(self.cache, *given, **more)
        with (self.no_time_passes(),
              mock.patch.object(self.cache, 'commit', committed),
              mock.patch.object(node_sums, 'read_sums',
                                side_effect=AssertionError)):
            self.leasing.create(1, 2)
            found = self.quick()
        self.assertEqual([set()], [*map(self.promised, meanwhile)])
        self.assertEqual(1, len(self.promised(found)))

    def test_commit_that_stands_still_here_costs_another_attempt(self):
        """Its process may stop right after COMMIT, for any time."""
        there = self.snapshot()
        with (self.no_time_passes(), self.each_step_is(7),
              self.cache.committing(seen.Seen(dict(
                  there.generation(number) for number in range(3))))):
            for _ in range(2):
                self.other.create(1, 2)
            self.leasing.create(1, 2)
            self.assertRaises(errors.LeaseRefused, self.leasing.create, 1, 2)
        self.assertEqual(3, len(self.promised()))

    @contextlib.contextmanager
    def each_step_is(self, step):
        """Have all commits raise generations by the same number."""
        with mock.patch.object(secrets, 'randbelow', return_value=step - 1):
            yield

    def test_commit_that_was_taken_for_one_made_here_is_read(self):
        """It is another's, of the same node at the same time."""
        there = self.snapshot()
        with self.no_time_passes(), self.each_step_is(7):
            with self.cache.committing(seen.Seen(dict(
                    there.generation(number) for number in range(3)))):
                self.other.create(1, 2)
                self.assertEqual(set(), self.promised(self.quick()))
            found = self.quick()
        self.assertTrue(found.compared)
        self.assertEqual(1, len(self.promised(found)))

    def test_those_of_others_are_read(self):
        with self.no_time_passes():
            self.other.create(1, 2)
            found = self.quick()
        self.assertTrue(found.compared)
        self.assertEqual(1, len(self.promised(found)))

    def test_what_ironic_says_is_read(self):
        (node,) = self.leasing.hosts(1)
        self.snapshot()
        with self.no_time_passes():
            self.world.change(node, maintenance=True)
            found = self.quick()
            self.assertFalse(found.usable >> found.host_set.number(node) & 1)
            # NOTE: a change without a generation is read once, not for ever.
            self.assertTrue(found.compared)
            self.assertFalse(self.quick().compared)
            self.world.change(node, maintenance=False)
            self.snapshot()
            self.quick()
            self.assertFalse(self.quick().compared)

    def test_what_nobody_wrote_down_is_found_in_a_second(self):
        with self.no_time_passes():
            self.older_release(lambda: self.other.create(1, 2))
            self.assertEqual(set(), self.promised(self.quick()))
        with mock.patch.object(snapshot_cache, '_COMPARED', 0):
            found = self.quick()
        self.assertTrue(found.compared)
        self.assertEqual(1, len(self.promised(found)))

    def test_what_nobody_wrote_down_costs_another_attempt(self):
        """And there is never a second owner."""
        with self.no_time_passes():
            for _ in range(2):
                self.older_release(lambda: self.other.create(1, 2))
            self.leasing.create(1, 2)
            self.assertRaises(errors.LeaseRefused, self.leasing.create, 1, 2)

    def test_nobody_is_refused_for_what_is_over(self):
        with self.no_time_passes():
            there = [self.other.create(1, 2) for _ in range(3)]
            self.quick()
            self.older_release(lambda: self.other.end(there[0]))
            self.leasing.create(1, 2)
            self.older_release(lambda: self.other.end(there[1]))
            mine = self.leasing.all()[-1]
            self.older_release(lambda: self.other.create(2, 4))
            self.leasing.change(mine, end=3)

    def test_refusal_that_is_true_is_planned_once(self):
        with self.no_time_passes():
            for _ in range(3):
                self.leasing.create(1, 2)
            # Its counter-offers are planned in another way.
            with mock.patch.object(
                    pending, 'plan', autospec=True,
                    side_effect=pending.plan) as planned:
                self.assertRaises(errors.LeaseRefused, self.leasing.create,
                                  1, 2)
            self.assertEqual(1, planned.call_count)

    def test_who_has_to_know_for_sure_does(self):
        """Also where it shares a reading with somebody who need not."""
        with self.no_time_passes():
            self.older_release(lambda: self.other.create(1, 2))
            self.assertEqual(set(), self.promised(self.quick()))
            self.assertEqual(1, len(self.promised()))

    def test_late_one_is_found(self):
        """Its number is lower than one that has been seen."""
        with self.no_time_passes():
            self.other.create(1, 2)
            self.quick()
            changes = self.cache._changes
            seen = changes.last
            with self.engine.database.write() as connection:
                connection.execute(sa.insert(tables.changes).values(
                    seq=seen + 3, node_uuid=self.node(0), generation=0))
            self.quick()
            self.assertEqual({seen + 1, seen + 2}, {*changes.missing})
            self.older_release(lambda: self.other.create(1, 2))
            (node, generation), = [
                (uuid, node.generation) for uuid, node in self.nodes().items()
                if not self.cache._versions.are_at({uuid: node.generation})]
            with self.engine.database.write() as connection:
                connection.execute(sa.insert(tables.changes).values(
                    seq=seen + 1, node_uuid=node, generation=generation))
            self.assertEqual(2, len(self.promised(self.quick())))
            self.quick()
            self.assertEqual({seen + 2}, {*changes.missing})
            with mock.patch.object(node_versions, '_OPEN', 0):
                self.quick()
            self.assertEqual({}, changes.missing)

    def test_no_more_than_some_are_asked_for_again(self):
        changes = node_versions.SeenChanges()
        changes.note([(10 ** 9, self.node(0), 0)])
        self.assertEqual(100, len(changes.missing))
        changes.note([(2 * 10 ** 9, self.node(0), 0)])
        self.assertEqual(100, len(changes.missing))
        self.assertEqual(2 * 10 ** 9 - 1, max(changes.missing))

    def node(self, number):
        return self.snapshot().generation(number)[0]

    def nodes(self):
        with self.engine.database.read() as connection:
            return db_nodes.read_nodes(connection)

    def test_conflict_of_their_deletion_left_the_sweep(self):
        """Its docstring names only Contention."""
        def conflict():
            raise db_connection.Conflict('deadlock')
        for _ in range(3):
            self.leasing.end(self.leasing.create(1, 2))
        there = self.numbers()
        self.world.before_next_write(conflict)
        with mock.patch.object(sweep, '_CHANGES', 2):
            sweep.sweep(self.engine)
            self.assertEqual(there, self.numbers())
            sweep.sweep(self.engine)
        self.assertEqual(there[2:], self.numbers())

    def test_old_ones_are_deleted(self):
        for _ in range(3):
            self.leasing.end(self.leasing.create(1, 2))
        with mock.patch.object(sweep, '_CHANGES', 2):
            before = self.numbers()
            while len(there := self.numbers()) > 2:
                sweep.sweep(self.engine)
                self.assertEqual(there[min(2, len(there) - 2):],
                                 self.numbers())
            sweep.sweep(self.engine)
            self.assertEqual(before[-2:], self.numbers())
        with self.engine.database.write() as connection:
            connection.execute(sa.delete(tables.changes))
        sweep.sweep(self.engine)
        self.assertEqual([], self.numbers())
        self.other.create(1, 2)
        self.assertGreater(self.numbers()[0], before[-1])

    def numbers(self):
        with self.engine.database.read() as connection:
            return connection.scalars(sa.select(
                tables.changes.c.seq).order_by(tables.changes.c.seq)).all()


class TestTogether(_TestCase):
    """Many threads, one reading; and no lock while the database is asked."""

    def setUp(self):
        super().setUp()
        self.leasing.hosts(2)
        self.snapshot()
        self.read = self.cache._read
        self.readings = []
        self.began = threading.Event()
        self.go_on = threading.Event()
        self.error = None

    def slow(self, database, now):
        self.readings.append(threading.current_thread())
        self.began.set()
        if not self.go_on.wait(300):
            raise AssertionError('nobody let it go on')
        if self.error is not None:
            raise self.error
        self.read(database, now)

    def start(self, count):
        found = []

        def take():
            try:
                found.append(self.snapshot())
            except Exception as exc:
                found.append(exc)
        threads = [threading.Thread(target=take) for _ in range(count)]
        for thread in threads:
            thread.start()
        return threads, found

    @contextlib.contextmanager
    def one_reads(self):
        """Have one thread read meanwhile; yield what lets it go on."""
        with mock.patch.object(self.cache, '_read', self.slow):
            (thread,), _ = self.start(1)
            self.assertTrue(self.began.wait(300))

            def go_on():
                self.go_on.set()
                thread.join(300)
            yield go_on

    def run_together(self, act, count):
        """Have one read, and others come while it does."""
        waiting, join = [], readings.Reading.join

        def joined(reading):
            waiting.append(reading)
            join(reading)
        with mock.patch.object(self.cache, '_read', self.slow), (
                mock.patch.object(readings.Reading, 'join', joined)):
            first, one = self.start(1)
            self.assertTrue(self.began.wait(300))
            act()
            others, found = self.start(count)
            # NOTE: one of them is to read, and the others wait for it.
            self.wait_until(lambda: len(waiting) == count - 1)
            self.assertFalse(self.cache._lock.locked())
            self.go_on.set()
            for thread in first + others:
                thread.join(300)
        self.assertEqual(1, len(one))
        return found

    def wait_until(self, true):
        deadline = threading.Event()
        for _ in range(3000):
            if true():
                return
            deadline.wait(0.01)
        self.fail('it did not come about')

    def test_one_reading_serves_all_who_wait(self):
        found = self.run_together(lambda: self.other.create(1, 2), 8)
        self.assertEqual(8, len(found))
        for each in found:
            self.assertEqual(1, len(self.promised(each)))
        self.assertEqual(2, len(self.readings))

    def quick(self, found):
        found.append(self.cache.snapshot(
            self.engine.database, self.world.clock(), compared=False))

    def test_who_only_tries_waits_for_no_comparison(self):
        self.other.create(1, 2)
        found = []
        with self.one_reads() as go_on:
            with mock.patch.object(snapshot_cache, '_COMPARED', 0), (
                    mock.patch.object(db_changes, 'read_since',
                                      return_value=[])):
                self.quick(found)
            go_on()
        self.assertFalse(found[0].compared)
        self.assertEqual(1, len(self.readings))

    def test_who_only_tries_waits_for_nobody_who_does(self):
        read, found = db_changes.read_since, []

        def read_since(*given):
            if threading.current_thread() is thread:
                self.began.set()
                self.assertTrue(self.go_on.wait(300))
            return read(*given)
        thread = threading.Thread(target=self.quick, args=([],))
        with mock.patch.object(snapshot_cache, '_COMPARED', 3600), (
                mock.patch.object(db_changes, 'read_since', read_since)):
            thread.start()
            self.assertTrue(self.began.wait(300))
            self.other.create(1, 2)
            self.quick(found)
            self.go_on.set()
            thread.join(300)
        self.assertEqual(1, len(self.promised(found[0])))

    def test_failure_is_told_to_all_who_wait(self):
        for error, told in (
                (errors.DatabaseUnavailable('gone'),
                 errors.DatabaseUnavailable),
                (db_connection.Conflict('x'), db_connection.Conflict),
                (RuntimeError('x'), (RuntimeError, db_connection.Conflict))):
            self.error = error
            self.began.clear()
            self.go_on.clear()
            found = self.run_together(lambda: None, 3)
            self.assertEqual([], [each for each in found
                                  if not isinstance(each, told)])
            # NOTE: what was known is known.
            self.error = None
            self.assert_sound()

    def test_reading_that_never_ends_keeps_nobody_for_long(self):
        with (mock.patch.object(readings, '_PATIENCE', 0.1),
              self.one_reads() as go_on):
            for _ in range(2):
                self.assertRaises(errors.Contention, self.snapshot)
            go_on()

    def test_process_that_was_forked_begins_anew(self):
        with self.one_reads() as go_on, mock.patch.object(
                os, 'getpid', return_value=1):
            with mock.patch.object(self.cache, '_read', self.read):
                self.assertEqual(2, len(self.snapshot().states))
            go_on()

    def test_half_of_a_change_is_forgotten(self):
        self.other.create(1, 2)
        with mock.patch.object(self.cache._copy, '_draw',
                               side_effect=ValueError):
            self.assertRaises(ValueError, self.snapshot)
        self.assertEqual(1, len(self.promised()))

    def test_what_was_forgotten_meanwhile_is_not_read_in_part(self):
        self.other.create(1, 2)
        with self.after_the_sums(self.cache._forget):
            self.assertRaises(db_connection.Conflict, self.snapshot)
        self.assertEqual(1, len(self.promised()))


class TestFill(timelines.TestCase):
    """All hosts are read before anybody asks."""

    def setUp(self):
        super().setUp()
        self.leasing.hosts(2)
        self.cache = snapshot_cache.SnapshotCache(self.engine.conf)

    def fill(self):
        return self.cache.fill(self.engine.database, self.world.clock)

    def test_tried_again_after_a_failure(self):
        for error in (errors.DatabaseUnavailable('gone'), ValueError('x')):
            with mock.patch.object(self.cache, '_read', side_effect=error):
                self.fill().join(300)
            self.assertFalse(self.cache.filled)
        self.fill().join(300)
        self.assertTrue(self.cache.filled)

    def test_begun_once(self):
        go_on = threading.Event()
        with mock.patch.object(self.cache, '_read',
                               side_effect=lambda *_: go_on.wait(300)):
            one = self.fill()
            self.assertIs(one, self.fill())
            go_on.set()
            one.join(300)

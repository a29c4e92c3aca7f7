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

"""Any number of processes share the leases, and none waits for another."""

import dataclasses
import queue
import threading
import time
from unittest import mock

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.clouds import ironic
from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import lease_work as db_lease_work
from ironic_reservations.db import leases as db_leases
from ironic_reservations.db import tables
from ironic_reservations.engine.lease_cycle import claims as lease_claims
from ironic_reservations.engine.lease_cycle import start as lease_start
from ironic_reservations.engine.lease_cycle import sync as lease_sync
from ironic_reservations.model import leases as values
from tests import leasing
from tests import servers
from tests import world
from tests.inprocess.reconciler import leases

ACTIVE, PENDING = leases.STATUS.ACTIVE, leases.STATUS.PENDING
MANY = 300


@servers.also
class TestLeaseClaims(leases.TestCase):
    """The rows in which processes tell each other who does what."""

    options = {'leases__claim_ttl': 60, 'leases__max_backoff': 100}

    def setUp(self):
        super().setUp()
        self.leasing.hosts(3)
        self.made = [self.leasing.create(hours, 9) for hours in (2, 1, 3)]
        self.at(4)

    def _take(self, token, limit=10):
        now = self.world.clock()
        with self.engine.database.write() as connection:
            ids = db_lease_work.read_due(connection, now, limit)
            return db_lease_work.take(connection, ids, token, now,
                                      leasing.at(4 + 1 / 60))

    def _give_back(self, claim, due, generation=None, **said):
        if generation is None:
            generation = self._generation(claim.id)
        with self.engine.database.write() as connection:
            return db_lease_work.give_back(
                connection, claim, due, generation, self.world.clock(),
                **said)

    def _generation(self, lease_id):
        return self.world.lease_rows()[lease_id]['generation']

    def test_oldest_are_taken_first(self):
        self.assertEqual([self.made[1].id, self.made[0].id],
                         [claim.id for claim in self._take('a', 2)])
        self.assertEqual([self.made[2].id],
                         [claim.id for claim in self._take('b', 2)])
        self.assertEqual([], self._take('c'))

    def test_what_is_not_due_is_not_taken(self):
        self.at(0.5)
        self.assertEqual([], self._take('a'))

    def test_dead_process_is_replaced_when_its_claims_end(self):
        self._take('a')
        self.world.clock.advance(59)
        self.assertEqual([], self._take('b'))
        self.world.clock.advance(1)
        self.assertEqual(3, len(self._take('b')))

    def test_who_was_replaced_gives_nothing_back(self):
        (claim, *_) = self._take('a')
        self.world.clock.advance(60)
        self._take('b')
        self.assertFalse(self._give_back(claim, None))
        self.assertEqual('b', self.world.lease_rows()[claim.id]['claimed_by'])

    def test_lease_is_given_back_until_it_is_due_again(self):
        (claim, *_) = self._take('a')
        self.assertTrue(self._give_back(claim, leasing.at(8),
                                        waiting='so', attempts=3))
        row = self.world.lease_rows()[claim.id]
        self.assertEqual(
            (leasing.at(8), None, None, 'so', 3),
            (row['due_at'], row['claimed_by'], row['claimed_until'],
             row['waiting'], row['attempts']))

    def test_lease_that_was_changed_meanwhile_is_looked_at_again(self):
        (claim, *_) = self._take('a')
        self._give_back(claim, leasing.at(8), generation=0)
        self.assertEqual(leasing.at(4), self.world.lease_rows()[
            claim.id]['due_at'])

    def test_lease_that_was_woken_meanwhile_is_looked_at_again(self):
        (claim, *_) = self._take('a')
        lease = self.made[1]
        with self.engine.database.write() as connection:
            db_leases.update(connection, lease, lease, leasing.at(4.5))
        self._give_back(claim, leasing.at(8))
        self.assertEqual(leasing.at(4.5), self.world.lease_rows()[
            claim.id]['due_at'])

    def test_lease_in_work_is_woken_when_its_node_is_let_go(self):
        (claim, *_) = self._take('a')
        (booking,) = self.made[1].bookings
        self.world.clock.advance(10)
        with self.engine.database.write() as connection:
            db_lease_work.wake(connection, [booking.node_uuid],
                               self.world.clock())
        self._give_back(claim, leasing.at(8), waiting='so')
        self.assertEqual(self.world.clock(), self.world.lease_rows()[
            claim.id]['due_at'])

    def test_claims_are_kept_by_who_has_them(self):
        mine = self._take('a', 2)
        with self.engine.database.write() as connection:
            self.assertEqual(frozenset(mine), db_lease_work.extend(
                connection, mine, leasing.at(5)))
            lost = dataclasses.replace(mine[0], token='z')
            self.assertEqual(frozenset(mine[1:]), db_lease_work.extend(
                connection, [lost, mine[1]], leasing.at(6)))

    def test_what_nobody_began_with_is_free_at_once(self):
        claims = self._take('a')
        with self.engine.database.write() as connection:
            db_lease_work.drop(connection, claims)
        self.assertEqual(3, len(self._take('b')))

    def test_what_another_batch_has_by_now_is_not_let_go_of(self):
        (first,) = self._take('a', 1)
        self.world.clock.advance(60)
        again, second = self._take('b', 2)
        self.assertEqual(first.id, again.id)
        with self.engine.database.write() as connection:
            db_lease_work.drop(connection, [first, second])
        self.assertEqual(['b', None], [
            self.world.lease_rows()[each.id]['claimed_by']
            for each in (again, second)])

    def test_statements_do_not_grow_with_the_leases(self):
        for limit in (1, 2):
            with self.world.statements() as sent:
                self._take(f'token-{limit}', limit)
            self.assertEqual(['SELECT', 'UPDATE', 'SELECT'], [
                statement.partition(' ')[0] for statement, _ in sent])

    def test_leases_are_counted_by_status(self):
        (claim, *_) = self._take('a')
        self._give_back(claim, leasing.at(8), waiting='so')
        with self.engine.database.read() as connection:
            self.assertEqual({PENDING: (3, 1)},
                             db_lease_work.count(connection))


@servers.also_mysql
class TestBackoff(leases.TestCase):

    options = {'leases__max_backoff': 20}

    def _put_off(self, lease, longest):
        """Check that each attempt is put off for longer, up to some time."""
        self.at(1)
        waits = []
        for _ in range(8):
            self.assertEqual(1, self.work())
            row = self.row(lease)
            waits.append((row['due_at'] - self.world.clock()).total_seconds())
            self.world.clock.now = row['due_at']
        for number, wait in enumerate(waits):
            # NOTE: the first one wrote down what it is about to do.
            whole = min(longest, 2 ** max(0, number))
            self.assertTrue(whole / 2 <= wait <= whole, waits)
        self.assertEqual(8, self.row(lease)['attempts'])

    def _goes_on(self, lease):
        """Check that a lease starts, and has nothing to wait for."""
        self.work()
        row = self.row(lease)
        self.assertEqual(('ACTIVE', None, 0), (row['status'], row['waiting'],
                                               row['attempts']))

    def test_step_that_waits_for_a_node_is_put_off_longer_each_time(self):
        (node,) = self.leasing.hosts()
        lease = self.leasing.create(1, 90)
        self.world.change(node, provision_state='cleaning',
                          lessee=leasing.PROJECT)
        self._put_off(lease, 20)
        self.world.change(node, provision_state='available')
        self._goes_on(lease)

    def test_step_that_is_refused_is_tried_often(self):
        """Nothing tells when Ironic does not refuse it any more."""
        (node,) = self.leasing.hosts()
        lease = self.leasing.create(1, 90)
        self.ironic.refuses.add(node)
        self._put_off(lease, 4)
        self.ironic.refuses.clear()
        self._goes_on(lease)

    def test_end_is_not_put_off(self):
        (node,) = self.leasing.hosts()
        lease = self.leasing.create(1, 1.001)
        self.ironic.change(node, provision_state='cleaning')
        self.work_at(1)
        for _ in range(4):
            self.world.clock.now = min(self.due(lease), leasing.at(1.001))
            self.work()
        self.assertEqual(leasing.at(1.001), self.world.clock.now)
        self.assert_status(leases.STATUS.TERMINATING, lease)

    def test_bug_in_a_step_holds_up_no_other_lease(self):
        self.leasing.hosts(2)
        made = [self.leasing.create(1, 4), self.leasing.create(1, 4)]
        real = lease_start.start

        def failing(turn, lease):
            if lease.id == made[0].id:
                raise ZeroDivisionError
            return real(turn, lease)
        with mock.patch.dict(lease_sync._STEPS, {'start': failing}):
            self.work_at(1)
        self.assertIn('ZeroDivisionError', self.lease(made[0]).waiting)
        self.assert_status(ACTIVE, made[1])
        self.soon()
        self.assert_status(ACTIVE, made[0])

    def test_long_refusal_is_cut(self):
        """MariaDB takes 64 KiB: the lease was tried again without a pause."""
        self.leasing.hosts(1)
        lease = self.leasing.create(1, 4)
        self.at(1)
        with mock.patch.object(
                self.ironic, 'write_lessee',
                side_effect=ironic.Refused(400, 'x' * 70_000)):
            self.work()
        self.assertIn('refuses with 400', self.lease(lease).waiting)
        self.assertEqual(0, self.work())

    def test_lease_that_cannot_be_read_holds_up_no_other(self):
        """All that were claimed with it waited, again and again."""
        self.leasing.hosts(2)
        made = [self.leasing.create(1, 4), self.leasing.create(1, 4)]
        with self.engine.database.write() as connection:
            connection.execute(sa.update(tables.leases).values(
                status='NEWER').where(
                    tables.leases.c.id == made[0].id))
        self.work_at(1)
        self.assert_status(ACTIVE, made[1])

    def test_one_lost_connection_delays_no_start_by_a_whole_claim(self):
        """Whoever has the claim lives, and lets go of it."""
        self.leasing.hosts()
        lease = self.leasing.create(1, 4)
        self.assertLess(6, self.engine.conf.leases.claim_ttl)

        def down():
            raise errors.DatabaseUnavailable('down')
        # NOTE: the first write is the claim.
        self.world.before_next_write(lambda: self.world.before_next_write(
            down))
        self.work_at(1)
        self.assert_status(PENDING, lease)
        # NOTE: that it lets go of it may fail as well.
        self.world.clock.advance(3)
        self.world.before_next_write(down)
        self.work()
        self.soon(3)
        self.assert_status(ACTIVE, lease)


@servers.also
class TestProcesses(leases.TestCase):

    def assert_each_had_all(self, made):
        """Check that each thing was done for each lease, and once."""
        count = len(made)
        self.assertEqual({leases.STATUS.TERMINATED}, {
            self.lease(lease).status for lease in made})
        self.assertEqual({'lease.create': count,
                          'lease.event.start_lease': count,
                          'lease.event.before_end_lease': count,
                          'lease.event.end_lease': count}, self.heard.count())
        self.assertEqual(2 * count, len(self.ironic.changed))

    def planned(self, count):
        """Return leases from one to four, each of a node."""
        self.leasing.hosts(count)
        return [self.leasing.create(1, 4) for _ in range(count)]

    def test_of_two_processes_each_lease_has_one(self):
        """Blazar: supports one manager only.

        esi-leap: timers have no claim, so that two managers do everything
        twice.
        """
        made = self.planned(4)
        other = self.another_crew()
        for hours in (1, 3, 4):
            self.at(hours)
            for _ in range(3):
                self.work()
                self.work(other)
        self.assert_each_had_all(made)

    def test_processes_at_once_do_each_thing_once(self):
        made = self.planned(12)
        crews = [self.another_crew() for _ in range(3)]
        self.at(1)
        for crew in crews:
            crew.start()
        self.addCleanup(lambda: [crew.stop() for crew in crews])
        self._until_all_are(ACTIVE, made)
        self.at(4)
        self._until_all_are(leases.STATUS.TERMINATED, made)
        self.assert_each_had_all(made)

    def _until_all_are(self, status, made):
        self._until(lambda: all(self.lease(lease).status is status
                                for lease in made))

    def hang(self, call, node):
        """Have Ironic not answer what is asked of a node.

        :returns: what is set once it is asked, and what lets it answer.
        """
        begun, continues = threading.Event(), threading.Event()
        self.addCleanup(continues.set)
        real = getattr(self.ironic, call)

        def hangs(uuid, *args, **kwargs):
            if uuid == node:
                begun.set()
                continues.wait()
            real(uuid, *args, **kwargs)
        setattr(self.ironic, call, hangs)
        return begun, continues

    def start_crew(self):
        self.crew.start()
        self.addCleanup(self.crew.stop)

    def test_slow_lease_holds_up_nobody_else(self):
        made = self.planned(6)
        begun, continues = self.hang('write_lessee', self.node_of(made[0]))
        self.at(1)
        self.start_crew()
        self._until(lambda: begun.is_set() and all(
            self.lease(lease).status is ACTIVE for lease in made[1:]))
        self.assert_status(leases.STATUS.STARTING, made[0])
        continues.set()
        self._until_all_are(ACTIVE, made)

    def test_slow_end_holds_up_no_other_event(self):
        """Blazar: one slow end blocks all other events."""
        ending = self.planned(2)
        self.leasing.hosts(2)
        starting = [self.leasing.create(4, 8) for _ in range(2)]
        self.work_at(1)
        for lease in ending:
            self.ironic.deploy(self.node_of(lease), world.new_uuid())
        begun, continues = self.hang('undeploy', self.node_of(ending[0]))
        self.at(4)
        self.start_crew()
        # NOTE: what waits for a node is looked at again by the clock.
        self._until(lambda: begun.is_set() and (
            self.lease(ending[1]).status is leases.STATUS.TERMINATED
            and all(self.lease(lease).status is ACTIVE
                    for lease in starting)))
        self.assert_status(leases.STATUS.TERMINATING, ending[0])
        continues.set()
        self._until_all_are(leases.STATUS.TERMINATED, ending)

    def test_claim_is_kept_while_its_lease_is_worked_on(self):
        self.leasing.hosts()
        lease = self.leasing.create(1, 4)
        other = self.another_crew()
        real = self.ironic.write_lessee

        def write_lessee(uuid, lessee, ticket=None):
            for _ in range(5):
                self.world.clock.advance(25)
                self.crew.extend()
                self.assertEqual(0, self.work(other))
            real(uuid, lessee)
        self.ironic.write_lessee = write_lessee
        self.work_at(1)
        self.assert_status(ACTIVE, lease)

    def test_process_that_stops_leaves_the_rest_to_others_at_once(self):
        made = self.planned(3)
        self.at(1)
        with mock.patch.object(threading.Thread, 'start'):
            self.crew._fill()
        self.crew._drop_queued()
        self.assertEqual(3, self.work(self.another_crew()))
        self.assertEqual({ACTIVE},
                         {self.lease(lease).status for lease in made})

    def test_leases_taken_while_the_process_stops_are_left_to_others(self):
        """Who stops does not wait for ever for an answer to the claim."""
        made = self.planned(3)
        self.at(1)
        self.crew._fill()
        self._until_all_are(ACTIVE, made)
        self._until(lambda: not self.crew._held)
        real = lease_claims.take

        def take(*args):
            tasks = real(*args)
            self.crew.stop()
            return tasks
        self.at(4)
        with mock.patch.object(lease_claims, 'take', take):
            self.crew._fill()
        self.assertEqual(3, self.work(self.another_crew()))
        self.assertEqual({leases.STATUS.TERMINATED},
                         {self.lease(lease).status for lease in made})

    def test_process_that_stops_does_not_wait_for_what_workers_took(self):
        """Between its look at the queue and its hand in it."""
        self.leasing.hosts()
        self.leasing.create(1, 4)
        self.at(1)
        with mock.patch.object(threading.Thread, 'start'):
            self.crew._fill()

        class Raced(queue.SimpleQueue):
            def empty(self):
                seen = super().empty()
                if not seen:
                    super().get()
                return seen
        raced = Raced()
        raced.put(self.crew._queue.get())
        self.crew._queue = raced
        stopped = threading.Thread(target=self.crew._drop_queued, daemon=True)
        stopped.start()
        stopped.join(300)
        self.assertFalse(stopped.is_alive())

    def _until(self, condition):
        deadline = time.monotonic() + 300
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
            # NOTE: no faster than time goes by; what the database was too
            # busy for is put aside, by the clock, for a moment.
            self.world.clock.advance(0.02)


@servers.also_mysql
class TestMany(leases.TestCase):

    def test_many_at_once_are_begun_with_oldest_first(self):
        """Each a second after the other; all have long been due."""
        nodes = self.world.enrol(MANY)
        lease, made = self._template(nodes[0]), []
        with self.engine.database.write() as connection:
            for number, node in enumerate(nodes):
                made.append(self._copy(lease, number, node))
                db_leases.insert(connection, made[-1], made[-1].start, None,
                                 None)
            db_bookings.insert_many(
                connection, [each for one in made for each in one.bookings],
                None, world.NOON)
        self.at(2)
        self.assertEqual(MANY, self.crew.one_pass(MANY))
        self.assertEqual(
            [('write_lessee', one.bookings[0].node_uuid) for one in made],
            self.ironic.changed)
        self.assertEqual({'ACTIVE'}, {
            row['status'] for row in self.world.lease_rows().values()})

    def _template(self, node):
        host, = self.leasing.hosts()
        lease = self.leasing.create(1, 90)
        self.leasing.end(lease)
        return lease

    def _copy(self, lease, number, node):
        start = leasing.at(1 + number / 3600)
        key = world.new_uuid()
        (reservation,) = lease.reservations
        return dataclasses.replace(
            lease, id=world.new_uuid(), start=start,
            reservations=(dataclasses.replace(
                reservation, id=key, bookings=(values.NodeBooking(
                    0, key, 0, node, start, lease.end,
                    project_id=leasing.PROJECT),)),),
            events=tuple(dataclasses.replace(
                event, id=world.new_uuid()) for event in lease.events))

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

"""Leases that wait for an earlier start: what is promised never slips."""

import contextlib
import datetime
import os
import random

from ironic_reservations import errors
from ironic_reservations.features.queue import pull as lease_pull
from ironic_reservations.model import leases
from tests import leasing
from tests import servers
from tests import world
from tests.inprocess.engine import open_dates

HOUR = open_dates.HOUR
#: So many operations are drawn; 10,000 take some minutes.
OPERATIONS = int(os.environ.get(
    'IRONIC_RESERVATIONS_WAITLIST_OPERATIONS', '300'))


class _Waitlist(open_dates.TestCase):

    def queue(self, start, end, *wishes, **more):
        # NOTE: of two that came at once the ids decide.
        self.world.clock.now += datetime.timedelta(milliseconds=1)
        return self.leasing.create(start, end, *wishes, queue=True, **more)

    def pull(self):
        return leasing.pull(self.engine)


@servers.also
class TestWaitlist(_Waitlist):

    opened = 1

    def test_one_that_fits_does_not_wait(self):
        lease = self.queue(1, 3)
        self.assertIsNone(lease.queued)
        self.assertEqual((1, 3), self.hours(lease))

    def test_one_that_does_not_fit_is_promised_a_later_start(self):
        self.leasing.create(0, 5)
        lease = self.queue(1, 3, priority=7)
        self.assertEqual(
            leases.Queued(leasing.at(1), leasing.at(5), 7), lease.queued)
        read = self.leasing.reload(lease)
        self.assertEqual((lease.queued, True), (read.queued, read.waits))
        self.assertEqual((5, 7), self.hours(lease))
        self.assertEqual(0, self.pull())

    def test_it_starts_earlier_when_others_end(self):
        """At the very second that was asked for."""
        first = self.leasing.create(0, 5)
        lease = self.queue(1.005, 3.005)
        self.leasing.end(first)
        self.assertEqual(1, self.pull())
        self.assertEqual((1.005, 3.005), self.hours(lease))
        read = self.leasing.reload(lease)
        self.assertEqual((leasing.at(1.005), False),
                         (read.queued.promised, read.waits))
        self.assertIn((lease.id, 'moved_earlier'), self.told)
        self.assertEqual(0, self.pull())

    def test_it_starts_within_a_minute_where_it_cannot_at_a_whole_one(self):
        """It gets all of a gap that is as long as it, and no more."""
        odd = 30 / 3600
        first = self.leasing.create(0, 7)
        self.leasing.create(7, 8 + odd)
        self.leasing.create(10 + odd, 20)
        lease = self.queue(1, 3)
        self.assertEqual((8 + odd, 10 + odd), self.hours(lease))
        self.leasing.end(first)
        self.leasing.create(0, 2 + odd)
        self.leasing.create(4 + odd, 7)
        self.assertEqual(1, self.pull())
        self.assertEqual((2 + odd, 4 + odd), self.hours(lease))
        self.assertEqual(0, self.pull())

    def test_gap_that_is_seconds_too_short_is_skipped(self):
        """It was taken for a start, and the request was refused."""
        self.leasing.create(1, 5)
        self.leasing.create(7 - 20 / 3600, 9)
        self.world.clock.now = leasing.at(1) + datetime.timedelta(seconds=40)
        self.assertEqual((9, 11), self.hours(self.queue(1, 3)))

    def test_it_is_not_pulled_by_some_seconds(self):
        """Nobody is told of that."""
        odd = 30 / 3600
        self.leasing.create(0, 5 + odd)
        lease = self.queue(1, 3)
        self.assertEqual((5 + 2 * odd, 7 + 2 * odd), self.hours(lease))
        self.assertEqual(0, self.pull())

    def test_never_before_now(self):
        first = self.leasing.create(0, 9)
        lease = self.queue(1, 3)
        self.leasing.clock_passes(2)
        self.leasing.end(first)
        self.leasing.clean_up()
        self.assertEqual(1, self.pull())
        self.assertEqual((2, 4), self.hours(lease))

    def test_first_come_first_served(self):
        first = self.leasing.create(0, 8)
        one, other = self.queue(1, 3), self.queue(1, 3)
        self.assert_hours((one, 8, 10), (other, 10, 12))
        self.leasing.end(first)
        self.assertEqual(2, self.pull())
        self.assert_hours((one, 1, 3), (other, 3, 5))

    def test_the_higher_priority_first(self):
        first = self.leasing.create(0, 8)
        one, other = self.queue(1, 3), self.queue(1, 3, priority=1)
        self.leasing.end(first)
        self.pull()
        self.assert_hours((one, 3, 5), (other, 1, 3))

    def test_a_later_one_goes_first_where_nobody_starts_later(self):
        """Into a gap that is too small for the first one."""
        first = self.leasing.create(0, 3)
        self.leasing.create(3, 8)
        long, short = self.queue(0.5, 5.5), self.queue(0.5, 2.5)
        self.leasing.end(first)
        self.assertEqual(1, self.pull())
        self.assert_hours((long, 8, 13), (short, 0.5, 2.5))

    def test_a_request_that_comes_later_makes_nobody_wait_longer(self):
        self.leasing.create(0, 5)
        lease = self.queue(1, 3)
        self.leasing.refused(5, 6)
        self.assertEqual((5, 7), self.hours(lease))

    def test_dates_that_its_owner_sets(self):
        """Are what counts from then on."""
        first = self.leasing.create(0, 5)
        lease = self.queue(1, 3)
        self.leasing.change(lease, end=9)
        self.leasing.end(first)
        self.assertEqual(0, self.pull())
        self.assertEqual((5, 9), self.hours(lease))
        self.assertIsNone(self.leasing.reload(lease).queued)

    def test_it_keeps_as_many_hosts_as_it_has(self):
        """An earlier start with fewer is none."""
        self.leasing.hosts()
        first = self.leasing.create(0, 5, leasing.wish(1))
        self.leasing.create(0, 6, leasing.wish(1))
        lease = self.queue(1, 3, leasing.wish(2))
        self.assertEqual((6, 8), self.hours(lease))
        self.leasing.resize(lease, 1, 2)
        self.leasing.end(first)
        self.pull()
        self.assertEqual((6, 8), self.hours(lease))
        self.assertEqual(2, len(self.leasing.nodes(lease)))

    def test_a_dry_run_promises_nothing(self):
        self.leasing.create(0, 5)
        shown = self.leasing.create(1, 3, queue=True, dry_run=True)
        self.assertEqual(leasing.at(5), shown.start)
        self.assertEqual(1, len(self.leasing.all()))

    def test_not_beyond_what_its_project_may_have(self):
        self.leasing.hosts()
        first = self.leasing.create(0, 5, leasing.wish(2), project_id='others')
        self.limit(1)
        one, other = self.queue(1, 3), self.queue(1, 3)
        self.assert_hours((one, 5, 7), (other, 7, 9))
        self.leasing.end(first)
        self.pull()
        self.assert_hours((one, 1, 3), (other, 3, 5))

    def test_from_where_its_project_may_have_more(self):
        """It stayed later, since no lease of its class ends then."""
        gold, silver = self.gold_and_silver()
        self.limit(1)
        first = self.leasing.create(0, 9, gold, project_id='others')
        lease = self.queue(1, 3, gold)
        self.assertEqual((9, 11), self.hours(lease))
        self.leasing.create(1, 5, silver)
        self.leasing.end(first)
        self.pull()
        self.assertEqual((5, 7), self.hours(lease))

    def test_not_beyond_what_its_project_gets_meanwhile(self):
        """Another lease is committed for the time that was planned."""
        gold, silver = self.gold_and_silver()
        self.limit(1)
        first = self.leasing.create(0, 5, gold, project_id='others')
        lease = self.queue(1, 3, gold)
        self.assertEqual((5, 7), self.hours(lease))
        self.leasing.end(first)
        other = self.another()
        self.world.before_next_write(lambda: other.create(1, 5, silver))
        self.assertEqual(0, self.pull())
        self.assertEqual((5, 7), self.hours(lease))

    def test_what_can_never_be_had_is_refused(self):
        self.assertRaises(errors.LeaseRefused, self.queue, 1, 3,
                          leasing.wish(2))

    def test_ended_while_it_is_looked_at(self):
        first = self.leasing.create(0, 5)
        lease = self.queue(1, 3)
        self.leasing.end(first)
        find = lease_pull.lease_find.get

        def get(engine, ident):
            lease_pull.lease_find.get = find
            found = find(engine, ident)
            self.leasing.end(lease)
            return found
        lease_pull.lease_find.get = get
        self.addCleanup(setattr, lease_pull.lease_find, 'get', find)
        self.assertEqual(0, self.pull())
        self.assertEqual([], self.leasing.all())


class TestPromises(_Waitlist):
    """Whatever others ask for, change, end, or do not use."""

    def test_none_slips(self):
        """And whoever has no open dates starts when it was promised."""
        self.leasing.hosts(4, resource_class='gold')
        self.leasing.hosts(2, resource_class='silver')
        chance = random.Random(OPERATIONS)
        promised, starts, seen = {}, {}, 0
        pulled = waited = 0
        for number in range(OPERATIONS):
            self._act(chance, number)
            if chance.random() < 0.3:
                pulled += self.pull()
            now = self.world_clock()
            there = self.leasing.all()
            known = {}
            for lease in there:
                if lease.between is not None:
                    self.assertLessEqual(lease.between.earliest, lease.start)
                    self.assertLessEqual(lease.end, lease.between.latest)
                elif lease.queued is None:
                    self.assertEqual(starts.setdefault(lease.id, lease.start),
                                     lease.start)
                if lease.queued is None:
                    continue
                start = promised.get(lease.id, lease.start)
                self.assertLessEqual(lease.start, start)
                self.assertLessEqual(lease.queued.promised, start)
                self.assertLessEqual(lease.start, lease.queued.promised)
                self.assertGreaterEqual(lease.start, lease.queued.wanted)
                self.assertEqual({(lease.start, lease.end)}, {
                    (row.starts_at, row.ends_at) for row in lease.bookings
                    if row.state is not leasing.ENDING} or {
                        (lease.start, lease.end)})
                known[lease.id] = lease.queued.promised
                seen += 1
                if lease.start <= now < lease.end and (
                        lease.status is leasing.ACTIVE):
                    self.assertTrue(all(row.begun for row in lease.bookings))
            waited += len(known.keys() - promised.keys())
            promised = known
            if number % 20 == 0:
                self.assert_sound()
        self.assertGreater(waited, OPERATIONS // 30)
        self.assertGreater(pulled, OPERATIONS // 30)
        self.assertGreater(seen, OPERATIONS)

    def world_clock(self):
        return self.world.clock()

    def _act(self, chance, number):
        """Do one thing that people do, or let time pass."""
        now = (self.world_clock() - world.NOON) / HOUR
        alive = [lease for lease in self.leasing.all()
                 if lease.status in (leases.LeaseStatus.PENDING,
                                     leasing.ACTIVE)]
        kind = chance.choice(('ask', 'ask', 'queue', 'queue', 'cancel',
                              'extend', 'shorten', 'pass', 'open'))
        start = now + chance.randrange(12)
        length = chance.randrange(1, 6)
        wish = leasing.wish(
            chance.randrange(1, 3), properties=leasing.of_class(
                chance.choice(('gold', 'silver'))))
        with contextlib.suppress(errors.LeaseRefused, errors.LeaseFrozen,
                                 errors.InvalidValue):
            if kind == 'ask':
                self.leasing.create(start, start + length, wish)
            elif kind == 'queue':
                self.queue(start, start + length, wish,
                           priority=chance.randrange(3))
            elif kind == 'open':
                self.leasing.create(
                    start, start + length, wish, flexible=leases.Flexible(
                        leasing.at(start + 20), length * HOUR, 3600))
            elif kind == 'pass':
                self.leasing.clock_passes(now + chance.choice((0.5, 1, 2)))
            elif alive:
                lease = chance.choice(alive)
                if kind == 'cancel':
                    self.leasing.end(lease)
                    self.leasing.clean_up()
                elif lease.queued is None:
                    end = (lease.end - world.NOON) / HOUR
                    self.leasing.change(lease, end=end + (
                        1 if kind == 'extend' else -0.5))

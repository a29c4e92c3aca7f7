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

"""Whoever is killed while notices are sent, each one arrives."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import threading
import time

import testtools

from ironic_reservations import clock
from ironic_reservations.db import connection
from ironic_reservations.db import leases as db_leases
from ironic_reservations.db import tables
from ironic_reservations.engine import enforcement_commits
from ironic_reservations.engine import notices
from ironic_reservations.model import leases
from tests import forks
from tests import world
from tests.processes.notices import sender
from tests.real import mail_server
from tests.real import migrated
from tests.real import receivers

NOTICES = 60
KILLS = 2
_DAY = datetime.timedelta(days=1)
LONGEST = 120


class _Case(testtools.TestCase):
    """A database, and processes that send what is in its outbox."""

    def setUp(self):
        super().setUp()
        self.url = self.useFixture(migrated.Database(self.kind)).url
        self.receiver = self.useFixture(receivers.Receiver())
        self.mail = self.useFixture(mail_server.MailServer())
        self.running = []
        self.lock = threading.Lock()

    def begin(self, options):
        """Configure all processes; gives nothing to anybody yet."""
        self.options = options
        self.conf = world.configured(self.url, **sender.options(), **options)
        self.database = connection.Database(self.conf)
        self.addCleanup(self.database.close)

    def start(self):
        """Start a process that sends."""
        process = forks.CONTEXT.Process(target=sender.run,
                                 args=(self.url, self.options))
        process.start()
        self.addCleanup(process.join)
        self.addCleanup(process.kill)
        self.running.append(process)

    def kill(self):
        """Kill a process, which has not marked what it is sending."""
        with self.lock:
            process = self.running.pop(0)
            process.kill()
            process.join()

    def end_claims(self):
        """Have all claims end, as they do in time.

        NOTE: nobody else may be sending. That others wait for claims to end by
        themselves is seen where there are two, and for mail.
        """
        past = clock.utc_now() - _DAY
        with self.database.write() as opened:
            opened.execute(tables.outbox.update().where(
                tables.outbox.c.claimed_until.is_not(None)).values(
                    claimed_until=past))
            opened.execute(tables.claims.update().values(expires_at=past))

    def write(self, count, kind=notices.Kind.ENDED):
        """Write notices, each in a transaction of its own."""
        now = clock.utc_now()
        for number in range(count):
            lease = leases.Lease(
                world.new_uuid(), f'lease {number}', now, now,
                leases.LeaseStatus.TERMINATED, now, user_id='anna')
            with self.database.write() as opened:
                notices.write(self.conf, opened, kind, lease, now)

    def rows(self):
        """Read what has become of the notices."""
        with self.database.read() as opened:
            return {row.notice_id: row.outcome for row in opened.execute(
                tables.outbox.select())}

    def until_delivered(self):
        """Wait until all notices are marked."""
        deadline = time.monotonic() + LONGEST
        while set(self.rows().values()) != {'delivered'}:
            self.assertLess(time.monotonic(), deadline, str(self.rows()))
            time.sleep(0.1)


class _Kills:
    """To be run on each database."""

    def test_one_killed_before_it_marks(self):
        """What the receiver has taken, and nobody marked, comes again."""
        self.begin(self.receiver.options())
        again = []

        def act(handler):
            count = len(self.receiver.ids)
            if count % 10 == 7 and len(again) < KILLS:
                again.append(self.receiver.ids[-1])
                self.kill()
                self.end_claims()
                self.start()
            handler.answer(200)
        self.receiver.act = act
        self.write(NOTICES)
        self.start()
        self.until_delivered()
        times = collections.Counter(self.receiver.ids)
        self.assertEqual(self.rows().keys(), times.keys())
        self.assertEqual(sorted(again), sorted(
            ident for ident, count in times.items() if count > 1))
        self.assertEqual(NOTICES + KILLS, times.total())
        self.assertEqual([], self.receiver.wrong)

    def test_of_two_each_notice_has_one(self):
        """Without a kill, none comes twice; with kills, as many at most."""
        self.begin(self.receiver.options())
        kills = []
        self.start()
        self.start()
        self.write(NOTICES)
        self.until_delivered()
        self.assertEqual(NOTICES, len(self.receiver.ids))
        self.assertEqual(self.rows().keys(), set(self.receiver.ids))

        def act(handler):
            with self.lock:
                now = len(kills) < KILLS and (
                    len(self.receiver.ids) >= NOTICES + 10 * (1 + len(kills)))
                if now:
                    kills.append(1)
            if now:
                self.kill()
                self.start()
            handler.answer(200)
        self.receiver.act = act
        self.write(NOTICES)
        self.until_delivered()
        self.assertEqual(KILLS, len(kills))
        self.assertEqual(self.rows().keys(), set(self.receiver.ids))
        self.assertThat(len(self.receiver.ids) - 2 * NOTICES,
                        testtools.matchers.LessThan(KILLS + 1))

    def test_one_killed_before_it_marks_a_mail(self):
        """The same mail comes again, and no other one beside it."""
        self.begin(self.mail.options())

        def act():
            self.mail.act = lambda: None
            self.kill()
            self.start()
        self.mail.act = act
        self.write(3, notices.Kind.BROKEN)
        self.start()
        self.until_delivered()
        first, second = self.mail.taken
        self.assertEqual(first['Message-ID'], second['Message-ID'])
        self.assertEqual(first.get_content(), second.get_content())
        for ident in self.rows():
            self.assertIn(ident, second.get_content())

    def test_one_killed_before_it_marks_a_commit(self):
        """It comes again, and each lease is told of in its order."""
        service = self.useFixture(receivers.Service())
        self.begin({**service.options(), 'leases__enforcement_timeout':
                    sender.TIMEOUT})
        again = []

        def act(handler):
            if len(service.ids) % 10 == 7 and len(again) < KILLS:
                again.append(service.ids[-1])
                self.kill()
                self.end_claims()
                self.start()
            handler.answer(200)
        service.act = act
        self._promise(NOTICES // 3)
        # NOTE: whoever wrote them is no more; nobody has sent any yet.
        self.start()
        self.until_delivered()
        times = collections.Counter(service.ids)
        self.assertEqual(self.rows().keys(), times.keys())
        self.assertEqual(sorted(again), sorted(
            ident for ident, count in times.items() if count > 1))
        told = collections.defaultdict(list)
        for each in service.taken:
            told[each['lease_id']].append(each['sequence'])
        self.assertEqual({(1, 2, 3)}, {
            tuple(dict.fromkeys(numbers)) for numbers in told.values()})
        self.assertEqual([sorted(numbers) for numbers in told.values()],
                         list(told.values()))

    def _promise(self, count):
        """Promise leases, change and delete them, as other processes do."""
        now = clock.utc_now()
        for number in range(count):
            lease = leases.Lease(
                world.new_uuid(), f'lease {number}', now, now + _DAY,
                leases.LeaseStatus.PENDING, now, reservations=(
                    leases.LeaseReservation(
                        world.new_uuid(), leases.ReservationStatus.PENDING,
                        1, 1, now, world.new_uuid()),),
                events=(leases.Event(
                    world.new_uuid(), leases.EventType.START, now,
                    leases.EventStatus.UNDONE, now),))
            longer = dataclasses.replace(lease, end=now + 2 * _DAY,
                                         generation=2)
            for write in (
                    lambda opened, one=lease: db_leases.insert(
                        opened, one, None, None, None),
                    lambda opened, one=lease, other=longer: db_leases.update(
                        opened, one, other, None),
                    lambda opened, one=longer: db_leases.delete(opened, one)):
                with self.database.write() as opened:
                    write(opened)
                    enforcement_commits.write(self.conf, opened, [lease.id],
                                              now)


class TestKillsOnSqlite(_Kills, _Case):
    kind = 'sqlite'


class TestKillsOnMysql(_Kills, _Case):
    kind = 'mysql'


class TestKillsOnPostgresql(_Kills, _Case):
    kind = 'postgresql'

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

"""The outbox has a bound, even if no receiver answers."""

import datetime

import fixtures
import sqlalchemy as sa

from ironic_reservations.db import tables
from ironic_reservations.engine.outbox import clean_up as outbox
from ironic_reservations.features.notices import writing as notices
from ironic_reservations.model import notices as model_notices
from tests import servers
from tests.inprocess.notices import base

_DAY = datetime.timedelta(days=1)
#: The number of leases a day, and of notices about each.
_LEASES = 3
_KINDS = (notices.Kind.STARTED, notices.Kind.BROKEN, notices.Kind.ENDED)


@servers.also
class TestDeadReceivers(base.TestCase):
    """No receiver accepts a notice."""

    def begin(self):
        self.options = {
            'notices__webhook_urls': ['https://dead.example.com/one',
                                      'https://dead.example.com/two'],
            'notices__mail_host': 'dead.example.com',
            'notices__mail_from': 'leases@example.com',
            'leases__enforcement_commit_url': 'https://dead.example.com/c',
            'leases__enforcement_give_up_after': 5}
        super().begin()

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.FakeLogger())
        self.leasing.hosts(_LEASES)

    def day(self):
        """Create leases, write notices, end the leases, and let a day pass."""
        for _ in range(_LEASES):
            lease = self.leasing.create(
                (self.world.clock() - self.start) / _DAY * 24 + 1,
                (self.world.clock() - self.start) / _DAY * 24 + 3,
                user_id='somebody')
            for kind in _KINDS:
                self.tell(lease, kind)
            self.leasing.end(lease)
        self.world.clock.advance(_DAY.total_seconds())
        outbox.clean_up(self.world.engine)

    def test_what_nobody_takes_is_given_up_and_forgotten(self):
        """After some days the outbox does not grow."""
        self.start = self.world.clock()
        counts = []
        for _ in range(30):
            self.day()
            counts.append(len(self.outbox()))
        options = self.world.conf.notices
        kept = max(options.give_up_after, 5) + options.retention
        self.assertEqual(1, len(set(counts[kept + 1:])), counts)
        a_day = counts[1] - counts[0]
        self.assertLess(0, a_day)
        self.assertLessEqual(max(counts), a_day * (kept + 2))
        channels = {row['channel'] for row in self.outbox()}
        self.assertEqual({each.value for each in model_notices.Channel},
                         channels)

    def test_much_at_once_is_given_up_piece_by_piece(self):
        """More than one pass gives the notices up; all of them are deleted."""
        self.addCleanup(setattr, outbox, '_BATCH', outbox._BATCH)
        outbox._BATCH = 7
        self.start = self.world.clock()
        for _ in range(2):
            self.day()
        there = len(self.outbox())
        self.assertLess(3 * outbox._BATCH, there)
        self.world.clock.advance(30 * _DAY.total_seconds())
        passes = 0
        while self.waiting():
            outbox.clean_up(self.world.engine)
            passes += 1
            self.assertLessEqual(passes, there)
        self.world.clock.advance(30 * _DAY.total_seconds())
        while self.outbox():
            before = len(self.outbox())
            outbox.clean_up(self.world.engine)
            self.assertLess(len(self.outbox()), before)

    def test_same_notice_is_written_once(self):
        """Repeated writes add no row; each receiver gets one."""
        lease = self.leasing.create(1, 3, user_id='somebody')
        there = len(self.outbox())
        for occurrence, count in (('the same', 3), ('another', 6)):
            for _ in range(10):
                self.tell(lease, notices.Kind.BROKEN, occurrence=occurrence)
            self.assertEqual(there + count, len(self.outbox()))

    def waiting(self):
        with self.world.engine.database.read() as connection:
            return connection.scalar(
                sa.select(sa.func.count()).select_from(tables.outbox)
                .where(tables.outbox.c.due_at.is_not(None)))

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

"""A living process releases its claims on notices after a lost connection."""

import contextlib
import dataclasses
import threading
from unittest import mock

from ironic_reservations import errors
from ironic_reservations.db import claimed_rows
from ironic_reservations.db import outbox as db_outbox
from ironic_reservations.engine import retry
from ironic_reservations.engine.outbox import claims as outbox_claims
from ironic_reservations.features.notices import mail
from ironic_reservations.features.notices import mail_digests
from ironic_reservations.features.notices import webhooks
from ironic_reservations.features.notices import writing as notices
from ironic_reservations.lifecycle import lease_cycle
from ironic_reservations.reconciler import loops
from tests import row_waits
from tests import servers
from tests.inprocess.notices import base
from tests.real import mail_server
from tests.real import receivers


class _Case(base.TestCase):

    def setUp(self):
        super().setUp()
        self.engine = self.world.engine
        self.leasing.hosts()
        self.made = self.leasing.create(2, 4, user_id='anna')
        self.tell(self.made, notices.Kind.BROKEN)

    def send(self, continues=lambda: True, engine=None):
        raise NotImplementedError

    def claimed(self):
        row, = self.outbox()
        return row['claimed_by']

    def is_sent_in(self, seconds):
        waited = 0
        while not self.send() and waited < 200:
            self.world.clock.advance(3)
            waited += 3
        self.assertLessEqual(waited, seconds)
        self.assertEqual('delivered', self.outbox()[0]['outcome'])


class _AnyChannel:
    """The cases that hold for each channel."""

    def test_nobody_knows_what_became_of_the_commit_that_took_it(self):
        self.world.lose_next_write()
        self.assertRaises(errors.OutcomeUnknown, self.send)
        self.assertIsNotNone(self.claimed())
        self.is_sent_in(3)

    def test_that_it_lets_go_of_it_fails_as_well(self):
        self.world.lose_next_write()
        self.assertRaises(errors.OutcomeUnknown, self.send)
        self.world.clock.advance(3)
        self.world.lose_next_write(after=False)
        self.assertEqual(0, self.send())
        self.is_sent_in(0)

    def test_what_was_not_taken_is_not_let_go_of_for_another_process(self):
        self.world.lose_next_write(after=False)
        self.assertRaises(errors.DatabaseUnavailable, self.send)
        other = outbox_claims.take(self.world.another_engine(),
                                   [self.outbox()[0]['id']], 60)
        self.world.clock.advance(3)
        self.send()
        self.assertEqual(other.token, self.claimed())

    def test_putting_it_off_is_lost(self):
        """The notice is sent again at its time, and not before."""
        wait = 30.0
        with mock.patch.object(db_outbox, 'put_off', side_effect=(
                errors.DatabaseUnavailable('down'))), self.refused(), (
                mock.patch.object(lease_cycle, 'backoff',
                                  return_value=wait)):
            self.assertRaises(errors.DatabaseUnavailable, self.send)
        self.world.clock.advance(wait - 1)
        self.assertEqual(0, self.send())
        self.is_sent_in(3)

    def test_letting_go_of_what_nobody_has_begun_with_is_lost(self):
        asked = []

        def continues():
            # The loop ends when a notice is claimed; the next write releases
            # it.
            asked.append(self.claimed())
            if asked[-1] is None:
                return True
            self.world.lose_next_write(after=False)
            return False
        self.send(continues)
        self.assertIsNotNone(self.claimed())
        self.is_sent_in(3)

    def test_whether_it_goes_on_is_not_known(self):
        """The claim of the loop cannot be renewed when the notice is claimed.
        """
        def continues():
            if self.claimed() is not None:
                raise errors.DatabaseUnavailable('down')
            return True
        self.assertRaises(errors.DatabaseUnavailable, self.send, continues)
        self.assertIsNone(self.claimed())

    def test_what_was_sent_is_not_sent_every_few_seconds(self):
        """If the notice cannot be marked, its claim stays until it ends."""
        with mock.patch.object(db_outbox, 'finish', side_effect=(
                errors.DatabaseUnavailable('down'))):
            for _ in range(10):
                with contextlib.suppress(errors.DatabaseUnavailable):
                    self.send()
                self.world.clock.advance(3)
        self.assertEqual(1, self.count())

    def test_process_that_is_stopped_right_after(self):
        self.world.lose_next_write()
        self.assertRaises(errors.OutcomeUnknown, self.send)
        loops.Reconciler(self.engine).stop()
        self.assertIsNone(self.claimed())

    def test_what_cannot_be_let_go_of_does_not_add_up(self):
        """The claims have ended long before."""
        for _ in range(80):
            self.world.lose_next_write(after=False)
            with contextlib.suppress(errors.DatabaseUnavailable):
                outbox_claims.take(self.engine, [self.outbox()[0]['id']], 60)
            self.world.lose_next_write(after=False)
            outbox_claims.release_own(self.engine, at_once=True)
            self.world.clock.advance(5)
        self.assertLessEqual(len(self.engine.unsent), 60 / 5 + 1)

    def test_commit_that_takes_it_is_slow(self):
        """The commit ends after its process has lost the connection."""
        row, = self.outbox()
        other, now = self.world.another_engine(), self.world.clock()
        other.unsent.add([claimed_rows.Taken(row['id'], 'slow')],
                         other.timer(), 60, wait=0)

        def drop():
            outbox_claims.release_own(other, at_once=True)
            if len(other.unsent):
                raise errors.OutcomeUnknown
        dropping = threading.Thread(target=lambda: retry.until_committed(
            drop, repeatable=True), daemon=True)
        with self.engine.database.write() as connection:
            db_outbox.take(connection, [row['id']], 'slow', now,
                           now.replace(year=now.year + 1))
            waits = row_waits.begun(other.database)
            dropping.start()
            self.assertTrue(waits.wait(300))
        dropping.join()
        self.assertIsNone(self.claimed())


@servers.also
class TestWebhook(_AnyChannel, _Case):

    def begin(self):
        self.receiver = self.useFixture(receivers.Receiver())
        self.options = self.receiver.options()
        super().begin()

    def send(self, continues=lambda: True, engine=None):
        return webhooks.deliver(engine or self.engine, self.receiver.url,
                                continues)

    @contextlib.contextmanager
    def refused(self):
        self.receiver.act = lambda handler: handler.answer(503)
        yield
        self.receiver.act = lambda handler: handler.answer(204)

    def count(self):
        return len(self.receiver.taken)

    def test_what_time_it_is_is_not_known(self):
        """The time is that of the database."""
        real = self.engine.clock

        def clock():
            if self.claimed() is not None:
                raise errors.DatabaseUnavailable('down')
            return real()
        with contextlib.suppress(errors.DatabaseUnavailable):
            self.send(engine=dataclasses.replace(self.engine, clock=clock))
        self.is_sent_in(3)


@servers.also
class TestMail(_AnyChannel, _Case):

    def begin(self):
        self.mail = self.useFixture(mail_server.MailServer())
        self.options = self.mail.options()
        super().begin()

    def send(self, continues=lambda: True, engine=None):
        return mail_digests.send(engine or self.engine, continues)

    def refused(self):
        return mock.patch.object(mail, 'send', side_effect=mail.Unsent('no'))

    def count(self):
        return len(self.mail.taken)

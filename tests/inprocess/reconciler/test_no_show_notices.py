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

"""Who is told of nodes of leases that nobody deploys, and how."""

import dataclasses
import datetime
from unittest import mock

from ironic_reservations.db import tables
from ironic_reservations.features.no_show import no_show
from ironic_reservations.features.notices import mail_digests
from ironic_reservations.features.notices import webhooks
from ironic_reservations.features.notices import writing as notices
from ironic_reservations.model import time_text
from tests import leasing
from tests import servers
from tests import world
from tests.inprocess.reconciler import no_shows
from tests.real import mail_server
from tests.real import receivers


class _TestCase(no_shows.TestCase):

    def tell(self, kind, lease, **more):
        """Write a notice in a transaction of its own."""
        with self.engine.database.write() as connection:
            notices.write(self.world.conf, connection, kind, lease,
                          self.world.clock(), **more)


@servers.also
class TestNotices(_TestCase):

    def begin(self):
        self.receiver = self.useFixture(receivers.Receiver())
        self.options = {**no_shows.TestCase.options, **self.receiver.options(),
                        'notices__give_up_after': 1}
        super().begin()

    def deliver(self):
        webhooks.deliver(self.engine, self.receiver.url, lambda: True)

    def test_nothing_is_released_before_the_warning_has_arrived(self):
        self.run_at(3.5)
        self.assertEqual([], self.released())
        self.deliver()
        self.run_at(4.4)
        self.assertEqual([], self.released())
        self.run_at(4.6)
        self.assertEqual(self.mine, self.released())

    def test_warning_that_never_arrives_counts_when_it_is_given_up(self):
        self.run_at(2)
        self.execute(
            tables.reservations.update().values(expires_at=leasing.at(100)),
            tables.leases.update().values(ends_at=leasing.at(100)))
        self.run_at(2 + 24 + 0.9)
        self.assertEqual([], self.released())
        self.run_at(2 + 24 + 1.1)
        self.assertEqual(self.mine, self.released())

    def test_warning_and_release_are_told_with_the_nodes(self):
        self.run_at(2)
        self.deliver()
        self.run_at(3.01)
        self.deliver()
        warned, released = (
            told['data'] for told in self.receiver.taken
            if told['type'] == 'lease.no_show')
        for told in (warned, released):
            self.assertEqual((self.mine, 2), (told['node_uuids'],
                                              told['nodes']))
            self.assertIn('2 of its nodes have not been', told['reason'])
        self.assertEqual((False, True), (warned['released'],
                                         released['released']))
        self.assertLessEqual(leasing.at(3).isoformat(),
                             warned['release_at'])
        self.assertIn(time_text.moment(datetime.datetime.fromisoformat(
            warned['release_at'])), warned['reason'])
        self.assertEqual([], self.receiver.wrong)

    def test_notice_names_some_and_counts_all(self):
        """As many that it could not name them all in what MariaDB keeps."""
        (booking, _) = self.lease(self.made).bookings
        many = no_show._named([dataclasses.replace(
            booking, node_uuid=world.new_uuid()) for _ in range(2000)])
        self.assertEqual((2000, 100), (many['nodes'],
                                       len(many['node_uuids'])))
        self.tell(notices.Kind.NO_SHOW, self.lease(self.made), **many)

    def test_bus_is_told_once_where_the_warning_cannot_be_written(self):
        """Not each time that it is tried."""
        self.run_at(1.9)
        self.at(2)
        no_show.wake(self.engine)
        with mock.patch.object(notices, 'write',
                               side_effect=RuntimeError):
            self.soon(1)
        self.assertEqual([], self.told(no_shows.WARNING))
        self.run_at(2.1)
        self.assertEqual(1, len(self.told(no_shows.WARNING)))


@servers.also
class TestMail(_TestCase):

    def begin(self):
        self.mail = self.useFixture(mail_server.MailServer())
        self.options = {**no_shows.TestCase.options, **self.mail.options()}
        super().begin()

    def test_warning_is_not_held_back_by_the_last_mail(self):
        self.execute(tables.leases.update().values(user_id='anna'))
        hers = self.lease(self.made)
        self.run_at(1.95)
        self.tell(notices.Kind.BROKEN, hers)
        self.assertEqual(1, mail_digests.send(self.engine, lambda: True))
        self.run_at(2)
        self.assertEqual(1, mail_digests.send(self.engine, lambda: True))
        self.run_at(2.9)
        self.assertEqual([], self.released())
        self.run_at(3.1)
        self.assertEqual(self.mine, self.released())


@servers.also
class TestOff(no_shows.TestCase):

    options = {}

    def test_nothing_is_released(self):
        self.run_at(8)
        self.assertEqual(([], []), (self.released(),
                                    self.told(no_shows.WARNING)))

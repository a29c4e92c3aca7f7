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

"""Owners get their notices by mail: one digest a person and an hour."""

import pathlib
import threading
import time

import fixtures

from ironic_reservations.features.notices import mail_digests
from ironic_reservations.features.notices import writing as notices
from ironic_reservations.model import notices as values
from tests import servers
from tests.inprocess.notices import base
from tests.real import mail_server

Kind = notices.Kind


class _Case(base.TestCase):

    def begin(self):
        self.mail = self.useFixture(mail_server.MailServer())
        self.options = self.mail.options()
        super().begin()
        self.leasing.hosts(4)
        self.made = self.leasing.create(2, 4, user_id='anna', name='hers')

    def send(self, engine=None):
        return mail_digests.send(engine or self.world.engine, lambda: True)

    def later(self, seconds):
        self.world.clock.advance(seconds)
        return self.send()

    def bodies(self):
        return [each.get_content() for each in self.mail.taken]


@servers.also
class TestDigests(_Case):

    def test_notices_are_gathered(self):
        self.tell(self.made, Kind.FIXED)
        self.tell(self.made, Kind.BEFORE_START)
        self.assertEqual(0, self.send())
        self.assertEqual(1, self.later(60))
        self.assertEqual(0, self.later(7200))
        body, = self.bodies()
        self.assertIn('The lease "hers" starts at', body)
        self.assertIn('are fixed', body)
        self.assertEqual([['anna@example.com']], self.mail.to)
        mail, = self.mail.taken
        self.assertEqual('leases@example.net', mail['From'])
        self.assertEqual('Your reservations of bare metal: 2 notices',
                         mail['Subject'])

    def test_urgent_one_does_not_wait_for_others(self):
        self.tell(self.made, Kind.BROKEN, reason='Node gold is broken.')
        self.assertEqual(1, self.send())
        self.assertIn('Node gold is broken.', self.bodies()[0])
        self.assertIn('1 urgent', self.mail.taken[0]['Subject'])

    def test_one_mail_an_hour(self):
        """The next mail contains the notices of the meantime."""
        self.tell(self.made, Kind.BROKEN)
        self.assertEqual(1, self.send())
        for minute in range(1, 60):
            self.world.clock.advance(60)
            self.tell(self.made, Kind.FIXED, occurrence=str(minute))
            self.assertEqual(0, self.send())
        self.assertEqual(1, self.later(60))
        self.assertEqual(59, self.bodies()[1].count('hers'))

    def test_urgent_one_does_not_wait_for_the_hour(self):
        """The urgent notice is sent before older ones."""
        self.tell(self.made, Kind.BROKEN)
        self.assertEqual(1, self.send())
        for number in range(mail_digests.LONGEST):
            self.tell(self.made, Kind.FIXED, occurrence=str(number))
        self.assertEqual(0, self.later(60))
        self.tell(self.made, Kind.BROKEN, occurrence='again')
        self.assertEqual(1, self.send())
        self.assertEqual(1, self.bodies()[1].count('URGENT'))
        self.assertEqual(0, self.later(60))

    def test_each_person_gets_his_own(self):
        other = self.leasing.create(2, 4, user_id='bert', name='his')
        self.tell(self.made, Kind.BROKEN)
        self.tell(other, Kind.BROKEN)
        self.assertEqual(2, self.send())
        told = dict(zip((to for to, in self.mail.to), self.bodies(),
                        strict=True))
        self.assertIn('hers', told['anna@example.com'])
        self.assertNotIn('"his"', told['anna@example.com'])
        self.assertIn('"his"', told['bert@example.org'])

    def test_what_is_too_much_for_one_mail_is_in_the_next(self):
        for number in range(mail_digests.LONGEST + 3):
            self.tell(self.made, Kind.BROKEN, occurrence=str(number))
        self.assertEqual(1, self.send())
        self.assertIn('wait for the next mail: 3', self.bodies()[0])
        self.assertEqual(1, self.later(3600))
        self.assertEqual(3, self.bodies()[1].count('URGENT'))

    def test_mail_that_is_not_taken_is_sent_again(self):
        self.mail.answer = '451 not now'
        self.tell(self.made, Kind.BROKEN)
        self.assertEqual(0, self.send())
        self.assertIn('451', self.outbox()[0]['complaint'])
        self.tell(self.made, Kind.NO_SHOW)
        self.mail.answer = '250 OK'
        self.assertEqual(0, self.send())
        self.assertEqual(1, self.later(4))
        self.assertIn('2 notices', self.mail.taken[0]['Subject'])

    def test_who_dies_after_the_server_has_taken_it(self):
        """The same mail is sent again, and no second one."""
        other = self.world.another_engine()

        def meanwhile():
            self.mail.act = lambda: None
            self.tell(self.made, Kind.NO_SHOW)
            self.assertEqual(0, self.send(other))
            self.world.clock.advance(600)
            self.assertEqual(1, self.send(other))
        self.tell(self.made, Kind.BROKEN)
        self.mail.act = meanwhile
        self.send()
        self.assertEqual(0, self.later(0))
        self.assertEqual({'delivered'}, {*self.outcomes()})
        ids = {row['notice_id'] for row in self.outbox()}
        self.assertEqual([ids], [{each for each in ids if each in body}
                                 for body in self.bodies()[1:]])

    def test_same_digest_has_the_same_id(self):
        self.mail.act = lambda: self.world.clock.advance(600)
        self.tell(self.made, Kind.BROKEN)
        stuck = self.world.another_engine()
        taken = []

        def again():
            self.mail.act = lambda: None
            self.world.clock.advance(600)
            taken.append(self.send(stuck))
        self.mail.act = again
        self.send()
        self.assertEqual([1], taken)
        first, second = self.mail.taken
        self.assertEqual(first['Message-ID'], second['Message-ID'])


class TestAddresses(_Case):

    def test_who_has_no_address_gets_none(self):
        made = self.leasing.create(2, 4, user_id='nobody knows')
        self.tell(made, Kind.BROKEN)
        self.assertEqual(0, self.send())
        self.assertEqual(['no_address'], self.outcomes())

    def test_lease_of_no_user_writes_none(self):
        self.tell(self.leasing.create(2, 4), Kind.BROKEN)
        self.assertEqual([], self.outbox())

    def test_address_that_is_more_than_one_is_none(self):
        for wrong in ('anna@example.com, bert@example.org',
                      'anna@example.com\nBcc: bert@example.org',
                      '<anna@example.com>', 'anna', 'a b@example.com', '',
                      7, ['anna@example.com']):
            (self.mail.folder / 'addresses').write_text(repr({'anna': wrong}))
            self.tell(self.made, Kind.BROKEN, occurrence=repr(wrong))
            self.assertEqual(0, self.later(4000), wrong)
        self.assertEqual([], self.mail.taken)

    def test_file_that_cannot_be_read_loses_nothing(self):
        (self.mail.folder / 'addresses').write_text('[')
        self.tell(self.made, Kind.BROKEN)
        self.assertEqual(0, self.send())
        (self.mail.folder / 'addresses').write_text('anna: a@example.com')
        self.assertEqual(1, self.later(10))


class TestContent(_Case):

    def test_name_of_a_lease_cannot_write_headers_or_lines(self):
        made = self.leasing.create(
            2, 4, user_id='anna', name='x\r\nBcc: y@example.com\r\n\r\n.\r\n')
        self.tell(made, Kind.BROKEN, reason='why\r\n.\r\nURGENT: not')
        folder = self.useFixture(fixtures.TempDir()).path
        pathlib.Path(folder, 'digest.txt').write_text('$notices')
        pathlib.Path(folder, 'entry.txt').write_text('$text\n')
        self.world.conf.set_override('template_dir', folder, 'notices')
        self.assertEqual(1, self.send())
        mail, = self.mail.taken
        self.assertNotIn('Bcc', mail)
        self.assertEqual([['anna@example.com']], self.mail.to)
        self.assertIn('x Bcc: y@example.com', mail['Subject'])

    def test_templates_of_the_operator_come_first(self):
        folder = self.useFixture(fixtures.TempDir()).path
        pathlib.Path(folder, 'broken.txt').write_text('Kaputt: $name, $odd $')
        self.world.conf.set_override('template_dir', folder, 'notices')
        self.tell(self.made, Kind.BROKEN)
        self.assertEqual(1, self.send())
        self.assertIn('URGENT: Kaputt: hers, $odd $', self.bodies()[0])

    def test_each_kind_has_a_template(self):
        for kind in values.Kind:
            self.tell(self.made, kind)
        self.assertEqual(1, self.send())
        self.assertNotIn('$', self.bodies()[0])


class TestSecurity(_Case):

    def _fails(self, words):
        self.tell(self.made, Kind.BROKEN)
        self.assertEqual(0, self.send())
        self.assertEqual([], self.mail.taken)
        self.assertIn(words, self.outbox()[0]['complaint'])

    def test_certificate_of_who_is_not_known_is_refused(self):
        self.world.conf.set_override('mail_ca_file', None, 'notices')
        self._fails('CERTIFICATE_VERIFY_FAILED')

    def test_nothing_is_sent_without_starttls(self):
        plain = self.useFixture(mail_server.MailServer(tls=False))
        self.world.conf.set_override(
            'mail_port', plain.options()['notices__mail_port'], 'notices')
        self._fails('STARTTLS')
        self.assertEqual([], plain.taken)

    def test_wrong_password(self):
        (self.mail.folder / 'password').write_text('another')
        self._fails('SMTPAuthenticationError')

    def _drips(self, *drop):
        """Let a server answer without an end."""
        dripping = self.useFixture(base.Dripping(*drop))
        self.world.conf.set_override('mail_port', dripping.port, 'notices')
        self.world.conf.set_override('mail_timeout', 0.5, 'notices')
        self._fails('there was no answer within 0.5 s')

    def test_server_that_drips(self):
        """The server sends a byte now and then, without an end."""
        self._drips()

    def test_greeting_without_end_leaves_no_thread(self):
        """Each attempt would leave a thread, until no more can start."""
        self._drips(b'220-hello\r\n')
        deadline = time.monotonic() + 120
        while any(each.name == 'ironic-reservations-exchange'
                  for each in threading.enumerate()):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

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

"""Each notice reaches its webhooks, signed, and no other receiver."""

import datetime
import pathlib
import runpy
import time
from unittest import mock
from wsgiref import util

from ironic_reservations import errors
from ironic_reservations.api.middleware import metrics
from ironic_reservations.clouds import ironic
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import outbox as db_outbox
from ironic_reservations.db import tables
from ironic_reservations.engine.leases import create
from ironic_reservations.engine.outbox import clean_up
from ironic_reservations.engine.outbox import clean_up as outbox
from ironic_reservations.engine.outbox import deliveries
from ironic_reservations.features.notices import before_start
from ironic_reservations.features.notices import notice_text
from ironic_reservations.features.notices import webhook
from ironic_reservations.features.notices import webhooks
from ironic_reservations.features.notices import writing as notices
from ironic_reservations.model import leases
from tests import leasing
from tests import servers
from tests import world
from tests.inprocess.notices import base
from tests.real import receivers


class _Case(base.TestCase):

    def begin(self):
        self.receiver = self.useFixture(receivers.Receiver())
        self.options = self.receiver.options()
        super().begin()

    def deliver(self, engine=None):
        return webhooks.deliver(engine or self.world.engine,
                                self.receiver.url, lambda: True)


@servers.also
class TestLife(_Case):
    """Each event of a lease is sent."""

    def test_start_and_ends_are_told_once(self):
        self.leasing.hosts()
        made = self.leasing.create(1, 4, user_id='somebody')
        for hour in (1, 3, 4):
            self.work_at(hour)
        self.assertEqual([], self.receiver.taken)
        self.deliver()
        self.deliver()
        self.assertEqual(['started', 'before_end', 'ended'],
                         self.receiver.kinds())
        self.assertEqual([], self.receiver.wrong)
        self.assertEqual(3, len(set(self.receiver.ids)))
        self.assertEqual(
            {(made.id, made.name, 'ours', 'somebody')},
            {(told['data']['lease_id'], told['data']['name'],
              told['data']['project_id'], told['data']['user_id'])
             for told in self.receiver.taken})
        self.assertEqual({'delivered'},
                         {row['outcome'] for row in self.outbox()})

    def test_no_proof_is_told(self):
        made = self.started()
        self.deliver()
        self.assertNotIn(made.reservations[0].id, str(self.receiver.taken))

    def test_no_proof_is_told_in_the_words_of_others(self):
        """The refusal of Ironic repeats the id of the reservation."""
        made = self.started()
        node = self.node_of(made)
        proof = made.reservations[0].id
        self.at(4)
        self.world.ironic.change(node, provision_state='clean failed')
        with mock.patch.object(
                self.world.ironic, 'write_lessee', side_effect=ironic.Refused(
                    409, f'{node} is of {proof}, {proof.upper()} and '
                    f'{proof.replace("-", "")}')):
            self.work()
        self.deliver()
        reason, = (each['data']['reason'] for each in self.receiver.taken
                   if each['type'] == 'lease.broken')
        self.assertIn('Ironic refuses with 409', reason)
        self.assertIn(f'{node} is of (id left out), (id left out) and '
                      '(id left out)', reason)

    def test_no_proof_is_told_in_words_of_our_own(self):
        """The text about waiting servers names the id of the reservation."""
        self.leasing.hosts()
        made = self.leasing.create(1, 4)
        proof = made.reservations[0].id
        self.tell(made, notices.Kind.BROKEN, reason=(
            f'The servers of the reservation {proof} are still there.'))
        self.deliver()
        self.assertNotIn(proof, str(self.receiver.taken))
        self.assertNotIn(proof, str(self.outbox()))

    def test_broken_promise_is_told_once_each_time_it_is_broken(self):
        node = self.node_of(self.started())
        for _ in range(2):
            self.leasing.break_node(node)
            self.watch()
            self.watch()
            self.leasing.mend_node(node)
            self.watch()
        self.deliver()
        told = [each for each in self.receiver.taken
                if each['type'] == 'lease.broken']
        self.assertEqual([True, True], [each['urgent'] for each in told])
        self.assertIn('maintenance', told[0]['data']['reason'])

    def test_lease_deleted_before_its_start_has_ended(self):
        self.leasing.hosts()
        self.leasing.end(self.leasing.create(1, 4))
        self.deliver()
        self.assertEqual(['ended'], self.receiver.kinds())

    def test_lease_deleted_in_use_has_ended_when_its_nodes_are_back(self):
        made = self.started()
        self.at(2)
        self.leasing.end(made)
        self.assertEqual(1, len(self.outbox()))
        self.work()
        self.deliver()
        self.assertEqual(['started', 'ended'], self.receiver.kinds())


@servers.also
class TestOutbox(_Case):
    """There is a notice if and only if its change was committed."""

    def setUp(self):
        super().setUp()
        self.leasing.hosts()
        self.made = self.leasing.create(1, 4)

    def configure(self, **options):
        for name, value in options.items():
            self.world.conf.set_override(name, value, 'notices')

    def _write(self, **more):
        self.tell(self.made, notices.Kind.FIXED, **more)

    def test_change_that_is_rolled_back_is_not_told(self):
        def fail():
            with self.world.engine.database.write() as connection:
                notices.write(self.world.conf, connection,
                              notices.Kind.FIXED, self.made,
                              self.world.clock())
                raise db_connection.Conflict('outrun')
        self.assertRaises(db_connection.Conflict, fail)
        self.assertEqual([], self.outbox())

    def test_receiver_that_fails_is_asked_again_later(self):
        self.receiver.act = lambda handler: handler.answer(503)
        self._write()
        self.assertEqual(0, self.deliver())
        self.assertEqual(0, self.deliver())
        self.assertEqual(1, len(self.receiver.taken))
        self.world.clock.advance(10)
        self.receiver.act = lambda handler: handler.answer(200)
        self.assertEqual(1, self.deliver())
        self.assertEqual(1, len(set(self.receiver.ids)))
        self.assertEqual(2, len(self.receiver.ids))
        self.assertIn('503', self.outbox()[0]['complaint'])

    def test_redirect_is_not_followed(self):
        self.receiver.act = lambda handler: handler.answer(
            302, location=self.receiver.url + '/elsewhere')
        self._write()
        self.assertEqual(0, self.deliver())
        self.assertEqual(1, len(self.receiver.taken))
        self.assertEqual([], self.receiver.got)

    def test_host_that_is_not_allowed_is_not_spoken_to(self):
        self.configure(webhook_allowed_hosts=['localhost',
                                              '127.0.0.1.example'])
        self._write()
        self.assertEqual(0, self.deliver())
        self.assertEqual([], self.receiver.taken)
        self.assertIn('webhook_allowed_hosts', self.outbox()[0]['complaint'])

    def test_ipv6_address_without_a_port_is_connected_to(self):
        """The port follows from the scheme, not from the end of the address.
        """
        for url, port in (('http://[fd00::5]/hook', 80),
                          ('https://[fd00::5]/hook', 443),
                          ('http://[fd00::5]:8080/hook', 8080)):
            with mock.patch('http.client.HTTPConnection.connect',
                            autospec=True,
                            side_effect=ConnectionRefusedError) as connect:
                self.assertRaises(
                    webhook.Undelivered, webhook.post, url, 'id', 0, b'{}',
                    [b'secret'], ['fd00::5'], 5)
            connection, = connect.call_args.args
            self.assertEqual(('fd00::5', port),
                             (connection.host, connection.port))

    def test_receiver_that_drips_is_cut_off(self):
        """The receiver sends a byte now and then, without an end."""
        dripping = self.useFixture(base.Dripping())
        url = f'http://127.0.0.1:{dripping.port}/'
        self.configure(webhook_urls=[url], webhook_timeout=0.5)
        self._write()
        self.assertEqual(0, webhooks.deliver(self.world.engine, url,
                                             lambda: True))
        self.assertIn('within 0.5 s', self.outbox()[0]['complaint'])

    def test_notice_that_cannot_be_written_holds_up_no_other(self):
        real = notice_text.line
        self._write()
        poisoned = self.outbox()[0]['id']

        def line(conf, notice):
            if notice.id == poisoned:
                raise FileNotFoundError('no template')
            return real(conf, notice)
        self.patch(notice_text, 'line', line)
        self.world.clock.advance(1)
        self._write(occurrence='another')
        self.assertEqual(1, self.deliver())
        self.assertIn('no template', next(
            row['complaint'] for row in self.outbox()
            if row['id'] == poisoned))

    def test_nothing_is_sent_without_a_key(self):
        self.world.conf.set_override('webhook_secret_file', None, 'notices')
        self._write()
        self.assertEqual(0, self.deliver())
        self.assertEqual([], self.receiver.taken)

    def test_of_two_processes_one_sends(self):
        """A second process reads the outbox while a receiver has not answered.
        """
        other = self.world.another_engine()

        def meanwhile(handler):
            self.assertEqual(0, self.deliver(other))
            handler.answer(200)
        self.receiver.act = meanwhile
        self._write()
        self.assertEqual(1, self.deliver())
        self.assertEqual(1, len(self.receiver.taken))

    def test_claim_of_who_stands_still_ends(self):
        """The notice was sent but not marked, so it is sent again with its id.
        """
        other = self.world.another_engine()

        def meanwhile(handler):
            self.receiver.act = lambda again: again.answer(200)
            self.world.clock.advance(600)
            self.assertEqual(1, self.deliver(other))
            handler.answer(200)
        self.receiver.act = meanwhile
        self._write()
        self.deliver()
        self.assertEqual(2, len(self.receiver.ids))
        self.assertEqual(1, len(set(self.receiver.ids)))
        self.assertEqual(['delivered'],
                         [row['outcome'] for row in self.outbox()])


class TestExample(_Case):
    """The program in the documentation works as described."""

    def setUp(self):
        super().setUp()
        path = (pathlib.Path(__file__).parents[3]
                / 'doc/source/examples/verify_webhook.py')
        verify = runpy.run_path(str(path))['verify']
        self.key = pathlib.Path(self.receiver.secret_file).read_text().strip()
        messages = []
        self.receiver.take = lambda path, headers, body: messages.append(
            ({name.lower(): value for name, value in headers.items()}, body))
        webhook.post(self.receiver.url, world.new_uuid(), int(time.time()),
                     b'{"id": "x"}', webhook.keys(self.receiver.secret_file),
                     ['127.0.0.1'], 10)
        (self.headers, self.body), = messages
        self.verify = lambda body=self.body, key=self.key, **changed: verify(
            key, {name: value for name, value in (
                self.headers | changed).items() if value is not None}, body)

    def test_real_message_is_verified(self):
        self.assertTrue(self.verify())

    def test_changed_message_is_not(self):
        for changed in ({'body': self.body + b' '},
                        {'webhook-id': world.new_uuid()},
                        {'key': 'whsec_' + 'A' * 43 + '='}):
            self.assertFalse(self.verify(**changed), changed)

    def test_request_of_anybody_is_not(self):
        for name, value in (
                ('webhook-id', None), ('webhook-timestamp', None),
                ('webhook-signature', None), ('webhook-timestamp', 'soon'),
                ('webhook-signature', 'v1,\xe9')):
            self.assertFalse(self.verify(**{name: value}), name)

    def test_old_message_is_not(self):
        sent_at = int(time.time()) - 3600
        self.assertFalse(self.verify(**{
            'webhook-timestamp': str(sent_at),
            'webhook-signature': webhook.signed(
                self.headers['webhook-id'], sent_at, self.body,
                [receivers.SECRET])}))


@servers.also
class TestSoon(_Case):
    """Each start of a lease has one notice shortly before."""

    def setUp(self):
        super().setUp()
        self.leasing.hosts()
        self.made = self.leasing.create(3, 5)

    def _told(self, hours):
        self.at(hours)
        before_start.write(self.engine)
        before_start.write(self.engine)
        return [row['kind'] for row in self.outbox()]

    def test_told_once(self):
        self.assertEqual([], self._told(1.9))
        self.assertEqual(['before_start'], self._told(2))
        self.assertEqual(['before_start'], self._told(2.5))

    def test_told_once_though_notices_are_kept_for_less_long(self):
        """The owner was told again each time that the notice was deleted."""
        self.world.conf.set_override('before_start_time', 20 * 86400,
                                     'notices')
        self.leasing.create(24 * 19, 24 * 20)
        for days in (1, 13, 18.9):
            self._told(24 * days)
            self.deliver()
            clean_up.clean_up(self.engine)
        self.assertEqual(1, self.receiver.kinds().count('before_start'))

    def test_told_again_for_another_start(self):
        self._told(2)
        self.leasing.change(self.made, start=4)
        self.assertEqual(['before_start'], self._told(2.5))
        self.assertEqual(['before_start'] * 2, self._told(3))
        self.deliver()
        self.assertEqual(leasing.at(4).isoformat(),
                         self.receiver.taken[1]['data']['start_date'])

    def test_told_again_only_where_it_has_slid(self):
        """A lease that has moved to make room has another notice."""
        self.leasing.end(self.made)
        loose = create.create(self.engine, leasing.ask(
            3, 4, flexible=leases.Flexible(
                leasing.at(9), datetime.timedelta(hours=1), 0)))
        self.assertEqual(['ended', 'before_start'], self._told(2.5))
        for begin, start in ((6, 3), (3, 3.25)):
            create.create(self.engine, leasing.ask(begin, begin + 0.25,
                                                   project_id='theirs'))
            self.assertEqual(leasing.at(start),
                             self.leasing.reload(loose).start)
            self._told(2.5)
        self.deliver()
        self.assertEqual(
            [leasing.at(3).isoformat(), leasing.at(3.25).isoformat()],
            sorted(each['data']['start_date'] for each in self.receiver.taken
                   if each['type'] == 'lease.before_start'
                   and each['data']['lease_id'] == loose.id))

    def test_start_that_passed_while_the_process_stood_still_has_none(self):
        self.at(2.5)
        self.world.before_next_write(lambda: self.at(3.5))
        before_start.write(self.engine)
        self.assertEqual([], self.outbox())

    def test_one_that_is_no_more_is_not_told_of(self):
        self.leasing.end(self.made)
        self.assertEqual(['ended'], self._told(2))


@servers.also
class TestOld(_Case):
    """Undeliverable notices are given up, and old ones are deleted."""

    def setUp(self):
        super().setUp()
        self.leasing.hosts()
        self.tell(self.leasing.create(1, 4), notices.Kind.FIXED)

    def _after(self, days):
        self.at(24 * days)
        outbox.clean_up(self.engine)
        return [row['outcome'] for row in self.outbox()]

    def test_given_up_then_forgotten(self):
        self.assertEqual([None], self._after(2.9))
        self.assertEqual(['given_up'], self._after(3.1))
        self.assertEqual(0, self.deliver())
        self.assertEqual(['given_up'], self._after(10))
        self.assertEqual([], self._after(10.2))

    def test_delivered_then_forgotten(self):
        self.assertEqual(1, self.deliver())
        self.assertEqual(['delivered'], self._after(6.9))
        self.assertEqual([], self._after(7.1))

    def test_what_waits_for_a_url_that_is_gone_is_given_up(self):
        """No other receiver gets the notice."""
        self.world.conf.set_override(
            'webhook_urls', [f'{self.receiver.url}/new'], 'notices')
        self.assertEqual(0, webhooks.deliver(
            self.engine, f'{self.receiver.url}/new', lambda: True))
        self.assertEqual([None], self._after(2.9))
        self.assertEqual(['given_up'], self._after(3.1))
        self.assertEqual([], self.receiver.taken)

    def test_what_is_being_sent_is_not_given_up(self):
        def meanwhile(handler):
            outbox.clean_up(self.engine)
            handler.answer(200)
        self.at(24 * 3.1)
        self.receiver.act = meanwhile
        self.assertEqual(1, self.deliver())
        self.assertEqual(['delivered'],
                         [row['outcome'] for row in self.outbox()])


@servers.also
class TestMetrics(_Case):
    """Metrics show the operator that notices are not delivered."""

    def _shown(self):
        answered = []
        environ = {}
        util.setup_testing_defaults(environ)
        body = b''.join(metrics.Metrics(self.engine)(
            environ, lambda status, headers: answered.append(status)))
        return {line.rpartition(' ')[0].removeprefix('ironic_reservations_'):
                float(line.rpartition(' ')[2])
                for line in body.decode().splitlines()
                if line.startswith('ironic_reservations_notices')}

    def test_each_stage_is_counted(self):
        self.leasing.hosts()
        waiting = 'notices_waiting{channel="webhook"}'
        self.assertEqual(0, self._shown()[waiting])
        self.tell(self.leasing.create(1, 4), notices.Kind.FIXED)
        self.world.clock.advance(90)
        shown = self._shown()
        self.assertEqual(1, shown[waiting])
        self.assertEqual(90, shown[
            'notices_oldest_seconds{channel="webhook"}'])
        self.at(24 * 4)
        outbox.clean_up(self.engine)
        shown = self._shown()
        self.assertEqual(0, shown[waiting])
        self.assertEqual(1, shown['notices_given_up{channel="webhook"}'])
        self.assertEqual(0, shown['notices_given_up{channel="mail"}'])

    def test_channel_of_a_later_release_is_left_out(self):
        """Both releases run on one database while one is being installed."""
        self.leasing.hosts()
        made = self.leasing.create(1, 4)
        self.tell(made, notices.Kind.FIXED)
        self.tell(made, notices.Kind.STARTED)
        first, second = (row['id'] for row in self.outbox())
        with self.engine.database.write() as connection:
            connection.execute(tables.outbox.update().values(
                channel='pigeon'))
            connection.execute(tables.outbox.update().where(
                tables.outbox.c.id == second).values(
                    due_at=None, outcome='given_up'))
        shown = self._shown()
        self.assertNotIn('pigeon', str(shown))
        self.assertEqual(0, shown['notices_waiting{channel="webhook"}'])


class TestNeighbours(_Case):
    """The cost of one project's notices for other projects."""

    def setUp(self):
        super().setUp()
        self.leasing.hosts()
        self.made = self.leasing.create(1, 4)

    def test_notices_that_are_declined_hold_up_no_other(self):
        """A receiver may refuse notices because of the names of leases."""
        for number in range(deliveries.BATCH + 5):
            self.tell(self.made, notices.Kind.FIXED, occurrence=str(number),
                      reason='declined')
        self.tell(self.made, notices.Kind.STARTED, occurrence='last')

        def act(handler):
            told = self.receiver.taken[-1]['data']['reason']
            handler.answer(400 if told == 'declined' else 204)
        self.receiver.act = act
        self.deliver()
        self.assertEqual(deliveries.BATCH + 6, len(self.receiver.taken))
        self.assertEqual(['started'], [
            row['kind'] for row in self.outbox()
            if row['outcome'] == 'delivered'])

    def test_what_is_urgent_comes_first(self):
        for number in range(deliveries.BATCH + 5):
            self.tell(self.made, notices.Kind.FIXED, occurrence=str(number))
        self.tell(self.made, notices.Kind.BROKEN, occurrence='last')
        self.deliver()
        self.assertEqual('lease.broken', self.receiver.taken[0]['type'])

    def test_lost_connection_delays_those_that_nobody_has_begun_with(self):
        """Only the notice that was being sent waits for the end of its claim.
        """
        for number in range(3):
            self.tell(self.made, notices.Kind.FIXED, occurrence=str(number))
        with mock.patch.object(db_outbox, 'finish',
                               side_effect=errors.DatabaseUnavailable('')):
            self.assertRaises(errors.DatabaseUnavailable, self.deliver)
        self.assertEqual(2, self.deliver())
        self.world.clock.advance(600)
        self.assertEqual(1, self.deliver())
        self.assertEqual(3, len(set(self.receiver.ids)))

    def test_what_a_receiver_says_can_be_written_down(self):
        """A database and a log accept only some of its characters."""
        def act(handler):
            handler.wfile.write(b'HTTP/1.1 \0\x1b[31m' + b'x' * 5000
                                + b'\r\n\r\n')
        self.receiver.act = act
        self.tell(self.made, notices.Kind.FIXED)
        self.deliver()
        row, = self.outbox()
        self.assertEqual(1, row['attempts'])
        self.assertTrue(row['complaint'].isprintable(), row['complaint'])
        self.assertLess(len(row['complaint']), 300)
        self.assertIsNone(row['claimed_by'])

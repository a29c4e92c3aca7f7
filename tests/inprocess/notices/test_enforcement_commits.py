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

"""The operator's enforcement service is notified of committed changes.

The service gets each change at least once, in order for each lease, and no
change that was not committed.
"""

import datetime
from unittest import mock

import fixtures

from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import tables
from ironic_reservations.engine.outbox import clean_up as outbox
from ironic_reservations.features.announcements import feature as last_feature
from ironic_reservations.features.enforcement import enforcement_commits
from tests import leasing
from tests import servers
from tests.inprocess.notices import base
from tests.real import receivers

GOLD, SILVER = 'gold', 'silver'


class _Case(base.TestCase):

    def begin(self):
        self.service = self.useFixture(receivers.Service())
        self.options = self.service.options()
        super().begin()

    def deliver(self, engine=None):
        return enforcement_commits.deliver(engine or self.world.engine,
                                           lambda: True)

    def catch_up(self):
        enforcement_commits.catch_up(self.world.engine, lambda: True)

    def configure(self, **options):
        for name, value in options.items():
            self.world.conf.set_override(name, value, 'leases')

    def assert_told(self, *told):
        """Deliver, and check the notifications so far."""
        self.deliver()
        self.assertEqual([*told], self.service.told())

    def assert_ended_at(self, hours):
        """Check the end in the second notification."""
        self.assertEqual(leasing.at(hours).isoformat(),
                         self.service.taken[1]['ended_at'])


def terms(start, end, hosts=None, instances=0, resources=None):
    return {'start_date': leasing.at(start).isoformat(),
            'end_date': leasing.at(end).isoformat(), 'hosts': hosts or {},
            'instances': instances, 'resources': resources or {}}


@servers.also
class TestLife(_Case):
    """The service is notified when a lease begins, changes and ends."""

    def test_granted_changed_and_ended(self):
        self.leasing.hosts(3, resource_class=GOLD)
        made = self.leasing.create(1, 4, leasing.wish(2), user_id='somebody')
        self.leasing.change(made, end=5)
        self.work_at(1)
        self.at(2)
        self.leasing.resize(made, 3, 3)
        self.work_at(5)
        self.assert_told((1, 'granted'), (2, 'changed'), (3, 'changed'),
                         (4, 'ended'))
        self.assertEqual([], self.service.wrong)
        first, longer, larger = (terms(1, 4, {GOLD: 2}),
                                 terms(1, 5, {GOLD: 2}),
                                 terms(1, 5, {GOLD: 3}))
        self.assertEqual(
            [(None, first), (first, longer), (longer, larger),
             (larger, None)],
            [(each['before'], each['after']) for each in self.service.taken])
        self.assertEqual(
            {(made.id, 'ours', 'somebody')},
            {(each['lease_id'], each['project_id'], each['user_id'])
             for each in self.service.taken})
        self.assertEqual(
            [None, None, None, leasing.at(5).isoformat()],
            [each['ended_at'] for each in self.service.taken])
        self.assertEqual(
            [leasing.at(hours).isoformat() for hours in (0, 0, 2, 5)],
            [each['timestamp'] for each in self.service.taken])

    def test_what_costs_nothing_is_not_told(self):
        """A new name, the start, and a broken and repaired node cost nothing.
        """
        node, = self.leasing.hosts()
        made = self.leasing.create(1, 4)
        self.leasing.change(made, name='another')
        self.work_at(1)
        self.leasing.break_node(node)
        self.watch()
        self.leasing.mend_node(node)
        self.watch()
        self.assert_told((1, 'granted'))

    def test_lease_deleted_before_its_start_has_ended_then(self):
        self.leasing.hosts()
        made = self.leasing.create(1, 4)
        self.at(0.5)
        self.leasing.end(made)
        self.assert_told((1, 'granted'), (2, 'ended'))
        self.assert_ended_at(0.5)

    def test_lease_deleted_in_use_has_ended_then(self):
        """The end is sent once, and does not wait for clean nodes."""
        made = self.started()
        self.at(2)
        self.leasing.end(made)
        self.deliver()
        self.soon()
        self.work()
        self.assert_told((1, 'granted'), (2, 'ended'))
        self.assert_ended_at(2)

    def test_lease_whose_end_was_noticed_late_ended_at_its_end(self):
        self.started()
        self.work_at(9)
        self.deliver()
        self.assert_ended_at(4)

    def test_nodes_given_back_are_told_at_once(self):
        made = self.started(2, resource_class=GOLD)
        self.at(2)
        self.leasing.resize(made, give_back=[sorted(
            self.leasing.nodes(made))[0]])
        self.deliver()
        self.assertEqual(terms(1, 4, {GOLD: 1}),
                         self.service.taken[1]['after'])
        self.assertEqual(leasing.at(2).isoformat(),
                         self.service.taken[1]['timestamp'])

    def test_instances_are_told_with_what_they_have(self):
        self.leasing.compute_hosts(2)
        self.leasing.create(1, 4, leasing.instances(3, vcpus=2, memory_mb=512))
        self.deliver()
        self.assertEqual(
            terms(1, 4, {}, 3, {'VCPU': 6, 'MEMORY_MB': 1536}),
            self.service.taken[0]['after'])

    def test_classes_that_a_lease_starts_with_are_told(self):
        """The hosts may belong to others before the notification."""
        node, = self.leasing.hosts(resource_class=GOLD)
        self.leasing.create(1, 4)
        self.leasing.change_host(node, resource_class=SILVER)
        self.world.ironic.change(node, resource_class=SILVER)
        self.work_at(1)
        self.deliver()
        self.assertEqual([{GOLD: 1}, {SILVER: 1}], [
            each['after']['hosts'] for each in self.service.taken])

    def test_class_that_somebody_changes_is_told_with_the_next_write(self):
        """The next write may itself need no notification."""
        made = self.started(resource_class=GOLD)
        node = self.node_of(made)
        self.leasing.change_host(node, resource_class=SILVER)
        self.assert_told((1, 'granted'))
        self.leasing.change(made, name='another')
        self.deliver()
        self.assertEqual([{GOLD: 1}, {SILVER: 1}], [
            each['after']['hosts'] for each in self.service.taken])

    def test_lease_that_slides_is_told_of(self):
        self.leasing.hosts()
        loose = self.leasing.create(
            10, 12, flexible=leasing.leases.Flexible(
                leasing.at(30), datetime.timedelta(hours=2), 0))
        self.leasing.create(10, 12)
        slid = self.leasing.reload(loose)
        self.assertNotEqual(loose.start, slid.start)
        self.deliver()
        before, after = (each for each in self.service.taken
                         if each['lease_id'] == loose.id)
        self.assertEqual(loose.start.isoformat(),
                         before['after']['start_date'])
        self.assertEqual(slid.start.isoformat(), after['after']['start_date'])

    def test_no_proof_is_told(self):
        self.leasing.hosts()
        made = self.leasing.create(1, 4)
        self.deliver()
        self.assertNotIn(made.reservations[0].id, str(self.service.taken))

    def test_nothing_is_told_of_what_is_not_committed(self):
        self.leasing.hosts()
        made = self.leasing.create(1, 4)
        whole = last_feature._Part.write

        def die_late(part, connection):
            whole(part, connection)
            raise ZeroDivisionError
        for act in (lambda: self.leasing.create(5, 7),
                    lambda: self.leasing.change(made, start=2)):
            with mock.patch.object(last_feature._Part, 'write', die_late):
                self.assertRaises(ZeroDivisionError, act)
        self.assert_told((1, 'granted'))
        self.leasing.change(made, end=5)
        self.deliver()
        self.assertEqual((2, 'changed'), self.service.told()[-1])

    def test_dry_run_is_not_told(self):
        self.leasing.hosts()
        leasing.lease_create.rehearse(self.world.engine, leasing.ask(1, 4))
        self.assertEqual([], self.outbox())

    def test_retention_forgets_entries_and_not_what_they_said(self):
        self.leasing.hosts()
        made = self.leasing.create(1, 24 * 20)
        self.deliver()
        self.at(24 * 8)
        outbox.clean_up(self.world.engine)
        self.assertEqual([], self.outbox())
        self.leasing.change(made, end=24 * 21)
        self.deliver()
        self.assertEqual((2, 'changed'), self.service.told()[-1])
        self.assertEqual(terms(1, 24 * 20, {'': 1}),
                         self.service.taken[-1]['before'])


@servers.also
class TestService(_Case):
    """The service is slow, refuses, dies, or is not there."""

    def setUp(self):
        super().setUp()
        self.leasing.hosts(2)
        self.made = self.leasing.create(1, 48)

    def _later(self, seconds=1000):
        self.world.clock.advance(seconds)

    def test_endless_500s(self):
        """Each attempt is later than the previous one, up to a bound."""
        self.service.act = lambda handler: handler.answer(500)
        attempts, waits = 20, []
        for _ in range(attempts):
            self.assertEqual(0, self.deliver())
            row, = self.outbox()
            waits.append((row['due_at'] - self.world.clock()).total_seconds())
            self.world.clock.now = row['due_at']
        self.assertEqual(attempts, len(self.service.taken))
        self.assertEqual(1, len(set(self.service.ids)))
        self.assertIn('500', row['complaint'])
        self.assertLess(max(waits), self.world.conf.notices.max_backoff + 1)
        self.assertLess(waits[0], 10)
        self.service.act = lambda handler: handler.answer(204)
        self.assertEqual(1, self.deliver())

    def test_given_up_then_the_next_one_goes(self):
        self.service.act = lambda handler: handler.answer(500)
        self.leasing.change(self.made, end=24 * 60)
        self.deliver()
        self.at(24 * 29.9)
        outbox.clean_up(self.world.engine)
        self.assertEqual([None] * 2, self.outcomes())
        self.leasing.change(self.made, end=24 * 61)
        self.at(24 * 30.1)
        outbox.clean_up(self.world.engine)
        self.service.act = lambda handler: handler.answer(204)
        self.assert_told((1, 'granted'), (3, 'changed'))

    def test_ipv6_address_without_a_port_is_connected_to(self):
        self.configure(enforcement_commit_url='http://[fd00::5]/commits')
        with mock.patch('http.client.HTTPConnection.connect', autospec=True,
                        side_effect=ConnectionRefusedError) as connect:
            self.assertEqual(0, self.deliver())
        connection, = connect.call_args.args
        self.assertEqual(('fd00::5', 80), (connection.host, connection.port))

    def test_slow_one_is_cut_off(self):
        dripping = self.useFixture(base.Dripping())
        self.configure(
            enforcement_commit_url=f'http://127.0.0.1:{dripping.port}/',
            enforcement_timeout=0.5)
        self.assertEqual(0, self.deliver())
        self.assertIn('within 0.5 s', self.outbox()[0]['complaint'])

    def test_one_that_moves_gets_what_waited_for_it(self):
        self.configure(enforcement_commit_url='http://127.0.0.1:1/')
        self.assertEqual(0, self.deliver())
        self.configure(enforcement_commit_url=self.service.url)
        self._later()
        self.assertEqual(1, self.deliver())

    def test_token_that_cannot_be_sent_stays_secret(self):
        """The table and the log show the error without the token."""
        log = self.useFixture(fixtures.FakeLogger())
        for token in ('sesame\rx', 'sesame\N{EURO SIGN}'):
            self.configure(enforcement_token=token)
            self.assertEqual(0, self.deliver())
            row, = self.outbox()
            self.world.clock.now = row['due_at']
            for told in (row['complaint'], log.output):
                self.assertNotIn('sesame', told)
                self.assertNotIn('\N{EURO SIGN}', told)
                self.assertIn('Error', told)

    def test_token_is_sent_without_the_blanks_around_it(self):
        self.configure(enforcement_token=' secret\r\n')
        self.assertEqual(1, self.deliver())
        self.assertEqual([], self.service.wrong)

    def test_url_that_makes_no_request_is_not_repeated(self):
        """The path may be a secret."""
        self.configure(enforcement_commit_url=f'{self.service.url}/sesame\x7f')
        self.assertEqual(0, self.deliver())
        self.assertNotIn('sesame', self.outbox()[0]['complaint'])

    def test_redirect_is_not_followed(self):
        self.service.act = lambda handler: handler.answer(
            307, f'{self.service.url}/elsewhere')
        self.assertEqual(0, self.deliver())
        self.assertEqual(1, len(self.service.taken))

    def test_order_of_one_lease(self):
        """While the first notification is refused, the others wait."""
        self.leasing.change(self.made, end=49)
        self.leasing.end(self.made)
        self.service.act = lambda handler: handler.answer(503)
        self.deliver()
        self.assert_told((1, 'granted'))
        self.service.act = lambda handler: handler.answer(204)
        self._later()
        self.assertEqual(3, self.deliver())
        self.assertEqual([(1, 'granted'), (1, 'granted'), (2, 'changed'),
                          (3, 'ended')], self.service.told())

    def test_one_lease_that_is_declined_holds_up_no_other(self):
        other = self.leasing.create(2, 5)

        def act(handler):
            mine = self.service.taken[-1]['lease_id'] == self.made.id
            handler.answer(400 if mine else 204)
        self.service.act = act
        self.assertEqual(1, self.deliver())
        self.assertEqual({self.made.id, other.id},
                         {each['lease_id'] for each in self.service.taken})

    def test_two_processes_keep_the_order(self):
        """One process has sent the first notification, without an answer yet.
        """
        another = self.world.another_engine()
        self.leasing.change(self.made, end=49)

        def meanwhile(handler):
            self.service.act = lambda handler: handler.answer(204)
            self.assertEqual(0, self.deliver(another))
            handler.answer(204)
        self.service.act = meanwhile
        self.assertEqual(2, self.deliver())
        self.assertEqual([(1, 'granted'), (2, 'changed')], self.service.told())

    def test_one_that_stood_still_sends_what_was_taken_already(self):
        """The late notification has the same id and number as before."""
        another = self.world.another_engine()
        self.leasing.change(self.made, end=49)

        def meanwhile(handler):
            self.service.act = lambda handler: handler.answer(204)
            self.world.clock.advance(600)
            self.assertEqual(2, self.deliver(another))
            handler.answer(204)
        self.service.act = meanwhile
        self.assert_told((1, 'granted'), (1, 'granted'), (2, 'changed'))
        self.assertEqual(2, len(set(self.service.ids)))
        self.assertEqual({'delivered'}, {*self.outcomes()})

    def test_died_before_it_marked(self):
        with mock.patch('ironic_reservations.db.outbox.finish',
                        side_effect=SystemExit):
            self.assertRaises(SystemExit, self.deliver)
        self.assertEqual(0, self.deliver())
        self._later()
        self.assertEqual(1, self.deliver())
        self.assertEqual(2, len(self.service.ids))
        self.assertEqual(1, len(set(self.service.ids)))


@servers.also
class TestCatchUp(_Case):
    """Changes during the time without a service are sent later."""

    def setUp(self):
        super().setUp()
        self.leasing.hosts(2)

    def batch(self, size):
        """Set the number of leases that one transaction handles."""
        self.patch(enforcement_commits, '_BATCH', size)

    def made_before(self, count):
        """Return leases that were made one after the other without a service.
        """
        return [self._unknown(self.leasing.create, start, start + 1)
                for start in range(1, count + 1)]

    def _unknown(self, act, *args, **kwargs):
        """Call a function in a process that has no service."""
        self.configure(enforcement_commit_url=None)
        made = act(*args, **kwargs)
        self.configure(enforcement_commit_url=self.service.url)
        return made

    def test_lease_that_was_made_before(self):
        made = self._unknown(self.leasing.create, 1, 4)
        self.assertEqual([], self.outbox())
        self.catch_up()
        self.catch_up()
        self.assert_told((1, 'granted'))
        self.assertEqual(made.id, self.service.taken[0]['lease_id'])

    def test_all_are_told_in_one_pass(self):
        """Several short transactions handle all leases."""
        self.batch(2)
        made = self.made_before(5)
        written = []
        write = enforcement_commits.write

        def counted(conf, connection, lease_ids, now):
            written.append(len(lease_ids))
            write(conf, connection, lease_ids, now)
        self.patch(enforcement_commits, 'write', counted)
        self.catch_up()
        self.deliver()
        self.assertEqual({each.id for each in made},
                         {each['lease_id'] for each in self.service.taken})
        self.assertEqual([2, 2, 1], written)

    def test_one_that_changes_just_then_holds_up_no_other(self):
        """Another process sends the notification, and the pass continues."""
        self.batch(1)
        self.made_before(3)
        write = enforcement_commits.write
        failing = [db_connection.Conflict('another process tells of it')]

        def disturbed(*args):
            if failing:
                raise failing.pop()
            write(*args)
        self.patch(enforcement_commits, 'write', disturbed)
        self.catch_up()
        self.assertEqual(3, self.deliver())

    def test_pass_ends_when_the_process_does(self):
        self.batch(1)
        self.made_before(3)
        left = [True, False]
        enforcement_commits.catch_up(self.world.engine, lambda: left.pop(0))
        self.assertEqual(1, self.deliver())

    def test_lease_that_ended_meanwhile(self):
        made = self.leasing.create(1, 4)
        self.at(0.5)
        self._unknown(self.leasing.end, made)
        self.at(0.7)
        self.catch_up()
        self.catch_up()
        self.assert_told((1, 'granted'), (2, 'ended'))
        self.assert_ended_at(0.7)

    def test_lease_extended_meanwhile_ended_at_its_own_end(self):
        """The notification has the new end, not the previous one."""
        made = self.leasing.create(1, 4)
        self._unknown(self.leasing.change, made, end=10)
        self._unknown(self.work_at, 1)
        self.work_at(10)
        self.assert_told((1, 'granted'), (2, 'ended'))
        self.assert_ended_at(10)

    def test_lease_shortened_meanwhile_ended_at_its_own_end(self):
        """The end is the same even if it is noticed late."""
        made = self.leasing.create(1, 10)
        self.work_at(1)
        self._unknown(self.leasing.change, made, end=3)
        self._unknown(self.work_at, 3)
        self.at(6)
        self.catch_up()
        self.deliver()
        self.assert_ended_at(3)

    def test_dates_that_changed_meanwhile_are_told(self):
        made = self.leasing.create(1, 4)
        self._unknown(self.leasing.change, made, end=10)
        self.at(0.5)
        self.catch_up()
        self.catch_up()
        self.assert_told((1, 'granted'), (2, 'changed'))
        self.assertEqual(
            (terms(1, 4, {'': 1}), terms(1, 10, {'': 1}),
             leasing.at(0.5).isoformat()),
            tuple(self.service.taken[1][name]
                  for name in ('before', 'after', 'timestamp')))

    def test_lease_that_was_over_before_is_never_told(self):
        made = self._unknown(self.leasing.create, 1, 4)
        self.leasing.end(made)
        self.catch_up()
        self.assertEqual([], self.outbox())

    def test_of_two_that_tell_at_once_one_does(self):
        """The catch-up has read a lease that then changes."""
        made = self._unknown(self.leasing.create, 1, 4)
        engine = self.world.another_engine()
        read = enforcement_commits.db_terms.read_unlike

        def meanwhile(*args):
            found = read(*args)
            self.leasing.change(made, end=5)
            return found
        self.patch(enforcement_commits.db_terms, 'read_unlike', meanwhile)
        enforcement_commits.catch_up(engine, lambda: True)
        self.assert_told((1, 'granted'))
        self.assertEqual(terms(1, 5, {'': 1}), self.service.taken[0]['after'])

    def test_row_that_another_has_written_meanwhile(self):
        """No number is used for two notifications."""
        made = self.leasing.create(1, 4)
        with self.world.engine.database.read() as connection:
            stale = enforcement_commits.db_terms.read(
                connection, [made.id])[made.id]
        self.leasing.change(made, end=5)

        def replace():
            with self.world.engine.database.write() as connection:
                enforcement_commits.db_terms.replace(connection, stale, None)
        self.assertRaises(db_connection.Conflict, replace)

    def test_nothing_is_left_of_what_is_over(self):
        self.leasing.end(self.leasing.create(1, 4))
        with self.world.engine.database.read() as connection:
            self.assertEqual([], connection.execute(
                tables.enforcement_terms.select()).all())

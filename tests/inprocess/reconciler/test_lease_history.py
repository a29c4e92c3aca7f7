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

"""What a lease's history tells of its life, on each database."""

from ironic_reservations.db import tables
from ironic_reservations.features.history import history
from ironic_reservations.features.history import values as lease_history
from ironic_reservations.features.notices import webhooks
from ironic_reservations.features.usage import periods as usage_periods
from ironic_reservations.model import notices
from ironic_reservations.model import period_kind
from tests import leasing
from tests import servers
from tests.inprocess.reconciler import no_shows
from tests.real import receivers

What = lease_history.What


class _TestCase(no_shows.TestCase):

    def history(self, lease=None):
        return history.read(self.engine, self.lease(lease or self.made))

    def whats(self, lease=None):
        return [each.what for each in self.history(lease)]

    def only(self, what, lease=None):
        found, = (each for each in self.history(lease) if each.what is what)
        return found


@servers.also
class TestHistory(_TestCase):

    def test_new_lease_has_been_created_and_nothing_else(self):
        made = self.leasing.create(20, 22)
        self.assertEqual([lease_history.Entry(made.created_at,
                                              What.CREATED)],
                         self.history(made))

    def test_lease_that_was_changed(self):
        made = self.leasing.create(20, 22)
        self.at(2)
        self.leasing.change(made, name='another')
        self.assertEqual(
            [(leasing.at(2), What.CHANGED)],
            [(each.at, each.what) for each in self.history(made)[1:]])

    def test_nodes_became_its_own_at_once(self):
        bound = self.only(What.BOUND)
        self.assertEqual((2, self.mine), (bound.hosts, sorted(bound.nodes)))
        self.assertEqual('DONE', self.only(What.START).status)
        self.assertEqual([], [each for each in self.whats() if each in (
            What.BEFORE_END, What.END, What.CHANGED)])

    def test_promise_that_made_room(self):
        """Nothing is told of it but when, and which node it has now."""
        other = self.leasing.create(20, 22)
        node, = self.leasing.nodes(other)
        self.at(2)
        self.leasing.create(20, 22, leasing.wish(
            properties=f'["==", "$node_uuid", "{node}"]'))
        moved = self.only(What.MOVED, other)
        self.assertEqual((leasing.at(2), tuple(self.leasing.nodes(other))),
                         (moved.at, moved.nodes))

    def assert_nodes(self, what, *nodes):
        """Check whose nodes the history tells of."""
        self.assertEqual(sorted(nodes), sorted(self.only(what).nodes))

    def assert_lost(self, what, since):
        """Check that one node was lost, of which only the class is told."""
        gone = self.only(what)
        self.assertEqual(((), 1, 'gold', since), (
            gone.nodes, gone.hosts, gone.resource_class, gone.since))
        return gone

    def test_deployed_warned_released_ended(self):
        self.run_at(2)
        self.assert_nodes(What.NO_SHOW_WARNING, *self.mine)
        self.deploy(self.mine[0])
        self.assert_nodes(What.DEPLOYED, self.mine[0])
        self.run_at(3)
        gone = self.assert_lost(What.NO_SHOW_RELEASE, None)
        self.assertTrue(leasing.at(3) <= gone.at <= leasing.at(3.1))
        self.assertEqual({self.mine[1]}, set(self.released()))
        self.assert_lost(What.RELEASED, leasing.at(1))
        self.ironic.free(self.mine[0])
        self.run_at(3.5)
        self.assert_nodes(What.UNDEPLOYED, self.mine[0])
        self.run_at(9)
        last = self.history()
        self.assertEqual(sorted(last, key=lambda each: each.at), last)
        self.assertEqual(2, self.whats().count(What.RELEASED))
        self.assertEqual(['DONE'] * 2, [
            self.only(what).status for what in (What.END, What.BEFORE_END)])

    def test_release_for_no_show_uses_nothing(self):
        """It is no usage of its own, and no deployment."""
        def used():
            with self.engine.database.snapshot() as connection:
                return sorted(map(str, usage_periods.read(
                    connection, leasing.at(0), leasing.at(9), None, True)))
        self.run_at(2)
        self.run_at(3)
        there = used()
        self.assertNotEqual([], there)
        self.execute(tables.usage_periods.delete().where(
            tables.usage_periods.c.kind == period_kind.NO_SHOW))
        self.assertEqual(there, used())

    def test_others_have_a_history_of_their_own(self):
        other = self.leasing.create(20, 22, project_id='others')
        self.assertEqual([What.CREATED], self.whats(other))


@servers.also
class TestNotices(_TestCase):
    """Where somebody gets them."""

    def begin(self):
        self.receiver = self.useFixture(receivers.Receiver())
        self.options = {**no_shows.TestCase.options, **self.receiver.options()}
        super().begin()

    def test_notice_that_waits_and_then_arrives(self):
        told = self.only(What.NOTICE)
        self.assertEqual((notices.Kind.STARTED, [
            (notices.Channel.WEBHOOK, None, None)]), (told.notice, [
                (each.channel, each.outcome, each.at) for each in told.sent]))
        webhooks.deliver(self.engine, self.receiver.url, lambda: True)
        sent, = self.only(What.NOTICE).sent
        self.assertEqual(notices.Outcome.DELIVERED, sent.outcome)
        self.assertIsNotNone(sent.at)

    def test_notices_of_other_leases_are_theirs(self):
        other = self.leasing.create(20, 22)
        self.assertNotIn(What.NOTICE, self.whats(other))

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

"""A host that was closed is kept for as long as it was promised."""

from ironic_reservations import errors
from ironic_reservations.engine import leasable
from ironic_reservations.engine.leases import change
from ironic_reservations.engine.leases import heal as lease_heal
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from tests import leasing
from tests import world
from tests.inprocess.engine import timelines

CODE = 'hosts_are_closed'
OPTION = 'allow_extension_on_closed_hosts'


class ClosingTestCase(timelines.TestCase):
    """A lease until two that has started; its first host is then closed."""

    def begun(self, count=1, spare=0):
        """Return such a lease and its hosts, sorted, before it is closed."""
        self.leasing.hosts(count + spare)
        made = self.leasing.started(0, 2, leasing.wish(count))
        return made, sorted(self.leasing.nodes(made))

    def closed(self, spare=0):
        """Return such a lease of one host, which is closed, and the host."""
        made, (node,) = self.begun(spare=spare)
        self.leasing.set_reservable(node, False)
        return made, node

    def assert_closed(self, made, **changes):
        """Assert that a change is refused since a host was closed."""
        refused = self.assert_refused(errors.LeaseRefused, made, **changes)
        reason, = refused.details['reasons']
        self.assertEqual((CODE, True, leasing.at(2).isoformat(), []), (
            reason['code'], reason['proved'], reason['at'],
            refused.details['offers']))
        return refused, reason


class TestClosedHosts(ClosingTestCase):

    def test_closed_host_was_extended_without_limit(self):
        """The answer names the host, why, and what to do."""
        made, node = self.closed(spare=1)
        refused, reason = self.assert_closed(made, end=3)
        self.assertEqual(1, reason['hosts_short'])
        for told in (f'host {self.leasing.host_id(node)} ({node}) is closed '
                     'by the operator', 'until 2', '"give_back"',
                     'make another lease', 'stays as it is'):
            self.assertIn(told, str(refused))
        self.assertEqual(leasing.at(2), self.leasing.reload(made).end)

    def test_another_host_instead_of_it(self):
        """As the answer says: given back, and as many asked for."""
        made, node = self.closed(spare=1)
        self.leasing.resize(made, 1, give_back=(node,), end=3)
        self.assertEqual(leasing.at(3), self.leasing.reload(made).end)
        self.assertNotIn(node, self.leasing.nodes(made))
        self.assertEqual(1, len(self.leasing.nodes(made)))

    def test_extended_without_it(self):
        """Given back in the same request; which one it is, is said."""
        made, (kept, closed) = self.begun(2)
        self.leasing.set_reservable(closed, False)
        _, reason = self.assert_closed(made, end=3)
        self.assertIn(f'host {self.leasing.host_id(closed)} ',
                      reason['detail'])
        self.assertNotIn(f'host {self.leasing.host_id(kept)} ',
                         reason['detail'])
        self.leasing.resize(made, give_back=(closed,), end=3)
        self.assertEqual({kept}, self.leasing.nodes(made))

    def test_second_reservation_has_it(self):
        """The reason names it."""
        wishes = self.gold_and_silver()
        made = self.leasing.started(0, 2, *wishes)
        (booking,) = made.reservations[1].bookings
        self.leasing.set_reservable(booking.node_uuid, False)
        self.assertEqual(1, self.assert_closed(made, end=3)[1]['reservation'])

    def test_each_way_to_close_it(self):
        """By configuration, in Ironic, by retiring it or by a parent."""
        for ways in ({'reservable': False}, {'retired': True},
                     {'parent_node': world.new_uuid()}):
            made, (node,) = self.begun()
            self.world.change(node, **ways)
            self.assert_closed(made, end=3)
            self.begin()
        self.configure(hosts='all')
        made, (node,) = self.begun()
        self.configure(closed_nodes=[node])
        leasable.sync(self.engine)
        self.assert_closed(made, end=3)
        self.configure(closed_nodes=[])
        leasable.sync(self.engine)
        self.leasing.change(made, end=3)

    def test_open_again_it_is_extended(self):
        made, node = self.closed()
        self.assert_closed(made, end=3)
        self.leasing.set_reservable(node, True)
        self.leasing.change(made, end=3)
        self.assertEqual({node}, self.leasing.nodes(made))

    def test_what_was_promised_before_is_kept(self):
        """A lease that was extended before it was closed ends then."""
        made, (node,) = self.begun()
        longer = self.leasing.create(3, 4)
        self.leasing.change(made, end=2.5)
        self.leasing.set_reservable(node, False)
        self.assertEqual({node}, self.leasing.nodes(made))
        self.assertEqual(leasing.at(2.5), self.leasing.reload(made).end)
        self.assertEqual({node}, self.leasing.nodes(longer))

    def test_all_else_is_allowed(self):
        """A name, the same dates, more hosts, fewer, and healing."""
        made, nodes = self.begun(2, spare=1)
        self.leasing.set_reservable(nodes[0], False)
        for unchanged in ({}, {'end': 2}, {'name': made.name}):
            with self.unchanged():
                self.leasing.change(made, **unchanged)
        self.leasing.change(made, name='renamed')
        self.leasing.resize(made, 3, 3)
        self.assertEqual(3, len(self.leasing.nodes(made)))
        self.leasing.change(made, heal=True)
        self.assertLessEqual(set(nodes), self.leasing.nodes(made))
        self.leasing.resize(made, give_back=[nodes[0]])
        self.assertNotIn(nodes[0], self.leasing.nodes(made))

    def test_shorter_is_always_allowed(self):
        """What is given up is not promised any more."""
        made, node = self.closed()
        self.leasing.change(made, end=1)
        self.assertEqual({(leasing.at(0), leasing.at(1))}, self.windows(made))
        self.assertEqual(CODE, self.code(self.refuse(made, end=2)))

    def test_healing_does_not_extend_it_either(self):
        """Together with a later end."""
        made, node = self.closed(spare=1)
        self.assert_closed(made, end=3, heal=True)

    def test_who_may_exceed_limits_is_held_to_it(self):
        """It is no limit of who asks: an operator opens the host.

        A dry run says it as well.
        """
        made, _ = self.closed()
        longer = leases.LeaseChange(end=leasing.at(3))
        self.assertRaises(errors.LeaseRefused, change.change, self.engine,
                          made.id, longer, allowed=limits.NONE)
        self.assertRaises(errors.LeaseRefused, change.rehearse, self.engine,
                          made.id, longer)

    def test_closed_while_it_is_being_extended(self):
        """By another process, after the plan: it is planned anew."""
        made, (node,) = self.begun()
        other = self.another()
        other.set_reservable(node, False)
        self.assert_closed(made, end=3)

    def test_lease_to_come_moves_to_an_open_host(self):
        """It is extended there, and stays as it is if there is none."""
        self.leasing.hosts(1)
        made = self.leasing.create(1, 2)
        node = self.home(made)
        self.leasing.set_reservable(node, False)
        refused = self.assert_refused(errors.LeaseRefused, made, end=3)
        self.assertIn('is closed by the operator', str(refused))
        self.assertEqual({node}, self.leasing.nodes(made))
        (other,) = self.leasing.hosts(1)
        self.leasing.change(made, end=3)
        self.assertEqual({other}, self.leasing.nodes(made))

    def test_open_dates_and_the_queue_leave_it(self):
        """Neither has a lease that has started; both move to open hosts."""
        self.leasing.hosts(2)
        made = self.leasing.started(None, 4, flexible=leases.Flexible(
            leasing.at(20), leasing.at(4) - leasing.at(0)))
        node = self.home(made)
        self.leasing.set_reservable(node, False)
        self.assert_refused(
            errors.LeaseFrozen, made, opened=leases.OpenDates(
                (leasing.at(0), leasing.at(30))))
        queued = self.leasing.create(1, 3, queue=True)
        self.assertNotEqual(node, self.home(queued))
        self.assertEqual(0, lease_heal.heal(self.engine))

    def test_compute_host_is_no_other(self):
        """Instances are not given back by host."""
        (host,) = self.leasing.compute_hosts(1)
        made = self.leasing.started(0, 2, leasing.instances(2, 2))
        self.leasing.set_reservable(host, False)
        refused, _ = self.assert_closed(made, end=3)
        self.assertNotIn('give_back', str(refused))
        self.leasing.change(made, end=1)


class TestAllowed(ClosingTestCase):
    """With the option, as before: the lease keeps what it has."""

    options = {f'leases__{OPTION}': True}

    def test_extension_on_a_host_that_was_closed_is_granted(self):
        made, node = self.closed()
        self.leasing.change(made, end=4)
        self.assertEqual({(leasing.at(0), leasing.at(4))}, self.windows(made))
        self.assertEqual({node}, self.leasing.nodes(made))

    def test_others_make_room_and_nobody_else_gets_it(self):
        made, (node,) = self.begun()
        later = self.leasing.create(3, 4)
        self.leasing.set_reservable(node, False)
        self.refuse(made, end=3.5)
        (other,) = self.leasing.hosts(1)
        self.leasing.change(made, end=3.5)
        self.assertEqual({other}, self.leasing.nodes(later))

    def test_shorter_healed_given_back_and_unchanged(self):
        made, nodes = self.begun(2)
        self.leasing.set_reservable(nodes[0], False)
        with self.unchanged():
            self.leasing.change(made, end=2)
        self.leasing.change(made, heal=True, end=3)
        self.assertEqual(set(nodes), self.leasing.nodes(made))
        self.leasing.resize(made, give_back=[nodes[0]])
        self.leasing.change(made, end=1)
        self.assertEqual({nodes[1]}, self.leasing.nodes(made))

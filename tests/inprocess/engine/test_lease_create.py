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

"""Promising leases: on which hosts, and who makes room."""

import datetime

from ironic_reservations import errors
from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.model import leases
from tests import leasing
from tests import world
from tests.inprocess.engine import timelines

GOLD = leasing.of_class('gold')


class TestCreate(timelines.TestCase):

    def test_lease_stands_in_the_rows_as_it_was_answered(self):
        """What was answered is what is read again."""
        self.leasing.hosts(3)
        made = self.leasing.create(1, 3, leasing.wish(2),
                                   user_id='someone', name='a name')
        read = self.leasing.reload(made)
        self.assertEqual(
            [(each.reservation_id, each.place, each.node_uuid,
              each.starts_at, each.ends_at) for each in made.bookings],
            [(each.reservation_id, each.place, each.node_uuid,
              each.starts_at, each.ends_at) for each in read.bookings])
        self.assertEqual(
            ('a name', leases.LeaseStatus.PENDING, leasing.at(1),
             leasing.at(3), leasing.PROJECT, 'someone', leasing.at(2)),
            (read.name, read.status, read.start, read.end, read.project_id,
             read.user_id, read.before_end))
        self.assertEqual(
            [(leases.EventType.START, leasing.at(1)),
             (leases.EventType.BEFORE_END, leasing.at(2)),
             (leases.EventType.END, leasing.at(3))],
            [(event.type, event.time) for event in read.events])
        self.assertEqual(2, len(self.leasing.nodes(made)))
        self.assertEqual(
            {('planned', None)},
            {(row['state'], row['immediate'])
             for row in self.leasing.rows()})

    def test_lease_that_starts_at_once_starts_now(self):
        """The lease begins with the second, its bookings with the instant.

        Clients that send whole minutes are not late by themselves: a start
        in the minute that has begun is no past.
        """
        self.leasing.hosts(2)
        self.world.clock.advance(40.25)
        for start, seconds in ((None, 40), (0, 0)):
            made = self.leasing.reload(self.leasing.create(start, 1))
            self.assertEqual(world.NOON + datetime.timedelta(seconds=seconds),
                             made.start)
            self.assertEqual(self.world.clock(), made.bookings[0].starts_at)

    def test_lease_lasts_as_long_as_was_asked(self):
        """From its start on, however late it is planned.

        Clients computed the end by their own clocks: a lease of an hour from
        now on lasted 59 minutes and 59 seconds, or was too long by a second.
        """
        self.leasing.hosts(1)
        self.configure(project_limits=True, max_duration=3600)
        request = leasing.ask(None, 1, lasts=datetime.timedelta(hours=1))
        self.world.clock.advance(65.25)
        made = self.leasing.reload(lease_create.create(self.engine, request))
        start = world.NOON + datetime.timedelta(seconds=65)
        end = start + datetime.timedelta(hours=1)
        self.assertEqual((start, end), (made.start, made.end))
        self.assertEqual([end], [each.ends_at for each in made.bookings])
        self.assertEqual(end, made.events[-1].time)
        refused = self.assertRaises(errors.LeaseRefused, lease_create.create,
                                    self.engine, request)
        self.assertNotEqual([], refused.details['offers'])
        for offer in refused.details['offers']:
            self.assertNotIn('duration', offer['lease'])

    def test_windows_back_to_back_share_a_host(self):
        """A lease may begin at the very instant at which another ends.

        Blazar: instances back to back are refused.
        """
        (host,) = self.leasing.hosts()
        made = [self.leasing.create(start, start + 1) for start in (2, 1, 3)]
        self.assertEqual([{host}] * 3,
                         [self.leasing.nodes(each) for each in made])

    def test_time_for_cleaning_is_kept_between_two_leases(self):
        """No host is promised while it is being cleaned."""
        self.begin(leases__cleaning_time=1800)
        self.leasing.hosts()
        self.leasing.create(2, 3)
        for start, end in ((3, 4), (3.49, 4), (1, 2), (1, 1.51)):
            self.leasing.refused(start, end)
        self.leasing.create(3.5, 4)
        self.leasing.create(1, 1.5)

    def test_peak_outside_the_window_does_not_count(self):
        """What is taken before and after is no reason to refuse.

        Blazar: a peak outside of the window refuses instances.
        """
        self.leasing.hosts(2)
        for window in ((0, 1), (0, 1), (2, 3), (2, 3)):
            self.leasing.create(*window)
        self.leasing.create(1, 2, leasing.wish(2))

    def _apart(self):
        """Have [0, 2) on one host and [4, 6) on the other."""
        self.leasing.hosts(2)
        first, blocking = self.leasing.create(0, 2), []
        while not blocking or self.leasing.nodes(
                blocking[-1]) != self.leasing.nodes(first):
            blocking.append(self.leasing.create(4, 6))
        for lease in blocking[:-1]:
            self.leasing.end(lease)
        second = self.leasing.create(4, 6)
        self.leasing.end(blocking[-1])
        self.assertNotEqual(self.leasing.nodes(first),
                            self.leasing.nodes(second))
        return first, second

    def test_late_binding_serves_l3(self):
        """Hosts that were pinned at creation would refuse the third.

        Blazar: pins hosts at creation, and refuses although depth is two.
        """
        first, second = self._apart()
        third = self.leasing.create(1, 5)
        self.assertEqual(self.leasing.nodes(first), self.leasing.nodes(second))
        self.assertNotEqual(self.leasing.nodes(first),
                            self.leasing.nodes(third))

    def test_started_lease_stays_where_it_is(self):
        """Room is made by those that have not started."""
        first, second = self._apart()
        self.leasing.bind()
        there = self.leasing.nodes(first)
        third = self.leasing.create(1, 5)
        self.assertEqual(there, self.leasing.nodes(first))
        self.assertEqual(there, self.leasing.nodes(second))
        self.assertNotEqual(there, self.leasing.nodes(third))

    def test_max_is_granted_when_hosts_are_free(self):
        """One never-used and four free hosts are five.

        Blazar: min=1, max=5 with one never-used and four free hosts grants 1.
        """
        used = self.leasing.hosts(4)
        for _ in used:
            self.leasing.create(1, 2)
        self.leasing.hosts()
        made = self.leasing.create(3, 4, leasing.wish(1, 5))
        self.assertEqual(5, len(self.leasing.nodes(made)))

    def test_least_is_granted_when_no_more_are_free(self):
        """Fewer than the most are better than a refusal."""
        self.leasing.hosts(3)
        self.leasing.create(1, 2, leasing.wish(2))
        made = self.leasing.create(1, 2, leasing.wish(1, 5))
        self.assertEqual(1, len(self.leasing.nodes(made)))
        self.leasing.refused(1, 2, leasing.wish(1, 5))

    def test_several_reservations_are_all_served_or_none(self):
        """A lease that cannot be had whole leaves nothing behind."""
        self.leasing.hosts(2, resource_class='gold')
        self.leasing.hosts(1, resource_class='silver')
        silver = leasing.of_class('silver')
        with self.unchanged():
            self.leasing.refused(1, 2, leasing.wish(2, properties=GOLD),
                                 leasing.wish(2, properties=silver))
        made = self.leasing.create(
            1, 2, leasing.wish(2, properties=GOLD),
            leasing.wish(1, properties=silver))
        self.assertEqual([2, 1], [len(each.bookings) for each in
                                  self.leasing.reload(made).reservations])

    def test_only_hosts_that_match_are_promised(self):
        """A lease gets what it asks for, or nothing."""
        self.leasing.hosts(2, resource_class='silver')
        gold = self.leasing.hosts(1, resource_class='gold')
        made = self.leasing.create(1, 2, leasing.wish(properties=GOLD))
        self.assertEqual(set(gold), self.leasing.nodes(made))
        self.leasing.refused(1, 2, leasing.wish(properties=GOLD))

    def test_nodes_that_are_no_hosts_are_never_promised(self):
        """Only what an operator has opened is leased."""
        self.world.enrol(3)
        refusal = self.leasing.refused(1, 2)
        self.assertEqual('no_host_is_open', self.code(refusal))
        self.assertIn('No node is open to leases', str(refusal))
        self.assertIn('baremetal reservation host import', str(refusal))
        self.assertEqual([], refusal.details['offers'])

    def test_no_host_of_the_class_is_not_no_host_at_all(self):
        """Where others are open, it is the properties that are to blame."""
        self.leasing.hosts(1, resource_class='silver')
        refusal = self.leasing.refused(1, 2, leasing.wish(properties=GOLD))
        self.assertEqual('no_host_matches', self.code(refusal))

    def test_host_that_is_in_use_without_a_lease_is_not_promised(self):
        """A node that somebody has deployed is nobody's to promise."""
        (host,) = self.leasing.hosts()
        self.world.ironic.deploy(host, world.new_uuid())
        self.leasing.refresh()
        self.leasing.refused(1, 2)
        self.world.ironic.undeploy(host)
        self.leasing.refresh()
        self.leasing.create(1, 2)

    def test_node_that_waits_to_be_taken_back_is_not_leased_again(self):
        """A lease that is over holds its host until that is back.

        esi-leap: leases that wait to expire are no conflict, so that a node
        in use is leased again.
        """
        (host,) = self.leasing.hosts()
        over = self.leasing.started(0, 1)
        for taken_back in (False, True):
            if taken_back:
                self.leasing.take_back(over)
            self.world.clock.now = leasing.at(1.25)
            self.leasing.refused(None, 2)
            self.leasing.refused(1.25, 2)
        later = self.leasing.create(1.5, 2)
        self.assertEqual({host}, self.leasing.nodes(later))
        self.leasing.clean_up()
        self.leasing.create(None, 1.5)

    def test_offer_after_a_node_that_is_late_can_be_had(self):
        """What is offered then is accepted within the same minute."""
        self.leasing.hosts()
        self.leasing.started(0, 1)
        self.world.clock.now = leasing.at(1.25)
        offer = self.offer(self.leasing.refused(None, 2), 'later')
        self.world.clock.advance(59)
        self.leasing.post(offer)

    def test_later_offer_lasts_as_long_as_the_refused_lease(self):
        """It was shorter by the time since the requested start."""
        self.leasing.hosts()
        self.leasing.create(0, 5)
        hours = datetime.timedelta(hours=2)
        for start, passed, more in (
                (None, datetime.timedelta(milliseconds=400), {'lasts': hours}),
                (1, datetime.timedelta(seconds=40), {})):
            self.world.clock.now = leasing.at(1) + passed
            offer = self.offer(self.leasing.refused(start, 3, **more), 'later')
            made = self.leasing.post(offer)
            self.assertEqual((leasing.at(5), hours),
                             (made.start, made.end - made.start))
            self.leasing.end(made)

    def test_reservation_and_lease_never_share_a_host(self):
        """A lease begins when the reservation of its host has ended."""
        (host,) = self.leasing.hosts()
        self.world.reserve(host, ttl=3600)
        self.leasing.refused(None, 2)
        self.leasing.refused(0.5, 2)
        self.leasing.create(1, 2)


class TestDryRun(timelines.TestCase):

    def test_dry_run_writes_nothing(self):
        """It answers as if, and leaves every row as it was."""
        self.leasing.hosts(2)
        self.leasing.create(0, 2)
        self.leasing.create(4, 6)
        with self.unchanged():
            made = self.leasing.create(1, 5, key='k', dry_run=True)
            self.leasing.refused(1, 5, leasing.wish(2), dry_run=True)
        self.assertEqual(1, len(made.bookings))


class TestRaces(timelines.TestCase):

    def test_host_taken_between_plan_and_commit(self):
        """Who is outrun plans again, and is refused by what holds then."""
        self.leasing.hosts()
        other = self.another()
        self.world.before_next_write(lambda: other.create(1, 2))
        self.leasing.refused(1, 2)
        self.assertEqual(1, len(self.leasing.rows()))

    def test_host_closed_between_plan_and_commit(self):
        """What an operator has just closed is not promised any more."""
        (host,) = self.leasing.hosts()
        other = self.another()
        self.world.before_next_write(lambda: other.set_reservable(host, False))
        self.leasing.refused(1, 2)
        self.assertEqual([], self.leasing.rows())

    def test_host_reserved_between_plan_and_commit(self):
        """So is what somebody has just reserved."""
        (host,) = self.leasing.hosts()
        self.world.before_next_write(
            lambda: self.world.reserve(host, ttl=3600))
        self.leasing.refused(None, 1)

    def test_two_creates_at_once_never_double_book(self):
        """Eight threads of four engines; as many leases as hosts.

        Blazar: two creates at once book one host twice.  esi-leap: so do two
        API hosts, whose locks are each on its own host.
        """
        self.leasing.hosts(3)
        answers = self.leasing.create_at_once(*[leasing.ask(1, 2)] * 8)
        made = [answer for answer in answers if answer is not None]
        self.assertEqual((8, 3), (len(answers), len(made)))
        self.assertEqual(3, len(set().union(
            *(self.leasing.nodes(each) for each in made))))

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

"""What the operator allows: how long, how far ahead, how many."""

from ironic_reservations import errors
from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.model import limits
from tests import leasing
from tests import servers
from tests.inprocess.engine import timelines


class _Limits(timelines.TestCase):

    def limited(self, **options):
        self.begin(**{f'leases__{key}': value for key, value in {
            'project_limits': True, **options}.items()})
        self.leasing.hosts(4, resource_class='silver')

    def assert_limit(self, act, *args, **kwargs):
        with self.unchanged():
            self.assertRaises(errors.LeaseLimit, act, *args, **kwargs)


@servers.also
class TestManyInstances(_Limits):

    def test_bookings_of_a_lease_are_counted_where_they_are_stored(self):
        """Each of 200 leases may have a thousand instances, and all were read.
        """
        self.limited(max_instances_per_project=12,
                     max_hosts_per_class={'gold': 2, 'silver': 2})
        self.leasing.compute_hosts(2, vcpus=8)
        one = leasing.instances(5, 1)
        self.leasing.create(1, 3, one, one)
        self.leasing.create(2, 4, leasing.wish(2))
        now = self.world.clock()
        with self.engine.database.read() as connection:
            for texts in (False, True):
                self.assertEqual(
                    [(leasing.at(1), leasing.at(3), False, '', '', 5),
                     (leasing.at(1), leasing.at(3), False, '', '', 5),
                     (leasing.at(2), leasing.at(4), True, '', '', 2)],
                    sorted(db_bookings.read_of_project(
                        connection, 'ours', now, texts=texts)))
        self.leasing.create(1, 3, leasing.instances(2, 1))
        self.assert_limit(self.leasing.create, 2, 3, leasing.instances(1, 1))
        self.assert_limit(self.leasing.create, 3, 4, leasing.wish(1))


    def test_properties_that_differ_far_behind_are_not_alike(self):
        """MariaDB groups texts by their first 1024 bytes.

        Hosts of one class would have counted as those of another one.
        """
        self.limited()
        long = 1100 * 'x'
        wishes = [leasing.wish(properties=(
            f'["in", "$resource_class", ["{long}", "{name}"]]'))
            for name in ('silver', 'SILVER')]
        self.leasing.hosts(1, resource_class='SILVER')
        self.leasing.create(1, 3, *wishes)
        with self.engine.database.read() as connection:
            self.assertEqual(
                {each.resource_properties for each in wishes},
                {row[4] for row in db_bookings.read_of_project(
                    connection, 'ours', self.world.clock(), texts=True)})


class TestWindow(_Limits):

    def test_longer_lease_than_the_longest_is_refused(self):
        """When it is made, and when it is made longer."""
        self.limited(max_duration=7200)
        self.assert_limit(self.leasing.create, 1, 3.01)
        self.assert_limit(self.leasing.create, None, 2.01)
        lease = self.leasing.create(1, 3)
        self.assert_limit(self.leasing.change, lease, end=3.01)
        self.assert_limit(self.leasing.change, lease, start=0.9)
        self.leasing.change(lease, start=2, end=4)

    def test_lease_further_ahead_than_the_furthest_is_refused(self):
        """Its end counts."""
        self.limited(max_horizon=7200)
        self.assert_limit(self.leasing.create, 1, 2.01)
        lease = self.leasing.create(1, 2)
        self.assert_limit(self.leasing.change, lease, end=2.01)
        self.world.clock.now = leasing.at(0.5)
        self.leasing.change(lease, end=2.5)

    def test_limit_that_is_lowered_leaves_what_was_promised(self):
        """A lease that is too long by now can be renamed and shortened."""
        self.limited()
        lease = self.leasing.create(1, 4)
        self.configure(max_duration=7200)
        self.leasing.change(lease, name='renamed')
        self.assert_limit(self.leasing.change, lease, end=3.5)
        self.leasing.change(lease, end=3)

    def test_as_many_hours_as_nobody_uses(self):
        """An extension was answered with 500: its end was after the year 9999.
        """
        self.limited(max_host_hours_per_project=100_000_000)
        lease = self.leasing.create(1, 2)
        self.leasing.create(2, 6, leasing.wish(4), project_id='theirs')
        self.assertRaises(errors.LeaseRefused, self.leasing.change, lease,
                          end=3)

    def test_request_that_may_wait_is_offered_no_window_that_is_taken(self):
        """It was offered its own window, where a part of it would wait."""
        self.limited(max_hosts_per_project=2)
        for project in ('theirs', 'others'):
            self.leasing.create(1, 3, leasing.wish(2), project_id=project)
        refusal = self.assertRaises(errors.LeaseLimit, self.leasing.create,
                                    1, 3, leasing.wish(3), queue=True)
        self.assertEqual([], refusal.details['offers'])

    def test_no_offer_is_beyond_the_limits(self):
        """What is offered can be had."""
        self.limited(max_horizon=5 * 3600, max_duration=4 * 3600)
        self.leasing.create(1, 4, leasing.wish(4))
        for end, kinds in ((3, {'earlier', 'later'}), (4, set())):
            offers = self.leasing.refused(2, end).details['offers']
            self.assertEqual(kinds, {offer['kind'] for offer in offers})
            for offer in offers:
                self.leasing.post(offer, dry_run=True)


class TestCount(_Limits):

    def test_project_has_as_many_leases_as_it_may(self):
        """Each project for itself, and those without one together."""
        self.limited(max_leases_per_project=1)
        for project in ('ours', 'theirs', None):
            lease = self.leasing.create(1, 2, project_id=project)
            self.assert_limit(self.leasing.create, 3, 4, project_id=project)
            self.leasing.end(lease)
            self.leasing.create(3, 4, project_id=project)

    def test_leases_that_are_over_do_not_count(self):
        """Neither those that are being taken back."""
        self.limited(max_leases_per_project=1)
        self.leasing.started(0, 1)
        self.assert_limit(self.leasing.create, 2, 3)
        self.leasing.clock_passes(1)
        self.leasing.create(2, 3)

    def test_retry_of_the_last_lease_is_no_further_lease(self):
        """What was served is served again."""
        self.limited(max_leases_per_project=1)
        made = self.leasing.create(1, 2, key='k')
        self.assertEqual(made.id, self.leasing.create(1, 2, key='k').id)

    def test_dry_run_says_that_the_limit_is_reached(self):
        """Before anybody relies on the answer."""
        self.limited(max_leases_per_project=1)
        self.leasing.create(1, 2)
        self.assert_limit(self.leasing.create, 1, 2, dry_run=True)

    def test_two_at_once_do_not_exceed_the_number_of_leases(self):
        """Though they want different hosts at different times."""
        self.limited(max_leases_per_project=1)
        self.leasing.hosts(1, resource_class='gold')
        other = self.another()
        self.world.before_next_write(lambda: other.create(
            5, 6, leasing.wish_of('gold')))
        self.assertRaises(
            errors.LeaseLimit, self.leasing.create, 1, 2,
            leasing.wish(4, properties='["!=", "$resource_class", "gold"]'))
        self.assertEqual(1, len(self.leasing.all()))


class TestOfOne(_Limits):
    """What is limited to one is told in the singular."""

    def test_number_of_what_is_limited(self):
        for limit, sentence, hosts in (
                ({'max_hosts_per_project': 1},
                 'may have 1 host at the same time ', 2),
                ({'max_hosts_per_class': {'silver': 1}},
                 'may have 1 host of the class silver at the same time ', 2),
                ({'max_host_hours_per_project': 1},
                 'may have 1 hour of hosts ahead ', 2),
                ({'max_leases_per_project': 1}, 'has 1 lease, and ', 1),
                ({'max_hosts_per_project': 2},
                 'may have 2 hosts at the same time ', 3)):
            self.limited(**limit)
            if 'max_leases_per_project' in limit:
                self.leasing.create(3, 4)
            refused = self.assertRaises(
                errors.LeaseLimit, self.leasing.create, 1, 2,
                leasing.wish(hosts))
            self.assertIn(f'The project {sentence}', str(refused))


class TestHog(_Limits):
    """One member without nodes leased all 13 hosts until 2999."""

    def refused(self, *args, **kwargs):
        return self.assertRaises(errors.LeaseLimit, self.leasing.create,
                                 *args, **kwargs)

    def accepted(self, refusal, kind):
        """Post the offer of a kind as it is."""
        return self.leasing.post(self.offer(refusal, kind))

    def test_all_hosts_for_a_thousand_years_are_not_for_anybody(self):
        """As it comes; and what could be had is offered."""
        self.limited()
        self.leasing.hosts(9, resource_class='silver')
        refusal = self.refused(None, 24 * 365 * 973, leasing.wish(13))
        self.assertEqual(('max_duration', 31622400), (
            refusal.details['limit'], refusal.details['allowed']))
        refusal = self.refused(None, 24 * 365, leasing.wish(13))
        self.assertEqual('max_host_hours_per_project',
                         refusal.details['limit'])
        lease = self.accepted(refusal, 'shorter')
        self.assertEqual(13, len(lease.bookings))
        self.assertGreater(20000 * 3600, 13 * (
            lease.end - lease.start).total_seconds())
        self.refused(24 * 80, 24 * 81)

    def test_hosts_at_once_are_counted_where_leases_meet(self):
        """One after the other is as many as there are."""
        self.limited(max_hosts_per_project=3)
        self.leasing.hosts(2, resource_class='silver')
        first = self.leasing.create(1, 3, leasing.wish(2))
        self.leasing.create(3, 5, leasing.wish(3))
        refusal = self.refused(2, 3, leasing.wish(2))
        self.assertEqual(
            ('max_hosts_per_project', 3, 2, 2),
            tuple(refusal.details[key]
                  for key in ('limit', 'allowed', 'used', 'asked')))
        self.assertEqual(1, len(self.accepted(refusal, 'fewer').bookings))
        self.leasing.create(2, 3, leasing.wish(1), project_id='theirs')
        self.assert_limit(self.leasing.change, first, end=3.5)
        self.leasing.change(first, end=2)

    def test_as_many_as_may_be_are_what_the_limit_leaves(self):
        """Neither does the most that is asked for make any work."""
        self.limited(max_hosts_per_project=3)
        lease = self.leasing.create(1, 2, leasing.wish(1, 10**6),
                                    leasing.wish(1, 10**6))
        self.assertEqual([2, 1], [len(each.bookings)
                                  for each in lease.reservations])

    def test_instances_are_counted_for_themselves(self):
        """A host that is shared is not had whole."""
        self.limited(max_hosts_per_project=1, max_instances_per_project=2)
        self.leasing.hosts(4, properties=leasing.sizes(4))
        self.leasing.create(1, 2)
        self.refused(1, 2)
        self.refused(1, 2, leasing.instances(3))
        self.leasing.create(1, 2, leasing.instances(2))

    def test_hours_that_are_over_do_not_count(self):
        """Neither those of a lease that has ended, nor of one that lasts."""
        self.limited(max_host_hours_per_project=4)
        self.leasing.create(0, 4)
        self.refused(4, 5)
        self.world.clock.now = leasing.at(1.5)
        self.leasing.create(4, 5)
        self.refused(5, 6)

    def test_one_line_lifts_all(self):
        """And who may exceed limits is not counted."""
        self.limited(project_limits=False, max_hosts_per_project=1)
        self.leasing.create(1, 24 * 365 * 900, leasing.wish(2))
        self.limited(max_hosts_per_project=1, max_leases_per_project=1)
        for _ in range(2):
            self.leasing.create(1, 2, leasing.wish(2), allowed=limits.NONE)

    def test_two_at_once_do_not_exceed_what_a_project_may_have(self):
        """Though they want different hosts: the later one is planned anew."""
        self.limited(max_hosts_per_project=2)
        other = self.another()
        self.world.before_next_write(
            lambda: other.create(1, 2, leasing.wish(2)))
        self.refused(1, 2)
        self.assertEqual([2], [len(lease.bookings)
                               for lease in self.leasing.all()])


class TestMove(_Limits):
    """What moves is counted where it goes, not by how long it lasts."""

    def test_lease_that_moves_is_counted_at_its_new_time(self):
        """Of the same length, it passed the limit: any number at once."""
        self.limited(max_hosts_per_project=2, max_instances_per_project=1)
        self.leasing.hosts(2, properties=leasing.sizes(4))
        self.leasing.create(1, 3, leasing.wish(2))
        lease = self.leasing.create(5, 7)
        self.assert_limit(self.leasing.change, lease, start=1, end=3)
        self.assert_limit(self.leasing.change, lease, start=2.5, end=4.5)
        self.leasing.change(lease, start=3, end=5)
        self.leasing.create(1, 3, leasing.instances())
        lease = self.leasing.create(5, 7, leasing.instances())
        self.assert_limit(self.leasing.change, lease, start=1, end=3)

    def test_fewer_hosts_for_longer_are_counted_at_the_new_time(self):
        """They take no more hours than before."""
        self.limited(max_hosts_per_project=2)
        self.leasing.create(3, 5, leasing.wish(2))
        lease = self.leasing.create(1, 3, leasing.wish(2))
        self.assert_limit(self.leasing.resize, lease, 1, 1, end=5)
        self.leasing.resize(lease, 1, 1)

    def test_move_of_a_lease_of_a_class_is_counted(self):
        self.limited(max_hosts_per_class={'silver': 2})
        silver = leasing.wish_of('silver', 2)
        self.leasing.create(1, 3, silver)
        lease = self.leasing.create(5, 7, silver)
        self.assert_limit(self.leasing.change, lease, start=1, end=3)

    def test_move_that_takes_no_more_hours_needs_none(self):
        """All hours are in use, and it only moves them."""
        self.limited(max_host_hours_per_project=4)
        lease = self.leasing.create(1, 3, leasing.wish(2))
        self.assert_limit(self.leasing.change, lease, start=4, end=6.5)
        lease = self.leasing.change(lease, start=4, end=6)
        self.leasing.resize(lease, 1, 1, end=8)

    def test_limit_that_is_lowered_lets_a_lease_shrink(self):
        """Where it is; elsewhere it is a new promise."""
        self.limited()
        lease = self.leasing.create(1, 4, leasing.wish(3))
        self.configure(max_hosts_per_project=1)
        self.leasing.change(lease, start=2, end=3)
        self.leasing.resize(lease, 2, 2)
        self.assert_limit(self.leasing.change, lease, start=5, end=6)

    def test_two_leases_that_move_to_one_time_do_not_exceed_it_together(self):
        """The later one is found out in the transaction that writes it."""
        self.limited(max_hosts_per_project=1)
        self.leasing.hosts(1, resource_class='gold')
        one, two = (
            self.leasing.create(start, start + 2, leasing.wish_of(name))
            for start, name in ((3, 'silver'), (5, 'gold')))
        other = self.another()
        self.world.before_next_write(lambda: other.change(one, start=1, end=3))
        self.assertRaises(errors.LeaseLimit, self.leasing.change, two,
                          start=1, end=3)
        self.assertEqual(
            [leasing.at(1), leasing.at(5)],
            sorted(lease.start for lease in self.leasing.all()))

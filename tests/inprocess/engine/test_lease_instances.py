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

"""Leases of instances, alone and beside leases of hosts."""

import dataclasses

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import tables
from ironic_reservations.engine.lease_cycle import health as lease_health
from ironic_reservations.engine.leases import heal as lease_heal
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import leases
from tests import leasing
from tests import servers
from tests.inprocess.engine import timelines

AFFINITIES = (True, False, None)


class _Leases(timelines.TestCase):

    def hosts(self, count=1, cpus=4, **known):
        return self.leasing.hosts(count, properties=leasing.sizes(cpus),
                                  **known)

    def rows(self):
        with self.engine.database.read() as connection:
            return set(connection.scalars(sa.select(
                tables.instance_reservations.c.reservation_id)))


@servers.also
class TestCreate(_Leases):

    def test_lease_stands_in_the_rows_as_it_was_answered(self):
        """What was answered is what is read again."""
        self.hosts(3)
        made = self.leasing.create(1, 3, leasing.instances(2, 4, 512, 5,
                                                           False))
        read = self.leasing.reload(made)
        (wanted,) = (each.instances for each in read.reservations)
        self.assertEqual(made.reservations[0].instances, wanted)
        self.assertEqual(
            ((4, 512, 5), 2, False, made.reservations[0].id,
             made.reservations[0].resource_id),
            (wanted.sizes, wanted.amount, wanted.affinity,
             wanted.reservation_id, wanted.id))
        self.assertEqual('virtual:instance',
                         read.reservations[0].resource_type)
        self.assertEqual(2, len(self.leasing.nodes(made)))
        self.assertEqual([read], self.leasing.all())

    def test_only_hosts_with_the_sizes_are_given(self):
        """Each size has to be there, as Ironic says it."""
        self.leasing.hosts(2)
        self.hosts(2, 2)
        self.hosts(1, 'many')
        (fits,) = self.hosts(1, 4)
        made = self.leasing.create(1, 3, leasing.instances(1, 3, 1024, 10))
        self.assertEqual({fits}, self.leasing.nodes(made))
        for short, said in (
                ((5, 1, 1), '5 vcpus, 1 MB of memory and 1 GB'),
                ((1, 1025, 1), '1 vcpu, 1025 MB of memory and 1 GB'),
                ((1, 1, 11), '1 vcpu, 1 MB of memory and 11 GB')):
            refused = self.leasing.refused(5, 6, leasing.instances(1, *short))
            self.assertEqual('no_host_matches', self.code(refused))
            self.assertIn(said, str(refused))

    def test_properties_count_besides_the_sizes(self):
        """A host has to do for both."""
        self.hosts(1, 4, resource_class='silver')
        self.hosts(1, 2, resource_class='gold')
        (fits,) = self.hosts(1, 4, resource_class='gold')
        made = self.leasing.create(1, 3, leasing.instances(
            1, 4, properties=leasing.of_class('gold')))
        self.assertEqual({fits}, self.leasing.nodes(made))

    def test_never_more_instances_than_there_is_room_for(self):
        """Blazar: virtual:instance overbooks: 128 vcpus on a host of 64."""
        self.hosts(1, 64)
        wish = leasing.instances(1, 64)
        self.leasing.create(1, 2, wish)
        refused = self.leasing.refused(1, 2, wish)
        self.assertEqual('shortage', self.code(refused))
        self.assertEqual(1, refused.details['reasons'][0]['hosts_short'])
        self.leasing.refused(3, 4, leasing.instances(1, 128))
        self.leasing.refused(3, 4, leasing.instances(2, 64))
        self.assertEqual(1, len(self.leasing.rows()))

    def test_instances_back_to_back_share_a_host(self):
        """One may begin at the very instant at which another ends.

        Blazar: virtual:instance windows back to back are refused.
        """
        (host,) = self.hosts()
        made = [self.leasing.create(start, start + 1,
                                    leasing.instances(1, 4))
                for start in (2, 1, 3)]
        self.assertEqual([{host}] * 3,
                         [self.leasing.nodes(each) for each in made])

    def test_peak_of_instances_outside_the_window_does_not_count(self):
        """What is taken before and after is no reason to refuse.

        Blazar: a peak outside of the window refuses instances.
        """
        self.hosts(2)
        for window in ((0, 1), (0, 1), (2, 3), (2, 3)):
            self.leasing.create(*window, leasing.instances(1, 4))
        self.leasing.create(1, 2, leasing.instances(2, 4))

    def test_hosts_and_instances_are_promised_from_one_pool(self):
        """Neither kind takes what the other has."""
        self.hosts(3)
        self.leasing.create(1, 3, leasing.wish(2))
        self.leasing.create(1, 3, leasing.instances(1, 4))
        self.leasing.refused(2, 4, leasing.wish(1))
        self.leasing.refused(2, 4, leasing.instances(1, 1))

    def test_lease_of_both_kinds_is_had_whole_or_not_at_all(self):
        """Hosts and instances in one lease."""
        self.hosts(3)
        self.leasing.refused(1, 3, leasing.wish(2), leasing.instances(2, 4))
        self.assertEqual([], self.leasing.rows())
        self.assertEqual(set(), self.rows())
        made = self.leasing.create(1, 3, leasing.wish(1),
                                   leasing.instances(2, 4))
        self.assertEqual([1, 2], [len(each.bookings) for each
                                  in self.leasing.reload(made).reservations])
        self.assertEqual(3, len(self.leasing.nodes(made)))

    def test_instances_that_have_not_started_make_room(self):
        """Whatever asks for a host that an instance can do without."""
        small, large = self.hosts(1, 2) + self.hosts(1, 8)
        first = self.leasing.create(1, 3, leasing.instances(1, 2))
        second = self.leasing.create(1, 3, leasing.instances(1, 8))
        third = self.leasing.create(4, 6)
        fourth = self.leasing.create(4, 6, leasing.instances(1, 8))
        self.assertEqual([{small}, {large}] * 2, [
            self.leasing.nodes(each)
            for each in (first, second, third, fourth)])

    def test_one_instance_has_any_affinity(self):
        """It is with itself, and with no other."""
        self.hosts(3)
        for affinity in AFFINITIES:
            self.leasing.create(1, 2, leasing.instances(
                1, 4, affinity=affinity))

    def test_instances_that_are_apart_or_wherever_have_a_host_each(self):
        """A node of Ironic has a slot for one."""
        self.hosts(4, 64)
        for affinity in (False, None):
            made = self.leasing.create(1, 2, leasing.instances(
                2, 1, affinity=affinity))
            self.assertEqual(2, len(self.leasing.nodes(made)))

    def test_instances_together_are_refused_with_what_can_be_had(self):
        """No host has room for two; apart, they can be had."""
        self.hosts(2, 64)
        refused = self.leasing.refused(1, 2, leasing.instances(
            2, 1, affinity=True))
        (reason,) = refused.details['reasons']
        self.assertEqual('no_host_takes_all', reason['code'])
        self.assertTrue(reason['proved'])
        offer, fewer = refused.details['offers']
        self.assertEqual(('no_affinity', 'fewer'),
                         (offer['kind'], fewer['kind']))
        made = self.leasing.post(offer)
        self.assertIsNone(made.reservations[0].instances.affinity)
        self.assertEqual(2, len(self.leasing.nodes(made)))

    def test_every_offer_is_accepted_as_it_is(self):
        """Later, earlier, shorter, fewer, and of another class."""
        gold = leasing.of_class('gold')
        self.hosts(2, resource_class='gold')
        self.hosts(2, resource_class='silver')
        self.leasing.hosts(1, resource_class='bronze')
        self.leasing.create(4, 6, leasing.wish(1, properties=gold))
        wanted = leasing.instances(2, 4, 1024, 10, False, gold)
        kinds = set()
        for offer in self.leasing.refused(3, 5, wanted).details['offers']:
            kinds.add(offer['kind'])
            made = self.leasing.post(offer)
            (reservation,) = self.leasing.reload(made).reservations
            self.assertEqual(wanted.instances.sizes,
                             reservation.instances.sizes)
            self.assertIs(False, reservation.instances.affinity)
            self.assertEqual(reservation.instances.amount,
                             len(reservation.bookings))
            self.assert_sound()
            self.leasing.end(made)
        self.assertEqual({'later', 'earlier', 'shorter', 'fewer',
                          'other_class'}, kinds)

    def test_blockers_are_told(self):
        """One's own with the reservation, others without."""
        self.hosts(1)
        made = self.leasing.create(1, 3, leasing.instances(1, 4))
        blocked = self.leasing.refused(2, 4)
        self.assertEqual(
            [made.reservations[0].id],
            [each['reservation_id'] for each
             in blocked.details['reasons'][0]['blockers']])
        other = self.leasing.refused(2, 4, leasing.instances(1, 4),
                                     project_id='theirs')
        (blocker,) = other.details['reasons'][0]['blockers']
        self.assertNotIn('reservation_id', blocker)

    def test_dry_run_promises_nothing(self):
        """It is planned, and that is all."""
        self.hosts(1)
        with self.unchanged():
            made = self.leasing.create(1, 2, leasing.instances(1, 4),
                                       dry_run=True)
        self.assertEqual(1, len(made.bookings))

    def test_same_key_is_served_once(self):
        """And a key that comes with other sizes is refused."""
        self.hosts(2)
        one, again = (self.leasing.create(1, 2, leasing.instances(1, 4),
                                          key='key') for _ in range(2))
        self.assertEqual(one.id, again.id)
        self.assertEqual(1, len(self.leasing.rows()))
        self.assertRaises(
            errors.IdempotencyKeyReused, self.leasing.create, 1, 2,
            leasing.instances(1, 3), key='key')

    def test_flavor_keeps_its_name(self):
        """The sizes are what counts."""
        self.hosts(1)
        wish = leasing.instances(1, 4)
        made = self.leasing.create(1, 2, dataclasses.replace(
            wish, resource_type=instance_reservations.FLAVOR_INSTANCE,
            instances=dataclasses.replace(wish.instances,
                                          source_flavor_id='3')))
        (read,) = self.leasing.reload(made).reservations
        self.assertEqual('flavor:instance', read.resource_type)
        self.assertEqual('3', read.instances.source_flavor_id)

    def test_wishes_that_make_no_sense(self):
        """None of them reaches the timeline."""
        self.hosts(2)
        sized = leasing.instances(1, 4)
        for wrong in (
                dataclasses.replace(sized, most=2),
                dataclasses.replace(sized, instances=None),
                dataclasses.replace(sized, least=0, most=0),
                dataclasses.replace(sized, resource_type='physical:host'),
                dataclasses.replace(sized, resource_type='virtual:network'),
                leasing.instances(1, 0), leasing.instances(1, -1, 1)):
            self.assertRaises(errors.InvalidValue, self.leasing.create, 1, 2,
                              wrong)


@servers.also
class TestChange(_Leases):

    def make(self, start, end, *args, **kwargs):
        return self.leasing.create(start, end,
                                   leasing.instances(*args, **kwargs))

    def started(self, amount=1, cpus=4):
        """Have a lease of instances that lasts from 0 until 2."""
        made = self.make(0, 2, amount, cpus)
        self.leasing.clock_passes(0.5)
        self.assertIs(leasing.ACTIVE, self.leasing.reload(made).status)
        return made

    def amount(self, lease):
        """Return how many instances a lease has, as its rows are."""
        (reservation,) = self.leasing.reload(lease).reservations
        return reservation.instances.amount

    def test_amount_grows_and_shrinks_before_the_start(self):
        """With as many nodes as there are instances."""
        self.hosts(3)
        made = self.make(1, 2, 1, 4)
        for amount in (3, 2):
            self.leasing.resize_instances(made, amount)
            (read,) = self.leasing.reload(made).reservations
            self.assertEqual([amount] * 4, [
                read.least, read.most, read.instances.amount,
                len(self.leasing.nodes(made))])
        self.assertRaises(errors.LeaseRefused, self.leasing.resize_instances,
                          made, 4)
        self.assertEqual(2, self.amount(made))

    def test_sizes_change_before_the_start(self):
        """The instances go where there is room for them."""
        small, large = self.hosts(1, 2) + self.hosts(1, 8)
        other = self.make(1, 2, 1, 8)
        made = self.make(1, 2, 1, 2)
        self.assertEqual({small}, self.leasing.nodes(made))
        self.leasing.end(other)
        self.leasing.resize_instances(made, vcpus=8, affinity=True,
                                      keeps_affinity=False)
        (read,) = self.leasing.reload(made).reservations
        self.assertEqual(((8, 0, 0), True), (read.instances.sizes,
                                             read.instances.affinity))
        self.assertEqual({large}, self.leasing.nodes(made))
        refused = self.assertRaises(errors.LeaseRefused,
                                    self.leasing.resize_instances, made,
                                    vcpus=16)
        self.assertIn('16 vcpus', str(refused))
        self.assertEqual({large}, self.leasing.nodes(made))

    def test_amount_grows_while_the_lease_lasts(self):
        """What is there stays where it is.

        Instances of a lease that has started are never moved.
        """
        self.hosts(3)
        made = self.started()
        there = self.leasing.nodes(made)
        self.leasing.resize_instances(made, 3)
        self.assertEqual(3, len(self.leasing.nodes(made)))
        self.assertLess(there, self.leasing.nodes(made))
        self.assertEqual(3, self.amount(made))
        self.assertRaises(errors.LeaseRefused, self.leasing.resize_instances,
                          made, 4)

    def test_amount_shrinks_while_the_lease_lasts(self):
        """Nodes that are not deployed are given back, or those named."""
        self.hosts(3)
        made = self.started(3)
        self.leasing.resize_instances(made, 2)
        self.assertEqual(2, len(self.leasing.nodes(made)))
        self.assertEqual(2, self.amount(made))
        gone = sorted(self.leasing.nodes(made))[0]
        self.leasing.resize(made, give_back=[gone])
        self.assertNotIn(gone, self.leasing.nodes(made))
        self.assertEqual(1, self.amount(made))

    def test_what_has_started_keeps_its_sizes(self):
        """And its affinity."""
        self.hosts(2)
        made = self.started()
        for changes in ({'vcpus': 2}, {'memory_mb': 1}, {'disk_gb': 1},
                        {'affinity': False, 'keeps_affinity': False}):
            self.assertRaises(errors.LeaseFrozen,
                              self.leasing.resize_instances, made, **changes)
        self.leasing.resize_instances(made, 2, vcpus=4, affinity=None,
                                      keeps_affinity=False)

    def test_extension_has_others_make_room(self):
        """The instance stays; the lease that comes later moves."""
        self.hosts(2)
        made = self.started()
        (host,) = self.leasing.nodes(made)
        later = []
        while not later or self.leasing.nodes(later[-1]) != {host}:
            later.append(self.make(3, 4, 1, 4))
        for lease in later[:-1]:
            self.leasing.end(lease)
        self.leasing.change(made, end=4)
        self.assertEqual({host}, self.leasing.nodes(made))
        self.assertNotEqual({host}, self.leasing.nodes(later[-1]))

    def test_extension_that_cannot_be_had_tells_how_far_it_can(self):
        """Until the next one, which has nowhere else to go."""
        self.hosts(1)
        made = self.started()
        self.make(3, 4, 1, 4)
        refused = self.refuse(made, end=5)
        (offer,) = refused.details['offers']
        self.assertEqual('shorter', offer['kind'])
        self.leasing.change(made, end=3)

    def test_window_moves_and_shrinks(self):
        """Before the start, and at the end."""
        self.hosts(1)
        made = self.make(1, 2, 1, 4)
        self.leasing.change(made, start=4, end=6)
        self.make(1, 4, 1, 4)
        self.leasing.change(made, end=5)
        self.make(5, 6, 1, 4)

    def test_hosts_and_instances_are_not_changed_into_each_other(self):
        """Each kind has words of its own."""
        self.hosts(2)
        hosts, made = self.leasing.create(1, 2), self.make(1, 2, 1, 4)
        for call, lease, changes in (
                (self.leasing.resize_instances, hosts, {'amount': 2}),
                (self.leasing.resize_instances, hosts, {'vcpus': 2}),
                (self.leasing.resize, made, {'least': 2}),
                (self.leasing.resize, made, {'most': 2}),
                (self.leasing.resize_instances, made, {'vcpus': 0})):
            self.assertRaises(errors.InvalidValue, call, lease, **changes)

    def test_flavor_says_the_sizes(self):
        """They cannot be changed without it; the amount can."""
        self.hosts(2)
        wish = leasing.instances(1, 4)
        made = self.leasing.create(1, 2, dataclasses.replace(
            wish, resource_type=instance_reservations.FLAVOR_INSTANCE))
        self.assertRaises(errors.InvalidValue, self.leasing.resize_instances,
                          made, vcpus=2)
        self.leasing.resize_instances(made, 2)

    def test_nothing_is_changed_by_a_refusal_or_a_dry_run(self):
        """Neither the rows of the lease nor those of its instances."""
        self.hosts(1)
        made = self.make(1, 2, 1, 4)
        with self.unchanged():
            self.assertRaises(errors.LeaseRefused,
                              self.leasing.resize_instances, made, 2, vcpus=3)

    def test_end_leaves_nothing_behind(self):
        """Of its own; another's stays."""
        self.hosts(2)
        kept = self.make(1, 2, 1, 4)
        self.leasing.end(self.make(1, 2, 1, 4))
        self.assertEqual({kept.reservations[0].id}, self.rows())
        self.assertEqual([kept.id], [each.id for each in self.leasing.all()])

    def test_lease_that_has_started_is_gone_when_it_is_taken_back(self):
        """With what it asked for."""
        self.hosts(1)
        made = self.started()
        self.leasing.end(made)
        self.assertIs(leases.LeaseStatus.DELETING,
                      self.leasing.reload(made).status)
        self.leasing.clean_up()
        self.assertEqual(set(), self.rows())
        self.assertEqual([], self.leasing.all())

    def test_no_second_one_beside_the_first(self):
        """With affinity, and each host takes one."""
        self.hosts(2)
        made = self.make(0, 2, 1, 4, affinity=True)
        for hours in (0, 0.5):
            self.leasing.clock_passes(hours)
            refused = self.assertRaises(
                errors.LeaseRefused, self.leasing.resize_instances, made, 2)
            self.assertEqual('no_host_takes_all', self.code(refused))
            self.assertEqual(1, len(self.leasing.nodes(made)))


@servers.also
class TestRaces(_Leases):

    def test_node_taken_between_plan_and_commit(self):
        """Who is outrun plans again, and is refused by what holds then."""
        self.hosts(1)
        other = self.another()
        for first, second in ((leasing.instances(1, 4), leasing.wish()),
                              (leasing.wish(), leasing.instances(1, 4))):
            self.world.before_next_write(
                lambda first=first: self.leasing.end(
                    other.create(1, 2, first)))
            self.leasing.create(1, 2, second)
            self.world.before_next_write(
                lambda first=first: other.create(3, 4, first))
            self.leasing.refused(3, 4, second)
            self.assert_sound()
            for lease in self.leasing.all():
                self.leasing.end(lease)

    def test_creates_at_once_have_a_node_each(self):
        """Eight threads of four engines, of hosts and of instances."""
        self.hosts(3)
        answers = self.leasing.create_at_once(
            *[leasing.ask(1, 2, wish) for _ in range(4) for wish in (
                leasing.wish(), leasing.instances(1, 4))])
        made = [answer for answer in answers if answer is not None]
        self.assertEqual((8, 3), (len(answers), len(made)))
        self.assertEqual(3, len(set().union(
            *(self.leasing.nodes(each) for each in made))))


@servers.also
class TestHealing(_Leases):

    def test_instance_moves_to_a_host_with_its_sizes(self):
        """Never to one that is too small."""
        self.hosts(1, 2)
        one, other = self.hosts(2, 8)
        made = self.leasing.create(1, 2, leasing.instances(1, 8))
        (host,) = self.leasing.nodes(made)
        self.leasing.break_node(host)
        lease_heal.heal(self.engine)
        self.assertEqual({one, other} - {host}, self.leasing.nodes(made))
        self.leasing.break_node(*self.leasing.nodes(made))
        lease_health.check(self.engine)
        self.assertTrue(self.leasing.reload(made).reservations[0]
                        .missing_resources)

    def test_instance_that_has_started_is_replaced_when_asked(self):
        """By a node of its size, and not by itself."""
        self.hosts(1, 2)
        large = set(self.hosts(2, 8))
        made = self.leasing.create(0, 2, leasing.instances(1, 8))
        self.leasing.clock_passes(0.5)
        (broken,) = self.leasing.nodes(made)
        self.leasing.break_node(broken)
        lease_heal.heal(self.engine)
        self.assertEqual({broken}, self.leasing.nodes(made))
        self.leasing.change(made, heal=True)
        self.assertEqual(large - {broken}, self.leasing.nodes(made))
        self.assertTrue(self.leasing.reload(made).reservations[0]
                        .resources_changed)

    def test_host_whose_sizes_shrink_is_no_longer_eligible(self):
        """What is there stays; what is new goes elsewhere."""
        (host,) = self.hosts(1, 8)
        self.leasing.create(1, 2, leasing.instances(1, 8))
        self.world.change(host, properties=leasing.sizes(4))
        self.leasing.refused(3, 4, leasing.instances(1, 8))
        self.leasing.create(3, 4, leasing.instances(1, 4))

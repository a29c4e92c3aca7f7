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

"""Whole hosts and instances in one pool: never too full, no wrong refusal."""

import dataclasses

import testtools

from ironic_reservations.model import inventories
from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import shares
from ironic_reservations.planner import timeline
from tests.judges import checker

IRONIC = None
SMALL = {'VCPU': 4, 'MEMORY_MB': 8, 'DISK_GB': 10}


def vcpus(number):
    return (('VCPU', number),)


def there(name, start, end, node, amount=1, **more):
    """Return an instance that may be on the first eight hosts."""
    more = {'eligible': host_sets.everything(8), 'group': name, **more}
    return bookings.Booking(f'{name}/0', start, end, node,
                            amounts=vcpus(amount), **more)


def ask(start, end, amount=1, size=1, name='new', **more):
    more = {'eligible': host_sets.everything(8), **more}
    return bookings.Demand(name, start, end, amount, amount,
                           amounts=vcpus(size), **more)


def host(start, end, count=1, name='host', **more):
    more = {'eligible': host_sets.everything(8), **more}
    return bookings.Demand(name, start, end, count, count, **more)


def plan(capacities, promised, *demands, **more):
    """Plan with the given hosts, regardless of their sets."""
    everything = host_sets.everything(len(capacities))

    def cut(each):
        return dataclasses.replace(each, eligible=each.eligible & everything)
    promised = [cut(each) for each in promised]
    demands = [cut(each) for each in demands]
    answer = planning.plan(timeline.Timeline.of(capacities, promised), demands,
                           **more)
    if isinstance(answer, plans.Plan):
        assert not checker.faults(promised, demands,
                                  answer.timeline.promised(), capacities)
    return answer


def nodes_of(answer, number=0):
    return sorted(each.node for each in answer.granted[number])


def granted(answer):
    return (None if isinstance(answer, plans.Refusal)
            else [len(row) for row in answer.granted])


class _TestCase(testtools.TestCase):

    def grants(self, counts, *args, **more):
        """Check the number of each demand's hosts; None: all are refused."""
        self.assertEqual(counts, granted(plan(*args, **more)))

    def short(self, answer, number):
        """Check that this number is proved to be too small at some instant."""
        self.assertEqual((plans.Cause.SHORTAGE, number),
                         (answer.cause, answer.short))


class TestFlawsOfBlazar(_TestCase):
    """Each test is named by the fault in Blazar."""

    def test_128_vcpus_on_a_host_of_64_are_refused(self):
        big = [{'VCPU': 64}]
        self.grants([8], big, (), ask(0, 5, 8, 8))
        answer = plan(big, (), ask(0, 5, 16, 8))
        self.short(answer, 8)
        first = plan(big, (), ask(0, 5, 8, 8, 'first'))
        self.grants(None, big, first.timeline.promised(),
                    ask(4, 6, 8, 8, 'second'))

    def test_windows_back_to_back_are_accepted(self):
        promised = (there('before', 0, 5, 0, 4), there('after', 8, 9, 0, 4))
        self.grants([4], [SMALL], promised, ask(5, 8, 4))
        self.grants(None, [SMALL], promised, ask(4, 8))
        self.grants(None, [SMALL], promised, ask(5, 9))

    def test_peak_outside_the_window_does_not_refuse(self):
        promised = [there(name, start, end, 0, 2) for name, start, end in (
            ('a', 0, 5), ('b', 0, 5), ('c', 5, 9), ('d', 9, 20),
            ('e', 9, 20))]
        self.grants([2], [SMALL], promised, ask(5, 9, 2))

    def test_peaks_of_several_times_are_not_added_up(self):
        promised = [there('a', 0, 5, 0, 3), there('b', 5, 9, 0, 3)]
        self.grants([1], [SMALL], promised, ask(0, 9))

    def test_more_instances_than_hosts_share_them(self):
        self.grants([8], [SMALL] * 2, (), ask(0, 5, 8))

    def test_host_and_instances_never_share_a_host_at_one_time(self):
        taken = plan([SMALL], (), host(0, 5))
        self.grants(None, [SMALL], taken.timeline.promised(), ask(4, 6))
        self.grants([1], [SMALL], taken.timeline.promised(), ask(5, 6))
        shared = plan([SMALL], (), ask(0, 5))
        self.grants(None, [SMALL], shared.timeline.promised(), host(4, 6))
        self.grants([1], [SMALL], shared.timeline.promised(), host(5, 6))

    def test_hosts_pinned_at_creation_do_not_refuse_the_third_lease(self):
        promised = (there('L1', 0, 2, 0, 4), there('L2', 4, 6, 1, 4))
        answer = plan([SMALL] * 2, promised, ask(1, 5, 1, 4))
        self.assertEqual([1], granted(answer))
        self.assertEqual(1, len(answer.moves))


class TestAffinity(_TestCase):

    def test_true_is_one_host_or_none(self):
        answer = plan([SMALL] * 2, [there('a', 0, 5, 0, movable=False)],
                      ask(0, 5, 4, affinity=True))
        self.assertEqual([1] * 4, nodes_of(answer))
        self.grants(None, [SMALL] * 2, (), ask(0, 5, 5, affinity=True))

    def test_false_is_as_many_hosts_as_instances(self):
        answer = plan([SMALL] * 3, (), ask(0, 5, 3, affinity=False))
        self.assertEqual([0, 1, 2], nodes_of(answer))
        answer = plan([SMALL] * 3, (), ask(0, 5, 4, affinity=False))
        self.short(answer, 1)

    def test_null_packs_and_leaves_whole_hosts(self):
        first = plan([SMALL] * 4, (), ask(0, 5, 2, name='first'))
        second = plan([SMALL] * 4, first.timeline.promised(), ask(0, 5, 2))
        self.assertEqual(nodes_of(first), nodes_of(second))
        self.grants([3], [SMALL] * 4, second.timeline.promised(),
                    host(0, 5, 3))

    def test_as_many_together_as_nobody_has_cost_nothing(self):
        """The number is ten to the twelfth: each unit would take a while."""
        answer = plan([SMALL, None], (), ask(0, 5, 10 ** 12, affinity=True))
        self.assertTrue(answer.cause.proved)
        self.assertEqual(10 ** 12 - 4, answer.short)

    def test_group_with_affinity_moves_as_one(self):
        group = [dataclasses.replace(there('g', 0, 5, 0, affinity=True),
                                     id=f'g/{number}')
                 for number in range(2)]
        answer = plan([{'VCPU': 6}, SMALL], group, ask(0, 5, 1, 5))
        self.assertEqual([0], nodes_of(answer))
        self.assertEqual(['g/0', 'g/1'], sorted(
            move.booking.id for move in answer.moves))

    def test_group_without_affinity_stays_apart_when_it_moves(self):
        group = [dataclasses.replace(there('g', 0, 5, node, affinity=False),
                                     id=f'g/{node}') for node in range(2)]
        answer = plan([SMALL] * 2, group, host(0, 5))
        self.assertEqual(plans.Cause.NO_ASSIGNMENT, answer.cause)
        self.grants([1], [SMALL] * 3, group, host(0, 5))

    def test_group_with_affinity_grows_where_it_is(self):
        begun = there('new', 0, 5, 1, 2, affinity=True, movable=False)
        answer = plan([SMALL] * 2, [begun], ask(
            0, 5, 2, affinity=True, first=1))
        self.assertEqual([1, 1], nodes_of(answer))
        self.assertEqual(['new/1', 'new/2'],
                         [each.id for each in answer.granted[0]])
        self.grants(None, [SMALL] * 2, [begun],
                    ask(0, 5, 3, affinity=True, first=1))

    def test_group_without_affinity_grows_on_other_hosts(self):
        begun = there('new', 0, 5, 1, affinity=False, movable=False)
        answer = plan([SMALL] * 3, [begun], ask(
            0, 5, 2, affinity=False, first=1))
        self.assertEqual([0, 2], nodes_of(answer))
        self.grants(None, [SMALL] * 3, [begun],
                    ask(0, 5, 3, affinity=False, first=1))


class TestNodesOfIronic(_TestCase):

    def test_group_that_grows_is_not_torn_apart_by_another_demand(self):
        """The other demand would take its node, and move it elsewhere."""
        promised = [there('group', 0, 5, 0, affinity=True)]
        demands = [host(0, 5, eligible=0b01),
                   ask(5, 9, name='more', affinity=True, group='group',
                       first=1)]
        self.assertIsInstance(plan([IRONIC] * 2, promised, demands[0]),
                              plans.Plan)
        for order in (demands, demands[::-1]):
            for limits in (budget.Limits(), budget.Limits(swap=0),
                           budget.Limits(swap=0, search=0)):
                self.assertIsInstance(
                    plan([IRONIC] * 2, promised, *order, limits=limits),
                    plans.Refusal)

    def test_instance_takes_the_whole_node(self):
        self.grants([2], [IRONIC] * 2, (), ask(0, 5, 2))
        answer = plan([IRONIC] * 2, (), ask(0, 5, 3))
        self.short(answer, 1)

    def test_two_instances_cannot_be_together_there(self):
        self.grants(None, [IRONIC] * 2, (), ask(0, 5, 2, affinity=True))
        self.grants([1], [IRONIC] * 2, (), ask(0, 5, affinity=True))

    def test_margin_is_for_nodes_of_ironic_alone(self):
        self.grants([1], [SMALL], [there('a', 0, 5, 0, 4, margin=2)],
                    ask(5, 6, 1, 4))
        self.grants(None, [IRONIC], [there('a', 0, 5, 0, margin=2)], ask(6, 7))
        self.grants([1], [IRONIC], [there('a', 0, 5, 0, margin=2)], ask(7, 8))

    def test_compute_hosts_come_before_nodes_of_ironic(self):
        answer = plan([IRONIC, SMALL, IRONIC], (), ask(0, 5, 5))
        self.assertEqual([0, 1, 1, 1, 1], nodes_of(answer))

    def test_room_that_is_there_needs_no_step(self):
        """This is so on compute hosts, and on nodes of Ironic beside them."""
        answer = plan([IRONIC, SMALL, IRONIC], (), ask(0, 5, 5),
                      limits=budget.Limits(
                          proof=0, swap=0, search=0,
                          eject=0))
        self.assertEqual([0, 1, 1, 1, 1], nodes_of(answer))

    def test_instance_leaves_its_node_for_a_lease_of_the_node(self):
        answer = plan([IRONIC, SMALL], [there('a', 0, 5, 0)],
                      host(0, 5, eligible=0b01))
        self.assertEqual([('a/0', 1)], [(move.booking.id, move.node)
                                        for move in answer.moves])

    def test_lease_of_a_node_leaves_a_compute_host_for_instances(self):
        booked = bookings.Booking('b', 0, 5, 1, 0b11)
        answer = plan([IRONIC, SMALL], [booked],
                      ask(0, 5, 4, eligible=0b10))
        self.assertEqual([('b', 0)], [(move.booking.id, move.node)
                                      for move in answer.moves])


class TestRefusals(_TestCase):

    def test_started_share_is_proof_that_no_host_is_whole(self):
        answer = plan([SMALL], [there('stays', 0, 9, 0, movable=False)],
                      host(2, 5))
        self.assertEqual((plans.Cause.SHORTAGE, 2),
                         (answer.cause, answer.at))

    def test_what_the_same_request_gets_is_in_the_way(self):
        answer = plan([SMALL], (), host(2, 5), ask(0, 9))
        self.assertEqual('new', answer.demand.id)
        lacking, = answer.hosts
        self.assertEqual((0, (shares.Spell(2, 5),)),
                         (lacking.room, lacking.spells))
        self.assertEqual(['host/0'], [each.id for each in answer.blockers])

    def test_each_host_says_what_is_short_and_when(self):
        promised = [there('a', 2, 4, 0, 3, movable=False),
                    there('b', 3, 6, 0, 1, movable=False),
                    there('c', 1, 9, 1, 2, movable=False)]
        answer = plan([SMALL] * 2, promised, ask(0, 8, 2, 2))
        self.short(answer, 1)
        self.assertEqual([
            (1, 1, (shares.Spell(1, 8, 'VCPU', 2),)),
            (0, 0, (shares.Spell(2, 4, 'VCPU', 2),))],
            [(each.node, each.room, each.spells) for each in answer.hosts])
        self.assertEqual(['c/0', 'a/0', 'b/0'],
                         [each.id for each in answer.blockers])

    def test_no_more_is_said_to_be_short_than_is_proved(self):
        """Demands that would fit after moves are not counted as short."""
        promised = [there('stays', 0, 9, 0, 4, movable=False),
                    there('moves', 1, 9, 1, 1)]
        answer = plan([SMALL] * 3, promised, ask(
            1, 9, 2, 4, eligible=0b011))
        self.short(answer, 1)
        self.grants([1], [SMALL] * 3, promised,
                    ask(1, 9, 1, 4, eligible=0b011))

    def test_no_more_is_said_to_be_short_than_would_not_fit(self):
        """No single host is too full for them, but all together are."""
        promised = [there('a', 0, 9, 0, 2), there('b', 0, 9, 1, 2)]
        answer = plan([SMALL] * 2, promised, ask(0, 9, 2, 4))
        self.short(answer, 1)
        self.grants([1], [SMALL] * 2, promised, ask(0, 9, 1, 4))

    def test_only_what_is_short_is_told(self):
        size = inventories.of_sizes(1, 9, 1)
        answer = plan([{**SMALL, 'MEMORY_MB': 9}], [bookings.Booking(
            'a', 0, 5, 0, 1, False, amounts=inventories.of_sizes(1, 1, 1),
            group='a')], bookings.Demand('new', 0, 9, 1, 1, 1,
                                         amounts=size))
        self.assertEqual((shares.Spell(0, 5, 'MEMORY_MB', 1),),
                         answer.hosts[0].spells)

    def test_host_that_is_leased_whole_says_until_when(self):
        answer = plan([SMALL], [bookings.Booking('b', 2, 5, 0, 1)],
                      ask(0, 9))
        self.assertEqual((shares.Spell(2, 5),), answer.hosts[0].spells)

    def test_group_that_is_there_says_so_where_it_must_be_apart(self):
        begun = there('new', 0, 5, 0, affinity=False, movable=False)
        answer = plan([SMALL], [begun], ask(0, 5, affinity=False, first=1))
        self.assertEqual((shares.Spell(0, 5),), answer.hosts[0].spells)

    def test_time_for_cleaning_is_in_the_way_on_nodes_of_ironic_alone(self):
        promised = [bookings.Booking('after', 5, 9, 0, 1, False)]
        answer = plan([IRONIC], promised, ask(2, 5, margin=2))
        self.assertEqual((shares.Spell(5, 7),), answer.hosts[0].spells)
        self.assertEqual(['after'], [each.id for each in answer.blockers])
        answer = plan([SMALL], [there('before', 0, 5, 0, 4, movable=False),
                                *promised], ask(2, 5, margin=2))
        self.assertEqual((shares.Spell(2, 5, 'VCPU', 1),),
                         answer.hosts[0].spells)
        self.assertEqual(['before/0'], [each.id for each in answer.blockers])

    def test_host_with_room_hides_none_that_has_not(self):
        answer = plan([SMALL] * 2, [there('a', 0, 9, 1, 4, movable=False)],
                      ask(0, 9, 2, affinity=False))
        self.assertEqual([1], [each.node for each in answer.hosts])

    def test_together_says_how_many_one_host_would_take(self):
        answer = plan([SMALL, {'VCPU': 6}], (), ask(0, 5, 8, affinity=True))
        self.assertEqual(2, answer.short)
        self.assertEqual([(1, 6), (0, 4)],
                         [(each.node, each.room) for each in answer.hosts])

    def test_no_eligible_host_is_a_shortage(self):
        answer = plan([SMALL], (), ask(3, 5, eligible=0))
        self.assertEqual((plans.Cause.SHORTAGE, 3, 1, ()),
                         (answer.cause, answer.at, answer.short,
                          answer.hosts))

    def test_too_much_at_one_instant_is_proved_though_all_may_move(self):
        promised = [there(name, 0, 5, node, 3) for name, node in (
            ('a', 0), ('b', 1), ('c', 2))]
        answer = plan([SMALL] * 3, promised, ask(2, 9, 4),
                      limits=budget.Limits(search=0, eject=0))
        self.assertEqual((plans.Cause.SHORTAGE, 2),
                         (answer.cause, answer.at))

    def test_too_much_is_proved_though_a_node_of_ironic_takes_one(self):
        promised = [there('a', 0, 5, 0), there('b', 0, 5, 1, 3)]
        at_once = budget.Limits(search=0, eject=0)
        answer = plan([IRONIC, SMALL], promised, ask(2, 9, 1, 3),
                      limits=at_once)
        self.assertEqual((plans.Cause.SEARCH_LIMIT, None),
                         (answer.cause, answer.at))
        self.grants([1], [IRONIC, SMALL], promised, ask(2, 9, 1, 3))
        promised = [there('a', 0, 5, 0, 2), there('b', 0, 5, 1, 3)]
        answer = plan([IRONIC, SMALL], promised, ask(2, 9, 1, 3),
                      limits=at_once)
        self.assertEqual((plans.Cause.SHORTAGE, 2),
                         (answer.cause, answer.at))

    def test_search_that_ends_early_does_not_claim_a_proof(self):
        promised = [there(name, 0, 5, node, 3) for name, node in (
            ('a', 0), ('b', 1))]
        answer = plan([SMALL] * 2, promised, ask(0, 5, 1, 2),
                      limits=budget.Limits(search=0, eject=0))
        self.assertEqual(plans.Cause.SEARCH_LIMIT, answer.cause)
        self.assertFalse(answer.cause.proved)
        self.assertEqual(plans.Cause.NO_ASSIGNMENT, plan(
            [SMALL] * 2, promised, ask(0, 5, 1, 2)).cause)

    def test_demands_with_one_id_are_refused(self):
        self.assertRaises(ValueError, plan, [SMALL], (), ask(0, 1),
                          ask(2, 3))

    def test_senseless_demands_are_refused(self):
        for wrong in ({'end': 0}, {'least': 0, 'most': 0}, {'most': 2,
                      'affinity': True}, {'amounts': ()},
                      {'amounts': vcpus(0)}, {'margin': -1}):
            self.assertRaises(ValueError, dataclasses.replace, ask(0, 1),
                              **wrong)


class TestRepair(_TestCase):

    def test_whole_hosts_take_what_shares_leave(self):
        answer = plan([SMALL] * 3, (),
                      dataclasses.replace(host(0, 5), most=2),
                      dataclasses.replace(ask(0, 5, size=4), most=2))
        self.assertEqual([1, 2], granted(answer))

    def test_started_instance_stays_and_the_other_moves(self):
        promised = [there('stays', 0, 5, 0, 2, movable=False),
                    there('moves', 0, 5, 0, 2)]
        answer = plan([SMALL, SMALL], promised,
                      ask(0, 5, 1, 2, eligible=0b01))
        self.assertEqual([('moves/0', 1)], [
            (move.booking.id, move.node) for move in answer.moves])

    def test_instance_makes_room_for_two_that_are_to_be_together(self):
        promised = [there(str(node), 0, 5, node, 2) for node in range(2)]
        answer = plan([SMALL] * 2, promised, ask(0, 5, 2, 2, affinity=True))
        self.assertEqual([2], granted(answer))
        self.assertEqual(1, len({*nodes_of(answer)}))

    def test_instances_make_room_for_a_whole_host(self):
        promised = [there(str(node), 0, 5, node) for node in range(3)]
        answer = plan([SMALL] * 3, promised, host(0, 5, 2))
        self.assertEqual([2], granted(answer))

    def test_lease_for_up_to_so_many_gets_what_instances_can_leave(self):
        promised = [there(str(node), 0, 5, node) for node in range(3)]
        answer = plan([SMALL] * 3, promised, dataclasses.replace(
            host(0, 5, 1), most=3))
        self.assertEqual([2], granted(answer))
        self.assertTrue(answer.maximal)

    def test_what_shrank_below_what_has_started_takes_nothing_new(self):
        promised = [there('a', 0, 5, 0, 9, movable=False)]
        self.grants(None, [SMALL], promised, ask(0, 1))
        self.grants([4], [SMALL], promised, ask(5, 9, 4))

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

"""The timeline's parts: sets of nodes, instants, rows that do not overlap."""

import dataclasses
import datetime

import hypothesis
from hypothesis import strategies as st
import testtools

from ironic_reservations.model import instants
from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import shares
from ironic_reservations.planner import timeline

ONE = bookings.Booking('1', 0, 5, 0, 1)
TWO = bookings.Booking('2', 5, 9, 0, 1)


class TestInstants(testtools.TestCase):

    @hypothesis.given(st.datetimes(timezones=st.just(datetime.UTC)))
    def test_moment_survives_the_way_there_and_back(self, moment):
        self.assertEqual(moment, instants.moment(instants.instant(moment)))

    def test_moment_of_another_zone_is_the_same_instant(self):
        zone = datetime.timezone(datetime.timedelta(hours=2))
        self.assertEqual(
            instants.instant(datetime.datetime(2026, 3, 1, 10,
                                               tzinfo=datetime.UTC)),
            instants.instant(datetime.datetime(2026, 3, 1, 12,
                                               tzinfo=zone)))

    def test_moment_without_a_zone_is_refused(self):
        self.assertRaises(ValueError, instants.instant,
                          datetime.datetime(2026, 3, 1))


class _Row(tuple[bookings.Booking, ...]):
    """Does not let all of its bookings be examined."""

    __slots__ = ()

    def __iter__(self):
        raise AssertionError('bookings at all times are examined')


class TestBetween(testtools.TestCase):

    def test_bookings_at_other_times_are_not_examined(self):
        there = [bookings.Booking(str(at), at, at + 5, 0, 1,
                                  amounts=(('VCPU', 1),))
                 for at in range(0, 1000, 10) for _ in range(2)]
        draft = timeline.Draft.of(timeline.Timeline.of([{'VCPU': 8}], there))
        draft.rows[0] = _Row(draft.rows[0])
        self.assertEqual(['500', '500', '510', '510'], [
            each.id for each in draft.between(0, 504, 515)])
        self.assertEqual((), draft.between(0, 505, 510))


class TestFleet(testtools.TestCase):

    @hypothesis.given(st.sets(st.integers(0, 200)))
    def test_members_are_what_the_mask_was_made_of(self, numbers):
        self.assertEqual(tuple(sorted(numbers)),
                         host_sets.members(host_sets.mask(numbers)))

    def test_nodes_have_numbers(self):
        nodes = host_sets.HostSet(('a', 'b', 'c'))
        self.assertEqual(0b101, nodes.mask(['c', 'a', 'unknown']))
        self.assertEqual(0, nodes.number('a'))


class TestTimeline(testtools.TestCase):

    def test_overlap_is_refused(self):
        self.assertRaises(ValueError, timeline.Timeline.of, [None],
                          [ONE, bookings.Booking('2', 4, 9, 0, 1)])
        self.assertRaises(ValueError, timeline.Timeline.of, [None], [
            bookings.Booking('1', 0, 5, 0, 1, margin=1), TWO])

    def test_adding_and_removing_leaves_the_original_alone(self):
        first = timeline.Timeline.of([None], [TWO])
        second = first.adding([ONE])
        self.assertEqual([ONE, TWO], list(second.promised()))
        self.assertEqual([TWO], list(first.promised()))
        self.assertEqual(first, second.without([ONE]))

    def test_bookings_near_a_window_are_those_that_overlap_it(self):
        for node, amounts in ((0, (('VCPU', 1),)), (1, None)):
            draft = timeline.Draft.of(timeline.Timeline.of(CAPACITIES, [
                bookings.Booking(str(start), start, start + 2, node, 0b11,
                                 amounts=amounts) for start in (0, 3, 6)]))
            for window, near in (((2, 3), []), ((3, 6), ['3']),
                                 ((1, 4), ['0', '3']), ((8, 9), [])):
                self.assertEqual(near, [
                    each.id for each in draft.between(node, *window)])

    def test_host_that_is_no_compute_host_any_more_leaves_the_others(self):
        draft = timeline.Draft.empty([{'VCPU': 4}] * 3 + [None])
        draft.resize(1, None)
        self.assertEqual(0b101, draft.compute)
        draft.resize(3, {'VCPU': 2})
        self.assertEqual(0b1101, draft.compute)

    def test_share_has_all_of_a_node_and_of_no_compute_host(self):
        draft = timeline.Draft.of(timeline.Timeline.of(CAPACITIES))
        self.assertEqual(0b10, draft.whole_hosts(_instance('a', 0, 1)))
        self.assertEqual(0b11, draft.whole_hosts(dataclasses.replace(
            ONE, eligible=0b11)))


CAPACITIES = ({'VCPU': 4}, None)
WINDOWS = st.tuples(st.integers(0, 9), st.integers(1, 5),
                    st.integers(1, 3), st.integers(0, 2))


def _instance(name, start, end, node=0, amount=1, **more):
    return bookings.Booking(name, start, end, node, 0b11,
                            amounts=(('VCPU', amount),), group=name, **more)


def _rows(drawn):
    return sorted((
        bookings.Booking(str(number), start, start + length, 0, 1, amounts=(
            (('MEMORY_MB', memory), ('VCPU', vcpus)) if memory
            else (('VCPU', vcpus),)), group='g')
        for number, (start, length, vcpus, memory) in enumerate(drawn)),
        key=lambda each: each.start)


class TestShares(testtools.TestCase):

    @hypothesis.given(st.lists(WINDOWS, max_size=8), st.integers(0, 8),
                      st.integers(1, 6))
    def test_room_is_what_the_fullest_instant_leaves(self, drawn, start,
                                                     length):
        there, capacity = _rows(drawn), {'VCPU': 9, 'MEMORY_MB': 7}
        wanted = (('MEMORY_MB', 1), ('VCPU', 2))
        expected = min(
            min((capacity[name] - sum(
                dict(each.amounts).get(name, 0) for each in there
                if each.start <= at < each.end)) // amount
                for name, amount in wanted)
            for at in range(start, start + length))
        self.assertEqual(max(0, expected), shares.room(
            capacity, there, wanted, start, start + length))

    @hypothesis.given(st.lists(WINDOWS, max_size=8), st.integers(0, 8),
                      st.integers(1, 6))
    def test_spells_are_where_it_is_too_little(self, drawn, start, length):
        there, capacity = _rows(drawn), {'VCPU': 6}
        for at in range(start, start + length):
            short = 2 - 6 + sum(dict(each.amounts)['VCPU'] for each in there
                                if each.start <= at < each.end)
            spells = [spell for spell in shares.spells(
                capacity, there, (('VCPU', 2),), start, start + length)
                if spell.start <= at < spell.end]
            self.assertEqual(short > 0, bool(spells))
            for spell in spells:
                self.assertGreaterEqual(spell.short, short)
                self.assertGreaterEqual(spell.start, start)
                self.assertLessEqual(spell.end, start + length)

    @hypothesis.given(st.lists(WINDOWS, max_size=8),
                      st.sets(st.integers(0, 7)))
    def test_what_is_not_homeless_has_room(self, drawn, begun):
        there = [dataclasses.replace(each, movable=int(each.id) not in begun)
                 for each in _rows(drawn)]
        capacity = {'VCPU': 5, 'MEMORY_MB': 4}
        out = shares.homeless(capacity, there)
        kept = [each for each in there if each.id not in out]
        timeline.Timeline.of([capacity], kept)
        for each in there:
            if each.id in out:
                self.assertTrue(each.movable)
                self.assertRaises(ValueError, timeline.Timeline.of, [capacity],
                                  [*kept, each])


class TestSharedHosts(testtools.TestCase):

    def test_instance_without_room_is_refused(self):
        rows = [_instance(name, 0, 5, amount=2) for name in 'ab']
        timeline.Timeline.of(CAPACITIES, rows)
        self.assertRaises(ValueError, timeline.Timeline.of, CAPACITIES,
                          [*rows, _instance('c', 4, 6)])
        timeline.Timeline.of(CAPACITIES, [
            *rows, _instance('c', 5, 6, amount=4)])

    def test_host_is_whole_or_shared(self):
        booked = bookings.Booking('b', 0, 5, 0, 1)
        self.assertRaises(ValueError, timeline.Timeline.of, CAPACITIES,
                          [booked, _instance('a', 4, 6)])
        timeline.Timeline.of(CAPACITIES, [booked, _instance('a', 5, 6)])

    def test_node_of_ironic_has_one_instance_at_a_time(self):
        self.assertRaises(ValueError, timeline.Timeline.of, CAPACITIES, [
            _instance('a', 0, 5, 1), _instance('b', 4, 6, 1)])

    def test_all_that_was_put_in_comes_out(self):
        there = [bookings.Booking('b', 0, 5, 0, 1), _instance('a', 5, 6),
                 _instance('c', 5, 7), _instance('d', 0, 3, 1),
                 bookings.Booking('e', 3, 5, 1, 2, margin=1)]
        made = timeline.Timeline.of(CAPACITIES, there)
        self.assertEqual({each.id: each for each in there},
                         {each.id: each for each in made.promised()})

    def test_adding_and_removing_leaves_the_original_alone(self):
        first = timeline.Timeline.of(CAPACITIES, [_instance('a', 0, 5)])
        more = [_instance('b', 2, 6), _instance('c', 0, 2, 1)]
        second = first.adding(more)
        self.assertEqual(['a'], [each.id for each in first.promised()])
        self.assertEqual(first, second.without(more))

    def test_hosts_come_and_change_in_a_draft(self):
        draft = timeline.Draft.empty([])
        self.assertEqual([0, 1], [draft.append(None),
                                  draft.append({'VCPU': 2})])
        draft.write(1, [_instance('a', 0, 5, 1, 2)])
        self.assertEqual((0b10, 1), (draft.timeline().compute,
                                     len(draft.timeline().rows[1])))
        draft.resize(1, {'VCPU': 1})
        # The earlier bookings have no room any more, and no new one has any.
        draft.write(1, [_instance('a', 0, 5, 1, 2)])
        self.assertRaises(ValueError, draft.write, 1,
                          [_instance('b', 0, 5, 1, 2)])
        draft.resize(1, None)
        draft.write(1, [_instance('a', 0, 5, 1, 2)])
        self.assertEqual(0, draft.timeline().compute)

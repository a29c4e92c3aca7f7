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

"""The times at which unused nodes are reported, and released."""

from __future__ import annotations

import dataclasses
import datetime

import hypothesis
from hypothesis import strategies as st
import testtools

from ironic_reservations.features.no_show import decisions as no_show

NOON = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
TERMS = no_show.Terms({'gold': 7200, '*': 36000}, 3600, False)
WHOLE = no_show.Terms({'gold': 7200, '*': 36000}, 3600, True)


def at(hours):
    return NOON + datetime.timedelta(hours=hours)


def seat(uuid='one', warned=None, resource_class='gold', used=False,
         deployable=True, since=0, arrived=None):
    arrived = warned if arrived is None else arrived
    return no_show.Seat(uuid, 'node of ' + uuid, resource_class,
                        None if since is None else at(since),
                        None if warned is None else at(warned), used,
                        deployable, arrived if arrived is None
                        else at(arrived))


def judged(hours, *seats, terms=TERMS):
    verdict = no_show.judge(seats, terms, at(hours))
    return sorted(verdict.warn), sorted(verdict.release)


class TestNode(testtools.TestCase):

    def test_told_an_hour_before_and_then_released(self):
        self.assertEqual(([], []), judged(0.99, seat()))
        self.assertEqual((['one'], []), judged(1, seat()))
        self.assertEqual(([], []), judged(1.99, seat(warned=1)))
        self.assertEqual(([], ['one']), judged(2, seat(warned=1)))

    def test_notice_is_never_shorter(self):
        self.assertEqual((['one'], []), judged(9, seat()))
        self.assertEqual(([], []), judged(9.99, seat(warned=9)))
        self.assertEqual(([], ['one']), judged(10, seat(warned=9)))

    def test_notice_is_no_longer_than_the_time_itself(self):
        short = no_show.Terms({'*': 600}, 3600, False)
        self.assertEqual((['one'], []), judged(0, seat(), terms=short))
        self.assertEqual(([], ['one']),
                         judged(1 / 6, seat(warned=0), terms=short))

    def test_without_notice_it_is_released_at_once(self):
        bare = no_show.Terms({'gold': 7200}, 0, False)
        self.assertEqual(([], []), judged(1.99, seat(), terms=bare))
        self.assertEqual(([], ['one']), judged(2, seat(), terms=bare))

    def test_each_class_has_its_time(self):
        self.assertEqual(([], []), judged(8.9, seat(resource_class='tin')))
        self.assertEqual((['one'], []),
                         judged(9, seat(resource_class='tin')))
        self.assertEqual((['one'], []), judged(9, seat(resource_class=None)))
        only = no_show.Terms({'gold': 7200}, 3600, False)
        self.assertEqual(([], []), judged(
            1000, seat(resource_class='tin'), terms=only))

    def test_not_while_it_is_used_or_cannot_be(self):
        for known in ({'used': True}, {'deployable': False},
                      {'since': None}):
            self.assertEqual(([], []), judged(100, seat(warned=1, **known)))

    def test_warning_from_before_a_break_is_none(self):
        self.assertEqual((['one'], []), judged(9, seat(warned=1, since=5)))
        self.assertEqual(([], []), judged(5.9, seat(warned=1, since=5)))
        self.assertEqual(([], []), judged(9, seat(warned=8.5, since=5)))
        self.assertEqual(([], ['one']), judged(9, seat(warned=8, since=5)))

    def test_notice_counts_from_when_it_has_arrived(self):
        late = seat(warned=1, arrived=1.5)
        self.assertEqual(([], []), judged(2.4, late))
        self.assertEqual(([], ['one']), judged(2.5, late))
        self.assertEqual(([], []), judged(100, dataclasses.replace(
            late, arrived_at=None)))

    def test_each_node_by_itself(self):
        self.assertEqual(([], ['two']), judged(
            2, seat(used=True), seat('two', warned=1), seat('three',
                                                            since=1.5)))


class TestWhole(testtools.TestCase):

    def test_all_together(self):
        self.assertEqual((['one', 'two'], []),
                         judged(1, seat(), seat('two'), terms=WHOLE))
        self.assertEqual(([], ['one', 'two']), judged(
            2, seat(warned=1), seat('two', warned=1), terms=WHOLE))

    def test_one_that_is_used_keeps_the_others(self):
        for other in (seat('two', used=True), seat('two', deployable=False)):
            for hours in (1, 2, 100):
                self.assertEqual(([], []), judged(
                    hours, seat(warned=1), other, terms=WHOLE))
                self.assertEqual(([], []), judged(hours, seat(), other,
                                                  terms=WHOLE))

    def test_the_last_one_counts(self):
        self.assertEqual(([], []), judged(
            2, seat(warned=1), seat('two', since=1.5), terms=WHOLE))
        self.assertEqual((['two'], []), judged(
            2.5, seat(warned=1), seat('two', since=1.5), terms=WHOLE))
        self.assertEqual(([], ['one', 'two']), judged(
            3.5, seat(warned=1), seat('two', since=1.5, warned=2.5),
            terms=WHOLE))


_SEATS = st.lists(st.builds(
    seat, uuid=st.uuids().map(str),
    warned=st.none() | st.sampled_from((0, 1, 2, 5)),
    resource_class=st.sampled_from(('gold', 'tin', None)),
    used=st.booleans(), deployable=st.booleans(),
    since=st.none() | st.sampled_from((0, 1, 3))), max_size=5)


class TestAlways(testtools.TestCase):

    @hypothesis.given(_SEATS, st.booleans(), st.sampled_from((0, 60, 3600)),
                      st.sampled_from((0, 1, 2, 3, 9, 20)))
    def test_nobody_loses_what_is_used_or_was_not_told(
            self, seats, whole, notice, hours):
        """This holds before its time as well, and for an undeployable node."""
        terms = no_show.Terms({'gold': 7200, '*': 36000}, notice, whole)
        verdict = no_show.judge(seats, terms, at(hours))
        self.assertEqual(frozenset(), verdict.warn & verdict.release)
        for each in seats:
            if each.booking_uuid not in verdict.release:
                continue
            time = terms.after.get(each.resource_class, terms.after['*'])
            self.assertEqual((False, True), (each.used, each.deployable))
            self.assertGreaterEqual(
                at(hours), each.usable_since + datetime.timedelta(
                    seconds=time))
            if notice:
                self.assertGreaterEqual(
                    at(hours), each.warned_at + datetime.timedelta(
                        seconds=notice))
                self.assertGreaterEqual(each.warned_at, each.usable_since)
        if whole and verdict.release:
            self.assertEqual({each.booking_uuid for each in seats},
                             set(verdict.release))

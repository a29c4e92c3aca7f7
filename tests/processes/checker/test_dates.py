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


"""Which dates of leases are found to have moved, and which are not."""

from __future__ import annotations

import dataclasses
from typing import Any
import unittest

from tests.processes.checker import by_hand
from tests.processes.checker import dates_by_hand
from tests.processes.checker import history

asked, date = by_hand.asked, by_hand.date
loose = dates_by_hand.loose
PATH = dates_by_hand.PATH
queued = dates_by_hand.queued
shown = dates_by_hand.shown


class DatesTestCase(unittest.TestCase):
    """Histories written by hand."""

    def found(self, *told: history.Exchange, **more: Any) -> list[str]:
        """Return which rules of the dates are broken."""
        return [rule for rule in by_hand.judged(*told, **more)
                if rule == 'dates moved']

    def test_fixed_dates_do_not_move(self) -> None:
        """Neither the start, nor the end."""
        first = shown(10, 100, 120)
        self.assertEqual([], self.found(first, shown(50, 100, 120)))
        for other in (shown(50, 101, 121), shown(50, 99, 119),
                      shown(50, 100, 121), shown(50, 100, 119),
                      shown(110, 105, 125, 'ACTIVE')):
            self.assertEqual(['dates moved'], self.found(first, other))

    def test_once_it_is_over_they_may(self) -> None:
        """As those of one that was ended early."""
        self.assertEqual([], self.found(shown(10, 100, 120),
                                        shown(110, 100, 110, 'TERMINATED')))

    def test_what_somebody_changes_may_move(self) -> None:
        """Also as long as the change may be under way, unless refused."""
        for status, expected in ((200, []), (503, []), (None, []),
                                 (409, ['dates moved'])):
            change = asked('change-lease', 'PUT', PATH, 20, status)
            self.assertEqual(expected, self.found(
                shown(10, 100, 120), change, shown(50, 100, 140)))
        late = asked('change-lease', 'PUT', PATH, 20, None)
        self.assertEqual([], self.found(late, shown(50, 100, 120),
                                        shown(60, 100, 140)))
        self.assertEqual(['dates moved'], self.found(
            late, shown(90, 100, 120), shown(95, 100, 140)))

    def test_answers_of_the_same_time_tell_nothing(self) -> None:
        """Of two that were under way together, either may be the first."""
        one, other = shown(10, 100, 120), shown(10.05, 101, 121)
        self.assertEqual([], self.found(one, other))

    def test_open_dates_move_in_their_window(self) -> None:
        """Both ways, until they are fixed, with the notice agreed on."""
        first = loose(10, 110, 130)
        self.assertEqual([], self.found(first, loose(20, 150, 170),
                                        loose(30, 100, 120)))
        for other in (loose(20, 90, 110), loose(20, 190, 210),
                      loose(20, 110, 131), loose(
                          20, 110, 130, between=(100, 210))):
            self.assertEqual(['dates moved'], self.found(first, other))
        fixed = loose(20, 110, 130, fixed=True)
        self.assertEqual(['dates moved'], self.found(
            first, fixed, loose(30, 150, 170, fixed=True)))

    def test_what_is_left_open_is_changed_by_who_asks(self) -> None:
        """To what was asked for, which holds from then on."""
        first, later = loose(10, 110, 130), (120, 260)
        wished: list[dict[str, Any]] = [
            {'between': [date(each) for each in later]}, {'duration': 30},
            {'fix_before': 5}]
        kept = loose(30, 150, 180, between=later)
        for body in wished:
            self.assertEqual([], self.found(first, self.changed(
                body, 20, 150, 180, between=later), kept))
        self.assertEqual(['dates moved'], self.found(first, self.changed(
            wished[1], 20, 150, 180, between=later), loose(
                40, 150, 180, between=(120, 250))))
        for body in (*wished[:2], {'fix_before': 6}):
            self.assertEqual(['dates moved'], self.found(
                first, self.changed(body, 20, 110, 130)))
        self.assertEqual(['dates moved'], self.found(self.changed(
            wished[0], 20, 150, 180, between=None)))

    @staticmethod
    def changed(body: dict[str, Any], sent: float, start: float, end: float,
                *, between: tuple[float, float] | None = (100, 200)
                ) -> history.Exchange:
        """Make the exchange that changes what a lease leaves open."""
        there = shown(sent, start, end, fixed=between is None, fix_before=5,
                      between=between and [date(each) for each in between])
        return dataclasses.replace(there, op='change-lease', method='PUT',
                                   body=body)

    def test_nobody_is_moved_to_where_it_is_too_late(self) -> None:
        """To a start that is nearer than was agreed on."""
        first = loose(107, 150, 170)
        self.assertEqual([], self.found(first, loose(109, 111, 131)))
        self.assertEqual(['dates moved'], self.found(
            first, loose(109, 109, 129)))

    def test_nobody_is_moved_once_the_dates_are_to_be_fixed(self) -> None:
        """Before there is quiet, it may have been decided in time."""
        for seen, quiet, expected in ((108, 90, ['dates moved']),
                                      (106, 90, []), (108, 109, [])):
            self.assertEqual(expected, self.found(
                loose(seen, 110, 130), loose(109, 150, 170), quiet=quiet))

    def test_one_that_waits_starts_earlier_only(self) -> None:
        """And nobody promises it a later start; it lasts as long."""
        first = queued(10, 100)
        self.assertEqual([], self.found(first, queued(20, 80),
                                        queued(30, 80, status='ACTIVE')))
        for other in (queued(20, 101), queued(20, 101, 100),
                      queued(20, 80, 101), queued(20, 80, length=9),
                      shown(20, 100, 110)):
            self.assertEqual(['dates moved'], self.found(first, other))

    def test_one_that_has_lost_all_nodes_is_over(self) -> None:
        """Where nodes that nobody deploys are released, and not before."""
        first = shown(10, 100, 120, 'ACTIVE')
        for end, no_show, expected in (
                (108, {'silver': 8}, []), (108, {}, ['dates moved']),
                (107, {'silver': 8}, ['dates moved'])):
            self.assertEqual(expected, by_hand.judged(
                first, shown(50, 100, end, 'ACTIVE'), no_show=no_show))

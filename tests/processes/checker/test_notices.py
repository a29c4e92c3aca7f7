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


"""Which notices are found to be missing."""

from __future__ import annotations

from typing import Any
import unittest

from tests.processes.checker import by_hand
from tests.processes.checker import history
from tests.processes.checker import notices


def row(kind: str, ident: str = 'n', lease: str = 'l',
        outcome: str | None = 'delivered') -> dict[str, Any]:
    """Make a row of the outbox."""
    return {'lease_id': lease, 'kind': kind, 'notice_id': ident,
            'outcome': outcome, 'channel': 'webhook'}


class NoticesTestCase(unittest.TestCase):
    """Histories written by hand."""

    def missing(self, *rows: dict[str, Any], status: str = 'ACTIVE',
                now: str | None = None,
                noticed: frozenset[str] | None = frozenset('n')
                ) -> list[str]:
        """Return what is missing of a lease that was shown."""
        there = [] if now is None else [{'id': 'l', 'status': now}]
        told = history.History(
            (by_hand.shown('l', 10, 100, status=status),),
            snapshots=({'at': 200.0, 'tables': {'outbox': list(rows),
                                                'leases': there}},),
            noticed=noticed)
        return [text for _, _, text in notices.missing(told)]

    def test_all_that_there_should_be(self) -> None:
        """Of one that has started, and is over."""
        self.assertEqual([], self.missing(row('started'), row('ended')))
        self.assertEqual([], self.missing(row('started'), row('ended'),
                                          now='TERMINATED'))

    def test_no_notice_of_a_change(self) -> None:
        """That it has started, or is over, also before its start."""
        self.assertEqual(['there is no notice that it has started'],
                         self.missing(row('ended')))
        self.assertEqual(['there is no notice that it has ended'],
                         self.missing(row('started')))
        self.assertEqual(['there is no notice that it has ended'],
                         self.missing(status='PENDING'))
        self.assertEqual(['there is no notice that it has ended'],
                         self.missing(row('started'), now='TERMINATED'))

    def test_one_that_is_flagged(self) -> None:
        """Its owner is told that a node is broken."""
        shown = by_hand.shown('l', 10, 100)
        shown.answer['lease']['degraded'] = True
        for rows, expected in (
                ((), ['there is no notice that a node of it is broken']),
                ((row('broken'),), [])):
            told = history.History((shown,), snapshots=({
                'at': 200.0, 'tables': {
                    'outbox': [row('started'), row('ended'), *rows]}},),
                noticed=frozenset('n'))
            self.assertEqual(expected, [
                text for _, _, text in notices.missing(told)])

    def test_one_that_goes_on(self) -> None:
        """Nothing has become of it."""
        self.assertEqual([], self.missing(status='PENDING', now='PENDING'))
        self.assertEqual([], self.missing(row('started'), now='ERROR'))

    def test_one_that_was_sent_and_not_received(self) -> None:
        """Whatever the outbox says."""
        self.assertEqual(
            ['the notice m (ended) was never received'],
            self.missing(row('started'), row('ended', 'm')))

    def test_what_comes_once_comes_once(self) -> None:
        """Others may come again."""
        self.assertEqual(
            ['there are 2 notices that it has ended'],
            self.missing(row('started'), row('ended'), row('ended'),
                         row('broken'), row('broken')))

    def test_nobody_who_gets_any(self) -> None:
        """Then there are none."""
        self.assertEqual([], self.missing(noticed=None))

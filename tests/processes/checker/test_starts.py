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


"""Which leases that wait are found to start too late."""

from __future__ import annotations

from typing import Any
import unittest

from tests.processes.checker import by_hand
from tests.processes.checker import dates_by_hand
from tests.processes.checker import history
from tests.processes.checker import starts

asked, date = by_hand.asked, by_hand.date
LATE = 60.0


def queued(sent: float, promised: float, began: bool = False,
           end: float = 500, **more: Any) -> history.Exchange:
    """Make the exchange that shows a lease which waits, or has begun."""
    return dates_by_hand.queued(
        sent, promised, length=end - promised, degraded=more.pop(
            'degraded', False), status=more.pop(
                'status', 'ACTIVE' if began else 'PENDING'),
        events=[{'event_type': 'start_lease',
                 'status': 'DONE' if began else more.pop('event', 'UNDONE')},
                {'event_type': 'end_lease', 'status': 'DONE'}], **more)


class StartsTestCase(unittest.TestCase):
    """Histories written by hand."""

    def late(self, *told: history.Exchange,
             rows: tuple[tuple[str, float], ...] = (),
             faults: tuple[dict[str, Any], ...] = (),
             **more: Any) -> list[str]:
        """Return the leases that have started too late."""
        return [lease for _, lease, _ in starts.late(history.History(
            told, late=LATE, faults=faults, snapshots=({
                'at': 600.0, 'tables': {'outbox': [
                    {'kind': kind, 'lease_id': 'l', 'created_at': date(at)}
                    for kind, at in rows]}},), **more))]

    def test_one_that_starts_in_time(self) -> None:
        """Give or take what may be under way."""
        first = queued(10, 100)
        self.assertEqual([], self.late(first, queued(150, 100),
                                       queued(170, 100, True)))
        self.assertEqual([], self.late(first, rows=(('started', 159),)))

    def test_one_that_has_started_is_counted(self) -> None:
        """Whether or not it would have been late by the end."""
        for rows, count in (((('started', 105),), 1), ((('started', 5),), 0),
                            ((), 0)):
            told = history.History(
                (queued(10, 100), queued(120, 100, bool(rows))), late=LATE,
                snapshots=({'at': 130.0, 'tables': {'outbox': [
                    {'kind': kind, 'lease_id': 'l', 'created_at': date(at)}
                    for kind, at in rows]}},))
            self.assertEqual([], list(starts.late(told)))
            self.assertEqual(count, told.judged['started late'])

    def test_one_that_has_not_started(self) -> None:
        """Though it was promised."""
        first = queued(10, 100)
        for status, event in (('PENDING', 'UNDONE'),
                              ('STARTING', 'IN_PROGRESS'),
                              ('TERMINATED', 'ERROR')):
            self.assertEqual(['l'], self.late(first, queued(
                170, 100, status=status, event=event)))

    def test_one_that_has_started_later(self) -> None:
        """By its notice, or than an earlier start that it was promised."""
        self.assertEqual(['l'], self.late(queued(10, 100),
                                          rows=(('started', 161),)))
        self.assertEqual(['l'], self.late(
            queued(10, 100), queued(20, 50), rows=(('started', 111),)))

    def test_while_one_thing_after_another_fails(self) -> None:
        """Nobody can say by when it has to have started; then it has to."""
        for at, seconds, began, expected in (
                (20, 0, 161, ['l']), (120, 0, 179, []), (120, 0, 181, ['l']),
                (120, 10, 189, []), (170, 0, 161, ['l'])):
            self.assertEqual(expected, self.late(
                queued(10, 100), rows=(('started', began),),
                faults=({'fault': 'stop', 'at': at, 'seconds': seconds},)))

    def test_once_there_is_quiet(self) -> None:
        """Within seconds; what was due before that has its time."""
        for quiet, began, expected in ((90, 114, []), (90, 116, ['l']),
                                       (110, 116, [])):
            self.assertEqual(expected, self.late(
                queued(10, 100), rows=(('started', began),), quiet=quiet))

    def test_one_that_is_flagged_and_told(self) -> None:
        """A node of it is broken."""
        first = queued(10, 100)
        self.assertEqual([], self.late(first, queued(170, 100, degraded=True)))
        self.assertEqual([], self.late(
            first, rows=(('broken', 100), ('started', 161))))

    def test_one_that_somebody_changed(self) -> None:
        """Nothing is promised any more, until it is shown again."""
        change = asked('change-lease', 'PUT', dates_by_hand.PATH, 120, 200)
        self.assertEqual([], self.late(queued(10, 100), change,
                                       queued(170, 100)))
        self.assertEqual(['l'], self.late(
            queued(10, 100), change, queued(125, 100), queued(190, 100)))

    def test_one_that_was_too_short(self) -> None:
        """It is over before it can be too late."""
        self.assertEqual([], self.late(queued(10, 100, end=150), queued(
            170, 100, end=150, status='TERMINATED', event='ERROR')))

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


"""Which commits of leases are found not to add up."""

from __future__ import annotations

from typing import Any
import unittest

from tests.processes.checker import by_hand
from tests.processes.checker import commits
from tests.processes.checker import history

date = by_hand.date


def terms(end: float = 100, hosts: int = 1) -> dict[str, Any]:
    """Make what a lease is charged for."""
    return {'start_date': date(10), 'end_date': date(end),
            'hosts': {'gold': hosts}, 'instances': 0, 'resources': {}}


def entry(number: int, before: dict[str, Any] | None,
          after: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    """Make an entry that the service has taken."""
    kind = ('granted' if before is None else
            'ended' if after is None else 'changed')
    return {'id': f'e{number}', 'type': kind, 'sequence': number,
            'lease_id': 'l', 'before': before, 'after': after,
            'ended_at': date(50) if after is None else None, **more}


def shown(end: float = 100, *nodes: str,
          status: str = 'ACTIVE') -> history.Exchange:
    """Make the exchange that shows a lease."""
    return by_hand.asked(
        'show-lease', 'GET', '/v1/leases/l', 20, 200, by_hand.lease(
            'l', end, *nodes or 'n', status=status, start_date=date(10),
            of={'resource_type': 'physical:host'}))


GRANTED = entry(1, None, terms())
CHANGED = entry(2, terms(), terms(120))
ENDED = entry(3, terms(120), None)
ALL = (GRANTED, CHANGED, ENDED)


class CommitsTestCase(unittest.TestCase):
    """Histories written by hand."""

    def wrong(self, *entries: dict[str, Any],
              exchanges: tuple[history.Exchange, ...] = (),
              status: str = 'TERMINATED',
              rows: tuple[dict[str, Any], ...] = (),
              charges: bool = True) -> list[str]:
        """Return what does not add up."""
        return [text for _, _, text in commits.wrong(history.History(
            exchanges, snapshots=({'at': 200.0, 'tables': {
                'outbox': rows, 'leases': [{'id': 'l', 'status': status}]}},),
            commits=entries if charges else None))]

    def assert_one(self, start: str, *entries: dict[str, Any],
                   **more: Any) -> None:
        """One thing is wrong, and it is said so."""
        found = self.wrong(*entries, **more)
        self.assertEqual(1, len(found), found)
        self.assertTrue(found[0].startswith(start), found[0])

    def test_all_that_there_should_be(self) -> None:
        """Also where one came again, at once or late."""
        self.assertEqual([], self.wrong(*ALL))
        self.assertEqual([], self.wrong(GRANTED, GRANTED, CHANGED, ENDED,
                                        GRANTED))
        self.assertEqual([], self.wrong(GRANTED, status='ACTIVE'))

    def test_the_end_is_missing(self) -> None:
        """It would be charged for ever."""
        self.assert_one('there is no commit that it has ended', GRANTED,
                        CHANGED)

    def test_one_is_missing_or_comes_too_soon(self) -> None:
        """Whatever it was."""
        self.assert_one('the commits came as [2, 1, 3]', CHANGED, GRANTED,
                        ENDED)
        self.assertEqual(2, len(self.wrong(GRANTED, ENDED)))

    def test_two_have_one_number(self) -> None:
        """The service would leave out the second one."""
        self.assert_one('there are two commits 2', GRANTED, CHANGED,
                        {**CHANGED, 'id': 'other'}, ENDED)

    def test_they_do_not_add_up(self) -> None:
        """What was before is not what was told."""
        self.assert_one('commit 2 is of', GRANTED,
                        entry(2, terms(110), terms(120)), ENDED)
        self.assert_one('commit 2 (changed) is from', GRANTED, entry(
            2, terms(), terms()), entry(3, terms(), None))
        self.assert_one('commit 1 (changed) is from', {
            **GRANTED, 'type': 'changed'}, CHANGED, ENDED)

    def test_it_is_not_charged_for_longer_than_it_was_promised(self) -> None:
        """However late its end is noticed."""
        self.assert_one('it ended at', GRANTED, CHANGED,
                        {**ENDED, 'ended_at': date(121)})

    def test_what_clients_were_shown_is_charged(self) -> None:
        """Its dates, and how much of it there is."""
        for right in (shown(), shown(120), shown(130, status='TERMINATED')):
            self.assertEqual([], self.wrong(*ALL, exchanges=(right,)))
        for other in (shown(130), shown(100, 'n', 'm')):
            self.assert_one('(10.0, ', *ALL, exchanges=(other,))
        self.assert_one('(10.0, ', exchanges=(shown(),))

    def test_one_that_was_sent_and_not_received(self) -> None:
        """Whatever the outbox says."""
        rows = ({'channel': 'enforcement', 'outcome': 'delivered',
                 'notice_id': 'e4', 'lease_id': 'l'},)
        self.assert_one('the commit e4 was never received', *ALL, rows=rows)
        self.assertEqual([], self.wrong(
            *ALL, rows=({**rows[0], 'notice_id': 'e1'},)))

    def test_nobody_who_charges(self) -> None:
        """Then there are none."""
        self.assertEqual([], self.wrong(charges=False, exchanges=(shown(),)))

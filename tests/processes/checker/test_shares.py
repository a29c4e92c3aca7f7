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


"""Who is found to have more than may be, and who is not."""

from __future__ import annotations

import dataclasses
from typing import Any
import unittest

from tests.processes.checker import by_hand
from tests.processes.checker import history
from tests.processes.checker import owners
from tests.processes.checker import shares

asked, date, N, M = (by_hand.asked, by_hand.date,
                     by_hand.N, by_hand.M)
GOLD = '["==", "$resource_class", "gold"]'
SILVER = '["==", "$resource_class", "silver"]'


def lease(ident: str, start: float, end: float, *nodes: str,
          properties: str = GOLD, project: str = 'p', made: float = 0,
          status: str = 'PENDING') -> dict[str, Any]:
    """Make what an answer shows of a lease."""
    return by_hand.lease(
        ident, end, *nodes, status=status, state='planned',
        project_id=project, start_date=date(start),
        created_at=date(made)[:19], of={
            'resource_type': 'physical:host',
            'resource_properties': properties})['lease']


def audit(sent: float, *leases: dict[str, Any]) -> history.Exchange:
    """Make the exchange that shows all leases."""
    return asked('audit', 'GET', '/v1/leases', sent, 200,
                 {'leases': list(leases)})


class LeasedTestCase(unittest.TestCase):
    """Histories written by hand."""

    def found(self, *leases: dict[str, Any]) -> list[str]:
        """Return the projects that have too much."""
        return [each[1] for each in shares.leased(history.History(
            (audit(50, *leases),), leased_most={'gold': 2}))]

    def test_as_much_as_it_may_have(self) -> None:
        """At each time; whatever others have."""
        self.assertEqual([], self.found(
            lease('a', 60, 80, 'n', 'm'), lease('b', 80, 90, 'o'),
            lease('c', 60, 80, 'o', project='q')))

    def test_too_much_at_one_time(self) -> None:
        """In one lease, or in several."""
        self.assertEqual(['p'], self.found(lease('a', 60, 80, 'n', 'm', 'o')))
        self.assertEqual(['p'], self.found(
            lease('a', 60, 80, 'n', 'm'), lease('b', 79, 90, 'o')))

    def test_what_may_be_of_the_class_counts(self) -> None:
        """And nothing else."""
        for properties, expected in (('', ['p']), (SILVER, []), (
                '["==", "$owner", "p"]', ['p'])):
            self.assertEqual(expected, self.found(
                lease('a', 60, 80, 'n', 'm'),
                lease('b', 60, 80, 'o', properties=properties)))

    def test_what_is_over_does_not_count(self) -> None:
        """Neither leases, nor times."""
        self.assertEqual([], self.found(
            lease('a', 20, 40, 'n', 'm'), lease('b', 20, 80, 'o'),
            lease('c', 20, 80, 'p', 'q', status='TERMINATED')))


class ReservedTestCase(unittest.TestCase):
    """Histories written by hand."""

    def found(self, *told: history.Exchange) -> list[str]:
        """Return what projects have too much of."""
        there = history.History(
            tuple(sorted(told, key=lambda each: each.sent)),
            late=by_hand.LATE, classes={N: 'gold', M: 'gold'},
            reserved_most={'gold': 1})
        return [project for _, project, _, _ in
                shares.reserved(there, owners.find(there))]

    def reserved(self, uuid: str, sent: float, until: float, node: str,
                 project: str = 'p') -> history.Exchange:
        """Make the exchange by which a node was reserved."""
        return by_hand.reserved(uuid, sent, until, node,
                                project=project)

    def test_one_after_the_other(self) -> None:
        """Or two projects at the same time."""
        self.assertEqual([], self.found(self.reserved('u', 10, 50, N),
                                        self.reserved('v', 60, 90, M)))
        self.assertEqual([], self.found(self.reserved('u', 10, 50, N),
                                        self.reserved('v', 20, 90, M, 'q')))

    def test_two_at_one_time(self) -> None:
        """By one project."""
        self.assertEqual(['p'], self.found(self.reserved('u', 10, 50, N),
                                           self.reserved('v', 20, 90, M)))

    def test_one_that_may_have_been_used_or_is_of_another_class(self) -> None:
        """By then, or all the time."""
        first = self.reserved('u', 10, 50, N)
        for other in (by_hand.deployed(15, 202, 'u'),
                      by_hand.deployed(15, None, 'u'),
                      asked('reclass', 'PATCH', f'/v1/nodes/{N}', 15, 200),
                      asked('reclass', 'PATCH', f'/v1/nodes/{N}', 5, 200)):
            self.assertEqual([], self.found(
                first, other, self.reserved('v', 20, 90, M)))
        for other in (by_hand.deployed(15, 409, 'u'),
                      by_hand.deployed(15, 202, 'v'),
                      by_hand.deployed(30, 202, 'u')):
            self.assertEqual(['p'], self.found(
                first, other, self.reserved('v', 20, 90, M)))

    def test_one_in_use_does_not_count(self) -> None:
        """As an answer shows it."""
        used = by_hand.about('u', 'show', 'GET', 10, 200, (
            by_hand.reservation('u', 50, N, 'in_use')), project='p')
        self.assertEqual([], self.found(used, self.reserved('v', 20, 90, M)))


class LentTestCase(unittest.TestCase):
    """Histories written by hand."""

    def found(self, *told: history.Exchange) -> list[str]:
        """Return the leases that have nodes of others for too long."""
        return [which for _, which, _, _ in shares.lent(history.History(
            told, late=by_hand.LATE, owners={N: 'q'},
            owner_notice=30))]

    def test_within_the_notice(self) -> None:
        """Whoever has it; and a node that nobody owns, for any time."""
        self.assertEqual([], self.found(audit(
            50, lease('a', 60, 80, N), lease('b', 60, 200, M))))

    def test_beyond_the_notice(self) -> None:
        """For all but its owner."""
        self.assertEqual(['a'], self.found(audit(50, lease(
            'a', 60, 100, N))))
        self.assertEqual([], self.found(audit(50, lease(
            'a', 60, 100, N, project='q'))))

    def test_found_once(self) -> None:
        """However often it is shown."""
        told = audit(50, lease('a', 60, 100, N))
        self.assertEqual(['a'], self.found(told, dataclasses.replace(told)))

    def test_whose_owner_changes(self) -> None:
        """What was promised meanwhile may be for longer."""
        changed = asked('reown', 'PATCH', f'/v1/nodes/{N}', 20, 200)
        for made, expected in ((10, []), (45, []), (55, ['a'])):
            self.assertEqual(expected, self.found(changed, audit(
                60, lease('a', 70, 150, N, made=made))))
        late = asked('reown', 'PATCH', f'/v1/nodes/{N}', 70, 200)
        self.assertEqual(['a'], self.found(
            audit(60, lease('a', 70, 150, N)), late))

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


"""What is found of maintenance windows, and what is not."""

from __future__ import annotations

import dataclasses
from typing import Any
import unittest

from tests.processes.checker import by_hand
from tests.processes.checker import history

asked, date = by_hand.asked, by_hand.date
deployed, wrote = by_hand.deployed, by_hand.wrote
N, M = by_hand.N, by_hand.M
PATH = '/v1/maintenances'
OURS = 'firmware [maintenance window w]'


def booked(sent: float, starts: float, ends: float, node: str = N,
           state: str = 'planned', op: str = 'book', name: str = 'one',
           **body: Any) -> history.Exchange:
    """Make the exchange by which a node was booked."""
    return asked(op, 'POST', PATH, sent, 201, {'maintenance': {
        'uuid': 'w', 'name': name, 'nodes': [
            {'node_uuid': node, 'starts_at': date(starts),
             'ends_at': date(ends), 'state': state}]}},
        body={'name': name, **body})


def leased(sent: float, start: float, end: float, status: str = 'PENDING',
           degraded: bool = False, node: str = N, made: float = 11
           ) -> history.Exchange:
    """Make the exchange that shows a lease of a node."""
    return asked('audit', 'GET', '/v1/leases', sent, 200, {'leases': [
        by_hand.lease('l', end, node, status=status, state='planned',
                      degraded=degraded, created_at=date(made),
                      start_date=date(start))['lease']]})


class WindowsTestCase(unittest.TestCase):
    """Histories written by hand."""

    def found(self, *told: Any, **more: Any) -> list[str]:
        """Return the rules that are broken."""
        return by_hand.judged(*told, **more)

    def test_a_window_that_was_only_tried_was_not_made(self) -> None:
        """The judge failed where a window with a key was tried, then made."""
        tried = asked('try', 'POST', f'{PATH}?dry_run=true', 10, 200, {
            'maintenance': {'uuid': None, 'name': 'one', 'nodes': []}})
        made = dataclasses.replace(booked(20, 30, 40), key='k')
        self.assertEqual([], self.found(tried, made))
        again = dataclasses.replace(made, id='again', answer={
            'maintenance': {**made.answer['maintenance'], 'uuid': 'v'}})
        self.assertIn('made twice', self.found(tried, made, again))

    def test_a_stranger_deploys_in_a_window(self) -> None:
        """With no proof, or with one that nobody has ever been given."""
        window = booked(10, 20, 40)
        for proof in (None, 'made-up'):
            deploy = deployed(25, 202, proof)
            self.assertEqual(['deployed in maintenance'], self.found(
                window, deploy,
                wrote(26, deploy, provision_state='deploying')))

    def test_before_and_after_anybody_may(self) -> None:
        """As may one who was let through before it began."""
        for sent, done in ((15, 16), (19, 25), (20.5, 25), (39, 39.5),
                           (41, 42)):
            deploy = deployed(sent, 202)
            self.assertEqual([], self.found(
                booked(10, 20, 40), deploy,
                wrote(done, deploy, provision_state='deploying')))

    def test_who_has_the_node_may(self) -> None:
        """Whoever was given a proof of it."""
        mine = by_hand.reserved('u', 5, 100)
        deploy = deployed(25, 202, 'u')
        self.assertEqual([], self.found(
            mine, booked(10, 20, 40, force=True), deploy,
            wrote(26, deploy, provision_state='deploying')))

    def test_one_that_may_have_been_ended_keeps_nobody_off(self) -> None:
        """Nor does one whose node may have been deleted."""
        deploy = deployed(25, 202)
        done = wrote(26, deploy, provision_state='deploying')
        for end in (asked('end-window', 'DELETE', f'{PATH}/w', 22, None),
                    asked('operate-delete', 'DELETE', f'/v1/nodes/{N}', 22,
                          None)):
            self.assertEqual([], self.found(booked(10, 20, 40), end, deploy,
                                            done))
        self.assertEqual(['deployed in maintenance'], self.found(
            booked(10, 20, 40), asked('end-window', 'DELETE', f'{PATH}/w',
                                      22, 409), deploy, done))

    def test_a_lease_across_a_window(self) -> None:
        """Not planned, not extended, and not moved to it."""
        window = booked(10, 20, 40)
        crossed = ['promised across maintenance']
        self.assertEqual(crossed, self.found(window, leased(12, 30, 50)))
        for before, after in (
                (leased(11, 5, 15, 'ACTIVE', made=5),
                 leased(12, 5, 30, 'ACTIVE', made=5)),
                (leased(11, 50, 60, made=5), leased(12, 30, 40, made=5)),
                (leased(11, 30, 50, node=M, made=5),
                 leased(12, 30, 50, made=5))):
            self.assertEqual(crossed, self.found(window, before, after))
        for right in (leased(12, 40, 60), leased(12, 12, 20),
                      leased(12, 30, 50, node=M),
                      leased(12, 30, 50, degraded=True),
                      leased(12, 30, 50, 'TERMINATED')):
            self.assertEqual([], self.found(window, right))

    def test_a_window_that_began_earlier_is_over_earlier(self) -> None:
        """The user of the node left it, and the answer was an older one."""
        window, lease = booked(10, 50, 70), leased(56, 57, 80, made=55)
        self.assertEqual(['promised across maintenance'],
                         self.found(window, lease))
        self.assertEqual([], self.found(window, wrote(
            30, maintenance=True, maintenance_reason=OURS), lease))
        shown = dataclasses.replace(booked(40, 45, 65), method='GET')
        self.assertEqual([], self.found(window, shown, dataclasses.replace(
            lease, answer=leased(56, 66, 80, made=55).answer)))
        self.assertEqual(['promised across maintenance'], self.found(
            window, shown, lease))

    def test_a_lease_that_was_there_before(self) -> None:
        """It is moved, or flagged, a little later."""
        window, before = booked(10, 20, 40), leased(5, 30, 50, made=5)
        self.assertEqual([], self.found(
            before, window, leased(12, 30, 50, made=5)))
        self.assertEqual([], self.found(
            window, leased(12, 5, 30, 'ACTIVE', made=5)))

    def test_a_lease_that_had_begun_keeps_its_nodes(self) -> None:
        """Though it was flagged, for another one, in between."""
        window = booked(20, 30, 45)
        for start, expected in ((15, []), (25, [
                'promised across maintenance'])):
            self.assertEqual(expected, self.found(
                leased(16, start, 50), window,
                leased(22, start, 50, degraded=True), leased(24, start, 50)))

    def test_what_an_operator_has_set_is_left_alone(self) -> None:
        """Neither cleared nor written over by the service."""
        by = asked('operate-maintenance', 'PUT',
                   f'/v1/nodes/{N}/maintenance', 10, 202)
        theirs = wrote(10, by, maintenance=True, maintenance_reason='fan')
        cleared = {'maintenance': False, 'maintenance_reason': None}
        over = {'maintenance_reason': OURS}
        for values in (cleared, over):
            self.assertEqual(['maintenance of another'], self.found(
                by, theirs, wrote(30, **values)))
            # NOTE: what was handed over when the guard could not know.
            self.assertEqual([], self.found(
                by, theirs, wrote(30, **values), passed=(history.Passed(
                    12, 'PUT', f'/v1/nodes/{N}/maintenance'),)))

    def test_what_is_its_own_it_takes_back(self) -> None:
        """So may an operator."""
        ours = wrote(10, maintenance=True, maintenance_reason=OURS)
        cleared = {'maintenance': False, 'maintenance_reason': None}
        self.assertEqual([], self.found(ours, wrote(30, **cleared)))
        by = asked('operate-maintenance', 'DELETE',
                   f'/v1/nodes/{N}/maintenance', 10, 202)
        theirs = wrote(11, by, maintenance=True, maintenance_reason='fan')
        self.assertEqual([], self.found(by, theirs, wrote(30, by, **cleared)))

    def test_maintenance_goes_with_its_node(self) -> None:
        """What is done to a node that is enrolled again is not of it."""
        by = asked('operate-maintenance', 'PUT',
                   f'/v1/nodes/{N}/maintenance', 10, 202)
        theirs = wrote(10, by, maintenance=True, maintenance_reason='fan')
        ours = wrote(30, maintenance=True, maintenance_reason=OURS)
        for node, expected in ((N, []), (M, ['maintenance of another'])):
            gone = dataclasses.replace(wrote(12), uuid=node, what='destroy')
            self.assertEqual(expected, self.found(by, theirs, gone, ours))

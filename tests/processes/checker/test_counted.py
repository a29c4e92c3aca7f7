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

"""How often a rule was in a position to find something is counted."""

from __future__ import annotations

import dataclasses
from typing import Any
import unittest

from tests.processes.checker import by_hand
from tests.processes.checker import findings
from tests.processes.checker import history

N, M = by_hand.N, by_hand.M
reserved, shown = by_hand.reserved, by_hand.shown


class CountedTestCase(unittest.TestCase):
    """Histories written by hand, in which nothing is wrong."""

    def count(self, rule: str, *exchanges: history.Exchange,
              **more: Any) -> int:
        """Judge a history, twice, and return what was counted of a rule."""
        told = history.History(exchanges, late=by_hand.LATE, **more)
        for _ in range(2):
            self.assertEqual([], findings.judge(told))
        return told.judged[rule]

    def test_node_that_passes_from_one_to_another(self) -> None:
        """Not one that somebody is shown again, or another node."""
        ours, again = reserved('u', 10, 20), reserved('u', 12, 20)
        for count, other in ((1, reserved('v', 30, 40)),
                             (0, reserved('v', 30, 40, M))):
            self.assertEqual(count, self.count(
                'two owners', ours, again, other))

    def test_what_is_done_to_a_node_that_somebody_has(self) -> None:
        """Whoever does it."""
        ours = reserved('u', 10, 100)
        for count, at in ((1, 20), (0, 5), (0, 101)):
            self.assertEqual(count, self.count(
                'done to the node of another', ours,
                done=(by_hand.wrote(at, provision_state='available'),)))

    def test_what_is_shown_of_what_is_there(self) -> None:
        """And nobody counts what has ended."""
        for count, until in ((2, 100), (1, 31), (0, 15)):
            self.assertEqual(count, self.count(
                'lost', shown('l', 10, until, N),
                *(shown('l', sent, until, N, status='ACTIVE' if sent < until
                        else 'TERMINATED') for sent in (20, 40))))

    def test_proof_that_is_good(self) -> None:
        """Let through or not."""
        for count, status, proof in ((1, 202, 'u'), (1, 409, 'u'),
                                     (0, 202, 'v'), (0, None, 'u')):
            self.assertEqual(count, self.count(
                'proof refused', reserved('u', 10, 100),
                by_hand.deployed(20, status, proof)))

    def test_request_that_is_sent_again_with_its_key(self) -> None:
        """By the client, or by what stands between."""
        made = by_hand.asked('lease', 'POST', '/v1/leases', 10, None,
                             body={'name': 'n'}, key='k')
        again = dataclasses.replace(made, id='again', sent=20)
        twice = dataclasses.replace(made, repeated=True)
        for count, asked in ((0, (made,)), (1, (made, again)), (1, (twice,)),
                             (2, (twice, again))):
            self.assertEqual(count, self.count('made twice', *asked))

    def test_reservation_that_is_looked_for_after_a_503(self) -> None:
        """Whether it is there or not."""
        given = by_hand.asked(
            'reserve', 'POST', '/v1/reservations', 10, 503,
            {'code': 'service.database_unavailable'}, body={'uuid': 'u'})
        for count, status in ((1, 200), (1, 404), (0, None)):
            self.assertEqual(count, self.count(
                'untrue answer', given, by_hand.about(
                    'u', 'probe', 'GET', 11, status)))

    def test_maintenance_of_an_operator_while_the_service_works(self) -> None:
        """On that node."""
        on = by_hand.asked('operate-maintenance', 'PUT', '/v1/nodes', 10, 202)
        off = by_hand.asked('operate-maintenance', 'DELETE', '/v1/nodes', 50,
                            202)
        for count, node, at in ((1, N, 30), (0, M, 30), (0, N, 11),
                                (0, N, 60)):
            self.assertEqual(count, self.count(
                'maintenance of another', on, off, done=(
                    by_hand.wrote(10, on, maintenance=True),
                    by_hand.wrote(51, off, maintenance=False)),
                passed=(history.Passed(
                    at, 'PATCH', f'/v1/nodes/{node}', None, 200),)))

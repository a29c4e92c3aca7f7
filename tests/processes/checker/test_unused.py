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


"""Until when a lease surely keeps a node that may be released."""

from __future__ import annotations

import math
import unittest

from tests.processes.checker import by_hand
from tests.processes.checker import history
from tests.processes.checker import unused

N, M = by_hand.N, by_hand.M
asked = by_hand.asked


class UnusedTestCase(unittest.TestCase):
    """Nodes of the class silver are released after eight seconds."""

    def kept(self, *told: history.Exchange, node: str = N) -> float:
        """Return until when one is kept that was seen at 50."""
        return unused.Unused(history.History(
            told, no_show={'silver': 8}, classes={N: 'silver', M: 'gold'})
        ).kept_until(node, 'proof', 40, 50)

    def test_one_that_nobody_has_deployed(self) -> None:
        """Only of the class, or of one that may have had it."""
        self.assertEqual(48, self.kept())
        self.assertEqual(math.inf, self.kept(node=M))
        reclassed = asked('reclass', 'PATCH', f'/v1/nodes/{M}', 10, None,
                          body=[{'op': 'add', 'path': '/resource_class',
                                 'value': 'silver'}])
        self.assertEqual(48, self.kept(reclassed, node=M))

    def test_one_that_was_deployed_is_kept(self) -> None:
        """If that was accepted, with the proof, before it was seen."""
        deployed = by_hand.deployed
        self.assertEqual(math.inf, self.kept(deployed(45, 202, 'proof')))
        for other in (deployed(45, 409, 'proof'), deployed(45, None, 'proof'),
                      deployed(45, 202, 'other'), deployed(55, 202, 'proof'),
                      deployed(45, 202, 'proof', M)):
            self.assertEqual(48, self.kept(other))

    def test_one_that_was_just_deployed_is_lost(self) -> None:
        """Though no answer but that to the deploy says that it is kept."""
        def seen(sent: float, *nodes: str) -> history.Exchange:
            answer = by_hand.lease('l', 100, *nodes)
            answer['lease']['start_date'] = by_hand.date(10)
            return asked('show-lease', 'GET', '/v1/leases/l', sent, 200,
                         answer)
        for status, proof, expected in ((202, 'l-proof', ['lost']),
                                        (409, 'l-proof', []),
                                        (202, 'other', [])):
            self.assertEqual(expected, by_hand.judged(
                seen(12, N), by_hand.deployed(19, status, proof), seen(25),
                no_show={'silver': 8}, classes={N: 'silver'}))

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

"""A database that went back: what is lost is excused, and nothing else."""

from __future__ import annotations

import unittest

from tests.processes.checker import by_hand
from tests.processes.checker import history

about = by_hand.about
reserved = by_hand.reserved
#: What was committed from 40 to 50 is lost.
_BACK = {'fault': 'lose-replica', 'at': 55.0, 'since': 40.0, 'until': 50.0}
_L = '11111111-1111-4111-8111-111111111111'
_M = '22222222-2222-4222-8222-222222222222'


def judged(*told: history.Exchange) -> tuple[list[str], list[str]]:
    """Return which rules a history breaks: if nothing was lost, and so."""
    return by_hand.judged(*told), by_hand.judged(*told, faults=(_BACK,))


class GoneTestCase(unittest.TestCase):

    def test_lost_is_what_was_acknowledged_meanwhile(self) -> None:
        for name, sent, got, wrong in (
                ('before', 20, 20.1, ['lost']),
                ('while it was on its way', 39, 39.1, []),
                ('meanwhile', 45, 45.1, []),
                ('answered late', 45, 58, []),
                ('afterwards', 56, 56.1, ['lost'])):
            with self.subTest(name):
                self.assertEqual((['lost'], wrong), judged(
                    reserved('u', sent, 100, got=got),
                    about('u', 'show', 'GET', 60, 404)))

    def test_nobody_has_what_another_one_has(self) -> None:
        """Until it is lost, and again afterwards."""
        for name, mine, others, wrong in (
                ('both before', 20, 21, ['two owners']),
                ('both meanwhile', 44, 45, ['two owners']),
                ('both afterwards', 60, 61, ['two owners']),
                ('one was lost', 45, 60, []),
                ('one was not', 20, 60, ['two owners'])):
            with self.subTest(name):
                self.assertEqual((['two owners'], wrong), judged(
                    reserved('u', mine, 100),
                    reserved('w', others, 100, who='other')))

    def test_what_is_remembered_of_a_lost_promise_is_no_more(self) -> None:
        for name, first, second, wrong in (
                ('its key was lost', 45, 60, []),
                ('found before', 20, 30, ['made twice']),
                ('made afterwards', 60, 61, ['made twice'])):
            with self.subTest(name):
                self.assertEqual((['made twice'], wrong), judged(
                    by_hand.leased_by_key(_L, first),
                    by_hand.leased_by_key(_M, second)))

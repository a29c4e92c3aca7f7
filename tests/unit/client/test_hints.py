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


"""Refusals that commands show name options, besides the keys of the API."""

from __future__ import annotations

import pathlib

import testtools

from ironic_reservations.engine.leases import find as lease_find
from ironic_reservations.engine.reservations import find
from ironic_reservations.engine.reservations import pick_and_confirm
from ironic_reservations.planner import pick
from ironic_reservations_client.osc import hints

_SERVICE = pathlib.Path(__file__).parents[3] / 'ironic_reservations'
#: Parts of refusals, as they are in the source of the service.
_TOLD = {
    'engine/hosts.py': ('"GET /v1/os-hosts"', '"reservation host list"'),
    'features/maintenance/find.py': ('"GET /v1/maintenances"',
                                     '"reservation maintenance list"'),
    'engine/leases/new_terms.py': ('change "amount"', '--instances'),
    'engine/leases/replan/started.py': ('in "give_back"', '--give-back'),
    'guard/holder_acts.py': ('"give_back" and', '--give-back')}


class HintsTest(testtools.TestCase):

    def test_what_is_not_found_can_be_listed(self) -> None:
        """The refusals said what and why, and not what to do."""
        ident = '11111111-2222-4333-8444-555555555555'
        for told, command in (
                (str(lease_find.unknown(ident)), 'reservation lease list'),
                (find.unknown(ident), 'reservation list'),
                (str(pick_and_confirm._refusal_by_class(
                    pick.NodeRequest('', resource_class='nosuch'), ())),
                 'node list --fields name resource_class traits')):
            self.assertIn(command, hints.explained(told))
        self.assertIn('(--not-reservable)', hints.explained(
            (_SERVICE / 'engine' / 'hosts.py').read_text()))

    def test_keys_are_those_of_the_service(self) -> None:
        """A sentence that was improved there would lose its hint here."""
        for path, (told, _) in _TOLD.items():
            self.assertIn(told, (_SERVICE / path).read_text())

    def test_options_are_beside_the_keys(self) -> None:
        """The key stays, for programs that show the same refusal."""
        for told, option in _TOLD.values():
            shown = hints.explained(f'Do it with {told}.')
            self.assertIn(option, shown)
            self.assertIn(told.split(' and')[0], shown)
        self.assertEqual(
            'change "min" and "max" (--hosts). The keys',
            hints.explained('change "min" and "max". The keys'))

    def test_others_stay(self) -> None:
        """Words of a user are not taken for a key."""
        told = 'There is no reservation \'x\'. Set "min" to 4.'
        self.assertEqual(told, hints.explained(told))

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

"""Which leases the refusal of another one names."""

from __future__ import annotations

from typing import Any

from tests.inprocess.api import asking


class TestBlockerNames(asking.AskingCase):
    """One host, and a lease that has it."""

    options = {'leases__cleaning_time': 0}
    nodes = {'gold': {'resource_class': 'gold'}}
    version = asking.since(23)

    def setUp(self) -> None:
        super().setUp()
        self.there = self.book('02 10', '02 18', name='there')

    def refused(self, **more: Any) -> Any:
        """Ask for a lease that meets the other one."""
        return self.book('02 08', '02 12', status=409, **more)

    def blocker(self, refused: dict[str, Any]) -> dict[str, Any]:
        """Return the only lease in the way."""
        reason, = refused['details']['reasons']
        found: dict[str, Any]
        found, = reason['blockers']
        return found

    def test_lease_of_the_own_project_is_named(self) -> None:
        """By a dry run, a refused lease and a refused change."""
        named = {'start_date': '2050-01-02T10:00:00+00:00',
                 'end_date': '2050-01-02T18:00:00+00:00', 'own': True,
                 'reservation_id': self.there['reservations'][0]['id'],
                 'hosts': 1, 'lease_id': self.there['id'],
                 'lease_name': 'there'}
        for query in ('?dry_run=true', ''):
            self.assertEqual(named, self.blocker(self.refused(query=query)))
        new = self.book('02 08', '02 10')
        for query in ('?dry_run=true', ''):
            self.assertEqual(named, self.blocker(self.ask(
                'PUT', f'/v1/leases/{new["id"]}{query}', 409,
                {'end_date': '2050-01-02 11:00'})))

    def test_lease_of_another_project_has_no_name(self) -> None:
        refused = self.refused(who=asking.OTHER)
        self.assertEqual(
            {'start_date', 'end_date', 'own', 'hosts'},
            set(self.blocker(refused)))
        for secret in ('there', self.there['id'],
                       self.there['reservations'][0]['id']):
            self.assertNotIn(secret, str(refused))

    def test_version_before(self) -> None:
        self.assertEqual(
            {'start_date', 'end_date', 'own', 'reservation_id', 'hosts'},
            set(self.blocker(self.refused(version=asking.since(22)))))

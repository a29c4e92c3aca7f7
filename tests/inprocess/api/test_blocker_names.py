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

"""The names of leases in the refusal of another lease."""

from typing import Any

from tests.inprocess.api import asking
from tests.inprocess.api import on_its_own
from tests.inprocess.api import world

_PASSWORDS = {'olga': 'secret:1', 'pia': 'secret:2'}


def _basic(user: str) -> dict[str, str]:
    return on_its_own.basic(user, _PASSWORDS[user])


class TestBlockerNames(asking.AskingCase):
    """One host, and a lease that has it."""

    options = {'leases__cleaning_time': 0}
    nodes = {'gold': {'resource_class': 'gold'}}
    version = asking.since(23)

    def setUp(self) -> None:
        super().setUp()
        self.there = self.book('02 10', '02 18', name='there')

    def refused(self, **more: Any) -> Any:
        """Request a lease that overlaps the other one."""
        return self.book('02 08', '02 12', status=409, **more)

    def blocker(self, refused: dict[str, Any]) -> dict[str, Any]:
        """Return the only lease in the way."""
        reason, = refused['details']['reasons']
        found: dict[str, Any]
        found, = reason['blockers']
        return found

    def test_lease_of_the_own_project_is_named(self) -> None:
        """A dry run, a refused lease and a refused change name it."""
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

    def test_user_is_named(self) -> None:
        """All leases of the project are the caller's own."""
        there = self.book('05 10', '05 18', who={**asking.MEMBER,
                                                 'x_user_id': 'rose'})
        blocker = self.blocker(self.book(
            '05 08', '05 12', status=409, version=asking.since(26),
            who={**asking.MEMBER, 'x_user_id': 'ruth'}))
        self.assertEqual((there['id'], 'rose', True), (
            blocker['lease_id'], blocker['user_id'], blocker['own']))
        self.assertNotIn('user_id', self.blocker(self.book(
            '05 08', '05 12', status=409, version=asking.since(25))))


class TestUsersWithoutProjects(asking.AskingCase):
    """One host, and a lease of olga, with http_basic."""

    options = {'leases__cleaning_time': 0}
    nodes = {'gold': {'resource_class': 'gold'}}
    version = asking.since(26)

    def serve(self) -> world.World:
        self.member = self.operator = _basic('olga')
        return on_its_own.WithUsers(_PASSWORDS, **self.options)

    def setUp(self) -> None:
        super().setUp()
        self.there = self.book('02 10', '02 18', name='there')

    def blocker(self, user: str, **more: Any) -> Any:
        """Return the lease that blocks the lease of a user."""
        refused = self.book('02 08', '02 12', status=409, who=_basic(user),
                            **more)
        reason, = refused['details']['reasons']
        blocker, = reason['blockers']
        return blocker

    def test_refusal_tells_users_apart(self) -> None:
        for user in _PASSWORDS:
            blocker = self.blocker(user)
            self.assertEqual(
                (user == 'olga', 'olga', 'there', self.there['id']),
                tuple(blocker[key] for key in (
                    'own', 'user_id', 'lease_name', 'lease_id')))

    def test_calendar_tells_users_apart(self) -> None:
        path = ('/v1/calendar?from=2050-01-01T00:00Z&to=2050-01-08T00:00Z'
                '&rows=true')
        for user in _PASSWORDS:
            shown, = self.ask('GET', path, who=_basic(user))['calendar'][
                'leases']
            self.assertEqual(
                (user == 'olga', 'olga', 'there', self.there['id']),
                tuple(shown[key] for key in ('own', 'user_id', 'name', 'id')))

    def test_version_before(self) -> None:
        """All leases belong to the caller."""
        blocker = self.blocker('pia', version=asking.since(25))
        self.assertTrue(blocker['own'])
        self.assertNotIn('user_id', blocker)

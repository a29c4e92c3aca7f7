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

"""The calendar's sign-in and its feed, with a real Keystone."""

from __future__ import annotations

from typing import Any

import requests

from tests.stack import base
from tools.stack import people

HOME = '/reservation/calendar/'
COOKIE = 'ironic_reservations_calendar'
_VERSION = {'OpenStack-API-Version': 'baremetal-reservation 1.7'}
_TIMEOUT = 60


class TestCalendar(base.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.browser = requests.Session()
        self.browser.trust_env = False
        self.addCleanup(self.browser.close)
        self.csrf = ''

    def page(self, method: str, path: str, document: Any = None
             ) -> requests.Response:
        """Send a request as the page does."""
        answer = self.browser.request(
            method, f'{self.cloud.ironic.url}{HOME}{path}', json=document,
            headers={**_VERSION, 'X-CSRF-Token': self.csrf},
            timeout=_TIMEOUT)
        if path == 'session' and answer.status_code == 200:
            self.csrf = answer.json()['csrf'] or ''
        return answer

    def code(self, answer: requests.Response) -> tuple[int, str]:
        """Return what a refusal says to programs."""
        self.assertIn('errors', answer.json(), answer.text)
        return answer.status_code, answer.json()['errors'][0]['code']

    def sign_in(self, person: people.Person = base.MEMBER, **other: str
                ) -> requests.Response:
        """Sign in with a password."""
        return self.page('POST', 'session', {
            'username': person.name, 'password': people.PASSWORD,
            'project': person.project, **other})

    def keystone(self, method: str, path: str, body: Any = None,
                 person: people.Person = base.SYSTEM) -> Any:
        """Ask Keystone."""
        answer = self.cloud.session(person).request(
            f'{self.cloud.keystone_url}/v3{path}', method, json=body)
        return answer.json() if answer.content else None

    def user(self, person: people.Person) -> str:
        """Return the id of a user."""
        found, = self.keystone('GET', f'/users?name={person.name}')['users']
        return found['id']

    def project(self, person: people.Person) -> str:
        """Return the id of a project."""
        found, = self.keystone(
            'GET', f'/projects?name={person.project}')['projects']
        return found['id']

    def feed(self, person: people.Person) -> str:
        """Make the address of somebody's calendar."""
        self.assertEqual(200, self.sign_in(person).status_code)
        made = self.page('POST', 'api/v1/calendar/token')
        self.assertEqual(201, made.status_code, made.text)
        return made.json()['calendar_token']['url']

    def test_member_signs_in_and_out(self) -> None:
        self.assertEqual((401, 'identity.session_ended'),
                         self.code(self.page('GET', 'api/v1/limits')))
        answer = self.sign_in()
        self.assertEqual(200, answer.status_code, answer.text)
        shown = answer.json()
        self.assertEqual(
            (base.MEMBER.name, 'Default', base.MEMBER.project),
            (shown['user']['name'], shown['user']['domain'],
             shown['project']['name']))
        limits = self.page('GET', 'api/v1/limits').json()['limits']
        self.assertEqual(shown['project']['id'], limits['project_id'])
        token = self.browser.cookies[COOKIE]
        self.assertEqual(204, self.page('DELETE', 'session').status_code)
        self.browser.cookies.set(COOKIE, token, path=HOME)
        self.assertEqual((401, 'identity.session_ended'),
                         self.code(self.page('GET', 'api/v1/limits')))

    def test_whatever_is_wrong_is_told_alike(self) -> None:
        said = set()
        for wrong in ({'password': 'x'}, {'username': 'nobody'},
                      {'project': 'nothing'}, {'project': 'beta'},
                      {'user_domain': 'nowhere'},
                      {'project_domain': 'nowhere'}):
            answer = self.sign_in(**wrong)
            self.assertEqual((401, 'identity.sign_in_refused'),
                             self.code(answer), wrong)
            said.add(answer.json()['errors'][0]['detail'])
        answer = self.page('POST', 'session', {
            'application_credential_id': 'x',
            'application_credential_secret': 'x'})
        self.assertEqual((401, 'identity.sign_in_refused'),
                         self.code(answer))
        said.add(answer.json()['errors'][0]['detail'])
        self.assertEqual(1, len(said))

    def test_application_credential(self) -> None:
        path = f'/users/{self.user(base.MEMBER)}/application_credentials'
        made = self.keystone('POST', path, {'application_credential': {
            'name': 'calendar', 'roles': [{'name': 'reader'}]}},
            base.MEMBER)['application_credential']
        self.addCleanup(self.keystone, 'DELETE', f'{path}/{made["id"]}',
                        person=base.MEMBER)
        answer = self.page('POST', 'session', {
            'application_credential_id': made['id'],
            'application_credential_secret': made['secret']})
        self.assertEqual(200, answer.status_code, answer.text)
        self.assertEqual(base.MEMBER.project,
                         answer.json()['project']['name'])
        listed = self.page('GET', 'api/v1/leases')
        self.assertEqual(200, listed.status_code)
        # It may read, and no more.
        refused = self.page('POST', 'api/v1/leases', {
            'name': 'x', 'start_date': 'now',
            'end_date': '2099-01-01 00:00', 'events': [],
            'reservations': [self.hosts(1)]})
        self.assertEqual(403, refused.status_code, refused.text)

    def test_calendar_of_a_project(self) -> None:
        url = self.feed(base.MEMBER)
        answer = requests.get(url, timeout=_TIMEOUT)
        self.assertEqual(200, answer.status_code, answer.text)
        self.assertTrue(answer.text.startswith('BEGIN:VCALENDAR'))

    def test_calendar_of_who_has_lost_the_role(self) -> None:
        person = base.OTHER
        url = self.feed(person)
        role, = self.keystone('GET', f'/roles?name={person.role}')['roles']
        path = (f'/projects/{self.project(person)}/users/'
                f'{self.user(person)}/roles/{role["id"]}')
        self.keystone('DELETE', path)
        self.addCleanup(self.keystone, 'PUT', path)
        answer = requests.get(url, timeout=_TIMEOUT)
        self.assertEqual((403, 'identity.forbidden'), self.code(answer))

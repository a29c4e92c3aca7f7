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

"""Leases for calendar programs, and the token of a feed."""

import datetime
import hashlib
from typing import Any
from urllib import parse

import fixtures
import icalendar
import sqlalchemy as sa
import testtools

from ironic_reservations.db import tables
from ironic_reservations.features.calendar import tokens as calendar_tokens
from ironic_reservations.features.calendar.page import feed
from ironic_reservations.model import leases
from tests.inprocess.api import asking
from tests.inprocess.api import on_its_own
from tests.inprocess.api import world
from tests.inprocess.api.calendar import small_keystone

TOKEN = '/v1/calendar/token'
FEED = '/v1/leases.ics'
NASTY = '<img onerror=x>, a;b\\c "d" BEGIN:VEVENT ' + 'ü' * 35


def _lease(name: str = 'mine', **more: str) -> dict[str, object]:
    now = datetime.datetime.now(datetime.UTC)
    start, end = (f'{now + datetime.timedelta(days=days):%Y-%m-%d %H:%M}'
                  for days in (1, 3))
    return {'name': name, 'start_date': start, 'end_date': end,
            'events': [], 'reservations': asking.hosts(), **more}


class NoauthFeedTest(asking.AskingCase):
    """The contents of a calendar, and access to it."""

    nodes = {f'n{index}': {'resource_class': 'gold'} for index in range(3)}
    member = operator = {}

    def serve(self) -> world.World:
        return world.OpenWorld()

    def lease(self, name: str = 'mine') -> Any:
        """Make a lease."""
        return self.ask('POST', '/v1/leases', 201, _lease(name))['lease']

    def new_token(self) -> str:
        """Make a token."""
        made = self.ask('POST', TOKEN, 201)['calendar_token']
        self.assertEqual(f'http://api.example{FEED}?token={made["token"]}',
                         made['url'])
        return str(made['token'])

    def read(self, token: str, **headers: str) -> world.Answer:
        """Read the feed as a calendar program does."""
        return world.request(
            self.served, 'GET', f'{FEED}?{parse.urlencode({"token": token})}',
            version=None, **headers)

    def test_events(self) -> None:
        """Each lease is one event, with any name."""
        plain, nasty = self.lease(), self.lease(NASTY)
        answer = self.read(self.new_token())
        self.assertEqual((200, 'text/calendar; charset=UTF-8'),
                         (answer.status, answer.headers['Content-Type']))
        for line in answer.body.split(b'\r\n'):
            self.assertLessEqual(len(line), 75)
        self.assertEqual(2, answer.body.count(b'BEGIN:VEVENT\r\n'))
        self.assertNotIn(b'\n', answer.body.replace(b'\r\n', b''))
        read = icalendar.Calendar.from_ical(answer.body)
        events = {str(each['uid']): each for each in read.walk('VEVENT')}
        self.assertEqual({f'{each["id"]}@ironic-reservations'
                          for each in (plain, nasty)}, set(events))
        event = events[f'{plain["id"]}@ironic-reservations']
        self.assertEqual('mine', event['summary'])
        self.assertEqual('CONFIRMED', event['status'])
        start = event['dtstart'].dt
        self.assertEqual(datetime.timedelta(0), start.utcoffset())
        self.assertEqual(plain['start_date'][:16], f'{start:%Y-%m-%dT%H:%M}')
        self.assertIn('Hosts: 1', event['description'])
        for name in ('dtstamp', 'sequence', 'created', 'last-modified'):
            self.assertIn(name, event)
        self.assertEqual(NASTY, events[
            f'{nasty["id"]}@ironic-reservations']['summary'])

    def test_programs_are_told_how_often_to_read(self) -> None:
        """Both properties have a duration of the format."""
        lines = self.read(self.new_token()).body.split(b'\r\n')
        self.assertLessEqual({b'REFRESH-INTERVAL;VALUE=DURATION:PT15M',
                              b'X-PUBLISHED-TTL:PT15M'}, {*lines})

    def test_control_characters(self) -> None:
        """In names, they end no line and begin no event."""
        now = datetime.datetime.now(datetime.UTC)
        lease = leases.Lease(
            'x', 'a\r\nEND:VEVENT\nb\x00\x1b[2Jc\u2028d\x85e\x0bf', now, now,
            leases.LeaseStatus.PENDING, now)
        text = feed.written([lease])
        event, = icalendar.Calendar.from_ical(text).walk('VEVENT')
        self.assertEqual('a  END:VEVENT b  [2Jc d e f', event['summary'])
        self.assertEqual(1, text.count(b'END:VEVENT\r\n'))

    def test_no_proof_is_in_it(self) -> None:
        """A reader of the calendar cannot deploy with it."""
        lease = self.lease()
        text = self.read(self.new_token()).body.decode()
        self.assertNotIn(lease['reservations'][0]['id'], text)

    def test_change_is_a_later_revision(self) -> None:
        """The same event has a later revision; before, the answer is 304."""
        lease, token = self.lease(), self.new_token()
        first = self.read(token)
        again = self.read(token, if_none_match=first.headers['ETag'])
        self.assertEqual((304, b''), (again.status, again.body))
        self.served.clock.ahead += datetime.timedelta(seconds=1)
        self.ask('PUT', f'/v1/leases/{lease["id"]}', 200, {'name': 'new'})
        second = self.read(token, if_none_match=first.headers['ETag'])
        before, after = (
            icalendar.Calendar.from_ical(each.body).walk('VEVENT')[0]
            for each in (first, second))
        self.assertEqual(before['uid'], after['uid'])
        self.assertLess(before['sequence'], after['sequence'])
        self.assertEqual('new', after['summary'])

    def test_more_than_a_page(self) -> None:
        """All leases are in the feed."""
        self.served.conf.set_override('max_limit', 2, 'api')
        for index in range(3):
            self.lease(f'lease-{index}')
        body = self.read(self.new_token()).body
        self.assertEqual(3, body.count(b'BEGIN:VEVENT'))

    def test_token_is_told_once(self) -> None:
        """The database has only its hash."""
        token = self.new_token()
        self.assertEqual(['created_at'], list(
            self.ask('GET', TOKEN)['calendar_token']))
        with self.served.engine.database.read() as connection:
            row = connection.execute(sa.select(tables.calendar_tokens)).one()
        self.assertNotIn(token, str(row))
        self.assertEqual(hashlib.sha256(token.encode()).hexdigest(),
                         row.digest)
        self.assertEqual(43, len(token))

    def test_revoked(self) -> None:
        """A new token or a deletion revokes it; a second deletion is accepted.
        """
        old = self.new_token()
        new = self.new_token()
        self.assertEqual('calendar.not_found', self.read(old).code)
        self.assertEqual(200, self.read(new).status)
        for _ in range(2):
            self.ask('DELETE', TOKEN, 204)
        self.assertEqual((404, 'calendar.not_found'), (
            self.read(new).status, self.read(new).code))
        self.assertIsNone(self.ask('GET', TOKEN)['calendar_token'])

    def test_tokens_that_nobody_has(self) -> None:
        """All of them get the same answer."""
        right = self.new_token()
        said = set()
        for wrong in ('', 'x', right[:-1], right + 'x', right.upper(),
                      hashlib.sha256(right.encode()).hexdigest(), '%',
                      '\0', 'ü', "' OR 1=1 --", 'x' * 5000):
            answer = self.read(wrong)
            self.assertEqual(404, answer.status, wrong)
            said.add((answer.code, answer.detail))
        self.assertEqual(1, len(said))
        none = self.send('GET', FEED, 404, version=None)
        self.assertEqual('calendar.not_found', none.code)
        for query in (f'token={right}&token={right}', f'token={right}&x=1',
                      'token=%ff'):
            self.ask('GET', f'{FEED}?{query}', 400)

    def test_read_only(self) -> None:
        """The feed has no other methods."""
        token = self.new_token()
        for method in ('POST', 'PUT', 'DELETE', 'PATCH'):
            self.ask(method, f'{FEED}?token={token}', 405)

    def test_token_is_in_no_log(self) -> None:
        """No request logs it."""
        log = self.useFixture(fixtures.FakeLogger())
        token = self.new_token()
        self.read(token)
        self.read(token + 'x')
        self.assertIn(FEED, log.output)
        self.assertNotIn(token, log.output)

    def test_any_accept_of_a_calendar_program(self) -> None:
        """Each of them is served."""
        token = self.new_token()
        for accept in ('*/*', 'text/calendar', 'text/calendar, */*;q=0.5',
                       'text/html,application/xhtml+xml,*/*;q=0.8'):
            self.assertEqual(200, self.read(token, accept=accept).status,
                             accept)

    def test_older_version(self) -> None:
        """It can make no token, but serves existing ones."""
        for method in ('GET', 'POST', 'DELETE'):
            self.ask(method, TOKEN, 404, version='baremetal-reservation 1.6')


class KeystoneFeedTest(testtools.TestCase):
    """The access of absent users to their calendars."""

    def setUp(self) -> None:
        super().setUp()
        self.keystone = self.useFixture(small_keystone.SmallKeystone())
        self.world = self.useFixture(on_its_own.Standalone(
            on_its_own.keystone_at(self.keystone.url)
            + '[ironic]\nauth_type = password\n'
            f'auth_url = {self.keystone.url}/\n'
            'username = anna\npassword = secret\nproject_name = red\n'
            'user_domain_name = Default\nproject_domain_name = Default\n',
            auth_strategy='keystone'))
        self.keystone.roles = ['member', 'reader']

    def _as(self, *roles: str, **more: str) -> dict[str, str]:
        token = f'token-{len(self.keystone.tokens.tokens)}'
        self.keystone.tokens.add_token_data(
            token_id=token, **{
                'project_id': 'red', 'user_id': 'anna', 'role_list': roles,
                'user_domain_id': 'default', 'project_domain_id': 'default',
                'project_name': 'red', 'user_name': 'anna',
                'user_domain_name': 'x', 'project_domain_name': 'x', **more})
        return {'x_auth_token': token}

    def new_token(self, *roles: str) -> str:
        """Make a token."""
        made = world.request(self.world, 'POST', TOKEN,
                             **self._as(*(roles or ('member', 'reader'))))
        self.assertEqual(201, made.status, made.body)
        return made.json['calendar_token']['token']

    def read(self, token: str) -> world.Answer:
        """Read the feed as a calendar program does, a minute later."""
        self.world.app = self.world.make_app()
        return world.request(self.world, 'GET', f'{FEED}?token={token}',
                             version=None)

    def test_own_project(self) -> None:
        """The feed shows the leases of its project, and no others."""
        for name, project in (('ours', 'red'), ('theirs', 'blue')):
            node = self.world.ironic.add(resource_class='gold')
            made = world.request(
                self.world, 'POST', '/v1/os-hosts', {'name': node.uuid},
                **self._system())
            self.assertEqual(201, made.status, made.body)
            made = world.request(
                self.world, 'POST', '/v1/leases', _lease(name),
                **self._as('member', 'reader', project_id=project))
            self.assertEqual(201, made.status, made.body)
        body = self.read(self.new_token()).body
        self.assertIn(b'SUMMARY:ours', body)
        self.assertNotIn(b'theirs', body)

    def _system(self) -> dict[str, str]:
        made = small_keystone.ksa_fixture.V3Token(user_id='root',
                                                  user_name='root')
        made.set_system_scope()
        for role in ('member', 'reader'):
            made.add_role(name=role)
        self.keystone.tokens.add_token(made, 'token-of-root')
        return {'x_auth_token': 'token-of-root'}

    def test_each_user_and_project_has_its_own(self) -> None:
        """A new token revokes only the same user's token of the project."""
        first = self.new_token()
        for other in ({'user_id': 'berta'}, {'project_id': 'blue'}):
            who = self._as('member', 'reader', **other)
            self.assertEqual(201, world.request(
                self.world, 'POST', TOKEN, **who).status)
            self.assertEqual(204, world.request(
                self.world, 'DELETE', TOKEN, **who).status)
        self.assertEqual(200, self.read(first).status)

    def test_who_may_make_one(self) -> None:
        """A reader of a project may, and nobody without a project."""
        for who, status in (
                ({}, 401), (self._as('guest'), 403),
                (self._as('reader'), 201), (self._system(), 403)):
            self.assertEqual(status, world.request(
                self.world, 'POST', TOKEN, **who).status)

    def test_roles_of_now(self) -> None:
        """Current roles apply, up to the roles when the token was made."""
        token = self.new_token()
        for roles, status in ((['reader'], 200), ([], 403),
                              (['guest'], 403), (['member', 'reader'], 200)):
            self.keystone.roles = roles
            answer = self.read(token)
            self.assertEqual(status, answer.status, roles)
        self.keystone.roles = ['admin', 'member', 'reader', 'service']
        self.assertEqual(200, self.read(token).status)

    def test_user_or_project_that_is_disabled(self) -> None:
        """A disabled or deleted one gets no leases."""
        token = self.new_token()
        for disabled in ('users', 'projects'):
            for answer in (False, None):
                self.keystone.enabled = {disabled: answer}
                refused = self.read(token)
                self.assertEqual((403, 'identity.forbidden'),
                                 (refused.status, refused.code))
        self.keystone.enabled = {}
        self.assertEqual(200, self.read(token).status)

    def test_keystone_that_does_not_say(self) -> None:
        """A failure does not count as a permission."""
        token = self.new_token()
        for status in (500, 403, 401, 404):
            self.keystone.fails = status, []
            answer = self.read(token)
            self.assertEqual((503, 'service.keystone_unavailable'),
                             (answer.status, answer.code))
        self.keystone.fails = None
        self.assertEqual(200, self.read(token).status)
        # An answer is valid for a minute; after that nothing is known.
        self.keystone.fails = 500, []
        again = world.request(self.world, 'GET', f'{FEED}?token={token}',
                              version=None)
        self.assertEqual(200, again.status)

    def test_tokens_of_another_time(self) -> None:
        """Tokens without a user, or of a user of a file, are not found."""
        self.keystone.asked.clear()
        for user in (None, 'anna'):
            answer = self.read(calendar_tokens.make(
                self.world.engine, user, None, ('reader',), ''))
            self.assertEqual((404, 'calendar.not_found'),
                             (answer.status, answer.code))
        self.assertEqual([], self.keystone.asked)

    def test_keystone_is_not_asked_for_a_wrong_token(self) -> None:
        """Otherwise anybody could cause requests to Keystone."""
        self.keystone.asked.clear()
        self.assertEqual(404, self.read('x').status)
        self.assertEqual([], self.keystone.asked)

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

"""The calendar's sign-in with a file of passwords."""

import base64
from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import hashlib
import json
from typing import Any
from unittest import mock

import bcrypt
import fixtures
import sqlalchemy as sa
import testtools

from ironic_reservations.db import tables
from ironic_reservations.features.calendar import tokens as calendar_tokens
from ironic_reservations.features.calendar.page import attempts
from ironic_reservations.features.calendar.page import password_file
from tests.inprocess.api import on_its_own
from tests.inprocess.api import world
from tests.inprocess.api.calendar import base

TOKEN = f'{base.HOME}api/v1/calendar/token'
OLGA = {'username': 'olga', 'password': 'secret:1'}


class HttpBasicTest(base.TestCase):
    """The users in the file, and the duration of their sessions."""

    user = OLGA

    def serve(self) -> world.World:
        served = self.useFixture(on_its_own.WithUsers(
            {'olga': 'secret:1', 'ünal': 'päss', 'olga2': 'other'}))
        self.users = served.users
        return served

    def write_users(self, **users: str) -> None:
        """Write the file of users."""
        self.users.write_text(on_its_own.passwords(**users))

    def test_who_is_in_the_file(self) -> None:
        """A user in the file signs in, and uses the API with the session."""
        self.assert_ended()
        answer = self.sign_in()
        self.assertEqual(200, answer.status, answer.body)
        self.assertTrue(answer.json['signed_in'])
        self.assertEqual({'id': 'olga', 'name': 'olga'}, answer.json['user'])
        self.assertIsNone(answer.json['project'])
        self.assertEqual(200, self.browser.send('GET', base.LEASES).status)
        node = self.served.ironic.add(resource_class='gold')
        made = self.browser.send(
            'POST', f'{base.HOME}api/v1/reservations',
            {'instance_uuid': node.uuid, 'node_uuid': [node.uuid]})
        self.assertEqual(201, made.status, made.body)
        self.assertEqual('olga', made.json['reservation']['user_id'])
        self.assertIn('/reservation/calendar/api/v1/reservations/',
                      made.headers['Location'])

    def test_write_of_the_page_is_audited(self) -> None:
        """The event names the user who signed in."""
        log = self.useFixture(fixtures.FakeLogger(
            'ironic_reservations.audit', format='%(message)s'))
        self.sign_in()
        node = self.served.ironic.add(resource_class='gold')
        self.browser.send('POST', f'{base.HOME}api/v1/os-hosts',
                          {'name': node.uuid})
        event = json.loads(log.output)
        self.assertEqual(('create', '201', 'olga'), (
            event['action'], event['reason']['reasonCode'],
            event['initiator']['name']))

    def read_feed(self, token: str) -> world.Answer:
        """Read the feed as a calendar program does."""
        return world.request(self.served, 'GET',
                             f'/v1/leases.ics?token={token}', version=None)

    def new_token(self, who: dict[str, str] = OLGA) -> str:
        """Create a token of a calendar on the page."""
        self.assertEqual(200, self.sign_in(who).status)
        made = self.browser.send('POST', TOKEN)
        self.assertEqual(201, made.status, made.body)
        return made.json['calendar_token']['token']

    def shown(self, who: dict[str, str]) -> Any:
        """Return the answer of the page about a token."""
        self.assertEqual(200, self.sign_in(who).status)
        return self.browser.send('GET', TOKEN).json['calendar_token']

    def test_calendar_ends_with_the_password(self) -> None:
        """The calendar of the user ends, and those of others do not."""
        others = self.new_token({'username': 'olga2', 'password': 'other'})
        before = self.new_token()
        self.assertEqual(200, self.read_feed(before).status)
        self.assertIsNotNone(self.shown(OLGA))
        changed = {'username': 'olga', 'password': 'changed'}
        self.users.write_text(on_its_own.passwords(olga='changed') + ''.join(
            self.users.read_text().splitlines(keepends=True)[1:]))
        ended = self.read_feed(before)
        self.assertEqual(404, ended.status, ended.body)
        self.assertEqual('calendar.not_found', ended.code)
        self.assertIsNone(self.shown(changed))
        self.assertEqual(200, self.read_feed(others).status)
        after = self.new_token(changed)
        self.assertIsNotNone(self.shown(changed))
        self.assertEqual(
            [404, 200], [self.read_feed(each).status
                         for each in (before, after)])

    def test_calendar_that_is_revoked_stays_so(self) -> None:
        """It stays so even if it was void then and would be valid again."""
        file = self.users.read_text()
        changed = {'username': 'olga', 'password': 'changed'}
        for end in ('DELETE', 'POST'):
            token = self.new_token()
            self.write_users(olga='changed')
            self.sign_in(changed)
            self.assertIn(self.browser.send(end, TOKEN).status, (204, 201))
            self.users.write_text(file)
            self.assertEqual(404, self.read_feed(token).status, end)

    def test_calendar_keeps_no_password(self) -> None:
        """Neither the password nor its hash is stored."""
        self.new_token()
        with self.served.engine.database.read() as connection:
            row = connection.execute(sa.select(tables.calendar_tokens)).one()
        _, _, hashed = self.users.read_text().splitlines()[0].partition(':')
        for secret in ('secret', hashed, hashed[-31:],
                       hashlib.sha256(hashed.encode()).hexdigest()):
            self.assertNotIn(secret, str(row))

    def test_calendar_without_a_fingerprint(self) -> None:
        """It is refused: the password of its user is not known."""
        token = self.new_token()
        with self.served.engine.database.write() as connection:
            connection.execute(sa.update(tables.calendar_tokens).values(
                fingerprint=None))
        self.assertEqual(404, self.read_feed(token).status)
        self.assertIsNone(self.shown(OLGA))

    def test_calendar_of_who_is_no_user_any_more(self) -> None:
        """It is not found, and neither is a calendar without a user."""
        for who in (OLGA, {'username': 'ünal', 'password': 'päss'}):
            self.write_users(olga='secret:1', ünal='päss')
            token = self.new_token(who)
            self.assertEqual(200, self.read_feed(token).status)
            self.write_users(olga2='secret:1')
            gone = self.read_feed(token)
            self.check(gone, 404, 'calendar.not_found')
        # Calendars from the time before there were users.
        for user in (None, ''):
            token = calendar_tokens.make(self.served.engine, user, None, (),
                                         '')
            self.assertEqual('calendar.not_found', self.read_feed(token).code)
        self.users.unlink()
        self.assertEqual(404, self.read_feed('x').status)
        self.assertEqual(500, self.read_feed(token).status)

    def test_name_beyond_ascii(self) -> None:
        """The password may have such characters, too."""
        answer = self.sign_in({'username': 'ünal', 'password': 'päss'})
        self.assertEqual('ünal', answer.json['user']['name'])
        self.assertEqual(200, self.browser.send('GET', base.LEASES).status)

    def test_cookie(self) -> None:
        """Scripts and other sites cannot use it, and it contains no password.
        """
        self.sign_in()
        for attribute in ('; HttpOnly', '; SameSite=Strict',
                          '; Path=/reservation/calendar/'):
            self.assertIn(attribute, self.browser.set_cookie)
        self.assertNotIn('Secure', self.browser.set_cookie)
        self.assertNotIn('Max-Age', self.browser.set_cookie)
        for secret in ('secret', base64.b64encode(b'secret:1').decode()):
            self.assertNotIn(secret, self.browser.cookie)

    def test_secure_cookie(self) -> None:
        """The cookie is secure if the request came by https."""
        self.browser.send('POST', base.SESSION, OLGA,
                          environ={'wsgi.url_scheme': 'https'})
        self.assertIn('; Secure', self.browser.set_cookie)

    def test_wrong_credentials(self) -> None:
        """All of them are refused with the same text."""
        said = set()
        for who in ({'username': 'olga', 'password': 'wrong'},
                    {'username': 'nobody', 'password': 'secret:1'},
                    {'username': 'olga', 'password': 'secret:1x'},
                    {'username': 'olg', 'password': 'a2'},
                    {'username': 'olga:', 'password': 'x'},
                    {'username': 'olga', 'password': 'x' * 1000}):
            answer = self.sign_in(who)
            self.check(answer, 401, 'identity.sign_in_refused', who)
            said.add(answer.detail)
            self.assertNotIn('Set-Cookie', answer.headers)
        self.assertEqual(1, len(said))

    def test_who_is_not_there_costs_as_much(self) -> None:
        """Otherwise the response time would reveal the users."""
        seen = []
        real = bcrypt.checkpw
        self.patch(password_file.bcrypt, 'checkpw',
                   lambda *given: seen.append(given) or real(*given))
        self.sign_in({'username': 'olga', 'password': 'wrong'})
        self.sign_in({'username': 'nobody', 'password': 'wrong'})
        self.assertEqual(2, len(seen))

    def test_bodies_that_are_no_sign_in(self) -> None:
        """They are refused, and the answer repeats nothing of them."""
        for document in (
                [], 'x', {}, {'username': 'olga'},
                {**OLGA, 'more': 'hush-hush'},
                {'username': 'olga', 'password': 3},
                {'username': 'olga', 'password': ''},
                {'username': 'olga', 'password': 'hush-hush\0'},
                {'username': 'olga', 'password': 'hush-hush' * 200},
                {'username': ['hush-hush'], 'password': 'x'}):
            answer = self.sign_in(document)
            self.assertEqual(400, answer.status, document)
            self.assertNotIn(b'hush-hush', answer.body)
        large = self.browser.send('POST', base.SESSION,
                                  {'username': 'x' * 9000})
        self.assertEqual(413, large.status)
        form = world.request(self.served, 'POST', base.SESSION, environ={
            'CONTENT_TYPE': 'application/x-www-form-urlencoded',
            'CONTENT_LENGTH': '3'}, raw=b'a=b')
        self.assertEqual(415, form.status)

    def test_password_is_not_logged(self) -> None:
        """The cookie is not logged either."""
        log = self.useFixture(fixtures.FakeLogger())
        self.sign_in({'username': 'olga', 'password': 'hush-hush'})
        self.sign_in({'username': 'hush-hush', 'password': 'hush-hush'})
        self.sign_in()
        self.browser.send('GET', base.LEASES)
        self.assertIn('/reservation/calendar/session', log.output)
        self.assertNotIn('hush-hush', log.output)
        self.assertNotIn(self.browser.cookie, log.output)

    def test_cookie_counts_nowhere_else(self) -> None:
        """The API itself ignores the cookie."""
        self.sign_in()
        for path in ('/v1/leases', '/v1/reservations'):
            self.assertEqual(401, self.browser.send('GET', path).status, path)

    def test_other_credentials_do_not_count_here(self) -> None:
        """With the cookie, other credentials are ignored."""
        for headers in (on_its_own.basic('olga', 'secret:1'),
                        {'x_user': 'olga'},
                        {'x_user': 'olga', 'x_identity_status': 'Confirmed'}):
            answer = self.browser.send('GET', base.LEASES, **headers)
            self.assertEqual('identity.session_ended', answer.code)
        self.sign_in()
        node = self.served.ironic.add(resource_class='gold')
        made = self.browser.send(
            'POST', f'{base.HOME}api/v1/reservations',
            {'instance_uuid': node.uuid, 'node_uuid': [node.uuid]},
            x_user='mallory', x_user_name='mallory')
        self.assertEqual('olga', made.json['reservation']['user_id'])

    def test_cookies_that_were_not_made_here(self) -> None:
        """They give no access."""
        self.sign_in()
        real = self.browser.cookie
        name, until, mac = real.split('.')
        other = base64.urlsafe_b64encode(b'olga2').decode()
        last = '1' if mac.endswith('0') else '0'
        for value in (
                f'{other}.{until}.{mac}', f'{name}.{int(until) + 1}.{mac}',
                f'{name}.{until}.{mac[:-1]}{last}', f'{name}.{until}.',
                f'{name}', f'{name}.{until}', f'{real}x', f'.{real}',
                f'{real}.',
                f'{name}.+{until}.{mac}', f'{name}.1e9.{mac}',
                f'{name}.{until}0.{mac}', '====.1.0000000000000',
                'A' * 3800, 'A' * 5000):
            self.browser.cookie = value
            answer = self.browser.send('GET', base.LEASES)
            self.check(answer, 401, 'identity.session_ended', value)

    def test_two_cookies_of_the_same_name(self) -> None:
        """They are refused, since ours is not known."""
        self.sign_in()
        pair = f'{base.COOKIE}={self.browser.cookie}'
        for cookie in (f'{pair}; {base.COOKIE}=x', f'{pair}; {pair}',
                       f'{base.COOKIE}=x; a=b; {pair}'):
            answer = self.browser.send('GET', base.LEASES, cookie=cookie)
            self.assertEqual('identity.session_ended', answer.code, cookie)
        fine = self.browser.send('GET', base.LEASES, cookie=f'a=b; {pair}; c')
        self.assertEqual(200, fine.status)

    def test_session_ends(self) -> None:
        """A session ends by time, by a new password, and with its user."""
        served = password_file.PasswordFile(str(self.users), -1)
        self.browser.cookie = served.sign_in(OLGA, {})
        self.assert_ended()
        for users in ({'olga': 'changed'}, {}):
            self.write_users(olga='secret:1')
            self.assertEqual(200, self.sign_in().status)
            self.write_users(**users)
            self.assert_ended()

    def test_ended_session_is_forgotten(self) -> None:
        """The browser removes the cookie."""
        self.sign_in()
        self.users.write_text('')
        self.browser.send('GET', base.LEASES)
        self.assertIsNone(self.browser.cookie)

    def test_file_that_cannot_be_read(self) -> None:
        """The answer is a server error, not a wrong password."""
        self.users.unlink()
        answer = self.sign_in()
        self.check(answer, 500, 'service.unexpected')
        self.assertIn('operator', answer.detail)

    def test_too_often(self) -> None:
        """One address is refused for some time, and others are not."""
        wrong = {'username': 'olga', 'password': 'wrong'}
        for _ in range(attempts.FAILURES):
            self.assertEqual(401, self.sign_in(wrong).status)
        for who in (wrong, OLGA):
            answer = self.sign_in(who)
            self.check(answer, 429, 'identity.too_many_attempts')
            self.assertIn(int(answer.headers['Retry-After']),
                          range(1, int(attempts.WINDOW) + 1))
        elsewhere = self.browser.send('POST', base.SESSION, OLGA,
                                      environ={'REMOTE_ADDR': '10.0.0.1'})
        self.assertEqual(200, elsewhere.status)
        other = self.sign_in({'username': 'ünal', 'password': 'päss'})
        self.assertEqual(200, other.status)


class AttemptsTest(testtools.TestCase):
    """Limits for the attempts of users, in a time and at once."""

    def test_window_and_memory(self) -> None:
        """Old attempts are forgotten, so the memory stays small."""
        now = [0.0]
        counted = attempts.Attempts(lambda: now[0])

        def fail(address: str) -> None:
            try:
                with counted.one(address, 'x'):
                    raise password_file.errors.SignInRefused
            except password_file.errors.SignInRefused:
                pass
        for _ in range(attempts.FAILURES):
            fail('here')
        self.assertRaises(password_file.errors.TooManyAttempts, fail, 'here')
        now[0] = attempts.WINDOW + 1
        fail('here')
        for index in range(20000):
            fail(str(index))
        self.assertEqual(10000, len(counted._failures))

    def test_many_at_once(self) -> None:
        """They wait for a moment, and are then refused."""
        counted = attempts.Attempts()
        held = [counted.one('ab'[index % 2], str(index)) for index in range(4)]
        for each in held:
            each.__enter__()
        refused = self.assertRaises(
            password_file.errors.TooManyAttempts,
            counted.one('c', 'last').__enter__)
        self.assertEqual(1, refused.retry_after)
        held[0].__exit__(None, None, None)
        with counted.one('c', 'last'):
            pass

    def test_only_few_wait(self) -> None:
        """Sign-ins without credentials occupied all threads of the API."""
        for more, most in (('a' * 9, 2), ('abcdefghi', 4)):
            counted = attempts.Attempts()
            held = [counted.one('xy'[index % 2], str(index))
                    for index in range(4)]
            for each in held:
                each.__enter__()
            coming = iter(more)

            def try_one(counted: attempts.Attempts = counted,
                        coming: Iterator[str] = coming) -> None:
                self.assertRaises(
                    password_file.errors.TooManyAttempts,
                    counted.one(next(coming), 'olga').__enter__)

            waited = []

            def wait(*_: Any, waited: list[int] = waited,
                     try_one: Callable[[], None] = try_one) -> bool:
                waited.append(1)
                # The next one comes meanwhile.
                try_one()
                return False
            with mock.patch.object(counted._places, 'wait_for', wait):
                try_one()
            self.assertEqual(most, len(waited))
            self.assertEqual(0, counted._waiting.total())

    def test_one_address_does_not_take_all_places(self) -> None:
        """Other addresses sign in during the attempts of one."""
        counted = attempts.Attempts()
        held = [counted.one('guesser', str(index)) for index in range(2)]
        for each in held:
            each.__enter__()
        self.assertRaises(password_file.errors.TooManyAttempts,
                          counted.one('guesser', 'more').__enter__)
        with counted.one('elsewhere', 'olga'):
            pass

    def test_attempts_that_wait_are_counted_with_the_others(self) -> None:
        """A burst at once was checked before any of it had failed."""
        counted = attempts.Attempts()

        def fail(attempt: contextlib.AbstractContextManager[None]) -> None:
            refused = password_file.errors.SignInRefused('no')
            attempt.__exit__(type(refused), refused, None)
        burst = [counted.one('guesser', 'olga')
                 for _ in range(attempts.FAILURES)]
        for each in burst[:-2]:
            each.__enter__()
            fail(each)
        for each in burst[-2:]:
            each.__enter__()
        real = counted._places.wait_for

        def meanwhile(*given: Any) -> bool:
            for each in burst[-2:]:
                fail(each)
            return real(*given)
        with mock.patch.object(counted._places, 'wait_for', meanwhile):
            self.assertRaises(password_file.errors.TooManyAttempts,
                              counted.one('guesser', 'olga').__enter__)
        self.assertEqual(0, counted._checked.total())

    def test_addresses_that_have_failed_do_not_take_all_places(self) -> None:
        """Guesses from many addresses leave places for other users."""
        now = [0.0]
        counted = attempts.Attempts(lambda: now[0])
        guessers = [f'guesser-{index}' for index in range(3)]
        for address in guessers:
            with testtools.ExpectedException(
                    password_file.errors.SignInRefused), counted.one(
                        address, 'olga'):
                raise password_file.errors.SignInRefused
        held = [counted.one(each, 'olga') for each in guessers[:2]]
        for each in held:
            each.__enter__()
        self.assertRaises(password_file.errors.TooManyAttempts,
                          counted.one(guessers[2], 'olga').__enter__)
        with counted.one('at home', 'olga'), counted.one('office', 'paul'):
            pass
        now[0] = attempts.WINDOW
        with counted.one(guessers[2], 'olga'):
            pass


class BehindProxyTest(base.TestCase):
    """The limits apply to the address that the proxy has seen."""

    def serve(self) -> world.World:
        return self.useFixture(on_its_own.WithUsers(
            {'olga': 'secret:1'}, **self.options,
            oslo_middleware__enable_proxy_headers_parsing=True))

    def _sign_in(self, password: str, **headers: str) -> int:
        return self.browser.send('POST', base.SESSION, {
            'username': 'olga', 'password': password}, **headers).status

    def check_one_client(self, header: str, address: str, last: str,
                         other: str | None = None) -> None:
        """Check that attempts from some addresses are counted together.

        :param address: of an attempt, with ``{}`` for its number.
        :param last: one more, which is refused.
        :param other: the address of another client, which signs in.
        """
        for number in range(attempts.FAILURES):
            self.assertEqual(401, self._sign_in(
                'wrong', **{header: address.format(number)}))
        self.assertEqual(429, self._sign_in('wrong', **{header: last}))
        if other is not None:
            self.assertEqual(200, self._sign_in('secret:1', **{header: other}))

    def test_invented_addresses_do_not_help(self) -> None:
        """They do not harm other users either."""
        self.check_one_client(
            'x_forwarded_for', '10.0.0.{}, 192.0.2.7', '10.0.1.1, 192.0.2.7',
            '192.0.2.7, 192.0.2.8')

    def test_standard_header(self) -> None:
        """It is used if the proxy sends no other header."""
        self.check_one_client(
            'forwarded', 'for=10.0.0.{}, for="192.0.2.7"',
            'for=10.0.1.1, for="192.0.2.7";proto=http', 'for=192.0.2.8')

    def test_ports_of_clients_do_not_help(self) -> None:
        """Some proxies send ports, which differ for each connection."""
        for header, address in (
                ('x_forwarded_for', '192.0.2.7:{}'),
                ('forwarded', 'for="192.0.2.8:{}"'),
                ('x_forwarded_for', '[2001:db8::1]:{}'),
                ('forwarded', 'for="[2001:db8:0:2::1]:{}"')):
            self.check_one_client(header, address.format('500{:02}'),
                                  address.format(60000))

    def test_addresses_without_ports_are_whole(self) -> None:
        """An IPv6 address contains colons."""
        for last in range(attempts.FAILURES + 1):
            self.assertEqual(401, self._sign_in(
                'wrong', x_forwarded_for=f'2001:db8:0:{last}::1'))

    def test_ipv6_addresses_of_one_network_are_one_client(self) -> None:
        """A client has a prefix of 64 bits, and can use each address of it."""
        self.check_one_client(
            'x_forwarded_for', '2001:db8:0:1:{0}::{0}',
            '2001:db8:0:1:ffff::1', '2001:db8:0:2::1')

    def test_ipv4_addresses_written_in_ipv6_are_clients_of_their_own(
            self) -> None:
        """A server that listens on both sees clients of IPv4 so."""
        self.check_one_client('x_forwarded_for', '::ffff:192.0.2.7',
                              '192.0.2.7', '::ffff:192.0.2.8')

    def test_chain_that_nobody_has_listed_is_one_client(self) -> None:
        """Only the last proxy is known, whose client is the one before it."""
        self.check_one_client('x_forwarded_for', '192.0.2.{}, 10.0.0.5',
                              '192.0.2.99, 10.0.0.5')


class BehindTwoProxiesTest(BehindProxyTest):
    """The limits apply to the last address that is no proxy."""

    options = {'api__trusted_proxies': ['10.0.0.0/24', '2001:db8:ffff::5']}

    def test_chain_that_nobody_has_listed_is_one_client(self) -> None:
        """A listed proxy is none."""
        for proxy in ('10.0.0.5', '2001:db8:ffff::5'):
            address = f'192.0.2.{len(proxy)}'
            self.check_one_client(
                'x_forwarded_for', f'198.51.100.{{}}, {address}, {proxy}',
                f'{address}, {proxy}', f'192.0.2.99, {proxy}')
            self.assertEqual(429, self._sign_in(
                'wrong', forwarded=f'for={address}, for="[{proxy}]:4711"'))

    def test_proxies_themselves_can_be_clients(self) -> None:
        """An address of a proxy counts if there is no other."""
        self.check_one_client('x_forwarded_for', '10.0.0.4, 10.0.0.5',
                              '10.0.0.4')

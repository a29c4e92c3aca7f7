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

"""Paths, methods and headers below the calendar's path."""

import gzip
import pathlib

import fixtures

from ironic_reservations.features.calendar.page import static_files
from tests.inprocess.api import world
from tests.inprocess.api.calendar import base

#: The headers by which browsers protect users.
SECURITY = {
    'Content-Security-Policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; "
        "img-src 'self' data:; connect-src 'self'; font-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'Referrer-Policy': 'no-referrer'}


class DoorTest(base.TestCase):
    """The paths that are served, and the paths that are not."""

    def serve(self) -> world.World:
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (folder / 'vendor').mkdir()
        (folder / 'index.html').write_text('<!doctype html>' + 'x' * 500)
        (folder / 'page.js').write_text('export const a = 1;\n')
        (folder / 'vendor' / 'thing-1.2.3.min.js').write_text('1;' * 300)
        (folder / 'vendor' / 'LICENSE').write_text('MIT')
        (folder / 'secret.html').symlink_to('/etc/hostname')
        self.patch(static_files.read, '__defaults__', (folder,))
        return super().serve()

    def test_page_has_one_address(self) -> None:
        """The other address redirects to it, behind any proxy."""
        answer = self.browser.send('GET', '/reservation/calendar')
        self.assertEqual((308, 'calendar/'),
                         (answer.status, answer.headers['Location']))
        answer = self.browser.send('GET', base.HOME)
        self.assertEqual((200, 'text/html; charset=utf-8'),
                         (answer.status, answer.headers['Content-Type']))

    def test_files(self) -> None:
        """The files of the page are served, and no others."""
        for name, kind in (('page.js', 'text/javascript; charset=utf-8'),
                           ('vendor/thing-1.2.3.min.js',
                            'text/javascript; charset=utf-8')):
            answer = self.browser.send('GET', f'{base.HOME}static/{name}')
            self.assertEqual((200, kind), (
                answer.status, answer.headers['Content-Type']), name)
        for name in ('', 'x.js', 'vendor', 'vendor/', 'vendor/LICENSE',
                     'secret.html', 'page.js/', 'PAGE.JS', 'page'):
            answer = self.browser.send('GET', f'{base.HOME}static/{name}')
            self.check(answer, 404, 'request.not_found', name)

    def test_file_is_not_sent_twice(self) -> None:
        """A file with a version in its name is not requested again."""
        path = f'{base.HOME}static/vendor/thing-1.2.3.min.js'
        first = self.browser.send('GET', path)
        self.assertIn('immutable', first.headers['Cache-Control'])
        again = self.browser.send('GET', path,
                                  if_none_match=first.headers['ETag'])
        self.assertEqual((304, b''), (again.status, again.body))
        page = self.browser.send('GET', base.HOME)
        self.assertEqual('no-cache', page.headers['Cache-Control'])

    def test_file_is_packed_for_who_takes_that(self) -> None:
        """The compressed file has another tag."""
        plain = self.browser.send('GET', base.HOME)
        packed = self.browser.send('GET', base.HOME,
                                   accept_encoding='br, gzip;q=0.8')
        self.assertEqual('gzip', packed.headers['Content-Encoding'])
        self.assertEqual(plain.body, gzip.decompress(packed.body))
        self.assertNotEqual(plain.headers['ETag'], packed.headers['ETag'])
        for unwanted in ('gzip;q=0', 'br', 'identity', 'gzip; q=0.000'):
            answer = self.browser.send('GET', base.HOME,
                                       accept_encoding=unwanted)
            self.assertNotIn('Content-Encoding', answer.headers, unwanted)

    def test_head(self) -> None:
        """HEAD returns the headers of a GET without a body."""
        answer = self.browser.send('HEAD', base.HOME)
        self.assertEqual((200, b''), (answer.status, answer.body))
        self.assertEqual('515', answer.headers['Content-Length'])

    def test_paths_that_are_not_plain(self) -> None:
        """They are refused, whatever their target is."""
        for path in (
                '/reservation/calendar//', '/reservation/calendar//session',
                '/reservation/calendar/./session',
                '/reservation/calendar/static/../session',
                '/reservation/calendar/static/%2e%2e/session',
                '/reservation/calendar/static/..%2f..%2fetc/passwd',
                '/reservation/calendar/static/%2e%2e%5cx',
                '/reservation/calendar/static/page.js%00.html',
                '/reservation/calendar/session;x=1',
                '/reservation/calendar/session%3bx',
                '/reservation/calendar/api/../../v1/leases',
                '/reservation/calendar/api//v1/leases',
                '/reservation/calendar/api/v1//leases',
                '/reservation/calendar/api/v1/%2e%2e/v1/leases',
                '/reservation/calendar/api/v1/leases/%252e%252e',
                '/reservation/calendar/api/v1/le%0aases',
                '/reservation/calendar/api/v1/\xff'):
            answer = self.browser.send('GET', path)
            self.check(answer, 400, 'request.malformed', path)

    def test_encoded_slash_is_refused(self) -> None:
        """This holds if the server passes on the raw path."""
        for raw in ('/reservation/calendar/api%2fv1/leases',
                    '/reservation%2Fcalendar/api/v1/leases',
                    '/reservation/calendar/%2e/api/v1/leases',
                    '/reservation/calendar/api/v1/%6ceases/%2e%2e'):
            for key in ('REQUEST_URI', 'RAW_URI'):
                answer = self.browser.send('GET', base.LEASES,
                                           environ={key: raw})
                self.check(answer, 400, 'request.malformed', raw)
        fine = self.browser.send('GET', base.LEASES, environ={
            'REQUEST_URI': f'{base.LEASES}?x=%2f'.partition('?')[0]})
        self.assertEqual(200, fine.status)

    def test_the_api_alone_is_behind_it(self) -> None:
        """Other paths of the server are not reachable."""
        for path in ('', 'api', 'api/', 'api/v2', 'api/v1x', 'api/metrics',
                     'api/healthcheck', 'api/openapi.json',
                     'api/reservation/v1', 'api/v1/nodes', 'sessions',
                     'session/', 'session/x', 'api/v1/reservation/calendar'):
            answer = self.browser.send('GET', f'{base.HOME}{path}'
                                       if path else '/reservation/calendars')
            self.assertEqual(404, answer.status, path)

    def test_methods(self) -> None:
        """Other methods are refused with a list of the allowed ones."""
        for path, allowed in (('', 'GET, HEAD'),
                              ('static/page.js', 'GET, HEAD'),
                              ('session', 'GET, HEAD, POST, DELETE')):
            for method in ('PUT', 'PATCH', 'TRACE', 'FOO'):
                answer = self.browser.send(method, f'{base.HOME}{path}')
                self.assertEqual((405, allowed), (
                    answer.status, answer.headers['Allow']), (method, path))

    def test_headers_that_protect_users(self) -> None:
        """All answers have them, including refusals."""
        for method, path, status in (
                ('GET', base.HOME, 200), ('GET', '/reservation/calendar', 308),
                ('GET', f'{base.HOME}static/page.js', 200),
                ('GET', f'{base.HOME}x', 404), ('GET', f'{base.HOME}//', 400),
                ('GET', base.SESSION, 200), ('PUT', base.SESSION, 405),
                ('DELETE', base.SESSION, 204), ('POST', base.SESSION, 400),
                ('GET', base.LEASES, 200), ('POST', base.LEASES, 403),
                ('GET', f'{base.HOME}api/v1/nowhere', 404)):
            answer = base.Browser(self.served).send(method, path)
            self.assertEqual(status, answer.status, (method, path))
            for name, value in SECURITY.items():
                self.assertEqual(value, answer.headers.get(name),
                                 (method, path))
            self.assertIn('Cache-Control', answer.headers)

    def test_other_sites(self) -> None:
        """They cannot make a browser change anything or frame the page."""
        self.browser.send('GET', base.SESSION)
        for site in ('cross-site', 'same-site'):
            for method, path in (('POST', base.SESSION),
                                 ('DELETE', base.SESSION),
                                 ('POST', base.LEASES)):
                answer = self.browser.send(method, path, {},
                                           sec_fetch_site=site)
                self.check(answer, 403, 'identity.csrf_token_invalid')

    def test_links_stay_below_the_page(self) -> None:
        """A page can follow the links unchanged."""
        answer = self.browser.send('GET', f'{base.HOME}api/v1')
        link = answer.json['version']['links'][0]['href']
        self.assertEqual(
            'http://api.example/reservation/calendar/api/v1/', link)


class OffTest(base.TestCase):
    """The option [api] calendar."""

    options = {'api__calendar': False}

    def test_nothing_is_there(self) -> None:
        """Every path is refused."""
        for path in ('/reservation/calendar', base.HOME, base.SESSION,
                     base.LEASES, f'{base.HOME}static/index.html'):
            answer = self.browser.send('GET', path)
            self.check(answer, 404, 'request.not_found', path)


class BehindProxyTest(base.TestCase):
    """The cookie is for the path and the scheme in the browser."""

    options = {'api__public_endpoint': 'https://cloud.example/bm/'}

    def test_cookie(self) -> None:
        """The cookie is secure, and is sent below the page only."""
        self.browser.send('GET', base.SESSION)
        self.assertIn('; Path=/bm/reservation/calendar/;',
                      self.browser.set_cookie)
        self.assertIn('; Secure', self.browser.set_cookie)

    def test_links(self) -> None:
        """The links name the proxy."""
        answer = self.browser.send('GET', f'{base.HOME}api/v1')
        self.assertEqual(
            'https://cloud.example/bm/reservation/calendar/api/v1/',
            answer.json['version']['links'][0]['href'])


class ParsedProxyTest(base.TestCase):
    """The headers of a trusted proxy."""

    options = {'oslo_middleware__enable_proxy_headers_parsing': True}

    def test_https(self) -> None:
        """The cookie is secure."""
        self.browser.send('GET', base.SESSION, x_forwarded_proto='https',
                          x_forwarded_prefix='/bm')
        self.assertIn('; Secure', self.browser.set_cookie)
        self.assertIn('; Path=/bm/reservation/calendar/;',
                      self.browser.set_cookie)
        answer = self.browser.send(
            'GET', f'{base.HOME}api/v1', x_forwarded_proto='https',
            x_forwarded_prefix='/bm')
        self.assertEqual(
            'https://api.example/bm/reservation/calendar/api/v1/',
            answer.json['version']['links'][0]['href'])

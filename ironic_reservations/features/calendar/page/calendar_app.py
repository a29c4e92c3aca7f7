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

"""Serves the paths below ``/reservation/calendar/``.

The files of the page are public. Sessions are kept in a cookie that is used
only here: the API itself ignores it.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
import dataclasses
import json
import re
from typing import Any
from urllib import parse

from oslo_config import cfg
from oslo_log import log
from oslo_middleware import http_proxy_to_wsgi

from ironic_reservations import errors
from ironic_reservations import faults
from ironic_reservations.api import log_text
from ironic_reservations.api import url
from ironic_reservations.api import wsgi
from ironic_reservations.api.middleware import body
from ironic_reservations.api.middleware import errors as api_errors
from ironic_reservations.features.calendar.page import client_address
from ironic_reservations.features.calendar.page import cookies
from ironic_reservations.features.calendar.page import sessions
from ironic_reservations.features.calendar.page import static_files

LOG = log.getLogger(__name__)

_API = '/api'
_SESSION = '/session'
_STATIC = '/static/'
_READS = ('GET', 'HEAD', 'OPTIONS')
#: The maximum size of a sign-in: a few names and a password.
_MAX_SIGN_IN = 8192
#: Each path has one spelling: no empty parts, no "." or "..", no characters
#: that a proxy might decode or cut off.
_PART = r'(?!\.{1,2}(?:/|$))[A-Za-z0-9_.:~@!$&\'()*+,=-]+'
_PLAIN = re.compile(rf'/|(?:/{_PART})+/?')
#: Where servers put the undecoded path.
_RAW = ('REQUEST_URI', 'RAW_URI')
_ENCODED = re.compile(r'%(?:2e|2f|5c|3b|25|00)|[;\\]', re.IGNORECASE)
#: Headers that are removed: other credentials than the cookie,
_OTHERS = ('HTTP_COOKIE', 'HTTP_AUTHORIZATION', 'HTTP_X_AUTH_TOKEN',
           'HTTP_X_STORAGE_TOKEN', 'HTTP_X_SERVICE_TOKEN',
           'HTTP_X_CSRF_TOKEN',
           # and headers of proxies, which have been evaluated already.
           'HTTP_FORWARDED', 'HTTP_X_FORWARDED_PROTO',
           'HTTP_X_FORWARDED_HOST', 'HTTP_X_FORWARDED_FOR',
           'HTTP_X_FORWARDED_PREFIX', *_RAW)


def make(conf: cfg.ConfigOpts, strategy: sessions.Strategy,
         api: wsgi.Application, *, inside: bool) -> wsgi.Application:
    """Build the application for these paths.

    :param strategy: the way in which users sign in.
    :param api: the API, which checks the credentials of a request; its paths
        begin with "/v1".
    :param inside: whether this API is part of Ironic's.
    """
    app: wsgi.Application = CalendarApp(conf, strategy, api, inside)
    if conf.oslo_middleware.enable_proxy_headers_parsing:
        app = client_address.FromProxy(
            http_proxy_to_wsgi.HTTPProxyToWSGI(app, conf),
            conf.api.trusted_proxies)
    return app


class CalendarApp:
    """Serves the page, its sessions, and the API to users with a session."""

    def __init__(self, conf: cfg.ConfigOpts,
                 strategy: sessions.Strategy, api: wsgi.Application,
                 inside: bool) -> None:
        self._conf = conf
        self._inside = inside
        self._strategy = strategy
        self._api = api
        self._files = static_files.read()

    def __call__(self, environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Iterable[bytes]:
        method = environ['REQUEST_METHOD']
        try:
            answer = self._answer(environ)
        except Exception as exc:
            answer = self._refusal(exc, environ)
        LOG.info('%s %s - %d', log_text.quoted(method),
                 log_text.path(environ), answer.status)
        return secured(answer).send(start_response,
                                    with_body=method != 'HEAD')

    def _answer(self, environ: wsgi.Environ) -> wsgi.Answer:
        if not self._conf.api.calendar:
            raise _nothing()
        below = environ['PATH_INFO'].removeprefix(url.CALENDAR)
        if below == '':
            return _methods(environ, GET=_to_the_page)
        _check_plain(environ, below)
        if below.startswith(f'{_API}/'):
            return self._ask_api(environ, below.removeprefix(_API))
        if below == _SESSION:
            return _methods(environ, GET=self._show, POST=self._sign_in,
                            DELETE=self._sign_out)
        file = self._files.get(
            static_files.INDEX if below == '/'
            else below.removeprefix(_STATIC) if below.startswith(_STATIC)
            else '')
        if file is None:
            raise _nothing()
        return _methods(environ, GET=file.answer)

    # The session

    def _show(self, environ: wsgi.Environ) -> wsgi.Answer:
        value = cookies.read(environ)
        begun = None
        if value is None:
            value = begun = self._strategy.begin()
        try:
            session = self._strategy.authenticate(value, _alone(environ))
        except errors.SessionEnded:
            # No error: the page asks whether it has a session.
            gone = ([self._forget(environ)] if cookies.read(environ) is not
                    None else [])
            return _json(self._document(None, None), gone)
        return _json(self._document(session, value),
                     [] if begun is None else [self._keep(environ, begun)])

    def _sign_in(self, environ: wsgi.Environ) -> wsgi.Answer:
        cookies.check_origin(environ)
        value = self._strategy.sign_in(
            body.Body(environ, _MAX_SIGN_IN).expect_json(), environ)
        session = self._strategy.authenticate(value, _alone(environ))
        return _json(self._document(session, value),
                     [self._keep(environ, value)])

    def _sign_out(self, environ: wsgi.Environ) -> wsgi.Answer:
        value = cookies.read(environ)
        forget = self._forget(environ)
        if value is not None:
            cookies.check_csrf(environ, value)
            try:
                self._strategy.sign_out(value)
            except errors.KeystoneUnavailable as exc:
                # The session of this browser is ended in any case.
                refusal = self._refusal(errors.KeystoneUnavailable(
                    'The session was removed from this browser, but Keystone '
                    'does not answer, so its token stays valid until it '
                    f'expires. {exc}'), environ)
                return dataclasses.replace(
                    refusal, headers=[*refusal.headers, forget])
        return wsgi.Answer(204, [forget], b'')

    def _document(self, session: sessions.Session | None,
                  value: str | None) -> dict[str, Any]:
        return {
            'strategy': self._strategy.name,
            'signed_in': session is not None,
            'user': session and session.user,
            'project': session and session.project,
            'csrf': None if value is None else cookies.csrf(value),
            'expires_at': session and session.expires_at}

    def _keep(self, environ: wsgi.Environ, value: str) -> tuple[str, str]:
        return cookies.written(value, *self._seen(environ))

    def _forget(self, environ: wsgi.Environ) -> tuple[str, str]:
        return cookies.removed(*self._seen(environ))

    def _seen(self, environ: wsgi.Environ) -> tuple[str, bool]:
        """Return the calendar's path, and whether browsers use https for it.
        """
        seen = parse.urlsplit(url.seen(environ, self._conf, self._inside))
        return (f'{seen.path}{url.CALENDAR}/',
                'https' in (seen.scheme, environ['wsgi.url_scheme']))

    # The API

    def _ask_api(self, environ: wsgi.Environ, path: str) -> wsgi.Answer:
        if path != '/v1' and not path.startswith('/v1/'):
            raise _nothing()
        value = cookies.read(environ)
        credentials = self._strategy.credentials(value)
        if environ['REQUEST_METHOD'] not in _READS:
            cookies.check_csrf(environ, value)
        asked = _alone(environ)
        asked.update({
            **credentials, 'PATH_INFO': path,
            url.SEEN: url.seen(environ, self._conf, self._inside),
            'SCRIPT_NAME': environ.get('SCRIPT_NAME', '') + url.CALENDAR_API})
        answer = wsgi.call(self._api, asked)
        if answer.status == 401:
            raise errors.SessionEnded()
        return for_page(answer)

    # Refusals

    def _refusal(self, exc: Exception, environ: wsgi.Environ) -> wsgi.Answer:
        error = api_errors.translated(exc, environ)
        status, text = faults.render(error)
        added = api_errors.retry_after(error, environ)
        if isinstance(error, errors.MethodNotAllowed):
            added.append(('Allow', ', '.join(error.details['allow'])))
        if isinstance(error, errors.SessionEnded) and (
                cookies.read(environ) is not None):
            added.append(self._forget(environ))
        return wsgi.Answer(status, [
            ('Content-Type', body.JSON), ('Content-Length', str(len(text))),
            *added], text)


def _alone(environ: wsgi.Environ) -> wsgi.Environ:
    """Copy a request without its credentials and the headers of proxies."""
    return {key: value for key, value in environ.items()
            if key not in _OTHERS}


def _check_plain(environ: wsgi.Environ, below: str) -> None:
    """Check that a path has only one interpretation."""
    raw = next((environ[key] for key in _RAW if environ.get(key)), '')
    if not _PLAIN.fullmatch(below) or _ENCODED.search(
            str(raw).partition('?')[0]):
        raise errors.Malformed(
            'The path of the URL is not in canonical form: it has an empty '
            'part, dots, or characters that need not be encoded. Send it '
            'without them.')


def _to_the_page(environ: wsgi.Environ) -> wsgi.Answer:
    # A relative path is right behind any proxy.
    where = url.CALENDAR.rpartition('/')[2]
    return wsgi.Answer(308, [('Location', f'{where}/'),
                             ('Content-Length', '0')], b'')


def _methods(environ: wsgi.Environ,
             **served: Callable[[wsgi.Environ], wsgi.Answer]) -> wsgi.Answer:
    """Return the answer of the function for the method of a request."""
    method = environ['REQUEST_METHOD']
    serves = served.get('GET' if method == 'HEAD' else method)
    if serves is None:
        allow = ['GET', 'HEAD', *(each for each in served if each != 'GET')]
        raise errors.MethodNotAllowed(
            f'The method {method[:20]!r} is not allowed at this path. '
            f'Allowed here: {", ".join(allow)}.', allow=allow)
    return serves(environ)


def _json(document: dict[str, Any],
          more: Iterable[tuple[str, str]]) -> wsgi.Answer:
    text = json.dumps(document, separators=(',', ':')).encode()
    return wsgi.Answer(200, [
        ('Content-Type', body.JSON), ('Content-Length', str(len(text))),
        *more], text)


def _nothing() -> errors.ResourceNotFound:
    return errors.ResourceNotFound('There is nothing at this path.')


#: Allows only resources of this server: no inline scripts, no frames, no forms
#: to other sites.
_POLICY = '; '.join((
    "default-src 'none'", "script-src 'self'", "style-src 'self'",
    "img-src 'self' data:", "connect-src 'self'", "font-src 'self'",
    "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"))
_SECURITY = (
    ('Content-Security-Policy', _POLICY),
    ('X-Content-Type-Options', 'nosniff'),
    ('X-Frame-Options', 'DENY'),
    ('Referrer-Policy', 'no-referrer'),
    ('Cross-Origin-Resource-Policy', 'same-origin'),
    ('Cross-Origin-Opener-Policy', 'same-origin'),
)
#: Headers of the API that are removed: they would open the browser's own
#: sign-in dialogue, set other cookies, or repeat those above.
_NOT_FOR_PAGES = frozenset(('www-authenticate', 'set-cookie',
                            *(name.lower() for name, _ in _SECURITY)))


def secured(answer: wsgi.Answer) -> wsgi.Answer:
    """Return an answer with the security headers."""
    named = {name.lower() for name, _ in answer.headers}
    added = list(_SECURITY)
    if 'cache-control' not in named:
        added.append(('Cache-Control', 'no-store'))
    return dataclasses.replace(answer, headers=[*answer.headers, *added])


def for_page(answer: wsgi.Answer) -> wsgi.Answer:
    """Return an answer of the API without headers that disturb a page."""
    return dataclasses.replace(answer, headers=[
        (name, value) for name, value in answer.headers
        if name.lower() not in _NOT_FOR_PAGES])

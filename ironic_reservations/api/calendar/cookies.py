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

"""The one cookie of the calendar, and the token that protects its writes."""

from __future__ import annotations

import hashlib
import hmac
import re

from ironic_reservations import errors
from ironic_reservations.api import wsgi

NAME = 'ironic_reservations_calendar'
#: By which a page shows that it could read our answers: other sites cannot.
CSRF_HEADER = 'X-CSRF-Token'
_CSRF_KEY = 'HTTP_X_CSRF_TOKEN'
_CSRF_PURPOSE = b'ironic-reservations: the CSRF token of a calendar session'
#: Browsers keep no cookie of more than 4096 bytes, with name and attributes.
_VALUE = re.compile(r'[A-Za-z0-9_.~+/=-]{8,3800}')
_SITES = frozenset(('', 'same-origin', 'none'))


def fits(value: str) -> bool:
    """Check whether browsers keep a value as it is."""
    return _VALUE.fullmatch(value) is not None


def read(environ: wsgi.Environ) -> str | None:
    """Read the value of the cookie.

    NOTE: another application of the host, or of its domain, may set one of
    the same name; of two, nobody can tell which is ours, so none counts.
    """
    found = []
    for part in environ.get('HTTP_COOKIE', '').split(';'):
        name, _, value = part.strip().partition('=')
        if name == NAME:
            found.append(value)
    if len(found) != 1 or not fits(found[0]):
        return None
    return str(found[0])


def written(value: str, path: str, secure: bool) -> tuple[str, str]:
    """Return the header that has a browser keep the cookie.

    NOTE: no time: it goes when the browser ends, and the session may end
    before.

    :param path: below which the browser shows it.
    :param secure: whether the browser uses https.
    """
    return ('Set-Cookie', f'{NAME}={value}; Path={path}; HttpOnly; '
            f'SameSite=Strict{"; Secure" if secure else ""}')


def removed(path: str, secure: bool) -> tuple[str, str]:
    """Return the header that has a browser forget the cookie."""
    name, value = written('', path, secure)
    return name, f'{value}; Max-Age=0'


def csrf(value: str) -> str:
    """Return the CSRF token of a session.

    :param value: of its cookie, which only its browser and this service
        know, and which cannot be found from the token.
    """
    return hmac.new(value.encode(), _CSRF_PURPOSE, hashlib.sha256).hexdigest()


def check_origin(environ: wsgi.Environ) -> None:
    """Check that no other site had the browser send this.

    :raises CsrfTokenInvalid: the browser says that one had.
    """
    if environ.get('HTTP_SEC_FETCH_SITE', '') not in _SITES:
        raise errors.CsrfTokenInvalid(
            'Another site made the browser send this request, so nothing was '
            'done. Use the page of the calendar.')


def check_csrf(environ: wsgi.Environ, value: str | None) -> None:
    """Check that the page itself wants a change.

    :param value: of the cookie of the session.
    :raises CsrfTokenInvalid: nothing shows that.
    """
    check_origin(environ)
    shown = environ.get(_CSRF_KEY, '').encode('latin-1', 'replace')
    if value is None or not hmac.compare_digest(shown, csrf(value).encode()):
        raise errors.CsrfTokenInvalid(
            f'The header {CSRF_HEADER} is missing, or is not the token of '
            'this session, so nothing was done. Read the token again from '
            '"session", and send the request again.')

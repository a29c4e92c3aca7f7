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

"""The session cookie of the calendar, and the CSRF token of its writes."""

from __future__ import annotations

import hashlib
import hmac
import re

from ironic_reservations import errors
from ironic_reservations.api import wsgi

NAME = 'ironic_reservations_calendar'
#: The header with the CSRF token, which pages of other sites cannot read.
CSRF_HEADER = 'X-CSRF-Token'
_CSRF_KEY = 'HTTP_X_CSRF_TOKEN'
_CSRF_PURPOSE = b'ironic-reservations: the CSRF token of a calendar session'
#: Browsers keep no cookie of more than 4096 bytes, with name and attributes.
_VALUE = re.compile(r'[A-Za-z0-9_.~+/=-]{8,3800}')
_SITES = frozenset(('', 'same-origin', 'none'))


def fits(value: str) -> bool:
    """Return whether browsers store a value unchanged."""
    return _VALUE.fullmatch(value) is not None


def read(environ: wsgi.Environ) -> str | None:
    """Return the value of the session cookie, ``None`` without one.

    Another application of the same host or domain may set a cookie of the same
    name. If there are two, neither is used.
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
    """Return the header that sets the cookie.

    It has no expiry: the browser deletes it when the browser is closed. The
    session may end before.

    :param path: the path of the cookie.
    :param secure: whether the browser uses https.
    """
    return ('Set-Cookie', f'{NAME}={value}; Path={path}; HttpOnly; '
            f'SameSite=Strict{"; Secure" if secure else ""}')


def removed(path: str, secure: bool) -> tuple[str, str]:
    """Return the header that deletes the cookie."""
    name, value = written('', path, secure)
    return name, f'{value}; Max-Age=0'


def csrf(value: str) -> str:
    """Return the CSRF token of a session.

    :param value: the value of its cookie, which is secret and cannot be
        derived from the token.
    """
    return hmac.new(value.encode(), _CSRF_PURPOSE, hashlib.sha256).hexdigest()


def check_origin(environ: wsgi.Environ) -> None:
    """Check that no other site made the browser send a request.

    :raises CsrfTokenInvalid: the headers of the browser name another site.
    """
    if environ.get('HTTP_SEC_FETCH_SITE', '') not in _SITES:
        raise errors.CsrfTokenInvalid(
            'Another site made the browser send this request, so nothing was '
            'done. Use the page of the calendar.')


def check_csrf(environ: wsgi.Environ, value: str | None) -> None:
    """Check that a request comes from the page itself.

    :param value: the value of the session cookie.
    :raises CsrfTokenInvalid: the CSRF token is missing or wrong.
    """
    check_origin(environ)
    shown = environ.get(_CSRF_KEY, '').encode('latin-1', 'replace')
    if value is None or not hmac.compare_digest(shown, csrf(value).encode()):
        raise errors.CsrfTokenInvalid(
            f'The header {CSRF_HEADER} is missing, or is not the token of '
            'this session, so nothing was done. Read the token again from '
            '"session", and send the request again.')

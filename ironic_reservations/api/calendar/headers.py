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

"""Security headers of the calendar's answers."""

from __future__ import annotations

from ironic_reservations.api import wsgi

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
    return wsgi.Answer(answer.status, [*answer.headers, *added], answer.body,
                       answer.reason)


def for_page(answer: wsgi.Answer) -> wsgi.Answer:
    """Return an answer of the API without headers that are not for a page."""
    return wsgi.Answer(answer.status, [
        (name, value) for name, value in answer.headers
        if name.lower() not in _NOT_FOR_PAGES], answer.body, answer.reason)

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


"""Identify callers with the authentication of Ironic itself."""

from __future__ import annotations

from typing import Any

from ironic_reservations.api import wsgi
from ironic_reservations.guard import inward
from ironic_reservations.guard import request_log

NOAUTH = 'noauth'
KEYSTONE = 'keystone'
#: The key of the authenticated caller in the environ of a request.
CALLER = 'ironic_reservations.caller'
#: Ironic does not have this path: it answers authenticated callers 404.
_NOWHERE = '/v1/reservations'
_PREFIXES = (
    'HTTP_X_USER', 'HTTP_X_PROJECT', 'HTTP_X_TENANT', 'HTTP_X_DOMAIN',
    'HTTP_X_ROLE', 'HTTP_X_SERVICE_', 'HTTP_X_IDENTITY_STATUS',
    'HTTP_X_IS_ADMIN_PROJECT', 'HTTP_OPENSTACK_SYSTEM_SCOPE',
    'OPENSTACK_SYSTEM_SCOPE', 'keystone.')
_SERVICE_TOKEN = 'HTTP_X_SERVICE_TOKEN'  # noqa: S105 - the header's name


def without(environ: wsgi.Environ) -> wsgi.Environ:
    """Copy a request without headers that claim an identity."""
    return {key: value for key, value in environ.items()
            if key == _SERVICE_TOKEN or not key.startswith(_PREFIXES)}


def identify(app: wsgi.Application, strategy: str,
             environ: wsgi.Environ
             ) -> wsgi.Environ | wsgi.Answer:
    """Have Ironic authenticate a request.

    :returns: the keys that its authentication wrote about the caller, or the
        answer with which it refused the caller.
    """
    bare = without(environ)
    if strategy == NOAUTH:
        return {}
    # Sent without a version, since ours may be out of Ironic's range.
    seen = inward.asking(bare, _NOWHERE, version=None)
    with request_log.unlogged():
        answer = inward.call(app, seen)
    if answer.status != 404:
        return answer
    return about_caller(seen)


def about_caller(seen: wsgi.Environ) -> dict[str, Any]:
    """Return the keys that authentication has written into a request."""
    return {key: value for key, value in seen.items()
            if key.startswith(_PREFIXES)}

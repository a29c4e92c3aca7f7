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

import re
from typing import Any

from oslo_context import context as oslo_context
from oslo_middleware import request_id

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
#: The keys of the id of a request, and of the one that its client has sent.
REQUEST_ID = 'openstack.request_id'
GLOBAL_REQUEST_ID = 'openstack.global_request_id'
_INBOUND = 'HTTP_X_OPENSTACK_REQUEST_ID'


def know_request(environ: wsgi.Environ) -> None:
    """Store the id of a request, and the global id of its client, in it.

    All contexts that are made from the request have these ids. An answer of
    Ironic has another id, the one in Ironic's log.
    """
    environ.setdefault(REQUEST_ID, oslo_context.generate_request_id())
    sent = environ.get(_INBOUND, '')
    if re.fullmatch(request_id.ID_FORMAT, sent):
        environ.setdefault(GLOBAL_REQUEST_ID, sent)


def answered_id(answer: wsgi.Answer) -> wsgi.Environ:
    """Return the id that Ironic has given a request, if it has."""
    for name, value in answer.headers:
        if name.lower() == 'openstack-request-id':
            return {REQUEST_ID: value}
    return {}


def request_ids(environ: wsgi.Environ) -> wsgi.Environ:
    """Return the ids of a request, to copy with the keys of its caller."""
    return {key: environ[key] for key in (REQUEST_ID, GLOBAL_REQUEST_ID)
            if key in environ}


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
        return request_ids(environ)
    # Sent without a version, since ours may be out of Ironic's range.
    seen = inward.asking(bare, _NOWHERE, version=None)
    with request_log.unlogged():
        answer = inward.call(app, seen)
    if answer.status != 404:
        return answer
    return about_caller(seen, bare)


def about_caller(seen: wsgi.Environ,
                 environ: wsgi.Environ) -> dict[str, Any]:
    """Return the keys that authentication has written into a request.

    Ironic gives each of our requests a new id, so the ids are taken from the
    request of the caller.

    :param seen: the request that Ironic has authenticated.
    :param environ: the request of the caller.
    """
    return {**request_ids(environ),
            **{key: value for key, value in seen.items()
               if key.startswith(_PREFIXES)}}

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

"""Who calls, from what the authentication layer left in the environ."""

from __future__ import annotations

from collections.abc import Callable

from oslo_context import context as oslo_context

from ironic_reservations import errors
from ironic_reservations.api import wsgi

Provider = Callable[[wsgi.Environ], oslo_context.RequestContext]
#: What is another one once a user, by its id, has another password; empty
#: where others ask for that, and ``None`` where there is no such user. The
#: user ``None`` is nobody in particular.
Fingerprint = Callable[[str | None], str | None]

#: Where the handlers find the context.
KEY = 'ironic_reservations.context'

#: Where the calendar notes what authentication would have written about a
#: caller that it has confirmed itself; no client can write there.
SIGNED_IN = 'ironic_reservations.signed_in'

_EVERY_ROLE = ['admin', 'manager', 'member', 'reader']


def administrator(environ: wsgi.Environ) -> oslo_context.RequestContext:
    """Take every caller for an administrator (noauth).

    NOTE: without authentication, headers that name a user or a project are
    the client's own words, so none is read.
    """
    return _all_powerful(environ, None)


def basic(environ: wsgi.Environ) -> oslo_context.RequestContext:
    """Take the user that HTTP basic authentication found (http_basic).

    As in Ironic, whoever is in the file is an administrator.

    :raises Unauthorized: nobody has been authenticated.
    """
    user = environ.get('HTTP_X_USER')
    if not user:
        raise _nobody()
    return _all_powerful(environ, user)


def keystone(environ: wsgi.Environ) -> oslo_context.RequestContext:
    """Take whom keystonemiddleware's auth_token has confirmed (keystone).

    :raises Unauthorized: nobody has been confirmed.
    """
    if environ.get('HTTP_X_IDENTITY_STATUS') != 'Confirmed':
        raise _nobody()
    return oslo_context.RequestContext.from_environ(environ)


def _all_powerful(environ: wsgi.Environ,
                  user: str | None) -> oslo_context.RequestContext:
    return oslo_context.RequestContext(
        user_id=user, user_name=user, is_admin=True, roles=_EVERY_ROLE,
        system_scope='all',
        request_id=environ.get('openstack.request_id'),
        global_request_id=environ.get('openstack.global_request_id'))


def _nobody() -> errors.Unauthorized:
    return errors.Unauthorized('The request carries no valid credentials.')

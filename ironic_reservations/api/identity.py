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

"""Returns the caller from the environ, after the authentication middleware."""

from __future__ import annotations

from collections.abc import Callable

from oslo_context import context as oslo_context

from ironic_reservations import errors
from ironic_reservations.api import wsgi

Provider = Callable[[wsgi.Environ], oslo_context.RequestContext]
#: Returns a text that changes with the password of a user, given by its id:
#: empty if this service does not check passwords, ``None`` if there is no such
#: user. The id ``None`` means no particular user.
Fingerprint = Callable[[str | None], str | None]

#: The key of the environ for the context.
KEY = 'ironic_reservations.context'

#: The key of the environ under which the calendar stores the headers of a user
#: that it has authenticated itself; clients cannot set it.
SIGNED_IN = 'ironic_reservations.signed_in'

_EVERY_ROLE = ['admin', 'manager', 'member', 'reader']


def administrator(environ: wsgi.Environ) -> oslo_context.RequestContext:
    """Return a context with all roles for every caller (noauth).

    Headers that name a user or a project are ignored, since without
    authentication clients may write anything there.
    """
    return _all_powerful(environ, None)


def basic(environ: wsgi.Environ) -> oslo_context.RequestContext:
    """Return the context of a user of HTTP basic authentication (http_basic).

    As in Ironic, every user in the file is an administrator.

    :raises Unauthorized: the request is not authenticated.
    """
    user = environ.get('HTTP_X_USER')
    if not user:
        raise _nobody()
    return _all_powerful(environ, user)


def keystone(environ: wsgi.Environ) -> oslo_context.RequestContext:
    """Return the context that keystonemiddleware has confirmed (keystone).

    :raises Unauthorized: the token is missing or not valid.
    """
    if environ.get('HTTP_X_IDENTITY_STATUS') != 'Confirmed':
        raise _nobody()
    # An empty project would match everything that has no project.
    return oslo_context.RequestContext.from_environ(
        environ, project_id=environ.get('HTTP_X_PROJECT_ID') or None)


def _all_powerful(environ: wsgi.Environ,
                  user: str | None) -> oslo_context.RequestContext:
    return oslo_context.RequestContext(
        user_id=user, user_name=user, is_admin=True, roles=_EVERY_ROLE,
        system_scope='all',
        request_id=environ.get('openstack.request_id'),
        global_request_id=environ.get('openstack.global_request_id'))


def _nobody() -> errors.Unauthorized:
    return errors.Unauthorized('The request carries no valid credentials.')

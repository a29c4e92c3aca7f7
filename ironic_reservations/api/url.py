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

"""URLs of this API as its clients see them."""

from __future__ import annotations

from collections.abc import Mapping
from urllib import parse
from wsgiref import util

from oslo_config import cfg

from ironic_reservations.api import wsgi

#: The path of the API inside Ironic's, besides /v1/reservations.
PREFIX = '/reservation'
#: The path of the calendar page.
CALENDAR = f'{PREFIX}/calendar'
#: The path of leases as iCalendar, for calendar programs with a token.
FEED = '/v1/leases.ics'
#: The path of the API for users who have signed in to the page.
CALENDAR_API = f'{CALENDAR}/api'
#: The environ has under this key the root of this server as browsers see it.
SEEN = 'ironic_reservations.seen'


def root(environ: wsgi.Environ, conf: cfg.ConfigOpts) -> str:
    """Return the URL of the API's root, without a trailing slash.

    :param conf: with ``[api] public_endpoint``, for services behind a proxy.
    """
    if SEEN in environ:
        return f'{environ[SEEN]}{CALENDAR_API}'
    public = conf.api.public_endpoint
    if not public:
        return util.application_uri(environ).rstrip('/')
    public = public.rstrip('/')
    script = environ.get('SCRIPT_NAME', '').rstrip('/')
    # Inside Ironic's API, the resources are served both below the prefix and
    # among Ironic's own.
    if script.endswith(PREFIX) and not public.endswith(PREFIX):
        public += PREFIX
    return str(public)


def page(address: str, query: Mapping[str, object]) -> str:
    """Return the link to a page.

    :param address: the URL of the list.
    :param query: the parameters; those that are ``None`` are left out.
    """
    return f'{address}?' + parse.urlencode(
        {name: value for name, value in query.items() if value is not None},
        safe=',')


def seen(environ: wsgi.Environ, conf: cfg.ConfigOpts, inside: bool) -> str:
    """Return the URL of this server as browsers see it.

    :param inside: whether this API is part of Ironic's, whose endpoint may be
        configured with the prefix or without.
    """
    public: str = (conf.api.public_endpoint
                   or util.application_uri(environ)).rstrip('/')
    return public.removesuffix(PREFIX) if inside else public


def feed(environ: wsgi.Environ, conf: cfg.ConfigOpts) -> str:
    """Return the URL of leases as iCalendar, which needs no cookie."""
    return f'{environ.get(SEEN) or root(environ, conf)}{FEED}'

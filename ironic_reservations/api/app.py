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

"""Builds the WSGI application from its layers."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import threading

from oslo_config import cfg
from oslo_middleware import http_proxy_to_wsgi
from oslo_middleware import request_id
import pecan

from ironic_reservations import policies
from ironic_reservations.api import identity as api_identity
from ironic_reservations.api import pages
from ironic_reservations.api import url
from ironic_reservations.api import wsgi
from ironic_reservations.api.controllers import root
from ironic_reservations.api.middleware import front
from ironic_reservations.api.middleware import health
from ironic_reservations.api.middleware import metrics as api_metrics
from ironic_reservations.api.middleware import strict
from ironic_reservations.engine import Engine

#: Paths that need no authentication, so that clients can discover the API.
_PUBLIC = frozenset(('', '/v1', '/openapi.json', url.FEED))


class RequestId(request_id.RequestId):
    """Adds a request id to each answer, also in Ironic's header."""

    compat_headers = ['openstack-request-id']


def make_app(engine: Engine, enforcer: policies.Enforcer,
             conf: cfg.ConfigOpts, identity: api_identity.Provider,
             sign_in: pages.SignIn,
             authenticate: wsgi.Middleware | None = None
             ) -> wsgi.Application:
    """Build the application.

    :param conf: the options of [api].
    :param identity: returns the caller from the environ of a request.
    :param sign_in: the ways in which users can sign in.
    :param authenticate: the authentication middleware for all but the public
        paths; ``None`` if requests are authenticated already.
    """
    metrics = api_metrics.Metrics(engine)
    controllers = root.RootController(engine, enforcer, metrics, sign_in)
    inside = strict.Strict(
        pecan.make_app(
            controllers, force_canonical=False,
            guess_content_type_from_ext=False, debug=False,
            context_local_factory=_context_local),
        root.routes(controllers), conf.api.max_request_body_size)
    guarded: wsgi.Application = _Identified(inside, engine, conf, identity)
    if authenticate is not None:
        guarded = _Confirmed(guarded, authenticate(guarded))
    plain: dict[str, wsgi.Application] = dict.fromkeys(_PUBLIC, inside)
    plain['/healthcheck'] = health.Health(engine)
    if conf.api.metrics:
        plain['/metrics'] = metrics
    app: wsgi.Application = front.Front(
        _Fork(plain, guarded), metrics, engine.audit)
    if conf.oslo_middleware.enable_proxy_headers_parsing:
        app = http_proxy_to_wsgi.HTTPProxyToWSGI(app, conf)
    return RequestId(app, conf)


def _context_local() -> threading.local:
    """Return pecan's thread-local, or a new one if it has none yet.

    All applications of a process share it; a new application would replace it
    while requests are being served.
    """
    present: threading.local | None = pecan.core.state
    return threading.local() if present is None else present


class _Identified:
    """Identifies the caller of a request, and bounds its work.

    The context of the caller is stored in the environ.
    """

    def __init__(self, application: wsgi.Application, engine: Engine,
                 conf: cfg.ConfigOpts,
                 identity: api_identity.Provider) -> None:
        self._application = application
        self._engine = engine
        self._conf = conf
        self._identity = identity

    def __call__(self, environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Iterable[bytes]:
        caller = environ[api_identity.KEY] = self._identity(environ)
        with self._engine.hard_requests.bounded(self._conf,
                                                caller.project_id):
            return self._application(environ, start_response)


class _Confirmed:
    """Authenticates callers, unless the calendar has authenticated them."""

    def __init__(self, application: wsgi.Application,
                 authenticated: wsgi.Application) -> None:
        self._application = application
        self._authenticated = authenticated

    def __call__(self, environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Iterable[bytes]:
        confirmed = environ.get(api_identity.SIGNED_IN)
        if confirmed is None:
            return self._authenticated(environ, start_response)
        # The environ itself is updated, since the audit reads it, too.
        environ.update(confirmed)
        return self._application(environ, start_response)


class _Fork:
    """Passes some paths to applications of their own."""

    def __init__(self, plain: Mapping[str, wsgi.Application],
                 others: wsgi.Application) -> None:
        self._plain = plain
        self._others = others

    def __call__(self, environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Iterable[bytes]:
        application = self._plain.get(environ['PATH_INFO'], self._others)
        return application(environ, start_response)


class Beside:
    """Passes requests for pages to the pages, and others to the API."""

    def __init__(self, api: wsgi.Application,
                 there: Sequence[pages.Page]) -> None:
        self._api = api
        self._pages = there

    def __call__(self, environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Iterable[bytes]:
        path = environ.get('PATH_INFO', '')
        for each in self._pages:
            if path == each.path or path.startswith(f'{each.path}/'):
                return each.application(environ, start_response)
        return self._api(environ, start_response)

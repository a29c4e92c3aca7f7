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

"""The application as a service of its own, with Ironic over HTTP."""

from __future__ import annotations

from collections.abc import Iterable
import functools
import json

from keystonemiddleware import auth_token
from oslo_config import cfg
from oslo_middleware import basic_auth
from oslo_middleware import exceptions
import webob.exc

from ironic_reservations import engine as engine_module
from ironic_reservations import policies
from ironic_reservations.api import app
from ironic_reservations.api import identity
from ironic_reservations.api import pages
from ironic_reservations.api import wsgi
from ironic_reservations.api.middleware import unread_bodies
from ironic_reservations.db import migrate
from ironic_reservations.reconciler import loops

_SEEN = 'ironic_reservations.seen_caller'


def build(conf: cfg.ConfigOpts,
          engine: engine_module.Engine) -> wsgi.Application:
    """Build the application of an engine, and start the reconciler.

    :raises DatabaseUnavailable: the SQLite database cannot be created.
    """
    migrate.at_start(engine.database)
    application = with_engine(conf, engine)
    loops.start(engine)
    return application


def with_engine(conf: cfg.ConfigOpts,
                engine: engine_module.Engine) -> wsgi.Application:
    """Build the application of an engine, authenticated as configured."""
    provider, authenticate = _authentication(conf)
    sign_in = pages.SignIn(
        conf.auth_strategy, conf, conf,
        None if authenticate is None else _Identify(authenticate))
    api = app.make_app(
        engine, policies.Enforcer(conf, conf.auth_strategy), conf, provider,
        sign_in, authenticate)
    return unread_bodies.Unread(app.Beside(api, [
        page for each in engine.features
        for page in each.pages(sign_in, api, False)]))


class _Identify:
    """Authenticates a request without serving it."""

    def __init__(self, authenticate: wsgi.Middleware) -> None:
        self._authenticated = authenticate(self._store)

    @staticmethod
    def _store(environ: wsgi.Environ,
               start_response: wsgi.StartResponse) -> Iterable[bytes]:
        environ[_SEEN].update(environ)
        return wsgi.Answer(204, [], b'').send(start_response)

    def __call__(self, environ: wsgi.Environ) -> wsgi.Environ | wsgi.Answer:
        seen: wsgi.Environ = {}
        answer = wsgi.call(self._authenticated, {**environ, _SEEN: seen})
        return seen or answer


def _authentication(conf: cfg.ConfigOpts
                    ) -> tuple[identity.Provider, wsgi.Middleware | None]:
    if conf.auth_strategy == 'noauth':
        return identity.administrator, None
    if conf.auth_strategy == 'http_basic':
        return identity.basic, functools.partial(
            BasicAuth, path=conf.http_basic_auth_user_file)
    return identity.keystone, functools.partial(_keystone, conf=conf)


def _keystone(application: wsgi.Application,
              conf: cfg.ConfigOpts) -> wsgi.Application:
    """Wrap an application in keystonemiddleware."""
    authenticated = auth_token.AuthProtocol(
        application, conf={'oslo_config_config': conf})
    options = conf.keystone_authtoken
    if not (options.www_authenticate_uri or options.auth_type):
        raise cfg.ConfigFileValueError(
            '[DEFAULT] auth_strategy is keystone, which is the default, and '
            '[keystone_authtoken] is empty, so no token can be checked. Write '
            'this section as for any other service, or set auth_strategy to '
            'http_basic or noauth.')
    return authenticated


class BasicAuth:
    """Authenticates users of the file, and stores the authenticated user.

    oslo.middleware's own class is not used: it reads its option from the
    global configuration, and treats errors of the application as a wrong
    password.

    :param path: an Apache htpasswd file with bcrypt hashes.
    :raises oslo_config.cfg.Error: the file cannot be used.
    """

    def __init__(self, application: wsgi.Application, path: str) -> None:
        try:
            basic_auth.validate_auth_file(path)
        except (exceptions.ConfigInvalid, webob.exc.HTTPException,
                UnicodeDecodeError) as exc:
            # The cause of the first is its context, and not in its text.
            why = getattr(exc, 'detail', None) or exc.__context__ or exc
            raise cfg.ConfigFileValueError(
                '[DEFAULT] http_basic_auth_user_file cannot be used: '
                f'{why} ({path}). Write it with "htpasswd -B".') from exc
        self._application = application
        self._path = path

    def __call__(self, environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Iterable[bytes]:
        try:
            user, password = basic_auth.parse_token(
                basic_auth.parse_header(environ))
            who = basic_auth.authenticate(self._path, user, password)
        except (webob.exc.HTTPException, ValueError) as exc:
            return _refusal(exc).send(start_response)
        environ.update(who)
        return self._application(environ, start_response)


def _refusal(exc: Exception) -> wsgi.Answer:
    sentence = getattr(exc, 'detail', None) or (
        'The request carries no valid credentials.')
    body = json.dumps({'error': {'message': sentence, 'code': 401}}).encode()
    return wsgi.Answer(401, [
        ('WWW-Authenticate', 'Basic realm="Baremetal API"'),
        ('Content-Type', 'application/json'),
        ('Content-Length', str(len(body)))], body)

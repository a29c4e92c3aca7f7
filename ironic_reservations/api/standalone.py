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

"""The application on its own, against an Ironic over HTTP."""

from __future__ import annotations

import functools

from keystonemiddleware import auth_token
from oslo_config import cfg

from ironic_reservations import engine as engine_module
from ironic_reservations import policies
from ironic_reservations.api import app
from ironic_reservations.api import identity
from ironic_reservations.api import wsgi
from ironic_reservations.api.middleware import basic
from ironic_reservations.clouds import ironic
from ironic_reservations.db import migrate
from ironic_reservations.reconciler import loops


def build(conf: cfg.ConfigOpts) -> wsgi.Application:
    """Make the application, with its engine and the reconciler's thread.

    :raises DatabaseUnavailable: the database of SQLite cannot be made.
    """
    engine = engine_module.build(conf, ironic.Ironic.over_http(conf))
    migrate.ensure_sqlite(engine.database)
    application = with_engine(conf, engine)
    loops.start(engine)
    return application


def with_engine(conf: cfg.ConfigOpts,
                engine: engine_module.Engine) -> wsgi.Application:
    """Make the application of an engine, authenticated as configured."""
    provider, authenticate = _authentication(conf)
    return app.make_app(
        engine, policies.Enforcer(conf, conf.auth_strategy), conf, provider,
        authenticate)


def _authentication(conf: cfg.ConfigOpts
                    ) -> tuple[identity.Provider, wsgi.Middleware | None]:
    if conf.auth_strategy == 'noauth':
        return identity.administrator, None
    if conf.auth_strategy == 'http_basic':
        return identity.basic, functools.partial(
            basic.BasicAuth, path=conf.http_basic_auth_user_file)
    return identity.keystone, functools.partial(_keystone, conf=conf)


def _keystone(application: wsgi.Application,
              conf: cfg.ConfigOpts) -> wsgi.Application:
    """Have keystone's middleware confirm the callers of an application.

    :raises oslo_config.cfg.RequiredOptError: it would not know where to send
        a caller without a token, and fail at each such request.
    """
    authenticated = auth_token.AuthProtocol(
        application, conf={'oslo_config_config': conf})
    options = conf.keystone_authtoken
    if not (options.www_authenticate_uri or options.auth_type):
        raise cfg.RequiredOptError('www_authenticate_uri',
                                   cfg.OptGroup('keystone_authtoken'))
    return authenticated

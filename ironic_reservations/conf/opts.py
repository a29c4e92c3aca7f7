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

"""Every option of the project, for the configuration and its sample."""

from __future__ import annotations

from collections.abc import Sequence
import copy
import functools
from typing import Any

from keystoneauth1 import loading
from oslo_config import cfg
from oslo_db import options as db_options
from oslo_middleware import http_proxy_to_wsgi
from oslo_middleware import opts as middleware_opts
from oslo_policy import opts as policy_opts

from ironic_reservations.conf import api
from ironic_reservations.conf import database
from ironic_reservations.conf import default
from ironic_reservations.conf import guard
from ironic_reservations.conf import ironic
from ironic_reservations.conf import leases
from ironic_reservations.conf import outbox
from ironic_reservations.conf import reservations
from ironic_reservations.features import options as features

_GROUPS = (default, api, database, guard, ironic, leases, outbox,
           reservations, *features.GROUPS)
#: The services that we reach through keystoneauth.
_CLOUDS = (ironic, *features.CLOUDS)
#: The number of connections that a process keeps open, and of those that it
#: opens in addition.
# One for each of [api] threads: a new connection takes several times as long
# as a reservation, and with oslo.db's default, 5, busy threads open new ones
# again and again.
_POOL = {'max_pool_size': 16, 'max_overflow': 40}


@functools.cache
def _database_opts() -> Sequence[cfg.Opt]:
    """Return the options of oslo.db with our defaults.

    The options are copied, since Ironic uses the same objects of oslo.db if
    this runs in its process.
    """
    found = copy.deepcopy(db_options.database_opts)
    cfg.set_defaults(found, **_POOL)
    return tuple(found)


def register(conf: cfg.ConfigOpts) -> None:
    """Register all options in a configuration object."""
    for group in _GROUPS:
        conf.register_opts(group.OPTS,
                           None if group is default else group.GROUP)
    for cloud in _CLOUDS:
        loading.register_session_conf_options(conf, cloud.GROUP)
        loading.register_auth_conf_options(conf, cloud.GROUP)
        loading.register_adapter_conf_options(conf, cloud.GROUP)
        for name, default_value in (
                ('auth_type', 'none'), ('service_type', cloud.SERVICE_TYPE),
                ('timeout', cloud.TIMEOUT),
                ('valid_interfaces', ['internal', 'public'])):
            conf.set_default(name, default_value, cloud.GROUP)
    # The default of the connection depends on [DEFAULT] state_path, so
    # db.connection sets it.
    conf.register_opts(_database_opts(), database.GROUP)
    # The middleware would register these only if a proxy is configured
    # already.
    conf.register_opts(http_proxy_to_wsgi.OPTS, 'oslo_middleware')
    policy_opts.set_defaults(conf, policy_file='policy.yaml')


def list_opts() -> list[tuple[str, Sequence[Any]]]:
    """List the options for oslo-config-generator."""
    more: dict[Any, Sequence[Any]] = {
        database: _database_opts(),
        **dict.fromkeys(_CLOUDS, [
            *loading.get_session_conf_options(),
            *loading.get_auth_common_conf_options(),
            *loading.get_auth_plugin_conf_options('password'),
            *loading.get_adapter_conf_options()])}
    listed: list[tuple[str, Sequence[Any]]] = [
        (group.GROUP, [*group.OPTS, *more.get(group, ())])
        for group in _GROUPS]
    return [*listed, *middleware_opts.list_opts_http_proxy_to_wsgi(),
            *middleware_opts.list_opts_healthcheck()]

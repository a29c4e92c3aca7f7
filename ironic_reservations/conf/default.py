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

"""Options of [DEFAULT]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oslo_config import cfg

default_opts = [
    cfg.StrOpt('state_path', default='/var/lib/ironic-reservations',
               help='Directory for what the service writes. The SQLite '
                    'database is made here where [database] connection is '
                    'not set.'),
    cfg.StrOpt('auth_strategy', default='keystone',
               choices=[('noauth', 'no authentication: every caller is an '
                                   'administrator'),
                        ('http_basic', 'HTTP basic authentication with '
                                       'http_basic_auth_user_file'),
                        ('keystone', 'the Identity service')],
               help='How the standalone application authenticates its '
                    'callers. Inside the API process of Ironic this option '
                    'is not used: callers are who Ironic says they are.'),
    cfg.StrOpt('http_basic_auth_user_file',
               default='/etc/ironic-reservations/htpasswd',
               help='Apache htpasswd file with bcrypt hashes, for '
                    'auth_strategy http_basic.'),
    cfg.BoolOpt('rbac_service_role_elevated_access', default=False,
                help='Take a service of the project '
                     'rbac_service_project_name for one of the whole cloud. '
                     'Inside the API process of Ironic, the default is what '
                     'the option of this name is in the configuration of '
                     'Ironic.'),
    cfg.StrOpt('rbac_service_project_name', default='service',
               help='The name of the project of services. Inside the API '
                    'process of Ironic, the default is what the option of '
                    'this name is in the configuration of Ironic.'),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Make the options known to a configuration object."""
    conf.register_opts(default_opts)


def list_opts() -> list[tuple[str, Sequence[Any]]]:
    """List the options for oslo-config-generator."""
    return [('DEFAULT', default_opts)]

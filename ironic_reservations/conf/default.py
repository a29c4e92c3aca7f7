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

from oslo_config import cfg

GROUP = 'DEFAULT'

OPTS = [
    cfg.StrOpt('state_path', default='/var/lib/ironic-reservations',
               help='Directory for the files of the service. The SQLite '
                    'database is created here if [database] connection is not '
                    'set.'),
    cfg.StrOpt('auth_strategy', default='keystone',
               choices=[('noauth', 'no authentication: every caller is an '
                                   'administrator'),
                        ('http_basic', 'HTTP basic authentication with '
                                       'http_basic_auth_user_file'),
                        ('keystone', 'the Identity service')],
               help='How the standalone application authenticates its '
                    'callers. Inside the Ironic API process this option is '
                    'not used: Ironic identifies the callers.'),
    cfg.StrOpt('http_basic_auth_user_file',
               default='/etc/ironic-reservations/htpasswd',
               help='Apache htpasswd file with bcrypt hashes, for '
                    'auth_strategy http_basic.'),
    cfg.BoolOpt('rbac_service_role_elevated_access', default=False,
                help='Treat a service user of the project '
                     'rbac_service_project_name as a service of the whole '
                     'cloud. Inside the Ironic API process, the default is '
                     "the value of the option of this name in Ironic's "
                     'configuration.'),
    cfg.StrOpt('rbac_service_project_name', default='service',
               help='The name of the project of the service users. Inside the '
                    'Ironic API process, the default is the value of the '
                    "option of this name in Ironic's configuration."),
]

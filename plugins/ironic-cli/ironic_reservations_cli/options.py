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


"""The options of the old client, each with its environment variables."""

from __future__ import annotations

import argparse
import os
from typing import Any

from ironicclient import client
from ironicclient import exc
from ironicclient.v1 import client as v1_client

# What ironicclient calls it, the options, the variables, the help.
_VALUES = (
    ('endpoint', ('--os-endpoint', '--ironic-url'),
     ('OS_ENDPOINT', 'IRONIC_URL', 'OS_ENDPOINT_OVERRIDE'),
     'URL of the Bare Metal service; from the catalog by default.'),
    ('token', ('--os-auth-token',), ('OS_AUTH_TOKEN', 'OS_TOKEN'),
     'Token to use as it is.'),
    ('auth_type', ('--os-auth-type',), ('OS_AUTH_TYPE',),
     'Authentication plugin: none, http_basic, password, token ...'),
    ('auth_url', ('--os-auth-url',), ('OS_AUTH_URL',),
     'URL of the Identity service.'),
    ('username', ('--os-username',), ('OS_USERNAME',), 'Name of the user.'),
    ('password', ('--os-password',), ('OS_PASSWORD',),
     'Password of the user.'),
    ('project_id', ('--os-project-id', '--os-tenant-id'),
     ('OS_PROJECT_ID', 'OS_TENANT_ID'), 'ID of the project.'),
    ('project_name', ('--os-project-name', '--os-tenant-name'),
     ('OS_PROJECT_NAME', 'OS_TENANT_NAME'), 'Name of the project.'),
    ('user_domain_id', ('--os-user-domain-id',), ('OS_USER_DOMAIN_ID',),
     'ID of the domain of the user.'),
    ('user_domain_name', ('--os-user-domain-name',),
     ('OS_USER_DOMAIN_NAME',), 'Name of the domain of the user.'),
    ('project_domain_id', ('--os-project-domain-id',),
     ('OS_PROJECT_DOMAIN_ID',), 'ID of the domain of the project.'),
    ('project_domain_name', ('--os-project-domain-name',),
     ('OS_PROJECT_DOMAIN_NAME',), 'Name of the domain of the project.'),
    ('system_scope', ('--os-system-scope',), ('OS_SYSTEM_SCOPE',),
     'all, to act on the whole system instead of a project.'),
    ('region_name', ('--os-region-name',), ('OS_REGION_NAME',),
     'Region of the endpoint.'),
    ('interface', ('--os-endpoint-type', '--os-interface'),
     ('OS_ENDPOINT_TYPE', 'OS_INTERFACE'),
     'Interface of the endpoint: public, internal or admin.'),
    ('cacert', ('--os-cacert',), ('OS_CACERT',),
     'File with the certificates to trust.'),
    ('cert', ('--os-cert',), ('OS_CERT',),
     'File with the client certificate.'),
    ('key', ('--os-key',), ('OS_KEY',), 'File with the key of that.'),
)


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options to a parser."""
    for name, flags, variables, text in _VALUES:
        default = next((os.environ[variable] for variable in variables
                        if os.environ.get(variable)), None)
        parser.add_argument(
            *flags, dest=name, metavar=f'<{name.replace("_", "-")}>',
            default=default, help=f'{text} (Env: {", ".join(variables)})')
    parser.add_argument('--insecure', action='store_true',
                        help='Do not verify certificates.')
    parser.add_argument('--json', action='store_true',
                        help='Print JSON instead of tables.')


def connect(given: argparse.Namespace) -> v1_client.Client:
    """Return an Ironic client for the options.

    :raises ironicclient.exc.CommandError: the options contain no endpoint.
    """
    values: dict[str, Any] = {
        name: getattr(given, name) for name, *_ in _VALUES
        if getattr(given, name)}
    if not ('endpoint' in values or 'auth_url' in values):
        raise exc.CommandError(
            'The endpoint of the Bare Metal service is not known. Use '
            '--os-endpoint (or OS_ENDPOINT), or --os-auth-url with '
            'credentials.')
    auth_type = values.pop('auth_type', None)
    if auth_type is None and 'endpoint' in values and 'username' in values:
        # NOTE: ironicclient takes an endpoint for a sign that nobody has to
        # log in, and a user of the old command may well set both.
        auth_type = 'password' if 'auth_url' in values else 'http_basic'
    if given.insecure:
        values['verify'] = False
    return client.get_client('1', auth_type=auth_type, **values)

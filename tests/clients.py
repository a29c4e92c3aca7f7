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

"""Clients of a service without authentication, as programs make them."""

from typing import Any

import fixtures
from ironicclient import client as ironic_client
from ironicclient.v1 import client as v1_client
import openstack
from openstack import connection


def ironic(url: str, **options: Any) -> v1_client.Client:
    """Return an Ironic client of a service."""
    return ironic_client.get_client(
        '1', endpoint=url, **{'os_ironic_api_version': '1.95', **options})


def openstacksdk(url: str, **options: Any) -> connection.Connection:
    """Return a connection of openstacksdk to a service."""
    return openstack.connect(
        load_yaml_config=False, load_envvars=False, auth_type='none',
        endpoint=url, **options)


class Cache(fixtures.Fixture):
    """Keeps the versions that ironicclient negotiates out of the home."""

    def _setUp(self) -> None:
        path = self.useFixture(fixtures.TempDir()).path
        for name, value in (('CACHE', None), ('CACHE_DIR', path),
                            ('CACHE_FILENAME', f'{path}/versions.dbm')):
            self.useFixture(fixtures.MonkeyPatch(
                f'ironicclient.common.filecache.{name}', value))

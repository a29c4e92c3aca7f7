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

"""Nova, as much of it as a driver needs: imported in a process of its own."""

from __future__ import annotations

import importlib
import pathlib
from typing import Any
from unittest import mock
import uuid

import fixtures
from nova import context
from nova import exception
from nova import objects
import nova.conf
import nova.virt

PLUGIN = pathlib.Path(__file__).parents[1] / 'plugins' / 'nova'

# NOTE: where the plugin is installed, it lies beside what is Nova's own.
nova.virt.__path__.append(str(PLUGIN / 'nova' / 'virt'))

objects.register_all()
# NOTE: registers its options.
importlib.import_module('nova.virt.ironic_reservations')


class Nova(fixtures.Fixture):
    """Options, and the database of Nova as far as a driver sees it.

    :param url: of Ironic.
    :param token: what to show there; ``None``: nothing.
    :ivar hints: the scheduler hints of servers.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        super().__init__()
        self._url = url
        self._token = token
        self.hints: dict[str, dict[str, list[str]]] = {}

    def _setUp(self) -> None:
        conf = nova.conf.CONF
        conf([], project='nova', default_config_files=[])
        self.addCleanup(conf.reset)
        from keystoneauth1 import loading
        loading.register_auth_conf_options(conf, 'ironic')
        plugin = 'none' if self._token is None else 'admin_token'
        conf.register_opts(loading.get_auth_plugin_conf_options(plugin),
                           'ironic')
        self.option('auth_type', plugin)
        if self._token is not None:
            self.option('token', self._token)
            self.option('endpoint', self._url)
        self.option('endpoint_override', self._url)
        self.option('api_retry_interval', 0)
        for name in ('save', 'refresh'):
            self.useFixture(fixtures.MockPatchObject(objects.Instance, name))
        self.useFixture(fixtures.MockPatchObject(
            objects.RequestSpec, 'get_by_instance_uuid', self._request))

    def option(self, name: str, value: Any, group: str = 'ironic') -> None:
        """Set an option of nova.conf."""
        nova.conf.CONF.set_override(name, value, group)
        self.addCleanup(nova.conf.CONF.clear_override, name, group)

    def _request(self, _context: Any, instance_uuid: str) -> Any:
        if instance_uuid not in self.hints:
            raise exception.RequestSpecNotFound(instance_uuid=instance_uuid)
        return objects.RequestSpec(scheduler_hints=self.hints[instance_uuid])


def driver() -> Any:
    """Return the driver, as nova-compute loads it."""
    from nova.virt import driver as virt_driver
    return virt_driver.load_compute_driver(
        mock.sentinel.virtapi, 'ironic_reservations.ReservingIronicDriver')


def server(node: str | None, project_id: str = 'red',
           ident: str | None = None, **extra_specs: str) -> Any:
    """Return a server that the scheduler has put on a node."""
    return objects.Instance(
        context.get_admin_context(), id=1, uuid=ident or str(uuid.uuid4()),
        node=node, host='compute', project_id=project_id, user_id='ada',
        display_name='server', image_ref='image', config_drive='',
        key_name=None, system_metadata={}, metadata={},
        vm_state='building', task_state='spawning',
        flavor=objects.Flavor(
            name='flavor', flavorid='flavor', vcpus=1, memory_mb=1,
            root_gb=1, ephemeral_gb=0, swap=0, extra_specs={
                key.replace('__', ':'): value
                for key, value in extra_specs.items()}))


def image() -> Any:
    """Return an image to deploy.

    NOTE: one that Ironic does not ask Glance for. Where it cannot tell what
    kind of image it is, a rebuild fails in Ironic 39 (auto_lessee).
    """
    return objects.ImageMeta(id='file:///image.raw',
                             properties=objects.ImageMetaProps())

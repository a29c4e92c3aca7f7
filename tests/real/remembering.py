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

"""Fake hardware that remembers how it boots.

Ironic's own answers each request for the boot device with the same, and knows
neither a boot mode nor secure boot: what a holder sets would leave nothing.
Nor does its undeploy power a node off, as that of all real hardware does.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import contextlib
from typing import Any

#: Where the hardware of a node keeps it.
KEY = 'remembered'
#: Of hardware that nobody has set.
FACTORY: Mapping[str, Any] = {
    'boot_device': 'pxe', 'persistent': False, 'boot_mode': 'bios',
    'secure_boot': False, 'media': {}}
#: The key of ``extra`` of a node whose hardware refuses what it is told.
BROKEN = 'broken'
#: The key of ``extra`` of a node whose inspection waits for its agent.
SLOW = 'slow'


#: Whether a setting is noted while it is written.
Noting = Callable[[Any, Mapping[str, Any]],
                  contextlib.AbstractContextManager[None]]


def _unnoted(task: Any, values: Mapping[str, Any]
             ) -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext()


def install(noting: Noting = _unnoted) -> None:
    """Have the fake hardware of this process remember.

    :param noting: notes what is set; it has the node, and the settings.
    """
    from ironic import objects
    from ironic.common import exception
    from ironic.common import states
    from ironic.conductor import utils as conductor_utils
    from ironic.drivers.modules import fake
    from ironic.drivers.modules import image_utils
    image_utils.prepare_remote_image = lambda task, url, *_, **__: url
    image_utils.cleanup_remote_image = lambda *_: None

    def known(task: Any) -> dict[str, Any]:
        return {**FACTORY, **task.node.driver_internal_info.get(KEY, {})}

    def keep(task: Any, **values: Any) -> None:
        if task.node.extra.get(BROKEN):
            raise exception.InvalidParameterValue('the hardware is broken')
        with noting(task.node, values):
            task.node.set_driver_internal_info(KEY, {**known(task), **values})
            task.node.save()

    def get_boot_device(_: Any, task: Any) -> dict[str, Any]:
        return {name: known(task)[name]
                for name in ('boot_device', 'persistent')}

    def set_boot_device(_: Any, task: Any, device: str,
                        persistent: bool = False) -> None:
        keep(task, boot_device=device, persistent=persistent)

    def set_boot_mode(_: Any, task: Any, mode: str) -> None:
        keep(task, boot_mode=mode)

    def set_secure_boot_state(_: Any, task: Any, state: bool) -> None:
        keep(task, secure_boot=state)

    create = objects.Node.create

    def created(node: Any, *arguments: Any) -> None:
        # NOTE: as Ironic finds it out later by itself.
        node.boot_mode = FACTORY['boot_mode']
        node.secure_boot = FACTORY['secure_boot']
        create(node, *arguments)
    objects.Node.create = created
    hardware = fake.FakeManagement
    hardware.get_boot_device = get_boot_device
    hardware.set_boot_device = set_boot_device
    hardware.get_boot_mode = lambda _, task: known(task)['boot_mode']
    hardware.set_boot_mode = set_boot_mode
    hardware.get_secure_boot_state = (
        lambda _, task: known(task)['secure_boot'])
    hardware.set_secure_boot_state = set_secure_boot_state
    hardware.inject_nmi = lambda _, task: None
    hardware.attach_virtual_media = (
        lambda _, task, device_type, image_url: keep(
            task, media={**known(task)['media'], device_type: image_url}))
    hardware.detach_virtual_media = (
        lambda _, task, device_types=None: keep(task, media={
            name: url for name, url in known(task)['media'].items()
            if device_types and name not in device_types}))
    torn_down = fake.FakeDeploy.tear_down

    def tear_down(deploy: Any, task: Any) -> str:
        conductor_utils.node_power_action(task, states.POWER_OFF)
        return str(torn_down(deploy, task))
    fake.FakeDeploy.tear_down = tear_down
    fake.FakeInspect.inspect_hardware = _inspect
    fake.FakeInspect.abort = lambda _, task: None


def _inspect(_: Any, task: Any) -> str:
    """Find another size, and another port, as a holder could tell."""
    from ironic import objects
    from ironic.common import states
    if task.node.extra.get(SLOW):
        return str(states.INSPECTWAIT)
    task.node.properties = {**task.node.properties, 'cpus': 1}
    task.node.save()
    digits = task.node.uuid.replace('-', '')
    objects.Port(task.context, node_id=task.node.id, address=(
        f'52:54:01:{digits[:2]}:{digits[2:4]}:{digits[4:6]}')).create()
    return str(states.MANAGEABLE)

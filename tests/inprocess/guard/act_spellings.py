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

"""Acts on a node that do not take it, in canonical and other spellings."""

import functools
import json

from tests.inprocess.guard import spellings
from tests.inprocess.guard.spellings import Spelling

NODE, NAME = spellings.NODE, spellings.NAME
_NODE = f'/v1/nodes/{NODE}'
_POWER = b'{"target": "power off"}'
_FORM = 'application/x-www-form-urlencoded'


def _patch(path: str, value: object) -> bytes:
    return json.dumps([{'op': 'add', 'path': path, 'value': value}]).encode()


_power = functools.partial(Spelling, method='PUT',
                           path=f'{_NODE}/states/power', body=_POWER)
_maintenance = functools.partial(Spelling, method='PUT',
                                 path=f'{_NODE}/maintenance')


#: Acts of the holder and of an administrator.
CANONICAL = (
    _maintenance('maintenance_on', body=b'{"reason": "smoke"}'),
    _maintenance('maintenance_on_plainly'),
    Spelling('maintenance_off', 'DELETE', f'{_NODE}/maintenance'),
    Spelling('maintenance_by_name', 'PUT', f'/v1/nodes/{NAME}/maintenance'),
    Spelling('maintenance_without_v1', 'PUT', f'/nodes/{NODE}/maintenance'),
    _power('power'),
    _power('power_with_slash', path=f'{_NODE}/states/power/'),
    Spelling('boot_device', 'PUT', f'{_NODE}/management/boot_device',
             body=b'{"boot_device": "pxe"}'),
    Spelling('boot_mode', 'PUT', f'{_NODE}/states/boot_mode',
             body=b'{"target": "uefi"}'),
    Spelling('secure_boot', 'PUT', f'{_NODE}/states/secure_boot',
             body=b'{"target": true}'),
    Spelling('vif_attach', 'POST', f'{_NODE}/vifs',
             body=b'{"id": "11111111-2222-3333-4444-555555555555"}'),
    Spelling('vif_detach', 'DELETE',
             f'{_NODE}/vifs/11111111-2222-3333-4444-555555555555'),
    Spelling('vmedia_attach', 'POST', f'{_NODE}/vmedia',
             body=b'{"device_type": "cdrom", "image_url": "http://x/y"}'),
    Spelling('vmedia_detach', 'DELETE', f'{_NODE}/vmedia',
             'device_types=cdrom'),
    Spelling('console', 'PUT', f'{_NODE}/states/console',
             body=b'{"enabled": true}'),
    Spelling('nmi', 'PUT', f'{_NODE}/management/inject_nmi'),
    Spelling('raid', 'PUT', f'{_NODE}/states/raid', body=b'{}'),
    Spelling('vendor', 'POST', f'{_NODE}/vendor_passthru', 'method=first'),
    Spelling('vendor_in_path', 'PUT', f'{_NODE}/vendor_passthru/first'),
    Spelling('traits', 'PUT', f'{_NODE}/traits',
             body=b'{"traits": ["CUSTOM_A"]}'),
    Spelling('trait', 'PUT', f'{_NODE}/traits/CUSTOM_A'),
    Spelling('traits_gone', 'DELETE', f'{_NODE}/traits'),
    Spelling('trait_gone', 'DELETE', f'/v1/nodes/{NAME}/traits/CUSTOM_A'),
    Spelling('allocation', 'DELETE', f'/v1/allocations/{NODE}'),
    Spelling('allocation_of_node', 'DELETE', f'{_NODE}/allocation'),
    Spelling('delete', 'DELETE', _NODE),
)
#: The same acts as a patch of the node.
PATCHES = tuple(
    Spelling(name, 'PATCH', _NODE, body=_patch(path, value))
    for name, path, value in (
        ('patch_maintenance', '/maintenance', True),
        ('patch_retired', '/retired', True),
        ('patch_image', '/instance_info/image_source', 'http://x/y'),
        ('patch_all_of_instance_info', '/instance_info', {}),
        ('patch_deploy_image', '/driver_info/deploy_ramdisk', 'http://x/y'),
        ('patch_lessee', '/lessee', 'somebody'),
        ('patch_maintenance_reason', '/maintenance_reason', 'smoke'),
        ('patch_instance_name', '/instance_name', 'mine'),
        ('patch_driver', '/driver', 'fake-hardware'),
        ('patch_interface', '/power_interface', 'fake'),
        ('patch_root_device', '/properties/root_device', {'name': '/dev/a'}),
        ('patch_resource_class', '/resource_class', 'other'),
        ('patch_network_data', '/network_data', {}),
        ('patch_protected', '/protected', True),
        ('patch_cleaning', '/automated_clean', True),
        ('patch_power_off', '/disable_power_off', True),
        ('patch_owner', '/owner', 'somebody'),
        ('patch_shard', '/shard', 'other'),
        ('patch_conductor_group', '/conductor_group', 'other')))

#: Acts that are refused to everybody.
OTHERS = (
    Spelling('power_target_in_query', 'PUT', f'{_NODE}/states/power',
             'target=power%20off'),
    Spelling('power_target_in_path', 'PUT',
             f'{_NODE}/states/power/power%20off'),
    Spelling('power_ident_in_query', 'PUT', '/v1/nodes/states/power',
             f'node_ident={NODE}&target=reboot'),
    _power('power_suffix', path=f'{_NODE}/states/power.json', version='1.50'),
    _power('power_chassis', path=f'/v1/chassis/nodes/{NODE}/states/power'),
    _power('power_empty_segment', path=f'/v1/nodes//{NODE}/states/power'),
    _power('power_as_form', body=b'target=reboot', content_type=_FORM),
    Spelling('power_by_get', 'GET', f'{_NODE}/states',
             '_method=power&target=reboot'),
    _power('power_twice', body=b'{"target": "reboot", "target": "power off"}'),
    Spelling('maintenance_ident_in_query', 'PUT', '/v1/nodes/maintenance',
             f'node_ident={NODE}'),
    Spelling('maintenance_ident_in_query_off', 'DELETE',
             '/v1/nodes/maintenance', f'node_ident={NODE}'),
    Spelling('maintenance_ident_behind', 'PUT',
             f'/v1/nodes/maintenance/{NODE}'),
    Spelling('maintenance_chassis', 'PUT',
             f'/v1/chassis/nodes/{NODE}/maintenance'),
    Spelling('maintenance_by_post', 'POST', f'{_NODE}/maintenance',
             '_method=put'),
    Spelling('boot_device_in_path', 'PUT',
             f'{_NODE}/management/boot_device/pxe'),
    Spelling('vendor_by_patch', 'PATCH', f'{_NODE}/vendor_passthru/first'),
    Spelling('vendor_ident_in_query', 'POST', '/v1/nodes/vendor_passthru',
             f'node_ident={NODE}&method=first'),
    Spelling('trait_in_query', 'PUT', f'{_NODE}/traits', 'trait=CUSTOM_A'),
    Spelling('trait_gone_in_query', 'DELETE', f'{_NODE}/traits',
             'trait=CUSTOM_A'),
    Spelling('traits_chassis', 'PUT', f'/v1/chassis/nodes/{NODE}/traits',
             body=b'{"traits": []}'),
    Spelling('allocation_ident_in_query', 'DELETE', '/v1/allocations',
             f'allocation_ident={NODE}'),
    Spelling('allocation_with_query', 'DELETE', f'/v1/allocations/{NODE}',
             'x=1'),
    Spelling('delete_ident_in_query', 'DELETE', '/v1/nodes',
             f'node_ident={NODE}'),
    Spelling('delete_with_query', 'DELETE', _NODE, 'x=1'),
)

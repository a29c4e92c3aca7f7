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
_VIF = '11111111-2222-3333-4444-555555555555'


def _patch(path: str, value: object) -> bytes:
    return json.dumps([{'op': 'add', 'path': path, 'value': value}]).encode()


def _act(name: str, method: str, below: str, body: bytes = b'',
         query: str = '', **more: str) -> Spelling:
    """Return a request below the path of the node."""
    return Spelling(name, method, f'{_NODE}/{below}', query, body, **more)


_power = functools.partial(Spelling, method='PUT',
                           path=f'{_NODE}/states/power', body=_POWER)


#: Acts of the holder and of an administrator.
CANONICAL = (
    _act('maintenance_on', 'PUT', 'maintenance', b'{"reason": "smoke"}'),
    _act('maintenance_on_plainly', 'PUT', 'maintenance'),
    _act('maintenance_off', 'DELETE', 'maintenance'),
    Spelling('maintenance_by_name', 'PUT', f'/v1/nodes/{NAME}/maintenance'),
    Spelling('maintenance_without_v1', 'PUT', f'/nodes/{NODE}/maintenance'),
    _power('power'),
    _power('power_with_slash', path=f'{_NODE}/states/power/'),
    _act('boot_device', 'PUT', 'management/boot_device',
         b'{"boot_device": "pxe"}'),
    _act('boot_mode', 'PUT', 'states/boot_mode', b'{"target": "uefi"}'),
    _act('secure_boot', 'PUT', 'states/secure_boot', b'{"target": true}'),
    _act('vif_attach', 'POST', 'vifs', b'{"id": "%b"}' % _VIF.encode()),
    _act('vif_detach', 'DELETE', f'vifs/{_VIF}'),
    _act('vmedia_attach', 'POST', 'vmedia',
         b'{"device_type": "cdrom", "image_url": "http://x/y"}'),
    _act('vmedia_detach', 'DELETE', 'vmedia', query='device_types=cdrom'),
    _act('console', 'PUT', 'states/console', b'{"enabled": true}'),
    _act('nmi', 'PUT', 'management/inject_nmi'),
    _act('raid', 'PUT', 'states/raid', b'{}'),
    _act('vendor', 'POST', 'vendor_passthru', query='method=first'),
    _act('vendor_in_path', 'PUT', 'vendor_passthru/first'),
    _act('traits', 'PUT', 'traits', b'{"traits": ["CUSTOM_A"]}'),
    _act('trait', 'PUT', 'traits/CUSTOM_A'),
    _act('traits_gone', 'DELETE', 'traits'),
    Spelling('trait_gone', 'DELETE', f'/v1/nodes/{NAME}/traits/CUSTOM_A'),
    Spelling('allocation', 'DELETE', f'/v1/allocations/{NODE}'),
    _act('allocation_of_node', 'DELETE', 'allocation'),
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
    _act('power_target_in_query', 'PUT', 'states/power',
         query='target=power%20off'),
    _act('power_target_in_path', 'PUT', 'states/power/power%20off'),
    Spelling('power_ident_in_query', 'PUT', '/v1/nodes/states/power',
             f'node_ident={NODE}&target=reboot'),
    _power('power_suffix', path=f'{_NODE}/states/power.json', version='1.50'),
    _power('power_chassis', path=f'/v1/chassis/nodes/{NODE}/states/power'),
    _power('power_empty_segment', path=f'/v1/nodes//{NODE}/states/power'),
    _power('power_as_form', body=b'target=reboot', content_type=_FORM),
    _act('power_by_get', 'GET', 'states',
         query='_method=power&target=reboot'),
    _power('power_twice', body=b'{"target": "reboot", "target": "power off"}'),
    *(Spelling(name, method, '/v1/nodes/maintenance', f'node_ident={NODE}')
      for name, method in (('maintenance_ident_in_query', 'PUT'),
                           ('maintenance_ident_in_query_off', 'DELETE'))),
    Spelling('maintenance_ident_behind', 'PUT',
             f'/v1/nodes/maintenance/{NODE}'),
    Spelling('maintenance_chassis', 'PUT',
             f'/v1/chassis/nodes/{NODE}/maintenance'),
    _act('maintenance_by_post', 'POST', 'maintenance', query='_method=put'),
    _act('boot_device_in_path', 'PUT', 'management/boot_device/pxe'),
    _act('vendor_by_patch', 'PATCH', 'vendor_passthru/first'),
    Spelling('vendor_ident_in_query', 'POST', '/v1/nodes/vendor_passthru',
             f'node_ident={NODE}&method=first'),
    _act('trait_in_query', 'PUT', 'traits', query='trait=CUSTOM_A'),
    _act('trait_gone_in_query', 'DELETE', 'traits', query='trait=CUSTOM_A'),
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

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

"""The acts that Ironic's default policies grant an owner beside a lessee's.

What becomes of each is in doc/source/admin/handover.rst.
"""

from collections.abc import Mapping
from typing import Any

from tests.inprocess.guard import lessee_acts
from tests.inprocess.guard.lessee_acts import Life
from tests.inprocess.guard.lessee_acts import Step

_WHO = lessee_acts.ADMIN
_UPDATE = 'baremetal:node:update'
_MANAGED = Step(_WHO, 'PUT', '/states/provision', {'target': 'manage'},
                'manageable')
_ADDRESS = '52:54:00:ff:{}:{}'


def _patch(path: str, value: Any) -> Step:
    return Step(_WHO, 'PATCH', '', [
        {'op': 'add', 'path': path, 'value': value}])


def _of(path: str, operations: list[tuple[str, Any]]) -> Step:
    return Step(_WHO, 'PATCH', path, [
        {'op': 'add', 'path': field, 'value': value}
        for field, value in operations])


LIVES: Mapping[str, Life] = {
    'driver_info': Life(f'{_UPDATE}:driver_info', [
        _patch('/driver_info/his', 1)]),
    'properties': Life(f'{_UPDATE}:properties', [
        _patch('/properties/cpus', 1), _patch('/properties/his', 1)]),
    'driver_interfaces': Life(f'{_UPDATE}:driver_interfaces', [
        _patch('/console_interface', 'no-console')]),
    'network_data': Life(f'{_UPDATE}:network_data', [
        _patch('/network_data', {
            'links': [], 'networks': [], 'services': []})]),
    'name': Life(f'{_UPDATE}:name', [_patch('/name', 'his-own-{node}')]),
    'lessee': Life(f'{_UPDATE}:lessee', [_patch('/lessee', 'his')]),
    'boot_device': Life('baremetal:node:set_boot_device', [
        Step(_WHO, 'PUT', '/management/boot_device',
             {'boot_device': 'cdrom', 'persistent': True})]),
    'nmi': Life('baremetal:node:inject_nmi', [
        Step(_WHO, 'PUT', '/management/inject_nmi', {})], leaves=False),
    'raid': Life('baremetal:node:set_raid_state', [
        Step(_WHO, 'PUT', '/states/raid', {'logical_disks': [
            {'size_gb': 1, 'raid_level': '1'}]})]),
    'console': Life('baremetal:node:set_console_state', [
        Step(_WHO, 'PUT', '/states/console', {'enabled': True},
             shows={'console_enabled': True})]),
    'traits': Life('baremetal:node:traits:set', [
        Step(_WHO, 'PUT', '/traits', {'traits': ['CUSTOM_HIS']})]),
    'traits_deleted': Life('baremetal:node:traits:delete', [
        Step(_WHO, 'DELETE', '/traits/CUSTOM_OURS')], [
            Step(lessee_acts.OPERATOR, 'PUT', '/traits',
                 {'traits': ['CUSTOM_OURS']})]),
    'port': Life('baremetal:port:create', [
        Step(_WHO, 'POST', '/v1/ports', {'address': _ADDRESS.format(
            '00', '01'), 'pxe_enabled': True})]),
    'port_changed': Life('baremetal:port:update', [
        _MANAGED, _of('/v1/ports/{port}', [
            ('/address', _ADDRESS.format('00', '02')), ('/extra/his', 1),
            ('/pxe_enabled', False), ('/physical_network', 'his')])]),
    'port_in_group': Life('baremetal:port:update', [
        _MANAGED, _of('/v1/ports/{port}', [('/portgroup_uuid', '{group}')])]),
    'port_deleted': Life('baremetal:port:delete', [
        Step(_WHO, 'DELETE', '/v1/ports/{port}')]),
    'portgroup': Life('baremetal:portgroup:create', [
        Step(_WHO, 'POST', '/v1/portgroups', {'mode': '802.3ad'})]),
    'portgroup_changed': Life('baremetal:portgroup:update', [
        _of('/v1/portgroups/{group}', [('/extra/his', 1)])]),
    'portgroup_deleted': Life('baremetal:portgroup:delete', [
        Step(_WHO, 'DELETE', '/v1/portgroups/{group}')]),
}
#: Policies whose acts leave nothing on a node, each with its reason.
HARMLESS: Mapping[str, str] = {
    f'{_UPDATE}:instance_uuid': 'an instance is removed at the end',
    f'{_UPDATE}:retired': 'who retires a node takes it from all',
    'baremetal:node:delete:self_owned_node': 'there is no node any more',
    'baremetal:node:set_indicator_state': 'a lamp',
}

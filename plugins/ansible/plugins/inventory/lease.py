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


from __future__ import annotations

DOCUMENTATION = r'''
---
name: lease
short_description: The nodes of active leases
version_added: 0.1.0
author: ironic-reservations !UNKNOWN
description:
  - Makes a host of each node of the leases that are active. Its variables
    have what Ironic says of the node, the lease, and the ID of the lease's
    reservation, which is the proof with which the node can be deployed.
  - The file ends with C(lease.yml) or C(leases.yml).
options:
  plugin:
    description: The name of this plugin.
    required: true
    choices: [ironic.reservations.lease]
  leases:
    description: Only leases with one of these names or IDs.
    type: list
    elements: str
extends_documentation_fragment:
  - constructed
  - ironic.reservations.connection
'''

EXAMPLES = r'''
plugin: ironic.reservations.lease
cloud: metal
leases: [training]
compose:
  ansible_host: node.extra.address
keyed_groups:
  - key: node.resource_class
    prefix: class
'''

from typing import Any

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin
from ansible.plugins.inventory import Constructable
from ansible_collections.ironic.reservations.plugins.module_utils import (
    service,
)


class InventoryModule(BaseInventoryPlugin, Constructable):
    """Reads leases and their nodes."""

    NAME = 'ironic.reservations.lease'

    def verify_file(self, path: str) -> bool:
        """Return whether a file is for this plugin."""
        return super().verify_file(path) and path.endswith(
            ('lease.yml', 'lease.yaml', 'leases.yml', 'leases.yaml'))

    def parse(self, inventory: Any, loader: Any, path: str,
              cache: bool = True) -> None:
        """Add the nodes of the leases that are active."""
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        if service.MISSING is not None:
            raise AnsibleParserError('ironic-reservations is not installed: '
                                     + service.MISSING)
        try:
            with service.reaching():
                self._read_leases(service.connect({
                    name: self.get_option(name)
                    for name in service.CONNECTION}))
        except (service.exceptions.SDKException, ValueError) as error:
            raise AnsibleParserError(str(error)) from error

    def _read_leases(self, conn: Any) -> None:
        wanted = self.get_option('leases')
        for lease in service.leases.leases(conn):
            if lease.status == 'ACTIVE' and (
                    not wanted or lease.name in wanted or lease.id in wanted):
                self._add(conn, lease)

    def _add(self, conn: Any, lease: Any) -> None:
        group = self.inventory.add_group(self._sanitize_group_name(
            f'lease_{lease.name}'))
        for reservation in lease.reservations:
            for booked in reservation['nodes']:
                try:
                    node = conn.baremetal.get_node(booked['uuid'])
                except service.exceptions.NotFoundException:
                    self.display.warning(
                        f"Ironic has no node {booked['uuid']}, which the "
                        f'lease {lease.name} has. The inventory is without '
                        'it.')
                    continue
                name = self.inventory.add_host(node.name or node.id, group)
                known = {
                    'node': service.plain(node),
                    'lease': {'id': lease.id, 'name': lease.name,
                              'start_date': lease.start_date,
                              'end_date': lease.end_date},
                    'reservation_id': reservation['id']}
                for key, value in known.items():
                    self.inventory.set_variable(name, key, value)
                strict = self.get_option('strict')
                self._set_composite_vars(self.get_option('compose'), known,
                                         name, strict)
                self._add_host_to_composed_groups(
                    self.get_option('groups'), known, name, strict)
                self._add_host_to_keyed_groups(
                    self.get_option('keyed_groups'), known, name, strict)

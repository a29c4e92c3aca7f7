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

"""Returns the inventories of a host: a node of Ironic, or a compute host."""

from __future__ import annotations

from ironic_reservations.model import flavors
from ironic_reservations.model import inventories
from ironic_reservations.model import mirrored_node

#: The maximum length of a number.
_MAX_DIGITS = 64
#: The properties of Ironic, and the classes of Nova for them.
_OF_PROPERTIES = (('cpus', flavors.VCPU), ('memory_mb', flavors.MEMORY_MB),
                  ('local_gb', flavors.DISK_GB))


def of(node: mirrored_node.Node) -> dict[str, inventories.Inventory]:
    """Return the inventories of a host without leases.

    For a compute host, these are its inventories in Placement. A node of
    Ironic has its sizes, and one unit of its class; a size that is not a whole
    number in Ironic is omitted.
    """
    if node.inventories is not None:
        return dict(node.inventories)
    found = {}
    known = dict(node.properties)
    for name, resource_class in _OF_PROPERTIES:
        size = known.get(name, '')
        if len(size) <= _MAX_DIGITS and size.isascii() and size.isdigit():
            found[resource_class] = inventories.Inventory(int(size))
    if node.resource_class:
        found[flavors.class_of_node(node.resource_class)] = (
            inventories.Inventory(1))
    return found

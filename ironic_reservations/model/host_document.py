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

"""A host in Blazar's format, without capabilities and dates of its row."""

from __future__ import annotations

import json
from typing import Any

from ironic_reservations.model import flavors
from ironic_reservations.model import host_inventories
from ironic_reservations.model import inventories
from ironic_reservations.model import leases

_MOST = 10 ** 15 - 1


def of(host: leases.Host) -> dict[str, Any]:
    """Return the keys of a host in Blazar's format."""
    node = host.node
    there = host_inventories.of(node)
    arch = dict(node.properties).get('cpu_arch')
    return {
        'id': str(host.id),
        'vcpus': _total(there, flavors.VCPU),
        'cpu_info': json.dumps({'arch': arch} if arch else {}),
        'hypervisor_type': 'compute' if node.compute else 'ironic',
        'hypervisor_version': 1,
        'hypervisor_hostname': host.hypervisor_hostname,
        # Never null, since clients sort by it.
        'service_name': node.name or node.uuid,
        'memory_mb': _total(there, flavors.MEMORY_MB),
        'local_gb': _total(there, flavors.DISK_GB),
        'status': node.provision_state,
        'availability_zone': None,
        'trust_id': None,
        'reservable': host.reservable,
    }


def _total(there: inventories.Inventories, resource_class: str) -> int:
    """Return a size, or 0 for an absurdly large one, which Ironic accepts."""
    size = there.get(resource_class)
    return 0 if size is None or size.total > _MOST else size.total

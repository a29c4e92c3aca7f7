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


"""How a node of the storm is enrolled, and what an operator has given it."""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
from typing import Any
import uuid as uuid_module

SIZES = {'cpus': 8, 'memory_mb': 16384, 'local_gb': 100}
#: Up to that version a new node is born available.
_BORN_AVAILABLE = '1.10'


@dataclasses.dataclass(frozen=True)
class Step:
    """A request to Ironic.

    :ivar version: of its API; ``None``: the one of all.
    """

    method: str
    path: str
    body: Any
    version: str | None = None


def volume_of(node: str) -> str:
    """Return the uuid of the volume target that an operator gives a node."""
    return str(uuid_module.uuid5(uuid_module.NAMESPACE_URL, node))


def steps(node: str, name: str, resource_class: str,
          owner: str | None) -> Iterator[Step]:
    """Return the requests by which a node is enrolled, and enrolled again.

    NOTE: the last ones have the node in their path, by which the checker
    knows until when nothing is sure of it.
    """
    path = f'/v1/nodes/{node}'
    yield Step('POST', '/v1/nodes', {
        'driver': 'fake-hardware', 'name': name, 'uuid': node},
        _BORN_AVAILABLE)
    yield Step('POST', '/v1/volume/targets', {
        'uuid': volume_of(node), 'node_uuid': node, 'volume_type': 'iscsi',
        'volume_id': f'of {name}', 'boot_index': 7})
    yield Step('PATCH', path, [
        {'op': 'add', 'path': f'/{field}', 'value': value}
        for field, value in (
            ('resource_class', resource_class), ('properties', SIZES),
            ('owner', owner), ('description', f'the node {name}'),
            ('extra', {'rack': name}))])
    yield Step('PUT', f'{path}/states/power', {'target': 'power off'})

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

"""The types of requests about maintenance windows."""

from __future__ import annotations

from typing import Any

from ironic_reservations.api import versions
from ironic_reservations.api.types import basic
from ironic_reservations.api.types import lease as lease_types
from ironic_reservations.model import uuids

_MAX_NODES = 10_000

#: As Ironic shows it.
_to_reason = basic.text_of(500, 'a text')
_to_node = basic.text_of(255, 'the name or UUID of a node,')


def to_nodes(value: Any) -> tuple[str, ...]:
    """Return a list of nodes, each by its name or uuid."""
    if not isinstance(value, list) or not 1 <= len(value) <= _MAX_NODES:
        raise ValueError(f'a list of 1 to {_MAX_NODES} names or UUIDs of '
                         f'nodes is expected, not {basic.shown_list(value)}')
    return tuple(dict.fromkeys(
        uuids.canonical(_to_node(each)) for each in value))


class NewMaintenance(basic.Parts):
    """The body of ``POST /v1/maintenances``."""

    name = basic.attribute(lease_types.to_name, since=versions.MAINTENANCE,
                           mandatory=True)
    reason = basic.attribute(_to_reason, since=versions.MAINTENANCE)
    starts_at = basic.attribute(basic.to_instant, since=versions.MAINTENANCE)
    ends_at = basic.attribute(basic.to_instant, since=versions.MAINTENANCE)
    duration = basic.attribute(basic.to_seconds, since=versions.LASTING)
    nodes = basic.attribute(to_nodes, since=versions.MAINTENANCE)
    resource_class = basic.attribute(basic.to_resource_class,
                                     since=versions.MAINTENANCE)
    resource_properties = basic.attribute(basic.to_properties,
                                          since=versions.MAINTENANCE)
    drain = basic.attribute(basic.to_boolean, since=versions.MAINTENANCE)
    force = basic.attribute(basic.to_boolean, since=versions.MAINTENANCE)

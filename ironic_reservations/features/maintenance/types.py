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

_MAX_REASON = 500
_MAX_NODES = 10_000
_MAX_NAME = 255


def to_reason(value: Any) -> str:
    """Return the reason of a maintenance, as Ironic shows it."""
    if (not isinstance(value, str) or not value.isprintable()
            or not 1 <= len(value.strip()) <= len(value) <= _MAX_REASON):
        raise ValueError(f'a text of 1 to {_MAX_REASON} characters is '
                         f'expected, not {basic.shown(value)}')
    return value


def to_nodes(value: Any) -> tuple[str, ...]:
    """Return a list of nodes, each by its name or uuid."""
    if not isinstance(value, list) or not 1 <= len(value) <= _MAX_NODES:
        raise ValueError(f'a list of 1 to {_MAX_NODES} names or UUIDs of '
                         f'nodes is expected, not {basic.shown_list(value)}')
    for item in value:
        if (not isinstance(item, str) or not item.isprintable()
                or not 1 <= len(item) <= _MAX_NAME):
            raise ValueError(f'{basic.shown(item)} is neither the name '
                             'nor the UUID of a node')
    return tuple(dict.fromkeys(map(uuids.canonical, value)))


class NewMaintenance(basic.Parts):
    """The body of ``POST /v1/maintenances``."""

    name = basic.attribute(lease_types.to_name, since=versions.MAINTENANCE,
                           mandatory=True)
    reason = basic.attribute(to_reason, since=versions.MAINTENANCE)
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

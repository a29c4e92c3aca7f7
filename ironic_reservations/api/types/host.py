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
"""The types of requests about hosts and availability."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import json
from typing import Any
from typing import TypeVar

from ironic_reservations import errors
from ironic_reservations.api.types import basic
from ironic_reservations.api.types import host_shape
from ironic_reservations.api.types import lease as lease_types

_T = TypeVar('_T')

_MAX_KEY = 64
_MAX_VALUE = 1000
_MAX_NUMBER = 2 ** 63
_MAX_SLOTS = 20

_to_name = basic.text_of(255)


class HostQuery(basic.BlazarQuery):
    """The query of ``GET /v1/os-hosts``."""

    limit = basic.attribute(basic.to_limit)
    marker = basic.attribute(basic.to_whole)


class AllocationQuery(basic.BlazarQuery):
    """The query of the allocations of hosts."""

    lease_id = basic.attribute(basic.to_uuid)
    reservation_id = basic.attribute(basic.to_uuid)


class PropertyQuery(basic.BlazarQuery):
    """The query of ``GET /v1/os-hosts/properties``."""

    detail = basic.attribute(basic.to_flag)
    all = basic.attribute(basic.to_flag)


class PropertyUpdate(basic.BlazarParts):
    """The body of ``PATCH /v1/os-hosts/properties/<name>``."""

    private = basic.attribute(basic.to_truth)


class AvailabilityQuery(lease_types.Window):
    """The query of ``GET /v1/availability``."""

    resource_class = basic.attribute(basic.to_resource_class)
    hypervisor_properties = basic.attribute(basic.to_properties)
    resource_properties = basic.attribute(basic.to_properties)
    count = basic.attribute(basic.to_whole)
    duration = basic.attribute(basic.to_whole)
    slots = basic.attribute(basic.digits_of(_MAX_SLOTS))


@dataclasses.dataclass(frozen=True)
class NewHosts:
    """A request to open nodes to leases, by name or by class.

    :ivar name: the name or the uuid of a node.
    :ivar resource_class: opens all nodes of this class.
    """

    name: str | None
    resource_class: str | None
    capabilities: Mapping[str, str]


def new_hosts(document: Any) -> NewHosts:
    """Parse the body of ``POST /v1/os-hosts``.

    :raises InvalidValue: a value is missing, wrong or out of range.
    """
    extras = dict(_object(document))
    name = extras.pop('name', None)
    resource_class = extras.pop('resource_class', None)
    if (name is None) is (resource_class is None):
        raise errors.InvalidValue(
            'Missing parameter name.' if name is None else
            'name opens one node to leases, and resource_class opens all '
            'nodes of a class. Send only one of them.')
    for key, value in (('name', name), ('resource_class', resource_class)):
        if value is not None:
            _read(key, value, _to_name)
    return NewHosts(name, resource_class, {
        key: text for key, value in extras.items()
        if (text := _capability(key, value)) is not None})


def host_changes(document: Any) -> tuple[dict[str, str | None], bool | None]:
    """Parse the body of ``PUT /v1/os-hosts/<id>``.

    :returns: the capabilities, with ``None`` for those to remove; and whether
        the host is open to leases, ``None``: unchanged.
    :raises InvalidValue: a value is missing, wrong or out of range.
    """
    changes = dict(_object(document))
    if not changes:
        raise errors.InvalidValue(
            'No data to update. Send capabilities, or "reservable".')
    reservable = None
    if 'reservable' in changes:
        reservable = _read('reservable', changes.pop('reservable'),
                           basic.to_truth)
    return {key: _capability(key, value)
            for key, value in changes.items()}, reservable


def _read(key: str, value: Any, read: Callable[[Any], _T]) -> _T:
    """Return the value of a key."""
    try:
        return read(value)
    except ValueError as exc:
        raise errors.InvalidValue(f'{key}: {exc}.') from exc


def _object(document: Any) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise errors.InvalidValue(f'The body is {basic.shown(document)}, and '
                                  'an object is expected.')
    return document


def _capability(key: str, value: Any) -> str | None:
    _check(key)
    if value is None:
        return None
    if isinstance(value, bool):
        # Blazar's samples have this word.
        value = str(value)
    if isinstance(value, float) or (type(value) is int
                                    and abs(value) <= _MAX_NUMBER):
        # The number is stored as text; requirements still compare it as a
        # number.
        value = json.dumps(value)
    if not isinstance(value, str) or len(value) > _MAX_VALUE:
        raise errors.InvalidValue(
            f'{key}: a string of at most {_MAX_VALUE} characters is '
            f'expected, not {basic.shown(value)}.')
    if not value.isprintable():
        raise errors.InvalidValue(
            f'{key}: {basic.shown(value)} has characters that cannot be '
            'printed. Leave them out.')
    return value


def _check(key: str) -> None:
    if len(key) > _MAX_KEY:
        # These are Blazar's words, which its clients know.
        raise errors.InvalidValue(
            f'Extra capability key too long: {basic.shown(key)} has '
            f'{len(key)} characters; at most {_MAX_KEY} are allowed.')
    if not key.strip() or not key.isprintable():
        raise errors.InvalidValue(
            f'{basic.shown(key)} cannot be the name of a capability. Use '
            'printable characters.')
    if key in host_shape.KEYS:
        raise errors.InvalidValue(
            f'{key} is an attribute that every host has. Choose another name '
            'for the capability.')

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

"""Parses flavors as Nova's API shows them, for nodes of Ironic."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from typing import Any

from ironic_reservations.model import flavors

#: These keys of a flavor request nothing.
IGNORED = frozenset({
    'id', 'name', 'description', 'links', 'rxtx_factor',
    'os-flavor-access:is_public', 'OS-FLV-DISABLED:disabled'})
EPHEMERAL = 'OS-FLV-EXT-DATA:ephemeral'
#: The sizes, by the fields of :class:`flavors.Flavor`; swap may be ''.
_SIZES = {'vcpus': 'vcpus', 'ram_mb': 'ram', 'disk_gb': 'disk',
          'ephemeral_gb': EPHEMERAL, 'swap_mb': 'swap'}
_REQUIRED = ('vcpus', 'ram', 'disk', 'extra_specs')
#: The keys of a flavor in a request.
KEYS = frozenset({*_SIZES.values(), 'extra_specs', *IGNORED})
_MAX_SPECS = 128
_MAX_TEXT = 255


@dataclasses.dataclass(frozen=True)
class FlavorRequest:
    """The requirements of a flavor on a node.

    :ivar class_name: the class of the node in Placement.
    :ivar required: the traits that it must have.
    :ivar forbidden: the traits that it must not have.
    """

    class_name: str
    required: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()


def requested(document: Mapping[str, Any]) -> FlavorRequest:
    """Return the requirements of a flavor on a node.

    :param document: the flavor as Nova's API shows it.
    :raises FlavorRefused: the flavor is malformed, or no node can serve it.
    """
    request = flavors.read(read(document))
    asked = [(f'resources{group.suffix}:{name}', group, name, amount)
             for group in request.groups for name, amount in group.resources]
    for key, _, name, _ in asked:
        if not name.startswith(flavors.CUSTOM):
            raise flavors.FlavorRefused(key, (
                f'The flavor requests {name}, but bare metal has only its '
                'resource class in Placement. Write 0 for the extra spec '
                f'{key!r}.'))
    if len(asked) > 1:
        raise flavors.FlavorRefused(asked[-1][0], (
            f"The flavor requests {', '.join((key for key, *_ in asked))}, "
            'but a node has only one class. Keep only one of them.'))
    (key, group, name, amount), = asked
    if amount != 1:
        raise flavors.FlavorRefused(key, (
            f'The extra spec {key!r} requests {amount}, but a node has 1.'))
    return FlavorRequest(name, group.required, group.forbidden)


def read(document: Mapping[str, Any]) -> flavors.Flavor:
    """Parse a flavor.

    :param document: the flavor as Nova's API shows it.
    :raises FlavorRefused: the flavor is malformed.
    """
    for key in document:
        if key not in KEYS:
            raise flavors.FlavorRefused(key, (
                f'A flavor has no key {ascii(key)[:80]}. Its keys are: '
                f"{', '.join(sorted(KEYS))}."))
    for key in _REQUIRED:
        if key not in document:
            raise flavors.FlavorRefused(key, (
                f'The key {key} of the flavor is missing. Send the flavor as '
                'Nova shows it, with version 2.61 of its API or a later '
                'one.'))
    sizes: dict[str, Any] = {field: _size(key, document.get(key, 0))
                             for field, key in _SIZES.items()}
    return flavors.Flavor(
        **sizes, extra_specs=_extra_specs(document['extra_specs']))


def shown(flavor: flavors.Flavor) -> dict[str, Any]:
    """Return a flavor as Nova's API shows it, without its name and id."""
    return {**{key: getattr(flavor, field) for field, key in _SIZES.items()},
            'extra_specs': dict(flavor.extra_specs)}


def _size(key: str, value: Any) -> int:
    if key == 'swap' and value == '':
        # Before version 2.75, Nova shows '' for no swap.
        return 0
    if (not isinstance(value, int) or isinstance(value, bool)
            or not 0 <= value <= flavors.MAX_AMOUNT):
        raise flavors.FlavorRefused(key, (
            f'The key {key} of the flavor must be a whole number from 0 to '
            f'{flavors.MAX_AMOUNT}.'))
    return value


def _extra_specs(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise flavors.FlavorRefused('extra_specs', (
            'The key extra_specs of the flavor must be an object.'))
    if len(value) > _MAX_SPECS:
        raise flavors.FlavorRefused('extra_specs', (
            f'The key extra_specs of the flavor has {len(value)} entries; at '
            f'most {_MAX_SPECS} are allowed.'))
    for key, text in value.items():
        if len(key) > _MAX_TEXT:
            raise flavors.FlavorRefused(key[:_MAX_TEXT], (
                f'The extra spec {key[:_MAX_TEXT]!r}... has a name of '
                f'{len(key)} characters; at most {_MAX_TEXT} are allowed.'))
        if not isinstance(text, str) or len(text) > _MAX_TEXT:
            raise flavors.FlavorRefused(key, (
                f'The extra spec {key!r} must be a string of at most '
                f'{_MAX_TEXT} characters.'))
    return dict(value)

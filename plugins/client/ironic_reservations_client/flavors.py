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

"""Converts flavors to the form that the API accepts."""

from __future__ import annotations

from collections.abc import Mapping
import re
from typing import Any

#: The fields of a flavor that only commands print.
_PRINTED = ('access_project_ids', 'is_disabled', 'is_public', 'location',
            'original_name')
#: The fields that commands and the SDK name differently from Nova's API.
_RENAMED = {'properties': 'extra_specs',
            'ephemeral': 'OS-FLV-EXT-DATA:ephemeral'}
_PROPERTY = re.compile(r"([^=,\s][^=]*)='([^']*)'(?:, |$)")


def shown(flavor: Mapping[str, Any]) -> dict[str, Any]:
    """Return a flavor as Nova's API shows it.

    :param flavor: the flavor, or the output of
        ``openstack flavor show -f json``; with or without the envelope of the
        API.
    """
    if isinstance(flavor.get('flavor'), dict):
        flavor = flavor['flavor']
    out: dict[str, Any] = {}
    for key, value in flavor.items():
        name = _RENAMED.get(key, key)
        if name == 'extra_specs' and isinstance(value, str):
            value = _properties(value)
        if key not in _PRINTED and value is not None:
            out[name] = value
    return out


def _properties(text: str) -> Any:
    """Read the output of older commands: ``a='b', c='d'``.

    Any other text is not changed; the service refuses it.
    """
    found: dict[str, str] = {}
    position = 0
    for match in _PROPERTY.finditer(text):
        if match.start() != position:
            return text
        found[match[1]] = match[2]
        position = match.end()
    return found if position == len(text) else text

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

"""Converts requirements on hosts from the form ``vcpus>=8``."""

from __future__ import annotations

from collections.abc import Iterable
import json
import re

from ironic_reservations_client import fields

# A value does not begin like an operator: "=>" is a mistake for ">=".
_CONDITION = re.compile('([^=!<>\\s]+)\\s*(==|!=|>=|<=|=|>|<)\\s*'
                        '([^=<>\\s].*)',
                        re.DOTALL)


def properties(conditions: Iterable[str] = (),
               resource_class: str | None = None,
               traits: Iterable[str] = ()) -> str:
    """Return conditions in the grammar of Blazar; empty without any.

    :param conditions: conditions such as ``name=value``, all of which must be
        met.
    :param resource_class: the resource class of the hosts.
    :param traits: the traits that each host must have.
    :raises ValueError: a condition cannot be parsed.
    """
    parts = [_part(condition) for condition in fields.several(conditions)]
    if resource_class is not None:
        parts.insert(0, ['==', '$resource_class', resource_class])
    parts += [['==', '$traits', trait] for trait in fields.several(traits)]
    if not parts:
        return ''
    return json.dumps(parts[0] if len(parts) == 1 else ['and', *parts])


def _part(condition: str) -> list[str]:
    match = _CONDITION.fullmatch(condition.strip())
    if match is None:
        raise ValueError(f'{condition!r} is not a condition. Write it like '
                         'vcpus>=8, rack=r1 or arch!=aarch64')
    name, operator, value = match.groups()
    return ['==' if operator == '=' else operator, f'${name}', value]

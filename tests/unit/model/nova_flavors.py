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

"""Nova 34's interpretation of a flavor, in a few lines after its source.

Nova drops keys that it cannot read; these lines return them as well. A test
compares the result with the installed Nova, if there is one.
"""

from __future__ import annotations

import dataclasses
import math
import re

import os_resource_classes

from ironic_reservations.model import flavors

_KEY = re.compile(r'^(resources|trait)([a-zA-Z0-9_-]{1,64})?:(.*)$')
_NAME = re.compile('[A-Z0-9_]+')
Groups = dict[str, tuple[dict[str, int], frozenset[str], frozenset[str]]]


@dataclasses.dataclass
class Reading:
    """Nova's interpretation of a flavor.

    :ivar groups: resources, required traits and forbidden traits, by suffix.
    :ivar dropped: the keys that were dropped.
    """

    groups: Groups
    policy: str | None
    dropped: list[str]


def read(flavor: flavors.Flavor) -> Reading:
    """Read a flavor without hw: keys, leniently."""
    groups: dict[str, tuple[dict[str, int], set[str], set[str]]] = {}
    policy, dropped = None, []

    def group(suffix: str) -> tuple[dict[str, int], set[str], set[str]]:
        return groups.setdefault(suffix, ({}, set(), set()))

    for key, value in flavor.extra_specs.items():
        match = _KEY.match(key)
        if key == 'group_policy':
            if value in ('none', 'isolate'):
                policy = value
            else:
                dropped.append(key)
        elif match is not None:
            kind, suffix, name = match.groups()
            resources, required, forbidden = group(suffix or '')
            if kind == 'trait':
                if value in ('required', 'forbidden'):
                    (required if value == 'required' else forbidden).add(name)
                else:
                    dropped.append(key)
                continue
            try:
                amount = int(value)
            except ValueError:
                amount = -1
            if amount < 0 or not (name.startswith('CUSTOM_') or name
                                  in os_resource_classes.STANDARDS):
                dropped.append(key)
            else:
                resources[name] = amount
                if not amount and not _NAME.fullmatch(name):
                    # Impossible amounts never reach Placement.
                    dropped.append(key)
    named = {name for resources, _, _ in groups.values()
             for name in resources}
    sizes = group('')[0]
    if not named & {'VCPU', 'PCPU'}:
        sizes['VCPU'] = flavor.vcpus
    if 'MEMORY_MB' not in named:
        sizes['MEMORY_MB'] = flavor.ram_mb
    if 'DISK_GB' not in named:
        sizes['DISK_GB'] = (
            flavor.ephemeral_gb + math.ceil(flavor.swap_mb / 1024)
            + (0 if flavor.boots_from_volume else flavor.disk_gb))
    return Reading({
        suffix: ({name: amount for name, amount in resources.items()
                  if amount}, frozenset(required), frozenset(forbidden))
        for suffix, (resources, required, forbidden) in groups.items()
        if any(resources.values()) or required or forbidden},
        policy, dropped)


def taken_by_placement(reading: Reading) -> bool:
    """Return whether Placement could accept Nova's request."""
    with_suffix = [suffix for suffix in reading.groups if suffix]
    return (any(resources for resources, _, _ in reading.groups.values())
            and all(resources and not required & forbidden for
                    resources, required, forbidden
                    in reading.groups.values())
            and (len(with_suffix) < 2 or reading.policy is not None)
            and all(_NAME.fullmatch(name)
                    for resources, required, forbidden
                    in reading.groups.values()
                    for name in (*resources, *required, *forbidden)))

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

"""A fleet on which requests are refused: a crowded class, and instances.

Most nodes are gold, and booked half of the time, by leases of which every
other one would have any node. One node in twenty is silver, and has next to no
gaps: its leases ask for a size or a trait, so that the nodes that suit them
overlap. One host in fifty is a compute host.
"""

from __future__ import annotations

from collections.abc import Iterator
import datetime
import json
import random

from benchmarks import booked

GOLD = json.dumps(['==', '$resource_class', 'gold'])
SILVER = json.dumps(['==', '$resource_class', 'silver'])
#: The hours of a slot of the crowded class, of which the leases have one or
#: more, and how many slots of a node are free.
_SLOT = 12
_LENGTHS = (1, 14)
_FREE = 0.02
_SIZES = (64, 128, 256, 512)
_TRAITS = tuple(f'CUSTOM_{letter}' for letter in 'ABCD')


def larger(size: int) -> str:
    """Return the properties of silver nodes of a size, or a larger one."""
    return json.dumps(['and', ['==', '$resource_class', 'silver'],
                       ['>=', '$memory_mb', str(size)]])


def with_trait(trait: str) -> str:
    """Return the properties of silver nodes with a trait."""
    return json.dumps(['and', ['==', '$resource_class', 'silver'],
                       ['in', '$traits', [trait]]])


def fill(url: str, hosts: int, bookings: int,
         begin: datetime.datetime) -> int:
    """Write hosts with leases of one node each.

    :param bookings: how many, about.
    :param begin: before this nothing starts.
    :returns: the number of silver nodes.
    """
    rows = booked.Rows(begin)
    chance = random.Random(hosts)
    silver, compute = hosts // 20, hosts // 50
    written = 0
    for _ in range(silver):
        size = chance.choice(_SIZES)
        traits = [each for each in _TRAITS if chance.random() < 0.4]
        node = rows.node('silver', {'memory_mb': str(size)}, traits)
        wanted = [SILVER, larger(size), *map(with_trait, traits)]
        for start, end in _windows(chance):
            rows.lease_between([node], start, end, chance.choice(wanted))
            written += 1
    gold = hosts - silver - compute
    for _ in range(gold):
        rows.leases([rows.node('gold')], (bookings - written) // gold,
                    ('', GOLD))
    for _ in range(compute):
        rows.compute_host(
            {'VCPU': 256, 'MEMORY_MB': 512 * 1024, 'DISK_GB': 4000})
    rows.write(url)
    return silver


def _windows(chance: random.Random) -> Iterator[tuple[int, int]]:
    """Yield the hours of windows with few gaps, one after another."""
    slots = booked.HOURS // _SLOT
    free = round(slots * _FREE)
    at = 0
    while at < slots:
        if free and chance.random() < free / (slots - at) * _LENGTHS[1] / 2:
            at += 1
            free -= 1
            continue
        end = min(slots, at + chance.randint(*_LENGTHS))
        yield at * _SLOT, end * _SLOT
        at = end

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

"""Processes that reserve with Placement switched on, and are killed."""

from __future__ import annotations

import pathlib
import random
from typing import Any

from oslo_config import cfg

from ironic_reservations import engine as engine_module
from ironic_reservations import errors
from ironic_reservations.clouds import placement
from ironic_reservations.engine.placement import sync as placement_sync
from ironic_reservations.engine.reservations import release
from ironic_reservations.engine.reservations import reserve
from ironic_reservations.planner import pick
from tests import world
from tests.inprocess.placement import in_memory

#: What may happen to a client when others are about.
_ORDINARY = (errors.NoNodeAvailable, errors.ReservationNotFound,
             errors.PlacementUnavailable, errors.Contention)


def configured(url: str, endpoint: str, timeout: int = 5
               ) -> cfg.ConfigOpts:
    """Return the configuration of a process; what is cut off ends soon."""
    options: dict[str, Any] = {
        'ironic__confirm': 'mirror', 'reservations__min_ttl': 1,
        'placement__enabled': True, 'placement__timeout': timeout,
        'placement__grace': 1, 'placement__endpoint_override': endpoint}
    return world.configured(url, **options)


def work(url: str, endpoint: str, nodes: list[str], journal: str, seed: int,
         steps: int) -> None:
    """Be a process of ours; the journal has a letter for each step."""
    engine = engine_module.build(configured(url, endpoint))
    chance = random.Random(seed)
    held: list[str] = []
    with open(journal, 'a', buffering=1, encoding='ascii') as said:
        for _ in range(steps):
            step = chance.choice('RRRDDS')
            try:
                if step == 'R':
                    held.append(reserve.reserve(engine, pick.NodeRequest(
                        world.new_uuid(),
                        tuple(chance.sample(nodes, chance.randint(1, 4))),
                        ttl=chance.choice((1, 600))), world.ALL_NODES).uuid)
                elif step == 'D' and held:
                    release.release(engine, held.pop(
                        chance.randrange(len(held))))
                elif step == 'S':
                    placement_sync.recover(engine)
            except _ORDINARY as exc:
                step = f'({type(exc).__name__})'
            except BaseException as exc:
                said.write(f'!{exc!r}\n')
                raise
            said.write(step + '\n')
        said.write('.\n')
    engine.database.close()


def rival(endpoint: str, nodes: list[str], journal: str, seed: int,
          steps: int) -> None:
    """Be Nova: claim nodes that look free, and leave them again."""
    client = placement.Placement.over_http(
        configured('sqlite://', endpoint))
    there, chance = in_memory.Nodes(client), random.Random(seed)
    claimed: list[str] = []
    with open(journal, 'a', buffering=1, encoding='ascii') as said:
        for _ in range(steps):
            consumer = world.new_uuid()
            claimed.append(consumer)
            done = there.try_claim(chance.choice(nodes), consumer).done
            said.write('n\n' if done else '-\n')
            if chance.random() < 0.7:
                client.delete_allocations(claimed.pop(0))
        for consumer in claimed:
            client.delete_allocations(consumer)
        said.write('.\n')


def told(folder: str) -> list[str]:
    """Read all that the journals in a folder say."""
    return [line for journal in sorted(pathlib.Path(folder).iterdir())
            for line in journal.read_text().splitlines()]

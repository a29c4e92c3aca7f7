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

"""Processes that heal old instances, and are killed."""

from __future__ import annotations

import dataclasses
import pathlib
import random
import time

from ironic_reservations import engine as engine_module
from ironic_reservations import errors
from ironic_reservations.clouds import placement
from ironic_reservations.engine.placement import class_heal
from ironic_reservations.model import mirrored_node
from tests import world
from tests.inprocess.placement import in_memory
from tests.inprocess.placement import traffic

#: While another process is at it, or has just been killed.
_PAUSE = 0.2


def heal(endpoint: str, used: dict[str, str], journal: str,
         url: str) -> None:
    """Heal until there is nothing left to be done.

    :param used: the instances of nodes.
    """
    ironic = world.StandInIronic()
    engine = dataclasses.replace(
        engine_module.build(traffic.configured(url, endpoint)),
        ironic=ironic)
    for node, instance in used.items():
        ironic.put(mirrored_node.Node(
            node, resource_class='gold', provision_state='active',
            instance_uuid=instance))
    left = True
    with open(journal, 'a', buffering=1, encoding='ascii') as said:
        while left:
            try:
                results = []
                for each in class_heal.heal(
                        engine, class_heal.nodes(engine), True):
                    said.write(f'{each.outcome}: {each.reason}\n')
                    results.append(each)
                left = any(each.outcome is class_heal.Outcome.LEFT
                           for each in results)
            except class_heal.UnderWay:
                time.sleep(_PAUSE)
            except (errors.PlacementUnavailable, errors.Contention) as exc:
                said.write(f'({exc})\n')
            except BaseException as exc:
                said.write(f'!{exc!r}\n')
                raise
    engine.database.close()


def rival(endpoint: str, used: dict[str, str], journal: str,
          stop: str) -> None:
    """Be Nova: try to get a node by its class, or by a size.

    :param stop: a file; once it is there, that is enough.
    """
    client = placement.Placement.over_http(
        traffic.configured('sqlite://', endpoint))
    there, chance = in_memory.Nodes(client), random.Random(journal)
    with open(journal, 'a', buffering=1, encoding='ascii') as said:
        while not pathlib.Path(stop).exists():
            node, name = chance.choice([*used]), chance.choice(
                (in_memory.GOLD, 'VCPU'))
            consumer = world.new_uuid()
            done = there.try_claim(node, consumer, name).done
            said.write(f'got {node} {name}\n' if done else '-\n')

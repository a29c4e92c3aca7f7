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

"""A client whose requests are each delivered by several processes."""

from __future__ import annotations

import json
import random
from typing import Any

from ironic_reservations import engine as engine_module
from ironic_reservations import errors
from ironic_reservations.engine import request_keys
from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.engine.leases import end as lease_end
from ironic_reservations.engine.maintenance import create
from ironic_reservations.engine.maintenance import find
from ironic_reservations.engine.reservations import release
from ironic_reservations.engine.reservations import reserve
from ironic_reservations.model import visibility
from ironic_reservations.planner import pick
from tests import leasing
from tests import world

_SEES = visibility.Visibility(everything=True)
#: Answers that a client may get when others are about.
_ORDINARY = (errors.NoNodeAvailable, errors.MaintenanceRefused,
             errors.LeaseRefused, errors.Contention)
_ENDED = (errors.ReservationEnded, errors.MaintenanceEnded,
          errors.IdempotencyKeyReused)
_GONE = (errors.ReservationNotFound, errors.MaintenanceNotFound,
         errors.LeaseNotFound)


def reserve_for(engine: engine_module.Engine, key: str,
                nodes: list[str]) -> str:
    """Deliver a request for a reservation, and return its uuid."""
    # NOTE: the key is the instance, too.
    asked = pick.NodeRequest(key, tuple(nodes), ttl=600)
    return reserve.reserve(engine, asked, _SEES, key=request_keys.of_request(
        'reservation', None, key, asked)).uuid


def book_for(engine: engine_module.Engine, key: str,
             nodes: list[str]) -> str:
    """Deliver a request for a maintenance window, and return its uuid."""
    # NOTE: one of the nodes, which is the same one in each copy.
    node = nodes[sum(key.encode()) % len(nodes)]
    asked = create.WindowRequest('firmware', 'New firmware', leasing.at(2),
                       leasing.at(1), (node,))
    return create.create(engine, asked, key=request_keys.of_request(
        'maintenance', None, key, asked)).window.id


def lease_for(engine: engine_module.Engine, key: str,
              nodes: list[str]) -> str:
    """Deliver a request for a lease of one host, and return its id."""
    return lease_create.create(engine, leasing.ask(1, 2, key=key)).id


def _release(engine: engine_module.Engine, uuid: str) -> None:
    release.release(engine, uuid)


def work(url: str, nodes: list[str], keys: list[str], journal: str,
         seed: int, times: int, kind: str) -> None:
    """Be one process: deliver each request several times, and end some.

    :param journal: the path of a file that each uuid is written to.
    :param kind: ``reservation``, ``maintenance`` or ``lease``.
    """
    engine = engine_module.build(world.configured(
        url, ironic__confirm='mirror'), clock=world.Clock())
    ask, end = {'reservation': (reserve_for, _release),
                'maintenance': (book_for, find.end),
                'lease': (lease_for, lease_end.end)}[kind]
    chance = random.Random(seed)
    with open(journal, 'a', buffering=1, encoding='ascii') as file:
        def note(event: str, key: str, **known: Any) -> None:
            file.write(json.dumps({'event': event, 'key': key, **known})
                       + '\n')
        for key in chance.sample(keys * times, len(keys) * times):
            try:
                uuid = ask(engine, key, nodes)
            except _ORDINARY:
                note('refused', key)
                continue
            except _ENDED:
                note('ended', key)
                continue
            note('made', key, uuid=uuid)
            if chance.random() < 0.7:
                try:
                    end(engine, uuid)
                except _GONE:
                    continue
    engine.database.close()

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


"""Holding a node in Placement: reservations beside candidates, then a PUT.

Both take one of the same nodes from the same Placement, for clients that ask
at once.  The other way is that of a client without a truth of its own, such
as Nova's scheduler: it reads the candidates, claims one of them, and where
Placement says 409 the same one again, or the next.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent import futures
import multiprocessing
import random
import time
import uuid

import requests

from benchmarks import ground
from benchmarks import placed
from benchmarks import table
from tools import placement

CLIENTS = 8
_CLASS = f'CUSTOM_{ground.RESOURCE_CLASS.upper()}'
_MOST_TRIES = 20
_PAUSES = (0.005, 0.05)

Claim = Callable[[requests.Session, str], bool]


def reserve_by_class(session: requests.Session, url: str) -> bool:
    """Reserve any node of the class, which holds it."""
    return session.post(f'{url}/v1/reservations', json={
        'instance_uuid': str(uuid.uuid4()),
        'resource_class': ground.RESOURCE_CLASS}, headers={
            'OpenStack-API-Version': 'baremetal-reservation 1.4'
        }).status_code == 201


def claim_a_candidate(session: requests.Session, url: str) -> bool:
    """Read the candidates, and claim one of them."""
    consumer = str(uuid.uuid4())
    ways = session.get(f'{url}/allocation_candidates', params={
        'resources': f'{_CLASS}:1'}).json()['allocation_requests']
    random.shuffle(ways)
    for _ in range(_MOST_TRIES):
        if not ways:
            return False
        answer = session.put(f'{url}/allocations/{consumer}', json={
            'allocations': ways[-1]['allocations'], 'project_id': consumer,
            'user_id': consumer, 'consumer_generation': None,
            'consumer_type': 'INSTANCE'})
        if answer.status_code == 204:
            return True
        if answer.status_code != 409:
            return False
        if answer.json()['errors'][0]['code'] == (
                'placement.concurrent_update'):
            time.sleep(random.uniform(*_PAUSES))
        else:
            ways.pop()
    return False


def _work(url: str, count: int, seed: int, claim: Claim
          ) -> tuple[list[float], int]:
    random.seed(seed)
    served, stuck = [], 0
    with placement.session() as session:
        for _ in range(count):
            began = time.perf_counter()
            if claim(session, url):
                served.append(time.perf_counter() - began)
            else:
                stuck += 1
    return served, stuck


def _measure(what: str, url: str, claims: int, claim: Claim) -> table.Row:
    with futures.ProcessPoolExecutor(
            CLIENTS, multiprocessing.get_context('fork')) as pool:
        # NOTE: so that starting the processes is not measured.
        list(pool.map(time.sleep, [0.05] * CLIENTS))
        began = time.perf_counter()
        done = [pool.submit(_work, url, claims // CLIENTS, seed, claim)
                for seed in range(CLIENTS)]
        results = [future.result() for future in done]
        wall = time.perf_counter() - began
    return table.Row(what, [second for served, _ in results
                            for second in served], wall,
                     sum(stuck for _, stuck in results))


def _taken(url: str, nodes: list[str]) -> tuple[int, int]:
    """Return how many nodes somebody has, and how many more than one has."""
    with placement.session() as session:
        found = [len(placement.holders(session, url, node))
                 for node in nodes]
    return (sum(number > 0 for number in found),
            sum(number > 1 for number in found))


def measure(server: str, nodes: int, claims: int) -> tuple[table.Row, ...]:
    """Measure reservations with holds, and the other way.

    :param claims: how many by each, all clients together.
    """
    with placed.serving(server, nodes) as (there, uuids):
        with ground.serving(server, options={'placement': {
                'enabled': True, 'endpoint_override': there,
                'audit_interval': 0}}) as (url, ours):
            placed.fill(ours, uuids)
            held = _measure(f'reservation with its hold, {CLIENTS} clients',
                            url, claims, reserve_by_class)
        _, twice = _taken(there, uuids)
        if twice:
            raise RuntimeError(f'{twice} nodes were given to two.')
    # NOTE: a Placement of its own, where as many nodes are free.
    with placed.serving(server, nodes) as (there, uuids):
        chosen = _measure(f'candidates, then PUT, {CLIENTS} clients', there,
                          claims, claim_a_candidate)
        _, twice = _taken(there, uuids)
    if twice:
        print(f'Candidates, then PUT: {twice} nodes were given to two.')
    return held, chosen


def run(server: str, nodes: int, claims: int) -> None:
    """Measure, and print the table."""
    held, chosen = measure(server, nodes, claims)
    table.show(f'{claims} claims on {nodes} nodes in Placement',
               (held, chosen))
    print(f'Holds: {held.rate / chosen.rate:.2f} times the claims a second.')

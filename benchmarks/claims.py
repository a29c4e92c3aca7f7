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

"""Claiming a node: ``POST /v1/reservations`` beside ``/v1/allocations``.

Both ask the same Ironic for one of the same nodes, in turn.  An allocation
is served when it is ``active``; one that is not within a minute is stuck.
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
from benchmarks import table

_VERSIONS = {'X-OpenStack-Ironic-API-Version': '1.81',
             'OpenStack-API-Version':
             'baremetal 1.81, baremetal-reservation 1.4'}
_PATIENCE = 60.0


def _session() -> requests.Session:
    session = requests.Session()
    session.trust_env = False
    session.headers.update(_VERSIONS)
    return session


def reserve_by_class(session: requests.Session, url: str) -> bool:
    """Reserve any node of the class."""
    return session.post(f'{url}/v1/reservations', json={
        'instance_uuid': str(uuid.uuid4()),
        'resource_class': ground.RESOURCE_CLASS}).status_code == 201


def reserve_of_five(session: requests.Session, url: str) -> bool:
    """Reserve one of five nodes that a scheduler chose."""
    return session.post(f'{url}/v1/reservations', json={
        'instance_uuid': str(uuid.uuid4()),
        'node_uuid': random.sample(_NODES, 5)}).status_code == 201


def allocate_by_class(session: requests.Session, url: str) -> bool:
    """Have Ironic allocate any node of the class."""
    return _allocated(session, url, {'resource_class': ground.RESOURCE_CLASS})


def allocate_of_five(session: requests.Session, url: str) -> bool:
    """Have Ironic allocate one of five nodes."""
    return _allocated(session, url, {
        'resource_class': ground.RESOURCE_CLASS,
        'candidate_nodes': random.sample(_NODES, 5)})


def _allocated(session: requests.Session, url: str,
               wanted: dict[str, object]) -> bool:
    answer = session.post(f'{url}/v1/allocations', json=wanted)
    if answer.status_code != 201:
        return False
    path = f'{url}/v1/allocations/{answer.json()["uuid"]}'
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        state = session.get(path).json().get('state')
        if state != 'allocating':
            return bool(state == 'active')
        time.sleep(0.02)
    return False


_NODES: list[str] = []


def _work(url: str, nodes: list[str], count: int, seed: int,
          claim: Callable[[requests.Session, str], bool]
          ) -> tuple[list[float], int]:
    _NODES[:] = nodes
    random.seed(seed)
    served, stuck = [], 0
    with _session() as session:
        for _number in range(count):
            began = time.perf_counter()
            if claim(session, url):
                served.append(time.perf_counter() - began)
            else:
                stuck += 1
    return served, stuck


def _measure(what: str, url: str, nodes: list[str], claims: int,
             clients: int,
             claim: Callable[[requests.Session, str], bool]) -> table.Row:
    shares = [claims // clients + (number < claims % clients)
              for number in range(clients)]
    with futures.ProcessPoolExecutor(
            clients, multiprocessing.get_context('fork')) as pool:
        # NOTE: so that starting the processes is not measured.
        list(pool.map(time.sleep, [0.05] * clients))
        began = time.perf_counter()
        done = [pool.submit(_work, url, nodes, share, number, claim)
                for number, share in enumerate(shares)]
        results = [future.result() for future in done]
        wall = time.perf_counter() - began
    return table.Row(what, [second for served, _ in results
                            for second in served], wall,
                     sum(stuck for _, stuck in results))


def _free_all(url: str, middleware: bool) -> None:
    kind = 'reservations' if middleware else 'allocations'
    with _session() as session:
        while found := session.get(f'{url}/v1/{kind}').json()[kind]:
            for item in found:
                session.delete(f'{url}/v1/{kind}/{item["uuid"]}')


def run(server: str, nodes: int, claims: int) -> None:
    """Measure, and print the table.

    :param server: URL of the database server.
    :param nodes: how many nodes Ironic has.
    :param claims: how many are claimed in each measurement.
    """
    with ground.ironic(server, nodes) as there:
        with there.service.session() as session:
            uuids = ground.node_uuids(session, there.url)
        rows = []
        for name, middleware, confirm, claim in (
                ('allocation, by class', False, 'always', allocate_by_class),
                ('allocation, one of five', False, 'always',
                 allocate_of_five),
                ('reservation, by class', True, 'always', reserve_by_class),
                ('reservation, one of five', True, 'always',
                 reserve_of_five),
                ('unconfirmed, by class', True, 'mirror', reserve_by_class),
                ('unconfirmed, one of five', True, 'mirror',
                 reserve_of_five)):
            there.restart(middleware, confirm)
            for clients in (1, 8):
                rows.append(_measure(f'{name}, {clients} client(s)',
                                     there.url, uuids, claims, clients,
                                     claim))
                _free_all(there.url, middleware)
        table.show(f'{claims} claims on {nodes} nodes', rows)

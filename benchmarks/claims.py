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
from collections.abc import Iterator
from concurrent import futures
import dataclasses
import http.client
import json
import multiprocessing
import random
import time
from typing import Any
import uuid

from benchmarks import ground
from benchmarks import table

_VERSIONS = {'X-OpenStack-Ironic-API-Version': '1.81',
             'OpenStack-API-Version':
             'baremetal 1.81, baremetal-reservation 1.4',
             'Content-Type': 'application/json'}
_PATIENCE = 60.0
#: The most clients at once, and how many nodes they claim before the first
#: measurement: a process that has just started connects and compiles.
_CLIENTS = 8
_WARM_UP = 2 * _CLIENTS


class Client:
    """Sends requests on one connection.

    NOTE: not with requests, which took a fifth of the processor time of a
    reservation, and a thirtieth of that of an allocation, on the machine that
    serves them: it measured itself, and not the same for both.

    :param url: the root of Ironic's API.
    """

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(
            url.removeprefix('http://'), timeout=_PATIENCE)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *failure: object) -> None:
        self._connection.close()

    def send(self, method: str, path: str,
             document: object = None) -> tuple[int, Any]:
        """Send a request.

        :param document: what to send as JSON; ``None``: no body.
        :returns: the status, and the decoded answer if there is one.
        """
        body = None if document is None else json.dumps(document).encode()
        self._connection.request(method, path, body, _VERSIONS)
        answer = self._connection.getresponse()
        raw = answer.read()
        return answer.status, json.loads(raw) if raw else None


#: Claims one node; returns whether it was served.
Claim = Callable[[Client], bool]


def reserve_by_class(client: Client) -> bool:
    """Reserve any node of the class."""
    return _reserved(client, {'resource_class': ground.RESOURCE_CLASS})


def reserve_of_five(client: Client) -> bool:
    """Reserve one of five nodes that a scheduler chose."""
    return _reserved(client, {'node_uuid': random.sample(_NODES, 5)})


def allocate_by_class(client: Client) -> bool:
    """Have Ironic allocate any node of the class."""
    return _allocated(client, {'resource_class': ground.RESOURCE_CLASS})


def allocate_of_five(client: Client) -> bool:
    """Have Ironic allocate one of five nodes."""
    return _allocated(client, {
        'resource_class': ground.RESOURCE_CLASS,
        'candidate_nodes': random.sample(_NODES, 5)})


def _reserved(client: Client, wanted: dict[str, object]) -> bool:
    status, _ = client.send('POST', '/v1/reservations', {
        'instance_uuid': str(uuid.uuid4()), **wanted})
    return status == 201


def _allocated(client: Client, wanted: dict[str, object]) -> bool:
    status, made = client.send('POST', '/v1/allocations', wanted)
    if status != 201:
        return False
    path = f'/v1/allocations/{made["uuid"]}'
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        state = client.send('GET', path)[1].get('state')
        if state != 'allocating':
            return bool(state == 'active')
        time.sleep(0.02)
    return False


_NODES: list[str] = []


def _work(url: str, nodes: list[str], count: int, seed: int,
          claim: Claim) -> tuple[list[float], int]:
    _NODES[:] = nodes
    random.seed(seed)
    served, stuck = [], 0
    with Client(url) as client:
        for _number in range(count):
            began = time.perf_counter()
            if claim(client):
                served.append(time.perf_counter() - began)
            else:
                stuck += 1
    return served, stuck


def _measure(what: str, url: str, nodes: list[str], claims: int,
             clients: int, claim: Claim) -> table.Row:
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


def free_all(url: str, middleware: bool) -> None:
    """Delete all reservations, or allocations without the middleware."""
    kind = 'reservations' if middleware else 'allocations'
    with Client(url) as client:
        while found := client.send('GET', f'/v1/{kind}')[1][kind]:
            for item in found:
                client.send('DELETE', f'/v1/{kind}/{item["uuid"]}')


@dataclasses.dataclass(frozen=True)
class Case:
    """A way to claim a node.

    :ivar middleware: whether ours is in Ironic's API.
    :ivar confirm: [ironic] confirm.
    """

    name: str
    middleware: bool
    confirm: str
    claim: Claim


CASES = (
    Case('allocation, by class', False, 'always', allocate_by_class),
    Case('allocation, one of five', False, 'always', allocate_of_five),
    Case('reservation, by class', True, 'always', reserve_by_class),
    Case('reservation, one of five', True, 'always', reserve_of_five),
    Case('unconfirmed, by class', True, 'mirror', reserve_by_class),
    Case('unconfirmed, one of five', True, 'mirror', reserve_of_five))


def measure(server: str, nodes: int, claims: int
            ) -> Iterator[tuple[Case, int, table.Row]]:
    """Measure each way, for one client and for several at once.

    :param server: URL of the database server.
    :param nodes: how many nodes Ironic has.
    :param claims: how many are claimed in each measurement.
    :returns: the case, the number of clients, and the measurement.
    """
    with ground.ironic(server, nodes) as there:
        with there.service.session() as session:
            uuids = ground.node_uuids(session, there.url)
        for case in CASES:
            there.restart(case.middleware, case.confirm)
            _measure(case.name, there.url, uuids, min(_WARM_UP, nodes),
                     _CLIENTS, case.claim)
            free_all(there.url, case.middleware)
            for clients in (1, _CLIENTS):
                yield case, clients, _measure(
                    f'{case.name}, {clients} client(s)', there.url, uuids,
                    claims, clients, case.claim)
                free_all(there.url, case.middleware)


def run(server: str, nodes: int, claims: int) -> None:
    """Measure, and print the table."""
    table.show(f'{claims} claims on {nodes} nodes', [
        row for _, _, row in measure(server, nodes, claims)])

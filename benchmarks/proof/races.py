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

"""Two clients that ask for one host at the same moment."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent import futures
import pathlib
import threading
import uuid

from benchmarks import beside_blazar
from benchmarks import claims
from benchmarks import ground
from benchmarks.proof import rows

_CLIENTS = 2
NODE, LEASE = 'a node now', 'a lease of a host'


def measure(server: str, count: int,
            blazar: pathlib.Path | None) -> Iterator[rows.Row]:
    """Yield the races of each service.

    :param count: of the races of each.
    :param blazar: the Python of an environment that has Blazar.
    """
    with ground.ironic(server, 1) as there:
        for who, middleware, claim in (
                (rows.IRONIC, False, claims.allocate_by_class),
                (rows.OURS, True, claims.reserve_by_class)):
            there.restart(middleware)
            owners = []
            for _ in range(count):
                owners.append(_race(there.url, claim))
                claims.free_all(there.url, middleware)
            yield rows.Races(who, NODE, _CLIENTS, tuple(owners))
    yield rows.Races(rows.OURS, LEASE, _CLIENTS,
                     tuple(beside_blazar.races(server, count)))
    if blazar is not None:
        found = beside_blazar.theirs(blazar, server, beside_blazar.Sizes(
            1, 0, times=0, races=count, lists=0))
        yield rows.Races(rows.BLAZAR, LEASE, _CLIENTS, tuple(found.owners))


def _race(url: str, claim: claims.Claim) -> int:
    """Return how many of the clients got the only node."""
    together = threading.Barrier(_CLIENTS)

    def ask() -> bool:
        with claims.Client(url) as client:
            # NOTE: connected before the start.
            client.send('GET', f'/v1/nodes/{uuid.uuid4()}')
            together.wait()
            return claim(client)

    with futures.ThreadPoolExecutor(_CLIENTS) as pool:
        asked = [pool.submit(ask) for _ in range(_CLIENTS)]
    return sum(each.result() for each in asked)

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

"""This release and another one, started side by side and asked in turns.

Whatever else the machine does costs both the same, so their ratio is worth
more than the times.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import datetime
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time
import uuid

import requests

from benchmarks import ground
from benchmarks import leases

_HERE = pathlib.Path(__file__).parents[1]
_LEASED = ((1000, 5000), (10000, 100000))
_PERCENTILE = 0.95
# NOTE: run in a checkout of its own, with what the release itself has.
_IRONIC = """
import json, sys
from benchmarks import ground
server, nodes = sys.argv[1:]
with ground.ironic(server, int(nodes)) as there:
    there.restart(True)
    with there.service.session() as session:
        uuids = ground.node_uuids(session, there.url)
    print(json.dumps([there.url, uuids]), flush=True)
    sys.stdin.read()
"""
_LEASES = """
import datetime, json, sys
from benchmarks import booked, ground
server, nodes, bookings, begin = sys.argv[1:]
with ground.serving(server) as (url, database):
    booked.fill(database, int(nodes), int(bookings), 1,
                datetime.datetime.fromisoformat(begin))
    print(json.dumps([url, []]), flush=True)
    sys.stdin.read()
"""



class Claimer:
    """Reserves nodes of an Ironic."""

    def __init__(self, url: str, nodes: list[str]) -> None:
        self._url = f'{url}/v1/reservations'
        self._nodes = nodes
        self._made: list[str] = []
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.headers['OpenStack-API-Version'] = (
            'baremetal-reservation 1.4')

    def by_class(self) -> None:
        """Reserve any node of the class."""
        self._reserve(resource_class=ground.RESOURCE_CLASS)

    def one_of_five(self) -> None:
        """Reserve one of five nodes."""
        self._reserve(node_uuid=random.sample(self._nodes, 5))

    def free(self) -> None:
        """Delete all that were made."""
        while self._made:
            self._session.delete(
                f'{self._url}/{self._made.pop()}').raise_for_status()

    def _reserve(self, **wanted: object) -> None:
        answer = self._session.post(self._url, json={
            'instance_uuid': str(uuid.uuid4()), **wanted})
        if not answer.ok:
            raise RuntimeError(f'{answer.status_code}: {answer.text[:300]}')
        self._made.append(answer.json()['reservation']['uuid'])


@contextlib.contextmanager
def _started(tree: pathlib.Path, code: str, *arguments: str
             ) -> Iterator[tuple[str, list[str]]]:
    """Start what a checkout serves; returns its URL, and its nodes."""
    process = subprocess.Popen(
        [sys.executable, '-W', 'ignore', '-c', code, *arguments], cwd=tree,
        env={**os.environ, 'PYTHONPATH': str(tree)}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    try:
        for line in process.stdout:
            if line.startswith('['):
                url, nodes = json.loads(line)
                yield url, nodes
                return
        raise RuntimeError(f'{tree} did not start: its last words are above.')
    finally:
        process.stdin.close()
        process.wait()


def _in_turns(what: str, theirs: Callable[[], None],
              ours: Callable[[], None], times: int) -> None:
    """Measure an act of both so many times, and print a row."""
    seconds: tuple[list[float], list[float]] = [], []
    # NOTE: what is asked first reads the timeline; it is not measured.
    theirs()
    ours()
    for number in range(times):
        # NOTE: nobody is always the one after the other.
        for which in ((0, 1), (1, 0))[number % 2]:
            began = time.perf_counter()
            (theirs, ours)[which]()
            seconds[which].append(time.perf_counter() - began)
    shown = []
    for each in seconds:
        each.sort()
        shown += [statistics.median(each) * 1000,
                  each[int(len(each) * _PERCENTILE)] * 1000]
    print(f'{what:44} {shown[0]:>9.1f} {shown[1]:>7.1f} {shown[2]:>9.1f} '
          f'{shown[3]:>7.1f} {shown[2] / shown[0]:>6.2f}', flush=True)


def run(server: str, tree: pathlib.Path, nodes: int, times: int) -> None:
    """Measure, and print the table.

    :param server: URL of the database server.
    :param tree: a checkout of the other release.
    :param nodes: how many nodes each Ironic has.
    :param times: how often each thing is asked for.
    """
    print(f'\n{"":44} {"theirs":>9} {"p95":>7} {"ours":>9} {"p95":>7} '
          f'{"ratio":>6}   (ms)')
    with (_started(tree, _IRONIC, server, str(nodes)) as there,
          _started(_HERE, _IRONIC, server, str(nodes)) as here):
        both = Claimer(*there), Claimer(*here)
        for name, acts in (
                ('by class', [each.by_class for each in both]),
                ('one of five', [each.one_of_five for each in both])):
            _in_turns(f'reservation, {name}', *acts, times)
            for each in both:
                each.free()
    begin = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=2)
             ).replace(minute=0, second=0, microsecond=0)
    for hosts, bookings in _LEASED:
        arguments = (server, str(hosts), str(bookings), begin.isoformat())
        with (_started(tree, _LEASES, *arguments) as (their_url, _),
              _started(_HERE, _LEASES, *arguments) as (our_url, _)):
            theirs, ours = (leases.Client(url, begin)
                            for url in (their_url, our_url))
            size = f'{bookings} leases on {hosts} nodes'
            _in_turns(f'POST, {size}', theirs.create, ours.create, times)
            _in_turns(f'PUT, {size}', theirs.extend, ours.extend, times)
            _in_turns(f'page of 1000, {size}', theirs.page, ours.page,
                      times // 5)
            _in_turns(f'DELETE, {size}', theirs.delete, ours.delete,
                      times // 2)

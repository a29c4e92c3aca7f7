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

"""A lease of ours beside a lease of Blazar, in one run, on one server.

Ours are asked for over HTTP; Blazar's manager is called in its process, with
keystone, Nova and Placement that answer at once.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from concurrent import futures
import contextlib
import dataclasses
import datetime
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import venv

from benchmarks import blazar_manager
from benchmarks import booked
from benchmarks import ground
from benchmarks import leases
from benchmarks import table

_RELEASE = 'blazar>=18,<19'
_SIZES = ((100, 0), (100, 1000), (1000, 5000))
_TIMES = 7
_RACES = 5


@dataclasses.dataclass(frozen=True)
class Sizes:
    """What is there, and how often each thing is asked for."""

    hosts: int
    leases: int
    times: int = _TIMES
    races: int = _RACES
    refusals: int = 0
    lists: int = 1


@dataclasses.dataclass(frozen=True)
class Found:
    """What was measured, in seconds.

    :ivar seconds: of leases of one host.
    :ivar refused: of refusals of a week of all hosts.
    :ivar lists: of lists of all leases.
    :ivar owners: of each race, how many clients got the only host.
    """

    seconds: list[float]
    refused: list[float]
    lists: list[float]
    owners: list[int]
    megabytes: float
    version: str = ''


@contextlib.contextmanager
def python(given: pathlib.Path | None) -> Iterator[pathlib.Path]:
    """Return a Python that has Blazar; installs it where none is given."""
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory() as folder:
        print('Installing Blazar into a folder of its own...',
              file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True)
        made = pathlib.Path(folder) / 'bin' / 'python'
        subprocess.run([made, '-m', 'pip', 'install', '--quiet', _RELEASE,
                        'pymysql'], check=True)
        yield made


def theirs(interpreter: pathlib.Path, server: str, sizes: Sizes) -> Found:
    """Measure Blazar's manager.

    :param interpreter: of an environment that has Blazar.
    """
    with ground.database(server) as url:
        done = subprocess.run(
            # NOTE: -P: what stands beside the script has names of theirs.
            [interpreter, '-P', '-W', 'ignore', blazar_manager.__file__, url,
             '--hosts', str(sizes.hosts), '--leases', str(sizes.leases),
             '--times', str(sizes.times), '--races', str(sizes.races),
             '--refusals', str(sizes.refusals),
             '--lists', str(sizes.lists)],
            stdout=subprocess.PIPE, text=True, check=True)
    return Found(**json.loads(done.stdout.splitlines()[-1]))


def ours(server: str, sizes: Sizes) -> Found:
    """Measure this service, over HTTP."""
    begin = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=2)
             ).replace(minute=0, second=0, microsecond=0)
    with ground.started(server) as there:
        booked.fill(there.database, sizes.hosts, sizes.leases, 1, begin)
        client = leases.Client(there.url, begin)
        client.create()
        found = Found(
            _seconds(client.create, sizes.times),
            _seconds(lambda: client.refused(sizes.hosts), sizes.refusals),
            _seconds(client.all_pages, sizes.lists), [], there.megabytes)
    return dataclasses.replace(found, owners=races(server, sizes.races))


def _seconds(act: Callable[[], object], times: int) -> list[float]:
    found = []
    for _ in range(times):
        at = time.perf_counter()
        act()
        found.append(time.perf_counter() - at)
    return found


def races(server: str, count: int) -> list[int]:
    """Have two clients at once ask for the only host, so many times.

    :returns: how many got it, each time.
    """
    begin = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=2)
             ).replace(minute=0, second=0, microsecond=0)
    owners: list[int] = []
    if not count:
        return owners
    with ground.serving(server) as (url, database):
        booked.fill(database, 1, 0, 1, begin)
        # NOTE: the same seed draws the same windows.
        clients = [leases.Client(url, begin, 1) for _ in range(2)]
        with futures.ThreadPoolExecutor(len(clients)) as pool:
            for _ in range(count):
                together = threading.Barrier(len(clients))
                asked = [pool.submit(_race, client, together)
                         for client in clients]
                owners.append(sum(each.result() for each in asked))
                for client in clients:
                    client.delete_all()
    return owners


def _race(client: leases.Client, together: threading.Barrier) -> bool:
    together.wait()
    return client.has_created()


def run(server: str, given: pathlib.Path | None) -> None:
    """Measure, and print a table for each size.

    :param given: the Python of an environment that has Blazar.
    """
    with python(given) as interpreter:
        for hosts, count in _SIZES:
            sizes = Sizes(hosts, count)
            found = {'Blazar, in its process': theirs(interpreter, server,
                                                      sizes),
                     'ours, over HTTP': ours(server, sizes)}
            table.show(
                f'{count} leases on {hosts} hosts: a lease of one host',
                [table.Row(who, each.seconds, sum(each.seconds))
                 for who, each in found.items()])
            medians = [statistics.median(each.seconds)
                       for each in found.values()]
            print(f'{medians[0] / medians[1]:.0f} times as quick')
            for who, each in found.items():
                twice = sum(owners > 1 for owners in each.owners)
                print(f'{who}: all leases listed in '
                      f'{each.lists[0] * 1000:.0f} ms; two clients at once '
                      f'got the only host in {twice} of {_RACES} races')

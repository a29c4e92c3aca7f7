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

from collections.abc import Iterator
from concurrent import futures
import contextlib
import datetime
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any
import venv

import requests

from benchmarks import blazar_manager
from benchmarks import booked
from benchmarks import ground
from benchmarks import leases
from benchmarks import table

_RELEASE = 'blazar>=18,<19'
_SIZES = ((100, 0), (100, 1000), (1000, 5000))
_TIMES = 7
_RACES = 5


@contextlib.contextmanager
def _python(given: pathlib.Path | None) -> Iterator[pathlib.Path]:
    """Return a Python that has Blazar; installs it where none is given."""
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory() as folder:
        print('Installing Blazar into a folder of its own...',
              file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True)
        python = pathlib.Path(folder) / 'bin' / 'python'
        subprocess.run([python, '-m', 'pip', 'install', '--quiet', _RELEASE,
                        'pymysql'], check=True)
        yield python


def _theirs(python: pathlib.Path, server: str, hosts: int,
            count: int) -> Any:
    with ground.database(server) as url:
        done = subprocess.run(
            # NOTE: -P: what stands beside the script has names of theirs.
            [python, '-P', '-W', 'ignore', blazar_manager.__file__, url,
             '--hosts', str(hosts), '--leases', str(count),
             '--times', str(_TIMES), '--races', str(_RACES)],
            stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _ours(server: str, hosts: int, count: int) -> Any:
    begin = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=2)
             ).replace(minute=0, second=0, microsecond=0)
    with ground.serving(server) as (url, database):
        booked.fill(database, hosts, count, 1, begin)
        client = leases.Client(url, begin)
        client.create()
        seconds = []
        for _ in range(_TIMES):
            at = time.perf_counter()
            client.create()
            seconds.append(time.perf_counter() - at)
        at = time.perf_counter()
        requests.get(f'{url}/v1/leases', timeout=60).raise_for_status()
        listed = time.perf_counter() - at
    return {'seconds': seconds, 'list': listed,
            'owners': [_race(server, begin) for _ in range(_RACES)]}


def _race(server: str, begin: datetime.datetime) -> int:
    """Have two clients ask for the only host at once; gives who got it."""
    with ground.serving(server) as (url, database):
        booked.fill(database, 1, 0, 1, begin)
        # NOTE: the same seed draws the same window.
        clients = [leases.Client(url, begin, 1) for _ in range(2)]
        with futures.ThreadPoolExecutor(len(clients)) as pool:
            asked = [pool.submit(client.create) for client in clients]
        return sum(each.exception() is None for each in asked)


def run(server: str, python: pathlib.Path | None) -> None:
    """Measure, and print a table for each size.

    :param python: of an environment that has Blazar.
    """
    with _python(python) as theirs:
        for hosts, count in _SIZES:
            found = {'Blazar, in its process': _theirs(theirs, server, hosts,
                                                       count),
                     'ours, over HTTP': _ours(server, hosts, count)}
            table.show(
                f'{count} leases on {hosts} hosts: a lease of one host',
                [table.Row(who, each['seconds'], sum(each['seconds']))
                 for who, each in found.items()])
            medians = [statistics.median(each['seconds'])
                       for each in found.values()]
            print(f'{medians[0] / medians[1]:.0f} times as quick')
            for who, each in found.items():
                twice = sum(owners > 1 for owners in each['owners'])
                print(f'{who}: all leases listed in '
                      f'{each["list"] * 1000:.0f} ms; two clients at once '
                      f'got the only host in {twice} of {_RACES} races')

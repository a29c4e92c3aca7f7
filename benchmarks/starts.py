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

"""Leases that start in the same minute, and the API meanwhile.

The application is beside a real Ironic, to which each start writes the lessee
of its node. What a client of ours waits for is measured until all leases are
active; how far they get is read from the database.
"""

from __future__ import annotations

import dataclasses
import datetime
import sys
import time

import requests
import sqlalchemy as sa

from benchmarks import booked
from benchmarks import ground
from benchmarks import leases
from benchmarks import table
from ironic_reservations.db import tables

_PROJECT = 'f5f9d7a0c3a94f8fa6c1d0d0c7d4c3a1'
_AHEAD = datetime.timedelta(seconds=20)
_LONG = datetime.timedelta(days=2)
_PAUSE = 0.5
_SHOWN_EVERY = 5.0


@dataclasses.dataclass
class _Progress:
    """How far the starts have got.

    :ivar active: how many leases have started.
    :ivar overtaken: how many seconds the newest of these lies after the
        oldest that has not started.
    """

    active: int = 0
    overtaken: float = 0.0


def _read(connection: sa.Connection) -> _Progress:
    lease = tables.leases
    active, newest = connection.execute(
        sa.select(sa.func.count(), sa.func.max(lease.c.starts_at))
        .where(lease.c.status == 'ACTIVE')).one()
    oldest = connection.execute(
        sa.select(sa.func.min(lease.c.starts_at))
        .where(lease.c.status != 'ACTIVE')).scalar()
    return _Progress(active, (newest - oldest).total_seconds()
                     if newest and oldest else 0.0)


def run(server: str, nodes: int) -> None:
    """Measure, and print the table.

    :param nodes: how many nodes there are, each with a lease of its own.
    """
    with ground.ironic(server, nodes) as there:
        there.restart(middleware=False)
        with ground.serving(server, there.url) as (url, database):
            ground.wait_for_mirror(database, nodes, 600)
            with there.service.session() as session:
                uuids = ground.node_uuids(session, there.url)
            # NOTE: the last ones stay free, for whom asks meanwhile.
            held = uuids[:-max(1, nodes // 100)]
            begin = datetime.datetime.now(datetime.UTC) + _AHEAD
            booked.start_together(database, held, _PROJECT, begin,
                                  begin + _LONG)
            _watch(url, database, begin, len(held))


def _watch(url: str, database: str, begin: datetime.datetime,
           count: int) -> None:
    asked = requests.Session()
    asked.trust_env = False
    asked.headers['OpenStack-API-Version'] = 'baremetal-reservation 1.4'
    client = leases.Client(url, begin + _LONG + datetime.timedelta(days=1))
    acts = {'GET /v1/reservations?limit=10': lambda: asked.get(
        f'{url}/v1/reservations?limit=10').raise_for_status(),
        'POST /v1/leases': client.create}
    seconds: dict[str, list[float]] = {what: [] for what in acts}
    engine = sa.create_engine(database, isolation_level='AUTOCOMMIT')
    overtaken, shown = 0.0, time.monotonic()
    time.sleep(max(0.0, (begin - datetime.datetime.now(datetime.UTC)
                         ).total_seconds()))
    began = time.perf_counter()
    with engine.connect() as connection:
        while (progress := _read(connection)).active < count:
            overtaken = max(overtaken, progress.overtaken)
            for what, act in acts.items():
                at = time.perf_counter()
                act()
                seconds[what].append(time.perf_counter() - at)
            if time.monotonic() - shown > _SHOWN_EVERY:
                shown = time.monotonic()
                _show(f'{progress.active} of {count} leases have started')
            time.sleep(_PAUSE)
    wall = time.perf_counter() - began
    _show('')
    table.show(
        f'{count} leases that start within a minute: all active after '
        f'{wall:.0f} s, none more than {overtaken:.1f} s out of turn',
        [table.Row(what, each, wall) for what, each in seconds.items()])


def _show(text: str) -> None:
    if sys.stderr.isatty():
        print(f'\r{text:60}', end='\r', file=sys.stderr, flush=True)

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

"""A year of use: what is asked again and again, beside all that is over.

Measured with few leases that are over, and with many, so that the two can be
compared within one run.
"""

from __future__ import annotations

from collections.abc import Iterator
import datetime
import time

import sqlalchemy as sa

from benchmarks import booked
from benchmarks import ground
from benchmarks import leases
from benchmarks import over
from benchmarks import periodic
from benchmarks import table

_NODES = 1000
#: How many are over at first: what queries ask for has to be there.
_FEW = 200
_LIVE = 5000
_TIMES = 5


def _queried(database: str, now: datetime.datetime) -> Iterator[table.Row]:
    engine = sa.create_engine(database)
    try:
        for what, query in periodic.queries(now).items():
            seconds = []
            for _ in range(_TIMES):
                with engine.connect() as connection:
                    at = time.perf_counter()
                    query(connection)
                    seconds.append(time.perf_counter() - at)
                    connection.rollback()
            yield table.Row(what, seconds, sum(seconds))
    finally:
        engine.dispose()


def run(server: str, count: int, times: int) -> None:
    """Measure, and print the tables.

    :param count: how many leases are over.
    :param times: how often each request is sent.
    """
    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    begin = (now + datetime.timedelta(days=2)).replace(minute=0, second=0)
    with ground.serving(server) as (url, database):
        booked.fill(database, _NODES, _LIVE, 1, begin)
        client = leases.Client(url, begin)

        def measured(what: str) -> None:
            table.show(f'{_LIVE} leases on {_NODES} nodes, {what}', [
                leases.timed('POST', client.create, times),
                leases.timed('PUT, an hour later', client.extend, times),
                leases.timed('DELETE', client.delete, times // 2),
                *_queried(database, now)])
        engine = sa.create_engine(database)
        over.fill(engine, _FEW, now)
        measured(f'{_FEW} over')
        over.fill(engine, count, now, there=_FEW)
        engine.dispose()
        measured(f'{count} over')

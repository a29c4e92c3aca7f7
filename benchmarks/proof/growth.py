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

"""What requests cost with 100, 1,000 and 10,000 hosts."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import datetime

from benchmarks import booked
from benchmarks import claims
from benchmarks import ground
from benchmarks import leases
from benchmarks.proof import rows

SIZES = (100, 1000, 10000)
#: Leases for each host, in the next 90 days.
_EACH = 5
CLAIM, LEASE = 'a reservation of any node of a class', 'a lease of one host'
REFUSAL = 'a lease of all hosts for a week, refused with offers'
CALENDAR = 'the calendar of 90 days with its first 100 hosts'
MEMORY = 'memory of the process'


def measure(server: str, sizes: Sequence[int],
            times: int) -> Iterator[rows.Row]:
    """Yield the times at each size.

    :param times: how often each thing is asked for.
    """
    for hosts in sizes:
        yield from _measure(server, hosts, times)


def _measure(server: str, hosts: int, times: int) -> Iterator[rows.Row]:
    begin = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=2)
             ).replace(minute=0, second=0, microsecond=0)
    few = max(2, times // 4)
    with ground.started(server) as there:
        booked.fill(there.database, hosts, _EACH * hosts, 1, begin)
        client = leases.Client(there.url, begin)
        with claims.Client(there.url) as claimer:
            for what, act, count in (
                    (CLAIM, lambda: _claim(claimer), times),
                    (LEASE, client.create, times),
                    (REFUSAL, lambda: client.refused(hosts), few),
                    (CALENDAR, lambda: client.calendar(100), few)):
                row = leases.timed(what, act, count)
                yield rows.Times(rows.OURS, what, tuple(row.seconds),
                                 row.wall, hosts=hosts, leases=_EACH * hosts)
        yield rows.Amount(rows.OURS, MEMORY, there.megabytes, 'MB', hosts,
                          _EACH * hosts)


def _claim(client: claims.Client) -> None:
    if not claims.reserve_by_class(client):
        raise RuntimeError('A free node was not given.')

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


"""A recorded load, asked for as leases: ours beside nodes that are pinned.

Each job of the log becomes a lease on as many nodes, in the window in which
it ran.  It is asked for up to seven days ahead, for half of its time; when
half of that has passed, an extension to all of it is asked for.  There are
just as many nodes as ran at once at most, so that all of it can be served.

What the reconciler does at starts and ends is done here, in the database.
The pinned policy is that of Blazar: nodes are chosen when a lease is made, in
the order of their ids, and an extension is refused where one of them is taken.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import dataclasses
import datetime
import heapq
import pathlib
import random
import sys
import tempfile
import time
from typing import Protocol

import sqlalchemy as sa

from benchmarks import booked
from benchmarks import swf
from ironic_reservations import build
from ironic_reservations import conf as project_conf
from ironic_reservations import engine as engine_module
from ironic_reservations import errors
from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import migrate
from ironic_reservations.db import tables
from ironic_reservations.engine import seen
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import change as lease_change
from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.engine.leases import find as lease_find
from ironic_reservations.model import leases

_AHEAD = 7 * 24 * 3600
_EPOCH = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
#: What happens at one instant happens in this order.
_FINISH, _BEGIN, _EXTEND, _ASK = range(4)
_SHOWN_EVERY = 2.0


class Policy(Protocol):
    """Who promises nodes, and keeps the promise."""

    def create(self, now: float, number: int, job: swf.Job,
               end: float) -> bool:
        """Promise nodes for a job until an end; tells whether it could."""

    def begin(self, number: int) -> None:
        """Have a lease start."""

    def extend(self, now: float, number: int, end: float) -> bool:
        """Promise the same nodes for longer; tells whether it could."""

    def finish(self, number: int) -> None:
        """Have a lease end."""


@dataclasses.dataclass
class Count:
    """What became of the requests."""

    policy: str
    requests: int = 0
    refused: int = 0
    extensions: int = 0
    refused_extensions: int = 0
    seconds: float = 0.0


class Ours:
    """Leases of the real engine, on a database of its own."""

    def __init__(self, engine: engine_module.Engine,
                 clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        self._leases: dict[int, leases.Lease] = {}

    def create(self, now: float, number: int, job: swf.Job,
               end: float) -> bool:
        """Make a lease."""
        self._clock.now = _moment(now)
        try:
            self._leases[number] = lease_create.create(
                self._engine, leases.LeaseRequest(
                    f'job {number}', _moment(end),
                    (leases.LeaseReservationRequest(job.nodes, job.nodes),),
                    start=_moment(job.start)))
        except errors.LeaseRefused:
            return False
        return True

    def begin(self, number: int) -> None:
        """Bind the nodes, as the reconciler does."""
        lease = self._leases[number]
        with self._engine.database.write() as connection:
            rows, nodes = self._outdated(connection, lease.id)
            db_bookings.update_state(
                connection, rows, leases.BookingState.BOUND, lease.start)
        self._engine.snapshots.commit(
            nodes, rows,
            snapshots.promised(lease, [dataclasses.replace(
                row, state=leases.BookingState.BOUND) for row in rows]))

    def extend(self, now: float, number: int, end: float) -> bool:
        """Change when the lease ends."""
        self._clock.now = _moment(now)
        try:
            lease_change.change(self._engine, self._leases[number].id,
                                leases.LeaseChange(end=_moment(end)))
        except errors.LeaseRefused:
            return False
        return True

    def finish(self, number: int) -> None:
        """Take the nodes back, and forget the lease."""
        lease_id = self._leases.pop(number).id
        with self._engine.database.write() as connection:
            rows, nodes = self._outdated(connection, lease_id)
            db_bookings.delete(connection, rows)
            connection.execute(sa.delete(tables.leases).where(
                tables.leases.c.id == lease_id))
        self._engine.snapshots.commit(nodes, rows)

    def left(self) -> list[leases.Lease]:
        """Return the leases that are there still."""
        return lease_find.page(self._engine)

    def _outdated(self, connection: sa.Connection, lease_id: str
                  ) -> tuple[list[leases.NodeBooking], seen.Seen]:
        """Outdate the plans of a lease's nodes; gives its bookings."""
        rows = db_bookings.read_of_leases(connection, [lease_id])
        nodes = seen.read(connection, {row.node_uuid for row in rows})
        seen.advance(connection, nodes, self._clock.now)
        return rows, nodes


class Pinned:
    """Leases that keep the nodes that they were given first."""

    def __init__(self, nodes: int) -> None:
        #: For each node, the windows promised on it, by the lease.
        self._promised: list[dict[int, tuple[float, float]]] = [
            {} for _ in range(nodes)]
        self._held: dict[int, list[int]] = {}

    def create(self, now: float, number: int, job: swf.Job,
               end: float) -> bool:
        """Choose the first nodes that are free."""
        free = [node for node in range(len(self._promised))
                if self._free(node, job.start, end)][:job.nodes]
        if len(free) < job.nodes:
            return False
        self._held[number] = free
        for node in free:
            self._promised[node][number] = job.start, end
        return True

    def _free(self, node: int, start: float, end: float) -> bool:
        return all(until <= start or end <= begin
                   for begin, until in self._promised[node].values())

    def begin(self, number: int) -> None:
        """Leave everything as it is."""

    def extend(self, now: float, number: int, end: float) -> bool:
        """Keep the nodes, if all of them are free."""
        held = self._held[number]
        start, until = self._promised[held[0]][number]
        if not all(self._free(node, until, end) for node in held):
            return False
        for node in held:
            self._promised[node][number] = start, end
        return True

    def finish(self, number: int) -> None:
        """Give the nodes back."""
        for node in self._held.pop(number):
            del self._promised[node][number]


class Clock:
    """Stands where the replay puts it."""

    def __init__(self) -> None:
        self.now = _EPOCH

    def __call__(self) -> datetime.datetime:
        return self.now


def _moment(seconds: float) -> datetime.datetime:
    return _EPOCH + datetime.timedelta(seconds=seconds)


@contextlib.contextmanager
def ours(nodes: int) -> Iterator[Ours]:
    """Return our engine on SQLite, with so many hosts that are alike."""
    with tempfile.TemporaryDirectory() as folder:
        url = f'sqlite:///{folder}/replay.sqlite'
        conf = project_conf.load(config_files=[])
        conf.set_override('connection', url, 'database')
        conf.set_override('sqlite_synchronous', False, 'database')
        conf.set_override('project_limits', False, 'leases')
        clock = Clock()
        engine = build.engine(conf, clock=clock)
        migrate.upgrade(engine.database)
        booked.fill(url, nodes, 0, 1, clock())
        try:
            yield Ours(engine, clock)
        finally:
            engine.database.close()


def replay(name: str, policy: Policy, jobs: Sequence[swf.Job],
           seed: int = 0) -> Count:
    """Ask a policy for everything in the order in which it was wanted."""
    chance = random.Random(seed)
    count = Count(name)
    halves = [job.start + (job.end - job.start + 1) // 2 for job in jobs]
    ends: dict[int, float] = {}
    queue: list[tuple[float, int, int]] = [
        (job.start - chance.randrange(_AHEAD), _ASK, number)
        for number, job in enumerate(jobs)]
    heapq.heapify(queue)
    began = shown = time.perf_counter()
    while queue:
        now, what, number = heapq.heappop(queue)
        job = jobs[number]
        if what == _ASK:
            count.requests += 1
            if not policy.create(now, number, job, halves[number]):
                count.refused += 1
                continue
            ends[number] = halves[number]
            heapq.heappush(queue, (job.start, _BEGIN, number))
            heapq.heappush(queue, (ends[number], _FINISH, number))
            if halves[number] < job.end:
                heapq.heappush(queue, ((job.start + halves[number]) / 2,
                                       _EXTEND, number))
        elif what == _BEGIN:
            policy.begin(number)
        elif what == _EXTEND:
            count.extensions += 1
            if policy.extend(now, number, job.end):
                ends[number] = job.end
                heapq.heappush(queue, (job.end, _FINISH, number))
            else:
                count.refused_extensions += 1
        elif ends[number] == now:
            policy.finish(number)
        if time.perf_counter() - shown > _SHOWN_EVERY:
            shown = time.perf_counter()
            _progress(f'{name}: {count.requests} of {len(jobs)} leases')
    count.seconds = time.perf_counter() - began
    _progress('')
    return count


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f'\r{text:60}', end='\r', file=sys.stderr, flush=True)


def main(arguments: Sequence[str]) -> None:
    """Replay what the command line names, and print a table."""
    given = _parser().parse_args(arguments)
    try:
        jobs = swf.read(given.file, given.cpus_per_node, given.min_cpus)
    except (OSError, ValueError) as exc:
        raise SystemExit(f'{given.file} cannot be replayed: {exc}') from exc
    jobs = jobs[:given.limit]
    if not jobs:
        raise SystemExit(f'{given.file} has no job that ran on '
                         f'{given.min_cpus} processors or more.')
    most = swf.peak(jobs)
    nodes = given.nodes or most
    counts = []
    if given.policy in ('ours', 'both'):
        with ours(nodes) as policy:
            counts.append(replay('ours', policy, jobs, given.seed))
    if given.policy in ('pinned', 'both'):
        counts.append(replay('pinned', Pinned(nodes), jobs, given.seed))
    show(f'{given.file.name}: {len(jobs)} leases on {nodes} nodes '
         f'({most} at once at most)', counts)


def show(title: str, counts: Sequence[Count]) -> None:
    """Print what became of the requests."""
    print(f'\n{title}')
    print(f'{"":10} {"requests":>9} {"refused":>8} {"extensions":>11} '
          f'{"refused":>8} {"seconds":>8}')
    for count in counts:
        print(f'{count.policy:10} {count.requests:>9} {count.refused:>8} '
              f'{count.extensions:>11} {count.refused_extensions:>8} '
              f'{count.seconds:>8.1f}')


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser('python -m benchmarks replay',
                                     description=__doc__)
    parser.add_argument('file', type=pathlib.Path,
                        help='a log in the Standard Workload Format')
    parser.add_argument('--nodes', type=int,
                        help='how many there are; by default as many as ran '
                             'at once at most')
    parser.add_argument('--policy', choices=('ours', 'pinned', 'both'),
                        default='both')
    parser.add_argument('--cpus-per-node', type=int,
                        help='by default the nodes that a line names '
                             '(8:ppn=8), and one for each processor in a log '
                             'that names none')
    parser.add_argument('--min-cpus', type=int, default=1,
                        help='leave out jobs of fewer processors')
    parser.add_argument('--limit', type=int,
                        help='replay only so many jobs, the first ones')
    parser.add_argument('--seed', type=int, default=0,
                        help='draws how far ahead each lease is asked for')
    return parser

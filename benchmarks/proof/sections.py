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

"""The sections of the proof: what each measures, and how."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import pathlib
import tempfile

from benchmarks import beside_blazar
from benchmarks import claims as claims_benchmark
from benchmarks import ground
from benchmarks import refusals as refusals_benchmark
from benchmarks.proof import growth
from benchmarks.proof import logs
from benchmarks.proof import packings
from benchmarks.proof import races
from benchmarks.proof import rows
from benchmarks.proof import storms

#: Kinds of requests that both this service and Ironic, or Blazar, answer.
OF_CLASS, OF_FIVE = 'any node of a class', 'one of five nodes'
LEASE, REFUSED = 'a lease of one host', 'a lease of all hosts, refused'
LIST, MEMORY = 'a list of all leases', 'memory of the process'
#: This service, without asking Ironic before it answers.
UNCONFIRMED = f'{rows.OURS}, confirm = mirror'
_SEED = '28'


@dataclasses.dataclass(frozen=True)
class Options:
    """What a run is asked for.

    :ivar server: URL of the database server.
    :ivar blazar: the Python of an environment that has Blazar.
    """

    server: str
    blazar: pathlib.Path | None
    logs: tuple[logs.Log, ...]
    quick: bool = False


@dataclasses.dataclass(frozen=True)
class Section:
    """A section of the page.

    :ivar limit: the time that it may take, in seconds.
    :ivar peer: whether it has rows of Blazar.
    """

    name: str
    title: str
    told: str
    measure: Callable[[Options], Iterator[rows.Row]]
    limit: int
    peer: bool = False


def _claims(options: Options) -> Iterator[rows.Row]:
    nodes, claims = (20, 8) if options.quick else (1000, 50)
    for case, clients, row in claims_benchmark.measure(
            options.server, nodes, claims):
        who = (rows.IRONIC if not case.middleware else
               rows.OURS if case.confirm == 'always' else UNCONFIRMED)
        yield rows.Times(
            who, OF_CLASS if 'class' in case.name else OF_FIVE,
            tuple(row.seconds), row.wall, clients, nodes, failed=row.stuck)


def _leases(options: Options) -> Iterator[rows.Row]:
    there = beside_blazar.Sizes
    sizes = (there(4, 0, 2, 0), there(4, 20, 2, 0, 2)) if options.quick else (
        there(100, 0, 20, 0, 0, 5), there(100, 500, 20, 0, 5, 5),
        there(1000, 5000, 7, 0, 3, 3))
    for size in sizes:
        found = {rows.OURS: beside_blazar.ours(options.server, size)}
        if options.blazar is not None:
            found[rows.BLAZAR] = beside_blazar.theirs(
                options.blazar, options.server, size)
        for who, each in found.items():
            for what, seconds in ((LEASE, each.seconds),
                                  (REFUSED, each.refused),
                                  (LIST, each.lists)):
                if seconds:
                    yield rows.Times(who, what, tuple(seconds), sum(seconds),
                                     hosts=size.hosts, leases=size.leases)
            yield rows.Amount(who, MEMORY, each.megabytes, 'MB', size.hosts,
                              size.leases)


def _races(options: Options) -> Iterator[rows.Row]:
    return races.measure(options.server, 3 if options.quick else 30,
                         options.blazar)


def _refusals(options: Options) -> Iterator[rows.Row]:
    sizes = ((100, 500),) if options.quick else refusals_benchmark.SIZES
    for hosts, leases in sizes:
        with (ground.database(options.server) as url,
              tempfile.TemporaryDirectory() as folder):
            there = refusals_benchmark.Service(url, folder, hosts, leases)
            try:
                for row in refusals_benchmark.measure(
                        there, 1 if options.quick else 3):
                    yield rows.Refusals(
                        row.what, hosts, leases, len(row.cpu),
                        len(row.refused),
                        sum(each != 'search_limit' for each in row.refused),
                        sum(row.offers), tuple(row.cpu), max(row.late))
            finally:
                there.engine.database.close()


def _packings(options: Options) -> Iterator[rows.Row]:
    return packings.measure(options.quick, 3 if options.quick else 12, 10.0)


def _replay(options: Options) -> Iterator[rows.Row]:
    return logs.measure(options.logs)


def _growth(options: Options) -> Iterator[rows.Row]:
    return growth.measure(
        options.server, (8, 16) if options.quick else growth.SIZES,
        4 if options.quick else 20)


def _storm(options: Options) -> Iterator[rows.Row]:
    if options.quick:
        return storms.measure(5, _SEED, ('sqlite',))
    return storms.measure(60, _SEED)


SECTIONS: Sequence[Section] = (
    Section(
        'claims', 'Claims of a node',
        'The time until one of 1,000 available nodes is claimed, for one '
        'client and for eight at once: by allocations of a real Ironic, and '
        'by reservations of the same Ironic with this service in its API, '
        'which first asks Ironic whether the node is still available, or '
        '(``confirm = mirror``) does not. An allocation is served when it is '
        '``active``.', _claims, 480),
    Section(
        'leases', 'Leases',
        'The time for a lease of one host, for a lease of all hosts for a '
        'week, which is refused, and for a list of all leases. The manager '
        'of Blazar is called in its process, with Keystone, Nova and '
        'Placement that answer at once; this service is called over HTTP, '
        'and its refusals have reasons and offers.', _leases, 480,
        True),
    Section(
        'races', 'Races',
        'Two clients ask for the only host at the same moment, again and '
        'again. A double booking is a race that both have won.', _races, 240,
        True),
    Section(
        'refusals', 'Refusals',
        'Requests of ten kinds, sent for three dates each to a fleet that is '
        'booked half of the time, with a crowded class and compute hosts. '
        'The processor time is that of the request with its offers, without '
        'the database. The last column is the longest time by which another '
        'thread of the process was late meanwhile.', _refusals, 300),
    Section(
        'replay', 'Logs of real clusters',
        'Each job of a log in the Standard Workload Format becomes a lease '
        'of as many nodes, requested up to a week ahead for half of its '
        'duration, and extended when half of that has passed. There are as '
        'many nodes as the log used at once, so that all of it can be '
        'served. *Pinned* is the policy of Blazar, which chooses hosts when '
        'a lease is made; *late* is this service, on SQLite, which binds '
        'hosts when a lease starts.', _replay, 720),
    Section(
        'packings', 'Requests that can all be served',
        'A full packing of hosts and time is drawn, cut into leases, and '
        'requested in a random order: so there is a place for each request, '
        'and each refusal is wrong. CP-SAT of OR-tools, which gets the '
        'packing as a hint, is the judge of up to 12 refusals in each line, '
        'and of each one that is called proved: is there a place if leases '
        'that have not started may move? '
        '*Pinned* gives each request the first host that is free, for good, '
        'and gets the dates of the packing where dates are open.', _packings,
        600),
    Section(
        'growth', 'Growth',
        'The same requests to this service over HTTP, with 100, 1,000 and '
        '10,000 hosts that have five leases each in the next 90 days.',
        _growth, 360),
    Section(
        'storm', 'Storms',
        'A crowd of clients, several processes of a real Ironic with this '
        'service in its API, and reconcilers, while processes are killed and '
        'stopped, connections cut and answers lost. A checker without code '
        'of the product judges all that clients and nodes have seen; '
        '``doc/source/contributor/storm.rst`` tells its rules.', _storm, 720))
BY_NAME = {each.name: each for each in SECTIONS}

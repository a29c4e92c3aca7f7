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


"""A storm on real processes: ``python -m tests.processes.storm``.

See "The storm" in the contributor's documentation.
"""

from __future__ import annotations

import argparse
import collections
from collections.abc import Iterable
from collections.abc import Mapping
import contextlib
import dataclasses
import datetime
import functools
import json
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from types import FrameType
from typing import Any

from tests.processes import aftermath
from tests.processes import balancer
from tests.processes import before
from tests.processes import cloud
from tests.processes import compute_hosts
from tests.processes import exchange
from tests.processes import faults
from tests.processes import journal
from tests.processes import mix as mixes
from tests.processes import mutations
from tests.processes import operators
from tests.processes import people
from tests.processes import tenants
from tests.processes.checker import findings
from tests.processes.checker import history
from tests.processes.checker import kept
from tests.processes.checker import story
from tests.processes.database_servers import kinds
from tests.real import databases

#: How long there are faults, in seconds. Where it is set, storms go over
#: MariaDB and PostgreSQL as well, one at a time, with nothing else beside
#: them; two minutes are a good length.
SECONDS_VARIABLE = 'IRONIC_RESERVATIONS_STORM_SECONDS'
SEED_VARIABLE = 'IRONIC_RESERVATIONS_TEST_SEED'
_PATIENT = 60.0
_LOOK_EVERY = 10.0
#: How many times as long a storm may last until it had enough faults.
_LONGER = 3
#: What a process logs that finds other commits than it has seen.
_WENT_BACK = 'has another history'
#: How many of the nodes that were taken last are remembered.
_TAKEN = 5
#: How many tenants change a node each when there is quiet.
_HOLDERS = 3
#: From how many seconds on a storm is long, so that one looks on afterwards.
_LONG = 60.0


@dataclasses.dataclass(frozen=True)
class Options:
    """What storm is wanted.

    :ivar kind: of the databases: one of SQLAlchemy's dialects, or of the
        clusters.
    :ivar seconds: how long there are faults.
    :ivar seed: of all that is left to chance.
    :ivar mutation: what is broken on purpose.
    :ivar restart_database: whether our tables are on a database server of the
        storm's own, which is restarted.
    :ivar placement: whether there is a Placement, with compute hosts.
    :ivar first: the rule whose first finding ends it.
    :ivar within: how long it may take until there is quiet, in seconds.
    :ivar mix: what it is made of.
    :ivar beside: a checkout of the previous release, which is run, too.
    :ivar back: whether all processes run that one after half of the time.
    :ivar faults: how many faults have to hit something: on a busy machine it
        goes on for up to three times as long.
    """

    kind: str
    seconds: float
    seed: str
    mutation: str | None = None
    restart_database: bool = False
    placement: bool = False
    first: str | None = None
    within: float = aftermath.WITHIN
    mix: mixes.Mix = dataclasses.field(default_factory=mixes.Mix.of_all)
    beside: pathlib.Path | None = None
    back: bool = False
    faults: int = 0


@dataclasses.dataclass(frozen=True)
class Report:
    """What came of it.

    :ivar lasted: how long it took, in seconds, from when all was there until
        there was a finding, or quiet.
    :ivar histories: how often a process said that the database went back.
    :ivar raged: how long there were faults, in seconds.
    """

    options: Options
    told: history.History
    found: list[findings.Finding]
    lasted: float = 0.0
    histories: int = 0
    raged: float = 0.0

    @property
    def hits(self) -> collections.Counter[str]:
        """How many faults hit something, by their kinds."""
        return _hits(self.told.faults)

    def judged(self) -> str:
        """Return how often each rule could have found something."""
        return 'judged: ' + ', '.join(
            f'{rule} {self.told.judged[rule]}' for rule in kept.KEPT_BY)

    def lines(self) -> list[str]:
        """Return the findings with their stories, and a summary."""
        hits = self.hits
        statuses = collections.Counter(
            f'{(each.status or 0) // 100}xx' if each.status else 'none'
            for each in self.told.exchanges)
        kind = self.options.kind + (
            ' with Placement' if self.options.placement else '') + (
            ', all hosts' if self.told.all_hosts else '') + (
            f', beside {self.options.beside}' if self.options.beside
            else '') + (', and back' if self.options.back else '')
        return [*(story.tell(self.told, each) for each in self.found),
                self.judged(),
                f'{kind}: {len(self.told.exchanges)} exchanges '
                f'({_counted(statuses)}), {sum(hits.values())} faults '
                f'that hit something, '
                f'{sum(hits.values()) * 60 / max(self.raged, 1):.0f} a '
                f'minute ({_counted(hits)}), {len(self.found)} findings, '
                f'seed {self.options.seed}{self._quiet()}']

    def _quiet(self) -> str:
        waited = ' and '.join(f'{each["waited"]:.0f} s'
                              for each in self.told.snapshots)
        seen = f', {self.histories} times another history was seen' if (
            self.histories) else ''
        return seen + (f', waited for quiet {waited}' if waited else '')


def _hits(happened: Iterable[Mapping[str, Any]]
          ) -> collections.Counter[str]:
    """Return how many faults hit something, by their kinds."""
    return collections.Counter(
        fault['fault'] for fault in happened
        if fault['fault'] != 'calm' and fault.get('hit', True))


def _counted(counter: collections.Counter[str]) -> str:
    return ', '.join(f'{name} {count}' for name, count
                     in sorted(counter.items()))


def run(options: Options, folder: pathlib.Path) -> Report:
    """Let a storm go over a cloud, and judge what was recorded.

    :param folder: an empty one, for everything that is written.
    """
    written = journal.Journal(folder / 'storm.jsonl')
    seed = random.Random(options.seed)
    over, all_over = threading.Event(), threading.Event()

    def happened(what: balancer.Happened) -> None:
        written.write('fault', fault=what.how, at=journal.now(),
                      line=what.line, seconds=what.seconds, request=what.id,
                      seed=options.seed)

    def noticed(ident: str) -> None:
        written.write('noticed', id=ident, at=journal.now())

    def charged(entry: object) -> None:
        written.write('commit', entry=entry, at=journal.now())
    # NOTE: what the previous release does not know nobody asks for.
    mix = options.mix if options.beside is None else (
        before.Release.checked_out(options.beside).narrow(
            options.mix, before.SINCE))
    written.write('notices', sent=True)
    written.write('commits', sent=True)
    written.write('calm', calm=mix.calm)
    written.write('clock', wall=time.time() - journal.now(),
                  late=mix.times.late)
    with contextlib.ExitStack() as started:
        servers = kinds.servers(options.kind, folder,
                                options.restart_database)
        if servers is not None:
            started.enter_context(servers)
        there = started.enter_context(cloud.Cloud(
            kinds.dialect(options.kind), folder,
            random.Random(seed.random()), happened,
            options.mutation, options.placement, mix,
            options.beside, noticed, charged, servers))
        written.write('hosts', all=there.all_hosts)
        written.write('limits', leased=dict(mix.of_class),
                      reserved=dict(mix.reserved_of_class))
        written.write('owners', owners=there.owners,
                      notice=mix.owner_notice)
        written.write('no_show', after=dict(mix.no_show),
                      classes=there.nodes)
        operator = exchange.Asker(
            people.OPERATOR, there.balancer.port, written, _PATIENT,
            random.Random(seed.random()), all_over)
        if there.placement is not None:
            for uuid in there.placement.hosts.values():
                written.write('host', uuid=uuid,
                              capacity=compute_hosts.CAPACITY)
        _open_hosts(there, operator)
        operators.take_stock(operator)
        began = time.monotonic()
        taken: collections.deque[str] = collections.deque(maxlen=_TAKEN)
        booked: collections.deque[str] = collections.deque(maxlen=_TAKEN)
        ahead: collections.deque[tuple[datetime.datetime, str]] = (
            collections.deque(maxlen=_TAKEN))
        crowd = [threading.Thread(target=tenants.Tenant(exchange.Asker(
            person, there.balancer.port, written, there.times.client,
            random.Random(seed.random()), over), there.nodes, taken,
            mix, set(there.owners.values()), booked, ahead).run,
            name=person.name, daemon=True) for person in people.ALL_TENANTS]
        at_work = {'operator': mix}
        if mix.booking:
            at_work['booker'] = dataclasses.replace(mix,
                                                    acts=mixes.BOOKS)
        crowd.extend(threading.Thread(target=operators.Operator(
            exchange.Asker(people.OPERATOR, there.balancer.port, written,
                           there.times.client, random.Random(seed.random()),
                           over), there.nodes, there.owners,
            mix, taken, booked).run, name=name, daemon=True)
            for name, mix in at_work.items())
        weather = faults.Faults(
            there, random.Random(seed.random()), written, over,
            options.seed)
        crowd.append(threading.Thread(target=weather.run, name='faults',
                                      daemon=True))
        if servers is not None:
            crowd.append(threading.Thread(
                target=weather.disturb_servers, name='servers', daemon=True,
                args=(random.Random(seed.random()),)))
        crowd.extend(threading.Thread(
            target=weather.gust, args=(random.Random(seed.random()),),
            name=f'gusts-{number}', daemon=True)
            for number in range(mix.gusting))
        if there.placement is not None:
            crowd.append(threading.Thread(
                target=there.placement.be_nova, name='nova', daemon=True,
                args=(there.nodes, random.Random(seed.random()), over)))
        for thread in crowd:
            thread.start()
        try:
            found = _rage(options, folder, there)
        finally:
            over.set()
            raged = time.monotonic() - began
        if not found:
            weather.end()
            for thread in crowd:
                thread.join(_PATIENT)
            owners = set(there.owners.values())
            holders = [tenants.Tenant(exchange.Asker(
                person, there.balancer.port, written, _PATIENT,
                random.Random(seed.random()), all_over), there.nodes, taken,
                mix) for person in people.ALL_TENANTS
                if person.project not in owners][:_HOLDERS] if (
                    mix.lives.get('act')) else []
            aftermath.Aftermath(
                there, operator, written, options.within,
                functools.partial(_found, options.first, folder)
                if options.first else None,
                options.seconds >= _LONG, holders).run()
        lasted = time.monotonic() - began
    # NOTE: nobody writes to a file that is closed, or that is another by then.
    for thread in crowd:
        thread.join(_PATIENT)
    written.close()
    told = _read(folder)
    return Report(options, told, findings.judge(told), lasted, sum(
        log.read_text(errors='replace').count(_WENT_BACK)
        for log in folder.glob('*.log')), raged)


def _rage(options: Options, folder: pathlib.Path,
          there: cloud.Cloud) -> bool:
    """Wait until it is over; return whether something was found early."""
    if not options.back:
        end = time.monotonic() + options.seconds * _LONGER
        found = _rages(options, folder, options.seconds)
        while (not found and time.monotonic() < end
               and _so_far(folder) < options.faults):
            found = _rages(options, folder, _LOOK_EVERY)
        return found
    if _rages(options, folder, options.seconds / 2):
        return True
    there.go_back()
    return _rages(options, folder, options.seconds / 2)


def _rages(options: Options, folder: pathlib.Path, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, _LOOK_EVERY))
        if options.first and _found(options.first, folder):
            return True
    return False


def _found(rule: str, folder: pathlib.Path) -> bool:
    """Return whether there is a finding of this rule by now."""
    return any(each.rule == rule for each in findings.judge(_read(folder)))


def _so_far(folder: pathlib.Path) -> int:
    """Return how many faults have hit something."""
    return _hits(json.loads(line) for file in folder.glob('*.jsonl')
                 for line in journal.lines(file)
                 if '"kind": "fault"' in line).total()


def _read(folder: pathlib.Path) -> history.History:
    return history.read(journal.read(*sorted(folder.glob('*.jsonl'))))


def _open_hosts(there: cloud.Cloud, operator: exchange.Asker) -> None:
    """Open all nodes to leases, once they have been seen."""
    deadline = time.monotonic() + _PATIENT
    names = [*there.nodes, *(there.placement.hosts if there.placement
                             else ())]
    for name in names:
        while not _opened(operator.ask('open', 'POST', '/v1/os-hosts',
                                       {'name': name}).status,
                          there.all_hosts and name in there.nodes):
            if time.monotonic() > deadline:
                raise RuntimeError(f'Node {name} cannot be opened to leases.')
            time.sleep(0.5)


def _opened(status: int | None, all_are: bool) -> bool:
    return status == 201 or all_are and status == 409


def end(number: int, frame: FrameType | None) -> None:
    """End as by any exception: with all that was started, and its tables."""
    sys.exit(128 + number)


def main(argv: list[str] | None = None) -> int:
    """Let storms go over all databases that are asked for."""
    parser = argparse.ArgumentParser(prog='python -m tests.processes.storm',
                                     description=__doc__)
    parser.add_argument('--database', default='all',
                        choices=[*databases.KINDS, *kinds.CLUSTERS, 'all'])
    parser.add_argument('--seconds', type=float, default=120,
                        help='how long there are faults')
    parser.add_argument('--faults', type=int, default=0, metavar='N',
                        help='go on until N faults have hit something, for up '
                             'to three times as long')
    parser.add_argument('--seed', default='1')
    parser.add_argument('--placement', action='store_true',
                        help='with a Placement, holds, and compute hosts')
    parser.add_argument('--at-once', type=int, metavar='N',
                        help='how many small faults come side by side')
    parser.add_argument('--mutation', choices=mutations.names(),
                        help='break the product on purpose')
    parser.add_argument('--restart-database', action='store_true',
                        help='run a database server of its own, and restart '
                             'it; by default connections to the server that '
                             'is there are cut and refused')
    parser.add_argument('--beside', type=pathlib.Path, metavar='CHECKOUT',
                        help='one API and one reconciler run the release '
                             'that is checked out there')
    parser.add_argument('--back', action='store_true',
                        help='after half of the time all of them run the '
                             'release of --beside, as after a way back')
    parser.add_argument('--keep', type=pathlib.Path, metavar='FOLDER',
                        help='where the records and logs are left; by '
                             'default only those of storms with findings are '
                             'kept')
    chosen = parser.parse_args(argv)
    if chosen.keep is not None:
        chosen.keep.mkdir(parents=True, exist_ok=True)
    if chosen.back and chosen.beside is None:
        parser.error('--back needs --beside: to which release?')
    signal.signal(signal.SIGTERM, end)
    over = databases.KINDS if chosen.database == 'all' else (
        chosen.database,)
    found = 0
    mix = mixes.Mix.of_all()
    if chosen.at_once is not None:
        mix = dataclasses.replace(mix, gusting=chosen.at_once)
    for kind in over:
        folder = pathlib.Path(tempfile.mkdtemp(
            prefix=f'storm-{kind}-', dir=chosen.keep))
        report = run(Options(kind, chosen.seconds, chosen.seed,
                             chosen.mutation, chosen.restart_database,
                             chosen.placement, mix=mix,
                             beside=chosen.beside, back=chosen.back,
                             faults=chosen.faults),
                     folder)
        print('\n'.join(report.lines()), flush=True)
        found += len(report.found)
        if report.found or chosen.keep:
            print(f'The records are in {folder}', flush=True)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())

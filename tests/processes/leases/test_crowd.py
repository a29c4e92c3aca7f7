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

"""Each thing happens once, whoever dies while it does."""

from __future__ import annotations

import collections
import os
import pathlib
import random
import signal
import time

import fixtures
from testtools import content

from ironic_reservations import clock
from ironic_reservations.db import tables
from ironic_reservations.engine import hosts
from ironic_reservations.engine import mirror
from ironic_reservations.engine import sweep
from ironic_reservations.model import leases
from tests import forks
from tests import leasing
from tests import world
from tests.processes import journal
from tests.processes.leases import crowd
from tests.processes.leases import small_ironic
from tests.real import migrated
from tests.real import receivers

NODES = 12
#: Of the tenants' processes and of the reconcilers, each.
PROCESSES = 2
#: Of each of the two.
KILLS = 5
#: What takes so long hangs, also on a machine that has other things to do.
LONGEST = 240
#: What tenants do, and are told.
_STEPS = ('_create', '_move_end', '_end', '_deploy', 'LeaseRefused')
_DONE, _ERROR = leases.EventStatus.DONE, leases.EventStatus.ERROR
_START, _END = leases.EventType.START, leases.EventType.END


class _Crowd:
    """To be run on each database."""

    kind: str

    def setUp(self):
        super().setUp()
        url = self.useFixture(migrated.Database(self.kind)).url
        self.ironic = self.useFixture(small_ironic.SmallIronic(NODES))
        self.receiver = self.useFixture(receivers.Receiver())
        self.world = self.useFixture(world.World(
            url, **crowd.options(self.ironic.url)))
        self.world.clock.now = clock.utc_now()
        self.leasing = leasing.Leasing(self.world)
        self.journal = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'journal')
        self.seeds = 0
        engine = crowd.make_engine(url, self.ironic.url,
                                   crowd.Journal(str(self.journal)))
        self.addCleanup(engine.database.close)
        mirror.refresh_all(engine)
        for uuid in self.ironic.nodes:
            hosts.add(engine, uuid, {})

    def _start(self, role):
        self.seeds += 1
        more = (self.seeds,) if role is crowd.ask else ()
        started = forks.CONTEXT.Process(target=role, args=(
            self.world.url, self.ironic.url, str(self.journal),
            self.receiver.options(), *more))
        started.start()
        self.addCleanup(started.join)
        self.addCleanup(started.kill)
        return started

    def _kill(self, process):
        os.kill(process.pid, signal.SIGKILL)
        process.join()

    def _assert_no_overlap(self):
        self.world.clock.now = clock.utc_now()
        self.assertEqual([], self.leasing.overlaps())
        self.assertEqual([], self.ironic.wrong)

    def test_each_thing_happens_once_whoever_dies(self):
        """Of the tenants' processes and the reconcilers, by SIGKILL.

        Blazar: supports one manager only.  esi-leap: two managers do
        everything twice.
        """
        running = {role: [self._start(role) for _ in range(PROCESSES)]
                   for role in (crowd.ask, crowd.reconcile)}
        chance = random.Random(7)
        for _ in range(KILLS):
            # NOTE: reconcilers in the middle of something: what Ironic has
            # just done for one is not in the rows yet.
            for role, seen in ((crowd.reconcile, self._changes),
                               (crowd.ask, self._steps)):
                before = seen()
                self._until(lambda seen=seen, before=before: (
                    seen() > before + 1), pause=0.002)
                self._kill(running[role].pop(chance.randrange(PROCESSES)))
                running[role].append(self._start(role))
        self._until(lambda: self._given() >= 2 * NODES and all(
            self._read()[1][what] for what in _STEPS))
        for process in running[crowd.ask]:
            self._kill(process)
        self._until(lambda: all(
            each.status is leases.LeaseStatus.TERMINATED
            for each in self.leasing.all()))
        self._until(lambda: not self.ironic.not_as_before())
        self._until(lambda: all(row['outcome'] for row in self._outbox()))
        for process in running[crowd.reconcile]:
            self._kill(process)
        self._check()

    def _changes(self):
        return len(self.ironic.changes)

    def _steps(self):
        return self._read()[1].total()

    def _given(self):
        return sum(change.who != small_ironic.OPERATORS
                   for change in self.ironic.of('lessee'))

    def _until(self, happened, pause=0.1):
        deadline = time.monotonic() + LONGEST
        while not happened():
            if time.monotonic() > deadline:
                self.fail(f'It did not happen within {LONGEST} s: '
                          f'{self.leasing.all()} '
                          f'{self.ironic.not_as_before()} {self._read()}')
            time.sleep(pause)
        self._assert_no_overlap()

    def _read(self):
        """Return what was told, what was done, what failed, and since when
        what its tenant has ended may be taken back.
        """
        told, done = collections.Counter(), collections.Counter()
        failed, ending = [], {}
        for line in journal.read(self.journal):
            match line:
                case {'told': event, 'lease': lease}:
                    told[event, lease] += 1
                case {'done': step}:
                    done[step] += 1
                case {'failed': why}:
                    failed.append(why)
                case {'ending': project, 'end': end, 'at': at}:
                    ending.setdefault(project, min(at, end))
        return told, done, failed, ending

    def _check(self):
        told, done, failed, ending = self._read()
        happened = collections.Counter(
            (event.type.value, event.status.value)
            for lease in self.leasing.all() for event in lease.events)
        self.addDetail('numbers', content.text_content(
            f'{dict(done)}; '
            f'{dict(happened)}; {len(self.ironic.changes)} changes in '
            'Ironic'))
        self.assertEqual([], failed)
        self._assert_no_overlap()
        self._check_rows(told)
        self._check_ironic(ending)
        self._check_notices()
        for what in _STEPS:
            self.assertGreater(done[what], 0, done)

    def _check_rows(self, told):
        """Nothing is left but leases that are over, and were told of."""
        self.world.clock.advance(crowd.CLAIM_TTL)
        sweep.sweep(self.world.engine)
        self.world.find_out()
        self.assertEqual([], self.leasing.rows())
        self.assertEqual([], self.world.in_flight())
        self.assertEqual({}, self.leasing.stale())
        for lease in self.leasing.all():
            self.assertIs(leases.LeaseStatus.TERMINATED, lease.status)
            happened = {event.type: event.status for event in lease.events}
            self.assertIs(_DONE, happened[_END])
            self.assertIn(happened[_START], (_DONE, _ERROR))
            self.assertGreater(told['lease.event.end_lease', lease.id], 0)
            if happened[_START] is _DONE:
                self.assertGreater(told['lease.event.start_lease', lease.id],
                                   0)
        self.assertLessEqual(self._twice(told),
                             (KILLS + PROCESSES) * crowd.WORKERS)

    def _outbox(self):
        with self.world.engine.database.read() as connection:
            return [dict(row) for row in connection.execute(
                tables.outbox.select()).mappings()]

    def _check_notices(self):
        """Each change has one notice, and each notice has arrived.

        NOTE: unlike what is told on the bus, a notice is written with its
        change: whoever died, there is none too many.
        """
        rows = self._outbox()
        written = collections.Counter(
            (row['kind'], row['lease_id']) for row in rows)
        for lease in self.leasing.all():
            started = any(event.type is _START and event.status is _DONE
                          for event in lease.events)
            self.assertEqual((int(started), 1), (
                written['started', lease.id], written['ended', lease.id]))
        # NOTE: leases that were deleted, too: all of them are over.
        for ident in {row['lease_id'] for row in rows}:
            self.assertEqual(1, written['ended', ident])
            self.assertLessEqual(written['started', ident], 1)
        self.assertEqual({'delivered'}, {row['outcome'] for row in rows})
        self.assertEqual({row['notice_id'] for row in rows},
                         set(self.receiver.ids))
        self.assertEqual([], self.receiver.wrong)

    def _twice(self, told):
        # NOTE: what is told is told before it is committed, so that who dies
        # in between has it told again; nobody else may.
        return sum(count - 1 for (event, _), count in told.items()
                    if event != 'lease.event.before_end_lease'
                    and event.startswith('lease.event.'))

    def _check_ironic(self, ending):
        """Each lease has had each of its nodes once, and in its time."""
        self.assertEqual([], self.ironic.not_as_before())
        known = {lease.project_id: lease for lease in self.leasing.all()}
        given = [(change.node, change.who)
                 for change in self.ironic.of('lessee')
                 if change.who != small_ironic.OPERATORS]
        self.assertEqual(len(set(given)), len(given))
        self.assertEqual(set(), {who for _, who in given}
                         - known.keys() - ending.keys())
        for change in self.ironic.changes:
            lease = known.get(change.who)
            if change.what == 'lessee' and lease is not None:
                self.assertGreaterEqual(change.at, lease.start.timestamp())
            elif change.what == 'undeploy':
                over = [*([ending[change.who]] if change.who in ending
                          else []),
                        *([lease.end.timestamp()] if lease else [])]
                self.assertGreaterEqual(
                    change.at, min(over), (change, lease, [
                        each for each in self.ironic.changes
                        if each.node == change.node]))
        self.assertEqual(
            sorted((change.node, change.who)
                   for change in self.ironic.of('deploy')),
            sorted((change.node, change.who)
                   for change in self.ironic.of('undeploy')))
        nodes = collections.Counter(who for _, who in given)
        for project, lease in known.items():
            (reservation,) = lease.reservations
            self.assertLessEqual(nodes[project], reservation.most)
            if any(event.type is _START and event.status is _DONE
                   for event in lease.events):
                self.assertEqual(reservation.least, nodes[project])


class TestCrowdOnMysql(_Crowd, world.TestCase):
    kind = 'mysql'


class TestCrowdOnPostgresql(_Crowd, world.TestCase):
    kind = 'postgresql'

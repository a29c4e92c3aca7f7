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

"""A deploy and the release of a node at the same moment: one of them wins."""

from __future__ import annotations

import dataclasses
import datetime
import os
import pathlib
import random
import signal
import time

import fixtures
import sqlalchemy as sa
from testtools import content

from ironic_reservations import clock
from ironic_reservations.db import tables
from ironic_reservations.engine import hosts
from ironic_reservations.engine import mirror
from ironic_reservations.engine import retry
from ironic_reservations.model import leases
from ironic_reservations.reconciler import lease_workers
from tests import forks
from tests import leasing
from tests import world
from tests.processes import journal
from tests.processes.leases import crowd
from tests.processes.leases import no_show
from tests.processes.leases import small_ironic
from tests.real import migrated

LEASES = 40
PROCESSES = 2
#: What takes so long hangs, also on a machine that has other things to do.
LONGEST = 180
_ACTIVE, _OVER = leases.LeaseStatus.ACTIVE, leases.LeaseStatus.TERMINATED


class _Race:
    """To be run on each database."""

    kind: str

    def setUp(self):
        super().setUp()
        url = self.useFixture(migrated.Database(self.kind)).url
        self.ironic = self.useFixture(small_ironic.SmallIronic(LEASES))
        self.world = self.useFixture(world.World(
            url, **no_show.options(self.ironic.url)))
        self.world.clock.now = clock.utc_now()
        self.journal = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'journal')
        self.journal.touch()
        self.engine = no_show.make_engine(url, self.ironic.url,
                                          crowd.Journal(str(self.journal)))
        self.addCleanup(self.engine.database.close)
        mirror.refresh_all(self.engine)
        for uuid in self.ironic.nodes:
            hosts.add(self.engine, uuid, {})
        self.leasing = leasing.Leasing(self.world, self.engine)
        hours = (clock.utc_now() - world.NOON).total_seconds() / 3600
        self.made = [self.leasing.create(None, hours + 2)
                     for _ in range(LEASES)]

    def start(self, role, *more):
        started = forks.CONTEXT.Process(target=role, args=(
            self.world.url, self.ironic.url, str(self.journal), *more))
        started.start()
        self.addCleanup(started.join)
        self.addCleanup(started.kill)
        return started

    def noted(self, what):
        return [line[what] for line in journal.read(self.journal)
                if what in line]

    def wait(self, condition):
        until = time.monotonic() + LONGEST
        while not condition():
            self.assertLess(time.monotonic(), until, 'nothing happened')
            time.sleep(0.1)

    def usable(self):
        """Count the nodes of which it is known that they can be deployed."""
        with self.engine.database.read() as opened:
            return opened.scalar(sa.select(sa.func.count()).select_from(
                tables.usable_bookings))

    def bind(self):
        """Have all leases begin, and return them, each with its booking."""
        workers = lease_workers.LeaseWorkers(self.engine)
        self.wait(lambda: workers.one_pass() == 0 and all(
            each.status is _ACTIVE for each in self.leasing.all()))
        rows = {row['lease_reservation_id']: row
                for row in self.world.reservations().values()}
        return [(lease, rows[lease.reservations[0].id])
                for lease in self.leasing.all()]

    def test_whoever_deploys_at_the_last_moment_wins_or_is_refused(self):
        """Nothing that was let through is taken back, whoever is killed."""
        chance = random.Random(3)
        asked = [no_show.Deploy(
            lease.id, lease.reservations[0].id, row['node_uuid'],
            leasing.PROJECT, chance.uniform(-0.2, 1.5))
            for lease, row in self.bind()]
        early, *asked, never = asked
        # NOTE: half of them come once nodes are being released, which takes a
        # busy machine its time.
        at_first, later = asked[::2], asked[1::2]
        begins, goes_on = (forks.CONTEXT.Value('d', 0.0) for _ in range(2))
        deploying = [self.start(no_show.deploy, those[number::PROCESSES], when)
                     for those, when in ((at_first, begins), (later, goes_on))
                     for number in range(PROCESSES)]
        releasing = [self.start(no_show.release)
                     for _ in range(PROCESSES + 1)]
        self.wait(lambda: len(self.noted('deploying')) == 2 * PROCESSES
                  and len(self.noted('releasing')) == PROCESSES + 1
                  and self.usable() == LEASES)
        # NOTE: to its end, so that it is early on any machine.
        now = forks.CONTEXT.Value('d', time.time())
        self.start(no_show.deploy, [dataclasses.replace(early, at=0)],
                   now).join(LONGEST)
        begins.value = time.time() + 2
        since = datetime.datetime.fromtimestamp(begins.value - no_show.TIME,
                                                datetime.UTC)

        def move():
            with self.engine.database.write() as opened:
                opened.execute(sa.update(tables.looks).values(since=since))
                opened.execute(sa.update(tables.usable_bookings).values(
                    since=since))
        retry.until_committed(move)
        time.sleep(max(0, begins.value - time.time()) + 1.5)
        # NOTE: one goes on, so that there is somebody to release nodes.
        for victim in releasing[1:]:
            os.kill(victim.pid, signal.SIGKILL)
            victim.join()
        awaited = {each.lease_id for each in later}
        self.wait(lambda: any(lease.id in awaited and lease.status.over
                              for lease in self.leasing.all()))
        goes_on.value = time.time()
        for process in deploying:
            process.join(LONGEST)
        self.assertEqual(1 + 2 * PROCESSES, len(self.noted('finished')))
        self.addDetail('journal', content.text_content(
            self.journal.read_text()))
        self.assertEqual([], self.noted('failed'))
        used = {change.node for change in self.ironic.of('deploy')}
        self.wait(lambda: all(
            lease.status is (_ACTIVE if any(
                booking.node_uuid in used for booking in lease.bookings)
                else _OVER) for lease in self.leasing.all()))
        self.assertEqual([], self.ironic.wrong)
        self.assertEqual([], [*self.ironic.of('undeploy')])
        statuses = {lease.id: lease.status for lease in self.leasing.all()}
        for each in (early, *asked):
            self.assertEqual(
                _ACTIVE if each.node_uuid in used else _OVER,
                statuses[each.lease_id])
        self.assertEqual((_ACTIVE, _OVER), (statuses[early.lease_id],
                                            statuses[never.lease_id]))
        self.assertEqual(set(), set(self.noted('refused')) & {
            each.lease_id for each in (early, *asked)
            if each.node_uuid in used})
        self.assertTrue(self.noted('refused'))


class TestRaceOnMysql(_Race, world.TestCase):
    kind = 'mysql'


class TestRaceOnPostgresql(_Race, world.TestCase):
    kind = 'postgresql'


class TestRaceOnSqlite(_Race, world.TestCase):
    kind = 'sqlite'

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

"""Leases that start and end at once on one compute host.

With Placement in processes of its own, over MariaDB and PostgreSQL, and with
its defaults, with which it gives more than there is (F1).
"""

from collections.abc import Callable
from concurrent import futures
import dataclasses
import datetime
import threading
import time

from ironic_reservations.engine import Engine
from ironic_reservations.engine import hosts
from ironic_reservations.features.placement import sync as placement_sync
from ironic_reservations.features.placement.audit import auditing
from ironic_reservations.features.placement.audit import differences
from ironic_reservations.model import leases
from ironic_reservations.reconciler import lease_workers
from tests import leasing
from tests import world
from tests.inprocess.placement import beside
from tests.inprocess.placement import in_memory
from tests.inprocess.placement import shared

PROCESSES = 4
LEASES = 4
EACH = 3
RIVALS = 2
LONGEST = 600
STATUS = leases.LeaseStatus


class _Races(beside.Beside):
    """To be run on each database."""

    def setUp(self) -> None:
        super().setUp()
        self.engine = self.process()
        self.host = self.there.add_host(
            vcpus=LEASES * EACH * shared.SIZES[0], slots=100)
        hosts.add(self.engine, self.host, {})
        self.processes = [self.process() for _ in range(PROCESSES)]

    def process(self) -> Engine:
        """Return an engine as another process has it, in the world's time."""
        return dataclasses.replace(self.another_engine(),
                                   clock=self.world.clock)

    def booked(self) -> list[str]:
        """Have leases that fill the host, and return their ids."""
        return [shared.write_lease(self.engine, {self.host: EACH}).id
                for _ in range(LEASES)]

    def statuses(self, ids: list[str]) -> set[leases.LeaseStatus]:
        """Read where leases stand."""
        return {leases.LeaseStatus(self.world.lease_rows()[each]['status'])
                for each in ids}

    def work(self, hours: float, done: Callable[[], bool]) -> None:
        """Have all processes work until all is as it should be.

        What is put off is done early: each look is a while later.
        """
        self.world.clock.now = leasing.at(hours)
        until = time.monotonic() + LONGEST
        with futures.ThreadPoolExecutor(PROCESSES) as pool:
            while not done():
                self.assertLess(time.monotonic(), until)
                list(pool.map(lambda engine: lease_workers.LeaseWorkers(
                    engine).one_pass(1), self.processes))
                self.world.clock.advance(5)

    def usage(self) -> int:
        """Read how many VCPUs of the host are used."""
        return (self.client.usages(self.host) or {})['VCPU']

    def recover(self) -> None:
        """Let deadlines pass, and the reconciler come by."""
        conf = self.engine.conf.placement
        for _ in range(2):
            self.world.clock.now += datetime.timedelta(
                seconds=2 * conf.timeout + conf.grace)
            placement_sync.recover(self.engine)

    def differences(self) -> tuple[differences.Difference, ...]:
        """Look at everything."""
        return auditing.audit(self.engine, everything=True).differences

    def assert_full(self, ids: list[str]) -> None:
        """Each lease has what it was promised, once."""
        self.assertEqual(LEASES * EACH * shared.SIZES[0], self.usage())
        rows = self.rows()
        self.assertEqual(LEASES * EACH, len({row.owner for row in rows}))
        self.assertEqual({row.consumer_uuid for row in rows},
                         {*self.consumers(self.host)})
        self.assertEqual((), self.differences())

    def test_all_start_and_end_at_once(self) -> None:
        """And there is never more used than there is."""
        ids = self.booked()
        seen: list[int] = []
        over = threading.Event()

        def watch() -> None:
            while not over.is_set():
                seen.append(self.usage())
        watching = threading.Thread(target=watch)
        watching.start()
        self.addCleanup(watching.join)
        self.addCleanup(over.set)
        self.work(1, lambda: self.statuses(ids) == {STATUS.ACTIVE})
        self.recover()
        self.assert_full(ids)
        self.work(4, lambda: self.statuses(ids) == {STATUS.TERMINATED})
        over.set()
        watching.join()
        self.assertLessEqual(max(seen), LEASES * EACH * shared.SIZES[0])
        self.recover()
        self.assertEqual((0, [], ()), (self.usage(), self.rows(),
                                       self.differences()))

    def test_servers_of_others_come_in_between(self) -> None:
        """What they have is not taken from them; all start when they leave.
        """
        ids = self.booked()
        over = threading.Event()
        outcomes: list[in_memory.answers.Outcome] = []

        def rival() -> None:
            servers: list[str] = []
            while not over.is_set():
                server = world.new_uuid()
                answer = self.client.put_allocations(
                    server, in_memory.wanted({self.host: {'VCPU': 1}}))
                outcomes.append(answer.outcome)
                servers += [server] * answer.done
                if len(servers) > 3:
                    self.client.delete_allocations(servers.pop(0))
            for server in servers:
                self.client.delete_allocations(server)
        rivals = [threading.Thread(target=rival) for _ in range(RIVALS)]
        for each in rivals:
            each.start()
            self.addCleanup(each.join)
        self.addCleanup(over.set)
        rounds = iter(range(6))
        self.work(1, lambda: next(rounds, None) is None)
        self.assertEqual(set(), {
            each.kind for each in self.differences()} - {
                differences.Kind.OVERALLOCATED, differences.Kind.UNHELD,
                differences.Kind.RESERVATION_MISSING})
        over.set()
        for each in rivals:
            each.join()
        self.assertIn(in_memory.answers.Outcome.DONE, outcomes)
        self.work(1.5, lambda: self.statuses(ids) == {STATUS.ACTIVE})
        self.recover()
        self.assert_full(ids)


class TestOnMariaDB(_Races, world.TestCase):
    kind = 'mysql'


class TestOnPostgreSQL(_Races, world.TestCase):
    kind = 'postgresql'

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

"""The life of a lease, whatever its ground is: the same is true of each."""

import collections
import itertools

from ironic_reservations import engine as engine_module
from ironic_reservations.features.placement import sync as placement_sync
from ironic_reservations.model import leases
from ironic_reservations.reconciler import lease_workers
from tests import leasing
from tests import world
from tests.inprocess.placement import faults
from tests.inprocess.placement import held_leases
from tests.inprocess.placement import instance_leases
from tests.inprocess.placement import shared

STATUS = leases.LeaseStatus


class _Life:
    """To be run on each ground, which says what a lease is to have.

    :cvar writes: how many writes of a start may fail.
    :cvar steps: a worker takes more than so many at the start, and the end.
    """

    writes: int
    steps: int

    def setUp(self) -> None:
        super().setUp()
        self.prepare()

    def prepare(self) -> None:
        """Have what one lease needs."""
        self.host()

    def planned(self, start: float = 1, end: float = 4) -> leases.Lease:
        """Return a lease that is to come."""
        raise NotImplementedError

    def use(self, lease: leases.Lease) -> None:
        """Have a lease be used."""
        self.boot(self.had(lease), min(self.leasing.nodes(lease)))

    def hold_up(self) -> None:
        """Keep leases from their start."""
        self.network.down = True

    def assert_has(self, *given: leases.Lease) -> None:
        """Check that these have what they are to have, and nobody else."""
        self.assertEqual(sorted(
            node for lease in given for node in self.leasing.nodes(lease)),
            self.held_nodes())

    def given(self) -> leases.Lease:
        """Return a lease that has started, and is used."""
        lease = self.planned()
        self.work(1)
        self.assertIs(STATUS.ACTIVE, self.status(lease), self.waiting(lease))
        self.use(lease)
        return lease

    def die(self, steps: faults.Steps, hours: float) -> None:
        """Have a worker die at a step, and others go on."""
        self.world.clock.now = leasing.at(hours)
        with steps:
            lease_workers.LeaseWorkers(self.mortal(steps)).one_pass()
        self.others()

    def assert_given(self, *given: leases.Lease) -> None:
        """Check that these have started, and that all agrees."""
        self.assertEqual([STATUS.ACTIVE] * len(given),
                         [*map(self.status, given)])
        self.assert_has(*given)
        self.assert_clean()

    def assert_over(self, lease: leases.Lease) -> None:
        """Check that nothing of a lease is left."""
        self.assertIs(STATUS.TERMINATED, self.status(lease))
        self.assert_has()
        self.assert_clean()

    def assert_deleted(self, lease: leases.Lease) -> None:
        """Delete a lease, and check that it leaves nothing."""
        self.leasing.end(lease)
        self.soon()
        placement_sync.recover(self.engine)
        self.assertNotIn(lease.id, self.world.lease_rows())
        self.assert_has()
        self.assert_clean()

    def test_all_is_given_at_the_start_and_taken_back_at_the_end(
            self) -> None:
        lease = self.planned()
        self.work(0.9)
        self.assert_has()
        self.work(1)
        self.assert_given(lease)
        self.use(lease)
        self.work(4)
        self.assert_over(lease)

    def test_lease_that_is_deleted_leaves_nothing(self) -> None:
        self.assert_deleted(self.given())

    def test_placement_that_is_down_holds_up_the_start_only(self) -> None:
        other = self.planned()
        self.work(1)
        self.prepare()
        lease = self.planned(2)
        self.network.down = True
        self.work(2)
        self.assertIn('Placement', self.waiting(lease))
        self.assertEqual({leasing.PLANNED}, {*self.states(lease)})
        self.assertIs(STATUS.ACTIVE, self.status(other))
        self.network.down = False
        self.soon()
        self.recover()
        self.assert_given(other, lease)

    def test_attempts_are_further_apart_the_more_have_failed(self) -> None:
        lease = self.planned()
        self.hold_up()
        pauses = []
        self.world.clock.now = leasing.at(1)
        for _ in range(6):
            self.work()
            due = self.world.lease_rows()[lease.id]['due_at']
            pauses.append((due - self.world.clock.now).total_seconds())
            self.world.clock.now = due
        # Each is spread over half of its length.
        self.assertGreater(pauses[-1], pauses[0])

    def test_whatever_fails_at_the_start_comes_right(self) -> None:
        for number, (fault, times) in enumerate(itertools.product(
                faults.Fault, (1, 2))):
            lease = self.planned()
            self.network.faults = [*[None] * (number % self.writes),
                                   *[fault] * times]
            self.work(1)
            self.network.faults = []
            self.assertGreater(self.network.suffered, number)
            self.network.deliver()
            self.others()
            self.assert_given(lease)
            self.assert_deleted(lease)
            self.world.clock.now = world.NOON

    def test_worker_is_killed_at_each_step_of_the_start(self) -> None:
        for steps in faults.each_death():
            self.world.clock.now = world.NOON
            lease = self.planned(1, 9)
            self.die(steps, 1)
            self.assert_given(lease)
            self.assert_deleted(lease)
        self.assertGreater(steps.taken, self.steps)

    def test_worker_is_killed_at_each_step_of_the_end(self) -> None:
        for steps in faults.each_death():
            self.world.clock.now = world.NOON
            lease = self.given()
            self.die(steps, 4)
            self.assert_over(lease)
        self.assertGreater(steps.taken, self.steps)


class TestOfNodes(_Life, held_leases.TestCase):
    writes, steps = 1, 10

    def prepare(self) -> None:
        self.host(), self.host()

    def planned(self, start: float = 1, end: float = 4) -> leases.Lease:
        return self.leasing.create(start, end, leasing.wish(2))

    def use(self, lease: leases.Lease) -> None:
        self.ironic.deploy(min(self.leasing.nodes(lease)), world.new_uuid())

    def hold_up(self) -> None:
        for node in self.world.mirrored():
            self.nodes.claim(node)

    def mortal(self, steps: faults.Steps) -> engine_module.Engine:
        return faults.mortal(self.engine, self.there.sender(), steps)


class TestOfInstances(_Life, instance_leases.TestCase):
    writes, steps = 3, 30

    def planned(self, start: float = 1, end: float = 4) -> leases.Lease:
        return self.leasing.create(start, end, leasing.instances(1, 2, 512, 5))

    def hold_up(self) -> None:
        self.to_nova.down = True

    def assert_has(self, *given: leases.Lease) -> None:
        super().assert_has(*given)
        self.assert_active(*map(self.had, given))


class TestOnComputeHosts(_Life, shared.TestCase):
    writes, steps = 3, 30

    def prepare(self) -> None:
        self.shared_host = self.host()

    def planned(self, start: float = 1, end: float = 4) -> leases.Lease:
        return self.lease({self.shared_host: 2}, start, end)

    def assert_has(self, *given: leases.Lease) -> None:
        self.assert_active(*map(self.had, given))
        held = collections.Counter(
            booking.node_uuid for lease in given
            for booking in self.leasing.reload(lease).bookings)
        for host in self.world.mirrored():
            self.assertEqual(shared.times(held[host]) if held[host] else {},
                             self.usage(host))

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

"""A lease starts, and ends, at most five seconds after its last obstacle."""

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import HealthCheck
from hypothesis import settings
from hypothesis import strategies

from ironic_reservations.engine import hosts as host_cases
from ironic_reservations.engine import mirror
from ironic_reservations.engine import sweep
from ironic_reservations.engine.lease_cycle import health as lease_health
from ironic_reservations.features.maintenance import sync as maintenance_sync
from tests import leasing
from tests import servers
from tests.inprocess.reconciler import leases

_PROMISED = 5
#: How often the loops do what they do, in seconds.
_POLL, _SWEEP = 5, 10
ACTIVE, TERMINATED = leases.STATUS.ACTIVE, leases.STATUS.TERMINATED


class _Obstacles:
    """What stands in the way of a lease, one after the other.

    Each method sets one up for some seconds, and returns how it goes away.

    :param case: the test, with the timeline that it happens on.
    :param node: the node in question.
    """

    def __init__(self, case: leases.TestCase, node: str) -> None:
        self._case = case
        self._node = node

    def _change(self, before: dict[str, Any],
                after: dict[str, Any]) -> Callable[[], None]:
        self._case.ironic.change(self._node, **before)
        return lambda: self._case.ironic.change(self._node, **after)

    def cleaned(self) -> Callable[[], None]:
        """Have the node be cleaned."""
        return self._change({'provision_state': 'cleaning'},
                            {'provision_state': 'available'})

    def locked(self) -> Callable[[], None]:
        """Have Ironic refuse all changes of the node."""
        self._case.ironic.refuses.add(self._node)
        return self._case.ironic.refuses.clear

    def silent(self) -> Callable[[], None]:
        """Have the conductors be away."""
        self._case.ironic.conductor_silent = True
        return lambda: setattr(self._case.ironic, 'conductor_silent', False)

    def down(self) -> Callable[[], None]:
        """Have all of Ironic be away."""
        self._case.ironic.down = True
        return lambda: setattr(self._case.ironic, 'down', False)


#: What stands in the way, one after the other, and for how many seconds.
_OBSTACLES = strategies.lists(strategies.tuples(
    strategies.sampled_from(['cleaned', 'locked', 'silent', 'down']),
    strategies.integers(1, 70)), min_size=1, max_size=3)


class TestCase(leases.TestCase):
    """Leases, and all loops that have to do with them, second by second."""

    def loops(self) -> None:
        """Have the loops do what is due at this second."""
        second = int((self.world.clock() - leasing.at(0)).total_seconds())
        if not self.ironic.down:
            mirror.follow_awaited(self.engine)
            if second % _POLL == 0:
                mirror.refresh_changed(self.engine)
                lease_health.check(self.engine)
                maintenance_sync.sync(self.engine, self.ironic)
        if second % _SWEEP == 0:
            sweep.sweep(self.engine)
        for _ in range(5):
            if not self.work():
                return

    def wait(self, seconds: int) -> None:
        """Let time pass."""
        for _ in range(seconds):
            self.loops()
            self.world.clock.advance(1)

    def comes(self, lease: Any, status: leases.STATUS) -> None:
        """Check that a lease gets a status in the time that is promised."""
        for _ in range(_PROMISED):
            self.world.clock.advance(1)
            self.loops()
            if self.lease(lease).status is status:
                return
        self.fail(f'after {_PROMISED} seconds: {self.lease(lease)}')


class TestSequences(TestCase):
    """Obstacles of all kinds, one after the other, however long."""

    def _overcome(self, node: str, obstacles: Any, lease: Any,
                  status: leases.STATUS) -> None:
        there = _Obstacles(self, node)
        removed = getattr(there, obstacles[0][0])()
        for (_, seconds), following in zip(
                obstacles, [*obstacles[1:], None], strict=True):
            self.wait(seconds)
            self.assertIsNot(status, self.lease(lease).status)
            removed()
            if following is not None:
                removed = getattr(there, following[0])()
        self.comes(lease, status)

    @settings(max_examples=8, deadline=None,
              suppress_health_check=list(HealthCheck))
    @given(_OBSTACLES)
    def test_start(self, obstacles):
        self.begin()
        (node,) = self.leasing.hosts()
        lease = self.leasing.create(1, 10)
        self.at(1)
        self._overcome(node, obstacles, lease, ACTIVE)

    @settings(max_examples=8, deadline=None,
              suppress_health_check=list(HealthCheck))
    @given(_OBSTACLES)
    def test_end(self, obstacles):
        self.begin()
        lease = self.started(end=2)
        node = self.node_of(lease)
        self.ironic.change(node, provision_state='active',
                           instance_uuid='mine')
        self.ironic.cleaning = 'available'
        self.leasing.refresh()
        self.at(2)
        self._overcome(node, obstacles, lease, TERMINATED)


@servers.also
class TestFreed(TestCase):
    """Whatever lets a node go, a lease that could use it is woken."""

    def setUp(self) -> None:
        super().setUp()
        hosts = self.leasing.hosts(2)
        self.mine = self.leasing.create(1, 10)
        self.node = self.node_of(self.mine)
        (self.other,) = set(hosts) - {self.node}

    def lose(self) -> None:
        """Have the node of the lease be gone for good at its start."""
        self.ironic.change(self.other, provision_state='active',
                           instance_uuid='theirs')
        self.ironic.there.pop(self.node)
        self.leasing.refresh()
        self.at(1)
        self.wait(100)
        self.assertTrue(self.lease(self.mine).degraded)

    def gets(self, node: str) -> None:
        """Check that the lease gets a node in the time that is promised."""
        for _ in range(_PROMISED):
            self.world.clock.advance(1)
            self.loops()
            if self.has() == [node]:
                return
        self.fail(f'after {_PROMISED} seconds: {self.lease(self.mine)}')

    def has(self) -> list[str]:
        """Return the nodes that are bound to the lease."""
        return [booking.node_uuid for booking in self.lease(self.mine).bookings
                if booking.state is leasing.BOUND]

    def test_another_node_is_undeployed(self) -> None:
        """57 s passed."""
        self.lose()
        self.ironic.free(self.other)
        self.gets(self.other)

    def test_another_lease_ends(self) -> None:
        theirs = self.leasing.create(1, 10)
        self.ironic.there.pop(self.node)
        self.leasing.refresh()
        self.at(1)
        self.wait(100)
        self.assertEqual([], self.has())
        self.leasing.end(theirs)
        self.gets(self.other)

    def test_operator_opens_another_node(self) -> None:
        self.lose()
        (third,) = self.world.enrol()
        self.wait(100)
        host_cases.add(self.engine, third, {})
        self.gets(third)

    def test_reservation_of_another_node_expires(self) -> None:
        self.ironic.there.pop(self.node)
        self.leasing.refresh()
        self.at(1)
        self.world.clock.advance(-60)
        self.world.reserve(self.other, ttl=200)
        self.wait(250)
        self.gets(self.other)

    def test_used_reservation_ends_with_its_instance(self) -> None:
        """The mirror ended it, and woke nobody."""
        held = self.world.reserve(self.node, ttl=600)
        self.world.use(held)
        self.ironic.there.pop(self.other)
        self.leasing.refresh()
        self.assertEqual('in_use', self.world.state_of(held))
        self.at(1)
        self.wait(100)
        self.assertEqual([], self.has())
        self.ironic.free(self.node)
        self.gets(self.node)

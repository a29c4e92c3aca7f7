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
"""Starts and ends with services that were away, and servers that take long."""

from collections.abc import Callable
import functools

from ironic_reservations.model import leases
from tests import leasing
from tests.inprocess.placement import instance_leases

STATUS = instance_leases.STATUS
_PROMISED = 5
#: An obstacle, how it goes away, and how long it lasts in seconds.
_Obstacle = tuple[Callable[[], object], Callable[[], object], int]


class TestInTime(instance_leases.TestCase):
    """A lease of one instance, second by second."""

    def placement(self, seconds: int) -> _Obstacle:
        """Have Placement be away."""
        return (functools.partial(setattr, self.network, 'down', True),
                functools.partial(setattr, self.network, 'down', False),
                seconds)

    def away(self, seconds: int) -> _Obstacle:
        """Have Nova be away."""
        return (functools.partial(setattr, self.to_nova, 'down', True),
                functools.partial(setattr, self.to_nova, 'down', False),
                seconds)

    def overcome(self, lease: leases.Lease, status: leases.LeaseStatus,
                 *obstacles: _Obstacle) -> None:
        """Check that a lease gets a status in time after the last one."""
        begin = obstacles[0][0]
        begin()
        for number, (_, end, seconds) in enumerate(obstacles, 1):
            for _ in range(seconds):
                self.crew.one_pass()
                self.world.clock.advance(1)
            self.assertIsNot(status, self.status(lease))
            end()
            if number < len(obstacles):
                obstacles[number][0]()
        for _ in range(_PROMISED):
            self.world.clock.advance(1)
            for _ in range(3):
                self.crew.one_pass()
        self.assertIs(status, self.status(lease), self.waiting(lease))

    def test_start(self) -> None:
        self.host()
        lease = self.planned(0, leasing.instances(1, 2, 512, 5))
        self.world.clock.now = leasing.at(1)
        self.overcome(lease, STATUS.ACTIVE, self.placement(123),
                      self.away(60), self.placement(20))
        self.assert_active(self.had(lease))

    def test_end(self) -> None:
        """After 123 seconds without Placement, it took 114 more."""
        self.host()
        lease = self.planned(0, leasing.instances(1, 2, 512, 5))
        self.work(1)
        (node,) = self.leasing.nodes(lease)
        self.boot(self.had(lease), node)
        self.nova.deleting = True
        self.world.clock.now = leasing.at(4)
        self.overcome(
            lease, STATUS.TERMINATED, self.placement(123), self.away(60),
            (lambda: None, self.nova.vanish, 90))
        self.assert_over(lease)

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

"""Leases of instances that start and end at once on the same hosts.

With Placement in processes of its own, over MariaDB and PostgreSQL.
"""

from concurrent import futures
import dataclasses
import random

import testtools

from ironic_reservations import build
from ironic_reservations import engine as engine_module
from ironic_reservations.clouds import nova
from ironic_reservations.features.placement.lease_providers import converge
from ironic_reservations.features.placement.lease_providers import machine
from ironic_reservations.features.placement.lease_providers import names
from tests import small_nova
from tests import world
from tests.inprocess.placement import in_memory
from tests.inprocess.placement import served

HOSTS = 3
LEASES = 6
TURNS = 4


class _Races:
    """To be run on each database."""

    kind: str

    def setUp(self):
        super().setUp()
        self.placed = self.useFixture(served.Served(self.kind))
        self.nova = self.useFixture(small_nova.SmallNova())
        self.client = self.new_engine().placement
        nodes = in_memory.Nodes(self.client)
        self.hosts = [nodes.add() for _ in range(HOSTS)]

    def new_engine(self) -> engine_module.Engine:
        """Return the engine of one process more."""
        conf = world.configured('sqlite://', placement__enabled=True)
        conf.set_override('endpoint_override', self.placed.endpoint,
                          'placement')
        return dataclasses.replace(build.engine(conf), nova=nova.Nova(
            self.nova.sender(), authenticated=False))

    def live(self, number: int) -> machine.Desired:
        """Start and end leases, and leave the last one active."""
        engine, chance = self.new_engine(), random.Random(number)
        for turn in range(TURNS):
            wanted = machine.Desired(
                world.new_uuid(), f'project-{number}',
                {host: chance.randint(1, 3) for host in self.hosts}, True,
                machine.DesiredFlavor(1, 1024, 1))
            self.bring(engine, wanted)
            if turn < TURNS - 1:
                self.bring(engine, dataclasses.replace(wanted, active=False))
        return wanted

    @staticmethod
    def bring(engine: engine_module.Engine, wanted: machine.Desired) -> None:
        """Make passes, as the reconciler does, until nothing is left."""
        for _ in range(20):
            result = converge.bring(engine, wanted)
            if not result:
                return
        raise AssertionError(result)

    def offers(self):
        """Return what each host offers, by class."""
        found = {}
        for host in self.hosts:
            there = self.client.inventories(names.child_of(host))
            found[host] = {name: offer['total'] for name, offer
                           in there.by_class.items()}
        return found

    def test_each_has_what_it_is_to_have_and_nothing_else_is_left(self):
        with futures.ThreadPoolExecutor(LEASES) as pool:
            left = list(pool.map(self.live, range(LEASES)))
        self.assertEqual(
            {host: {each.class_name: each.counts[host] for each in left}
             for host in self.hosts}, self.offers())
        self.assertEqual({each.class_name for each in left}, {
            name for name in self.client.classes()
            if name.startswith(names.PREFIX)})
        self.assertEqual({each.reservation_id for each in left},
                         self.nova.flavors.keys())
        with futures.ThreadPoolExecutor(LEASES) as pool:
            list(pool.map(lambda each: self.bring(
                self.new_engine(),
                dataclasses.replace(each, active=False)), left))
        self.assertEqual(dict.fromkeys(self.hosts, {}), self.offers())
        self.assertEqual({}, self.nova.flavors)

    def test_two_workers_at_the_same_lease(self):
        """One is slow, and its claim has ended; each meets the other."""
        wanted = machine.Desired(
            world.new_uuid(), 'project', dict.fromkeys(self.hosts, 2), True,
            machine.DesiredFlavor(1, 1024, 1))
        for active in (True, False):
            each = dataclasses.replace(wanted, active=active)
            with futures.ThreadPoolExecutor(2) as pool:
                list(pool.map(lambda _, each=each: self.bring(
                    self.new_engine(), each), range(2)))
            self.assertEqual(
                {host: {wanted.class_name: 2} if active else {}
                 for host in self.hosts}, self.offers())
            self.assertEqual(active, bool(self.nova.flavors))


class TestOnMariaDB(_Races, testtools.TestCase):

    kind = 'mysql'


class TestOnPostgreSQL(_Races, testtools.TestCase):

    kind = 'postgresql'

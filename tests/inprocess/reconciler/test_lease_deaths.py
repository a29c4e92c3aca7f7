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

"""A process dies after any write, and another one finishes its work."""

import dataclasses

from ironic_reservations import errors
from ironic_reservations.engine import sweep
from ironic_reservations.engine.in_flight import acted
from ironic_reservations.reconciler import lease_workers
from tests import leasing
from tests import servers
from tests import world
from tests.inprocess.placement import faults
from tests.inprocess.reconciler import leases

ACTIVE = leases.STATUS.ACTIVE


class _Ironic:
    """An Ironic whose caller may be dead before the answer comes."""

    def __init__(self, real, steps):
        self._real = real
        self._steps = steps

    def __getattr__(self, name):
        method = getattr(self._real, name)

        def call(*args):
            answer = method(*args)
            self._steps.take()
            return answer
        return call


class _Deaths(leases.TestCase):
    """A process dies after any write; another one finishes its work."""

    options = {'leases__claim_ttl': 60}

    def _begin_with(self, steps):
        """Begin with a process that dies."""
        steps.begin(self.engine)
        self.mortal = dataclasses.replace(
            self.world.another_engine(), announcer=self.heard,
            database=faults.MortalDatabase(self.engine.database, steps),
            ironic=_Ironic(self.ironic, steps))
        self.crew = lease_workers.LeaseWorkers(self.mortal)

    def _dies(self, steps, *work):
        """Have the process do some work; tells if that is its end.

        Another one goes on in its place.
        """
        before = steps.died
        with steps:
            for each in work:
                each()
        if before or not steps.died:
            return False
        self.mortal = self.world.another_engine()
        self.crew = self.another_crew()
        return True

    def _die_after_each_effect(self, more_than):
        """Have a process die after each of its effects, one a story.

        :param more_than: so many of them.
        """
        for number, steps in enumerate(faults.each_death(), 1):
            self._story(number, steps)
        self.assertGreater(number, more_than)

    def _count(self, call):
        return sum(each == call for each, _ in self.ironic.changed)


@servers.also
class TestDeath(_Deaths):

    def _story(self, number, steps):
        """A lease from its start to its end."""
        self.heard.told.clear()
        self.ironic.changed.clear()
        self.ironic.cleaning = 'available'
        noon = 10 * number
        self.at(noon)
        lease = self.leasing.create(None, noon + 2, leasing.wish(2),
                                    before_end=leasing.at(noon + 1))
        self._begin_with(steps)

        def work():
            if self._dies(steps, self.work):
                self.soon(61)
            self.assertEqual([], self.leasing.overlaps())
        work()
        self.assert_status(ACTIVE, lease)
        self.assertEqual({leasing.PROJECT}, {
            self.ironic.there[node].lessee for node in self.nodes})
        used, _ = self.nodes
        self.ironic.deploy(used, world.new_uuid())
        self.ironic.cleaning = 'cleaning'
        self.at(noon + 1.5)
        work()
        self.at(noon + 2)
        work()
        self.ironic.change(used, provision_state='available')
        self.world.clock.advance(400)
        work()
        over = self.lease(lease)
        self.assertEqual(leases.STATUS.TERMINATED, over.status)
        self.assertEqual({'DONE'}, set(self.happened(lease).values()))
        self.assertEqual([], self.leasing.rows())
        self.assertEqual({('available', None, 'before')}, {
            (self.ironic.there[node].provision_state,
             self.ironic.there[node].instance_uuid,
             self.ironic.there[node].lessee) for node in self.nodes})
        self.assertEqual(1, self.ironic.changed.count(('undeploy', used)))
        told = self.heard.count()
        for event in ('start_lease', 'before_end_lease', 'end_lease'):
            self.assertIn(told[f'lease.event.{event}'], (1, 2) if steps.died
                          else (1,))

    def test_death_after_any_write_leaves_nothing_behind(self):
        """Blazar: never retries what a dead manager left IN_PROGRESS."""
        self.nodes = self.leasing.hosts(2, lessee='before')
        # NOTE: each claim, each change in Ironic, each commit and each
        # giving back.
        self._die_after_each_effect(15)
        self.assertEqual({}, self.leasing.stale())


@servers.also
class TestDeathInHandover(_Deaths):

    def _story(self, number, steps):
        """A node that was acted on is given back."""
        self.begin()
        # The host of the story before is free again.
        self.world.empty()
        self.leasing.hosts(1)
        lease = self.leasing.create(None, 2, leasing.wish(1))
        self.work_at(0)
        node = self.node_of(lease)
        before = self.ironic.document(node)
        made = acted.write(self.engine, node, (
            'power', '/description', '/instance_info/a', 'maintenance'))
        self.ironic.fields[node] = {'power_state': 'power on',
                                    'description': 'his',
                                    'instance_info': {'a': 1}}
        self.ironic.why[node] = made.marked('his')
        self.ironic.change(node, maintenance=True)
        self.ironic.changed.clear()
        self._begin_with(steps)
        for _ in range(12):
            self._dies(steps, lambda: self.soon(7200))
            self.assertEqual([], self.leasing.overlaps())
        self.assert_status(leases.STATUS.TERMINATED, lease)
        self.assertEqual('available', self.ironic.there[node].provision_state)
        after = self.ironic.document(node)
        self.assertEqual((None, {}, 'power off', False), (
            after.node['description'], after.node['instance_info'],
            after.node['power_state'], after.node['maintenance']))
        self.assertEqual((before.node['description'], 1, 1), (
            after.node['description'], self._count('manage'),
            self._count('provide')))

    def test_dies_after_each_effect(self):
        self._die_after_each_effect(15)


@servers.also
class TestDeathOfReservation(_Deaths):

    def _story(self, number, steps):
        """A reservation whose holder acted expires."""
        self.begin()
        (node,) = self.world.enrol()
        self.ironic.fields[node] = {'power_state': 'power off'}
        before = self.ironic.document(node)
        self.world.reserve(node, ttl=600)
        acted.write(self.engine, node, ('power', '/description'))
        self.ironic.fields[node] = {'power_state': 'power on',
                                    'description': 'his'}
        self.world.clock.advance(601)
        self._begin_with(steps)
        for _ in range(8):
            self._dies(steps, lambda: sweep.sweep(self.mortal), self.work)
            # NOTE: the mirror shows the node as available all the time.
            if before != self.ironic.document(node) or any(
                    lease.bookings for lease in self.leasing.all()):
                self.assertRaises(errors.NoNodeAvailable, self.world.reserve,
                                  node)
            self.world.clock.advance(400)
        self.assertEqual([], self.leasing.all())
        self.assertEqual((before, 1, 1), (
            self.ironic.document(node), self._count('manage'),
            self._count('provide')))
        self.world.reserve(node)

    def test_dies_after_each_effect(self):
        self._die_after_each_effect(8)

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
from tests.inprocess.reconciler import leases

ACTIVE = leases.STATUS.ACTIVE


class Died(BaseException):
    """The process is gone, and nothing of it runs any more."""


class _Mortal:
    """Dies after it has had a number of effects."""

    def __init__(self, lives):
        self.lives = lives

    def has_done_something(self):
        self.lives -= 1
        if self.lives == 0:
            raise Died


class _Ironic:
    """An Ironic whose caller may be dead before the answer comes."""

    def __init__(self, real, mortal):
        self._real = real
        self._mortal = mortal

    def __getattr__(self, name):
        method = getattr(self._real, name)
        if name not in ('write_lessee', 'undeploy', 'clear_instance',
                        'manage', 'provide', 'put_back'):
            return method

        def call(*args):
            method(*args)
            self._mortal.has_done_something()
        return call


class _Deaths(leases.TestCase):
    """A process dies after any write; another one finishes its work."""

    options = {'leases__claim_ttl': 60}

    def _mortal_crew(self, lives):
        return self._mortal(lives)[1]

    def _mortal(self, lives):
        """Return the engine and the crew of a process that dies."""
        mortal = _Mortal(lives)
        engine = dataclasses.replace(
            self.world.another_engine(), announcer=self.heard,
            ironic=_Ironic(self.ironic, mortal))
        real = engine.database.write

        class Write:
            def __enter__(self):
                self.inner = real()
                return self.inner.__enter__()

            def __exit__(self, *exc):
                self.inner.__exit__(*exc)
                if exc[0] is None:
                    mortal.has_done_something()
        engine.database.write = Write
        return engine, lease_workers.LeaseWorkers(engine)

    def _count(self, call):
        return sum(each == call for each, _ in self.ironic.changed)


@servers.also
class TestDeath(_Deaths):

    def _story(self, lives):
        """A lease from its start to its end; tells if anybody died."""
        self.heard.told.clear()
        self.ironic.changed.clear()
        self.ironic.cleaning = 'available'
        noon = 10 * lives
        self.at(noon)
        lease = self.leasing.create(None, noon + 2, leasing.wish(2),
                                    before_end=leasing.at(noon + 1))
        mortal, died = self._mortal_crew(lives), False

        def work():
            nonlocal mortal, died
            try:
                mortal.one_pass()
            except Died:
                died, mortal = True, self.another_crew()
                self.world.clock.advance(61)
                mortal.one_pass()
            self.assertEqual([], self.leasing.overlaps())
        work()
        self.assertEqual(ACTIVE, self.lease(lease).status)
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
            self.assertIn(told[f'lease.event.{event}'], (1, 2) if died
                          else (1,))
        return died

    def test_death_after_any_write_leaves_nothing_behind(self):
        """Blazar: never retries what a dead manager left IN_PROGRESS."""
        self.nodes = self.leasing.hosts(2, lessee='before')
        lives = 1
        while self._story(lives):
            lives += 1
        # NOTE: each claim, each change in Ironic, each commit and each
        # giving back.
        self.assertGreater(lives, 15)
        self.assertEqual({}, self.leasing.stale())


@servers.also
class TestDeathInHandover(_Deaths):

    def _story(self, lives):
        """A node that was acted on is given back; tells if anybody died."""
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
        mortal, died = self._mortal_crew(lives), False
        for _ in range(12):
            self.world.clock.advance(7200)
            try:
                mortal.one_pass()
            except Died:
                died, mortal = True, self.another_crew()
            self.assertEqual([], self.leasing.overlaps())
        self.assertEqual(leases.STATUS.TERMINATED, self.lease(lease).status)
        self.assertEqual('available', self.ironic.there[node].provision_state)
        after = self.ironic.document(node)
        self.assertEqual((None, {}, 'power off', False), (
            after.node['description'], after.node['instance_info'],
            after.node['power_state'], after.node['maintenance']))
        self.assertEqual((before.node['description'], 1, 1), (
            after.node['description'], self._count('manage'),
            self._count('provide')))
        return died

    def test_dies_after_each_effect(self):
        lives = 1
        while self._story(lives):
            lives += 1
        self.assertGreater(lives, 15)


@servers.also
class TestDeathOfReservation(_Deaths):

    def _story(self, lives):
        """A reservation whose holder acted expires; tells if anybody died."""
        self.begin()
        (node,) = self.world.enrol()
        self.ironic.fields[node] = {'power_state': 'power off'}
        before = self.ironic.document(node)
        self.world.reserve(node, ttl=600)
        acted.write(self.engine, node, ('power', '/description'))
        self.ironic.fields[node] = {'power_state': 'power on',
                                    'description': 'his'}
        self.world.clock.advance(601)
        engine, mortal = self._mortal(lives)
        died = False
        for _ in range(8):
            try:
                sweep.sweep(engine)
                mortal.one_pass()
            except Died:
                died, engine = True, self.world.another_engine()
                mortal = self.another_crew()
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
        return died

    def test_dies_after_each_effect(self):
        lives = 1
        while self._story(lives):
            lives += 1
        self.assertGreater(lives, 8)

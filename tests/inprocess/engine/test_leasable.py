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

"""Nodes that are hosts because the configuration says so."""

import contextlib
import dataclasses

import hypothesis
from hypothesis import strategies as st

from ironic_reservations import errors
from ironic_reservations.db import hosts as db_hosts
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import hosts
from ironic_reservations.engine import leasable
from ironic_reservations.engine import mirror
from ironic_reservations.engine.reservations import release
from ironic_reservations.model import mirrored_node
from tests import examples
from tests import leasing
from tests import servers
from tests import world
from tests.inprocess.engine import timelines

CLOSED = 'CUSTOM_CLOSED'


@servers.also
class TestLeasable(timelines.TestCase):
    """``[leases] hosts = all``, but for one name and one trait."""

    options = {'leases__hosts': 'all', 'leases__closed_nodes': ['spare'],
               'leases__closed_traits': [CLOSED]}

    def sync(self):
        """Do what the reconciler does in each turn."""
        mirror.refresh_all(self.engine)
        leasable.sync(self.engine)
        self.assert_sound()

    def open(self):
        """Return the nodes that are open to new leases."""
        return {host.node.uuid for host in hosts.page(self.engine)
                if host.reservable}

    def test_all_nodes_are_hosts(self):
        """Those that come later as well, and none twice."""
        nodes = set(self.world.enrol(3))
        self.sync()
        self.assertEqual(nodes, self.open())
        nodes |= set(self.world.enrol(2, mirrored=False))
        self.sync()
        self.sync()
        self.assertEqual(nodes, self.open())
        self.assertEqual(5, len(hosts.page(self.engine)))
        self.leasing.create(1, 2, leasing.wish(5))

    def test_by_default_hosts_are_those_that_were_opened(self):
        """Nothing is opened unless somebody asks for it."""
        self.begin(**{**self.options, 'leases__hosts': 'opened'})
        self.world.enrol(2)
        opened = self.leasing.hosts(traits=frozenset({CLOSED}))
        self.sync()
        self.assertEqual(set(opened), self.open())

    def test_nodes_closed_by_name_or_trait(self):
        """Neither is a host; the name is that of a node, or its UUID."""
        self.world.enrol(name='spare')
        self.world.enrol(traits=frozenset({CLOSED, 'CUSTOM_OTHER'}))
        by_uuid, = self.world.enrol()
        self.configure(closed_nodes=['spare', by_uuid])
        (node,) = self.world.enrol(name='Spare', traits=frozenset({'X'}))
        self.sync()
        self.assertEqual([node], [host.node.uuid for host
                                  in hosts.page(self.engine)])

    def test_host_that_is_closed_later_keeps_its_words(self):
        """What has not started goes elsewhere, what has started stays."""
        self.configure(closed_nodes=[])
        nodes = self.world.enrol(2)
        self.sync()
        running = self.leasing.started(0, 2)
        (here,) = self.leasing.nodes(running)
        later = self.leasing.create(3, 4, leasing.wish(2))
        hosts.change(self.engine, self.leasing.host_id(here), {'rack': 'r1'})
        self.configure(closed_nodes=[here])
        self.sync()
        self.assertEqual(set(nodes) - {here}, self.open())
        self.assertEqual({here}, self.leasing.nodes(running))
        self.assertEqual(set(nodes), self.leasing.nodes(later))
        self.leasing.refused(5, 6, leasing.wish(2))
        self.configure(closed_nodes=[])
        self.sync()
        self.assertEqual(set(nodes), self.open())
        self.assertEqual({'rack': 'r1'}, dict(hosts.find(
            self.engine, here).capabilities))

    def test_host_that_the_operator_has_closed_stays_closed(self):
        """Before the option was set, or after it; whatever else changes."""
        self.configure(hosts='opened')
        (before,) = self.leasing.hosts()
        self.leasing.set_reservable(before, False)
        self.configure(hosts='all')
        (after,) = self.world.enrol()
        self.sync()
        self.assertEqual({after}, self.open())
        self.leasing.set_reservable(after, False)
        for closed in ([before, after], []):
            self.configure(closed_nodes=closed)
            self.sync()
            self.assertEqual(set(), self.open())

    def test_back_to_opened(self):
        """Hosts stay; what the configuration had closed is open again."""
        nodes = set(self.world.enrol(2))
        self.sync()
        closed = sorted(nodes)[0]
        self.configure(closed_nodes=[closed])
        self.sync()
        self.assertEqual(nodes - {closed}, self.open())
        self.configure(hosts='opened')
        self.sync()
        self.assertEqual(nodes, self.open())
        hosts.remove(self.engine, hosts.find(self.engine, closed).id)
        self.sync()
        self.assertEqual(nodes - {closed}, self.open())

    def test_node_that_is_deleted_is_no_host(self):
        """Unless somebody is promised it, or has said something of it."""
        other, plain, said, promised = self.world.enrol(4)
        self.configure(closed_nodes=[other])
        self.sync()
        hosts.change(self.engine, self.leasing.host_id(said), {'rack': 'r1'})
        self.leasing.set_reservable(plain, False)
        self.leasing.set_reservable(said, False)
        lease = self.leasing.create(1, 2)
        self.assertEqual({promised}, self.leasing.nodes(lease))
        self.leasing.set_reservable(plain, True)
        for node in (plain, said, promised):
            self.world.ironic.there.pop(node)
        self.sync()
        self.sync()
        self.assertEqual({said, promised}, {
            host.node.uuid for host in hosts.page(self.engine)})
        with self.engine.database.read() as connection:
            self.assertNotIn(plain, db_nodes.read_nodes(connection))
        self.leasing.end(lease)
        self.sync()
        self.assertEqual({said}, {host.node.uuid for host
                                  in hosts.page(self.engine)})
        hosts.remove(self.engine, hosts.find(self.engine, said).id)

    def test_node_that_is_enrolled_again_is_a_host_again(self):
        """Under the same UUID or another one, once each."""
        other, node = self.world.enrol(2)
        self.sync()
        known = self.world.ironic.there.pop(node)
        self.sync()
        self.sync()
        self.assertEqual({other}, self.open())
        self.world.ironic.put(known)
        self.sync()
        self.assertEqual({other, node}, self.open())

    def test_host_that_is_a_host_by_configuration_is_not_deleted(self):
        """It would be back in seconds; the sentence says what to do."""
        (node,) = self.world.enrol()
        self.sync()
        host = hosts.find(self.engine, node)
        refused = self.assertRaises(errors.HostDecided, hosts.remove,
                                    self.engine, host.id)
        self.assertIn('Set "reservable" to false', str(refused))
        self.assertEqual({node}, self.open())

    def test_host_that_the_configuration_closes_is_not_opened(self):
        """Neither by a change nor by opening its node."""
        (node,) = self.world.enrol(name='spare')
        made = hosts.add(self.engine, node, {'rack': 'r1'})
        self.assertFalse(made.reservable)
        refused = self.assertRaises(errors.HostDecided, hosts.change,
                                    self.engine, made.id, {}, True)
        self.assertIn('closed_nodes', str(refused))
        changed = hosts.change(self.engine, made.id, {'rack': 'r2'})
        self.assertEqual({'rack': 'r2'}, dict(changed.capabilities))
        self.leasing.refused(1, 2)
        hosts.remove(self.engine, made.id)

    def test_compute_hosts_are_opened_by_their_operator_alone(self):
        """No rule here speaks of them."""
        (compute,) = self.leasing.compute_hosts(name='spare')
        self.sync()
        self.assertEqual({compute}, self.open())
        hosts.remove(self.engine, hosts.find(self.engine, compute).id)
        self.sync()
        self.assertEqual(set(), self.open())

    def test_node_that_is_reserved_or_in_use_is_a_host(self):
        """As one that an operator opens: its reservation stays."""
        (node,) = self.world.enrol()
        held = self.world.reserve(node)
        self.sync()
        self.assertEqual({node}, self.open())
        self.leasing.refused(None, 0.1)
        release.release(self.engine, held.uuid)
        self.leasing.create(None, 0.1)

    def test_node_that_changes_meanwhile_is_left_for_the_next_pass(self):
        """And holds up none of the others."""
        first, second = self.world.enrol(2)
        other = self.world.another_engine()
        self.world.before_next_write(
            lambda: hosts.add(other, first, {'rack': 'r1'}))
        leasable.sync(self.engine)
        self.assertEqual({first, second}, self.open())
        self.assertEqual({'rack': 'r1'}, dict(hosts.find(
            self.engine, first).capabilities))
        self.assertEqual(2, len(hosts.page(self.engine)))

    def test_process_that_stood_still_opens_nothing_that_is_gone(self):
        """What it read is named in what it writes."""
        (node,) = self.world.enrol()
        other = self.world.another_engine()

        def meanwhile():
            self.world.ironic.there.clear()
            self.world.enrol(mirrored=False)
            mirror.refresh_all(other)

        self.world.before_next_write(meanwhile)
        leasable.sync(self.engine)
        self.assertNotIn(node, self.open())
        self.sync()
        self.assertEqual(1, len(self.open()))

    def test_many_nodes_take_few_statements(self):
        """Some for each batch, and none where nothing is to be done."""
        self.patch(leasable, '_BATCH', 4)
        nodes = self.world.enrol(10)
        self.sync()
        self.assertEqual(set(nodes), self.open())
        with self.unchanged():
            self.sync()


@servers.also
class TestWhatBecomesOfHosts(timelines.TestCase):
    """Whatever is done in whichever order, hosts are what they should be."""

    _STEPS = st.one_of(
        *(st.tuples(st.just(name), st.integers(0, 7)) for name in (
            'enrol', 'delete', 'trait', 'close', 'open', 'say', 'add',
            'remove', 'lease')),
        st.tuples(st.just('hosts'), st.sampled_from(['all', 'opened'])),
        st.tuples(st.just('names'), st.sets(st.integers(0, 7), max_size=3)),
        st.tuples(st.just('sync'), st.none()))

    @hypothesis.settings(
        max_examples=examples.drawn(25),
        suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(st.lists(_STEPS, max_size=25))
    def test_in_any_order(self, steps):
        """Nodes come and go, operators and the configuration decide."""
        around = self.new_world(leases__hosts='all',
                                leases__closed_traits=[CLOSED])
        try:
            around.empty()
            self._run(around, steps)
        finally:
            # NOTE: there are many examples, each with connections.
            around.engine.database.close()

    def _run(self, around, steps):
        self.world = around
        self.leasing = leasing.Leasing(around)
        self.engine = around.engine
        self.uuids = [world.new_uuid() for _ in range(8)]
        # NOTE: an Ironic without any node is one that cannot be read.
        around.enrol()
        self.said: dict[str, str] = {}
        self.closed: set[str] = set()
        for place, (step, what) in enumerate(steps):
            getattr(self, f'_{step}')(what, place)
        # NOTE: a node that is gone is first a host that is gone, then no
        # host, and then forgotten.
        for _ in range(3):
            self._sync(None, 0)
        self._check()
        with self.unchanged():
            self._sync(None, 0)

    def _check(self):
        rules = leasable.rules(self.engine.conf)
        there = {host.node.uuid: host for host in hosts.page(self.engine)}
        for uuid, node in self.world.ironic.there.items():
            if rules.is_always_open(node):
                self.assertIn(uuid, there)
                self.assertEqual(uuid not in self.closed,
                                 there[uuid].reservable)
            elif rules.is_closed(node) and uuid in there:
                self.assertFalse(there[uuid].reservable)
            elif uuid in there:
                self.assertEqual(uuid not in self.closed,
                                 there[uuid].reservable)
        self.assertEqual(self.said, {
            uuid: host.capabilities['said'] for uuid, host in there.items()
            if host.capabilities})
        self.assertEqual(set(), self.closed - there.keys())
        self.assert_sound()

    def _host(self, number):
        with self.engine.database.read() as connection:
            found = db_hosts.read(connection,
                                  node_uuids=(self.uuids[number],))
        return found[0].id if found else None

    def _enrol(self, number, _place):
        self.world.ironic.put(mirrored_node.Node(self.uuids[number],
                                                 name=f'n{number}'))

    def _delete(self, number, _place):
        self.world.ironic.there.pop(self.uuids[number], None)

    def _trait(self, number, _place):
        node = self.world.ironic.there.get(self.uuids[number])
        if node is not None:
            self.world.ironic.put(dataclasses.replace(
                node, traits=node.traits ^ {CLOSED}))

    def _close(self, number, _place):
        if (host := self._host(number)) is not None:
            hosts.change(self.engine, host, {}, False)
            self.closed.add(self.uuids[number])

    def _open(self, number, _place):
        if (host := self._host(number)) is not None:
            with contextlib.suppress(errors.HostDecided):
                hosts.change(self.engine, host, {}, True)
                self.closed.discard(self.uuids[number])

    def _say(self, number, place):
        if (host := self._host(number)) is not None:
            hosts.change(self.engine, host, {'said': str(place)})
            self.said[self.uuids[number]] = str(place)

    def _add(self, number, place):
        with contextlib.suppress(errors.HostNotFound, errors.HostExists):
            hosts.add(self.engine, self.uuids[number], {'said': str(place)})
            self.said[self.uuids[number]] = str(place)

    def _remove(self, number, _place):
        if (host := self._host(number)) is not None:
            with contextlib.suppress(errors.HostDecided, errors.HostInUse):
                hosts.remove(self.engine, host)
                self.closed.discard(self.uuids[number])
                self.said.pop(self.uuids[number], None)

    def _lease(self, number, _place):
        with contextlib.suppress(errors.LeaseRefused):
            self.leasing.create(number + 1, number + 2)

    def _hosts(self, what, _place):
        self.configure(hosts=what)

    def _names(self, numbers, _place):
        self.engine.conf.set_override(
            'closed_nodes', [f'n{number}' for number in sorted(numbers)],
            'leases')

    def _sync(self, _what, _place):
        mirror.refresh_all(self.engine)
        leasable.sync(self.engine)

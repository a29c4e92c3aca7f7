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

"""A project enrolls a machine of its own with the uuid of a deleted host.

The machine was lent to others, and undeployed at the end of their lease.
Ironic shows the time of enrolment only in lists with details, so other reads
may come first.
"""

import dataclasses

import fixtures

from ironic_reservations.db import nodes
from ironic_reservations.engine import mirror
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.model import node_condition
from tests.inprocess.reconciler import leases

_INSTANCE = '11111111-1111-4111-8111-111111111111'


def _bare(node):
    """Return a node as a read without details shows it."""
    return None if node is None else dataclasses.replace(
        node, enrolled_at=None)


class TestHostOfAnotherOwner(leases.TestCase):
    """One leased host, whose node is deleted and enrolled by another."""

    def setUp(self):
        super().setUp()
        self.node, = self.leasing.hosts(
            enrolled_at='2026-01-01T00:00:00+00:00')
        self.world.enrol()
        self.made = self.leasing.create(0, 10)
        self.work()
        one, many = self.ironic.node, self.ironic.nodes
        self.ironic.node = lambda uuid: _bare(one(uuid))
        self.ironic.nodes = lambda **how: map(_bare, many(**how))

    def recreate(self, **known):
        self.ironic.put(dataclasses.replace(
            self.ironic.there.pop(self.node), **{
                'lessee': None, 'owner': 'theirs',
                'enrolled_at': '2026-03-01T12:30:00+00:00', **known}))

    def end(self):
        self.leasing.end(self.made)
        self.soon(times=4)

    def assert_gone(self):
        with self.engine.database.read() as connection:
            row = nodes.read_node(connection, self.node)
        self.assertEqual((None, node_condition.GONE), (
            self.ironic.there[self.node].lessee, row.provision_state))

    def assert_stays_gone(self):
        mirror.refresh_changed(self.engine)
        self.soon()
        self.watch()
        self.soon()
        self.assert_gone()

    def test_list_with_details_comes_first(self):
        log = self.useFixture(fixtures.FakeLogger())
        self.recreate()
        self.assert_stays_gone()
        self.assertEqual(1, log.output.count('with the owner theirs'))

    def test_list_without_details_comes_first(self):
        self.recreate()
        mirror.refresh_all(self.engine)
        self.assert_stays_gone()

    def test_read_of_the_node_comes_first(self):
        self.recreate()
        mirror.refresh_node(self.engine, self.node)
        self.assert_stays_gone()

    def test_list_without_details_comes_afterwards(self):
        self.recreate()
        mirror.refresh_changed(self.engine)
        mirror.refresh_all(self.engine)
        self.assert_stays_gone()

    def test_reservation_of_its_owner_comes_first(self):
        self.end()
        self.recreate()
        self.world.reserve(self.node)
        mirror.refresh_changed(self.engine)
        self.assert_gone()

    def test_outcome_of_a_request_comes_first(self):
        self.recreate()
        through = admission.admit(self.engine, self.node,
                                  self.made.reservations[0].id)
        shown = self.world.shown(self.node)
        admission.close(self.engine, through, True, dataclasses.replace(
            shown, node=_bare(shown.node)))
        mirror.refresh_changed(self.engine)
        self.assert_gone()

    def test_lease_that_ends_leaves_the_instance_there(self):
        self.recreate(provision_state='active', instance_uuid=_INSTANCE)
        mirror.refresh_changed(self.engine)
        self.end()
        self.assertEqual('active',
                         self.ironic.there[self.node].provision_state)

    def test_lease_that_starts_does_not_get_it(self):
        self.end()
        self.leasing.create(30, 40)
        self.recreate()
        mirror.refresh_changed(self.engine)
        self.work_at(30)
        self.soon(times=2)
        self.assert_gone()

    def test_node_of_the_same_owner_that_is_shown_again_is_undeployed(self):
        """The mirror may still have it as gone."""
        node = self.ironic.there.pop(self.node)
        mirror.refresh_all(self.engine)
        self.ironic.put(dataclasses.replace(
            node, provision_state='active', instance_uuid=_INSTANCE))
        with self.engine.database.read() as connection:
            self.assertEqual(
                node_condition.GONE,
                nodes.read_node(connection, self.node).provision_state)
        self.end()
        self.assertNotEqual('active',
                            self.ironic.there[self.node].provision_state)

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

"""A leased node is deleted and enrolled again with its uuid.

The lease was taken for whole again, and nobody wrote the lessee.
"""

import dataclasses

from ironic_reservations import errors
from ironic_reservations.engine.in_flight import admission
from tests import leasing
from tests import servers
from tests.inprocess.reconciler import leases


@servers.also
class TestNodeRecreated(leases.TestCase):

    def setUp(self):
        super().setUp()
        (self.node,) = self.leasing.hosts(
            enrolled_at='2026-01-01T00:00:00+00:00')
        # NOTE: an Ironic without any node is not believed.
        self.world.enrol()
        self.made = self.leasing.create(0, 10)
        self.work()
        self.assertEqual('ours', self.ironic.there[self.node].lessee)

    def pass_by(self):
        """Have the leases be watched, and all be worked on."""
        self.watch()
        self.soon(1)

    def recreate(self, when='2026-03-01T12:30:00+00:00', **known):
        node = self.ironic.there.pop(self.node)
        self.ironic.put(dataclasses.replace(
            node, **{'lessee': None, 'enrolled_at': when, **known}))

    def assert_whole(self):
        self.assertEqual('ours', self.ironic.there[self.node].lessee)
        (booking,) = self.lease(self.made).bookings
        self.assertEqual((leasing.BOUND, 'ours', None), (
            booking.state, booking.lessee, booking.lessee_before))

    def test_lessee_is_written_to_the_new_node(self):
        """Also where nobody saw that it was gone in between."""
        self.recreate()
        self.pass_by()
        self.assert_whole()
        told = len(self.heard.told)
        changed = len(self.ironic.changed)
        self.pass_by()
        self.assertEqual((told, changed), (len(self.heard.told),
                                           len(self.ironic.changed)))

    def test_lease_is_flagged_until_the_new_node_is_in_order(self):
        node = self.ironic.there.pop(self.node)
        self.watch()
        self.assertEqual((True, True), self.flags(self.made))
        self.ironic.put(node)
        self.recreate(provision_state='enroll')
        for state in ('enroll', 'verifying', 'manageable'):
            self.ironic.change(self.node, provision_state=state)
            self.pass_by()
            self.assertEqual((True, True), self.flags(self.made), state)
        self.ironic.change(self.node, provision_state='available')
        self.pass_by()
        self.assertEqual((False, False), self.flags(self.made))
        self.assert_whole()

    def test_node_that_is_seen_again_is_the_same(self):
        """A list that lacked it changes nothing that was written."""
        node = self.ironic.there.pop(self.node)
        self.watch()
        self.ironic.put(node)
        self.watch()
        changed = len(self.ironic.changed)
        self.soon(1)
        self.assertEqual(changed, len(self.ironic.changed))
        self.assertEqual((False, False), self.flags(self.made))
        self.assert_whole()

    def test_machine_of_another_project_took_the_place_of_a_host(self):
        """With its uuid, it was lent to all that leased the host.

        The first to see it may be the outcome of a request of its owner.
        """
        self.recreate(owner='theirs')
        through = admission.admit(self.engine, self.node,
                                  self.made.reservations[0].id)
        admission.close(self.engine, through, True,
                        self.world.shown(self.node))
        self.pass_by()
        self.assertEqual((True, True), self.flags(self.made))
        self.assertIsNone(self.ironic.there[self.node].lessee)
        self.leasing.end(self.made)
        self.soon(times=4)
        self.watch()
        self.assertRaises(errors.LeaseRefused, self.leasing.create, 60, 70)

    def test_lease_that_ends_takes_nothing_back_from_the_new_node(self):
        """What stands there somebody else has written."""
        self.recreate()
        self.ironic.change(self.node, lessee='theirs')
        self.watch()
        self.leasing.end(self.made)
        self.soon(1)
        self.assertEqual('theirs', self.ironic.there[self.node].lessee)

    def test_lessee_of_a_worker_that_had_read_before_goes_at_the_end(self):
        """What it writes to the new node, the mirror has seen already."""
        self.recreate()
        self.watch()
        self.assert_late_lessee_goes()

    def test_lessee_of_a_worker_that_was_quicker_goes_at_the_end(self):
        """The mirror sees the new node when the lessee stands there."""
        self.recreate()
        self.assert_late_lessee_goes()

    def assert_late_lessee_goes(self):
        self.ironic.change(self.node, lessee='ours')
        self.pass_by()
        self.assert_whole()
        self.leasing.end(self.made)
        self.soon(1)
        self.assertIsNone(self.ironic.there[self.node].lessee)

    def test_reservation_knows_the_new_node_before_the_mirror(self):
        """Whoever reads the node first does not hide that it is another."""
        self.recreate()
        self.world.reserve(self.node, lease_reservation_ids=frozenset((
            self.made.reservations[0].id,)), ttl=60)
        self.watch()
        self.soon(120)
        self.assert_whole()

    def test_deploy_knows_the_new_node_before_the_mirror(self):
        """Its lessee was overwritten, and not put back at the end."""
        self.recreate(lessee='theirs')
        through = admission.admit(self.engine, self.node,
                                  self.made.reservations[0].id)
        self.ironic.deploy(self.node)
        admission.close(self.engine, through, True,
                        self.world.shown(self.node))
        self.watch()
        self.soon(1)
        self.leasing.end(self.made)
        self.soon(times=4)
        self.assertEqual('theirs', self.ironic.there[self.node].lessee)

    def test_outcome_of_a_request_does_not_hide_that_the_node_is_new(self):
        """The process of a deploy died, and another one found it out."""
        self.recreate(lessee='theirs')
        admission.admit(self.engine, self.node, self.made.reservations[0].id)
        self.world.find_out()
        self.assertEqual([], self.world.in_flight())
        self.watch()
        self.soon(1)
        self.leasing.end(self.made)
        self.soon(times=4)
        self.assertEqual('theirs', self.ironic.there[self.node].lessee)

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

"""A change whose COMMIT is not answered is told, if it took effect.

The next pass, or the second attempt, finds nothing left to do; nobody was
notified of such a change.
"""

import datetime
from unittest import mock

import testscenarios

from ironic_reservations.db import changes as db_changes
from ironic_reservations.engine import announce
from ironic_reservations.engine import mirror
from ironic_reservations.engine import sweep
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.lease_cycle import health
from ironic_reservations.engine.leases import heal
from ironic_reservations.engine.reservations import release
from ironic_reservations.engine.reservations import renew
from ironic_reservations.features.open_dates import fix
from ironic_reservations.lifecycle import lifecycle
from ironic_reservations.model import leases
from tests import leasing
from tests import servers
from tests import world
from tests.inprocess.engine import timelines
from tests.inprocess.timeline import windows

HOUR = datetime.timedelta(hours=1)


@servers.also
class TestToldAfterLostCommit(testscenarios.WithScenarios,
                              timelines.TestCase):
    """Also where it is not found at the first look."""

    scenarios = [('seen_at_once', {'looks': 1}), ('seen_late', {'looks': 2})]

    def setUp(self):
        super().setUp()
        self.node, = self.leasing.hosts()
        self.told = self.listen_to_all()

    def lost(self, change):
        """Lose the answer to the COMMIT of a change, and return its result.
        """
        self.told.clear()
        self.world.lose_next_write()
        has, seen = db_changes.has, []

        def has_late(connection, change_id):
            seen.append(has(connection, change_id))
            return len(seen) >= self.looks and seen[-1]
        with mock.patch.object(db_changes, 'has', has_late):
            result = change()
        self.assertLessEqual(self.looks, len(seen))
        return result

    def is_told_once(self, change, *expected):
        """Lose the answer to the COMMIT of a change, which is told."""
        result = self.lost(change)
        self.assertEqual([expected], [each for each in self.told
                                      if each[0] == expected[0]])
        return result

    def test_request_is_let_through_once(self):
        self.lost(lambda: admission.admit(self.engine, self.node))
        self.assertEqual([self.node], [row['node_uuid'] for row
                                       in self.world.in_flight()])

    def test_reservation(self):
        uuid = world.new_uuid()
        made = self.is_told_once(
            lambda: self.world.reserve(self.node, uuid=uuid),
            announce.CREATE, uuid, None)
        self.assertIsNotNone(made.id)
        self.is_told_once(lambda: renew.renew(
            self.engine, made.uuid, ttl=60), announce.UPDATE, made.uuid, None)
        self.is_told_once(lambda: release.release(self.engine, made.uuid),
                          announce.DELETE, made.uuid, None)
        self.assertEqual({}, self.world.reservations())

    def test_reservation_that_has_expired(self):
        made = self.world.reserve(self.node, ttl=60)
        self.world.clock.advance(60)
        self.is_told_once(lambda: sweep.sweep(self.engine), announce.DELETE,
                          made.uuid, announce.EXPIRED)

    def test_reservation_whose_node_is_taken(self):
        made = self.world.reserve(self.node)
        self.is_told_once(
            lambda: release.release_on(
                self.engine, made, self.world.mirrored()[self.node][
                    'generation'], lifecycle.End.NODE_TAKEN),
            announce.DELETE, made.uuid, lifecycle.End.NODE_TAKEN)

    def test_reservation_whose_node_is_gone(self):
        node, = self.world.enrol()
        made = self.world.reserve(node)
        self.world.ironic.remove(node)
        self.is_told_once(lambda: mirror.refresh_all(self.engine),
                          announce.DELETE, made.uuid,
                          lifecycle.End.NODE_DELETED)

    def test_lease(self):
        """It is made once where it takes the only host, and one of two."""
        for _ in range(2):
            made = self.lost(lambda: self.leasing.create(2, 3))
            self.assertEqual([(announce.LEASE_CREATE, made.id, None)],
                             self.told)
            self.assertEqual([made.id],
                             [each.id for each in self.leasing.all()])
            changed = self.is_told_once(
                lambda made=made: self.leasing.change(made, end=4),
                announce.LEASE_UPDATE, made.id, None)
            self.assertEqual(leasing.at(4), changed.end)
            self.is_told_once(lambda made=made: self.leasing.end(made),
                              announce.LEASE_DELETE, made.id, None)
            self.assertEqual([], self.leasing.all())
            self.leasing.hosts()

    def test_lease_whose_node_is_replaced(self):
        lease = self.leasing.create(1, 3)
        self.leasing.hosts()
        self.leasing.break_node(self.node)
        self.assertEqual(1, self.is_told_once(
            lambda: heal.heal(self.engine), announce.LEASE_UPDATE, lease.id,
            announce.REPLACED))

    def test_lease_that_lacks_a_node(self):
        lease = self.leasing.create(1, 3)
        self.leasing.break_node(self.node)
        self.is_told_once(lambda: health.check(self.engine),
                          announce.LEASE_UPDATE, lease.id, announce.DEGRADED)

    def test_lease_that_is_fixed(self):
        lease = self.leasing.create(1, 2, flexible=leases.Flexible(
            leasing.at(5), HOUR, 1800))
        self.world.clock.now = leasing.at(0.5)
        self.is_told_once(lambda: fix.fix(self.engine),
                          announce.LEASE_UPDATE, lease.id, 'fixed')

    def test_queued_lease_that_starts_earlier(self):
        first = self.leasing.create(1, 3)
        lease = self.leasing.create(1, 2, queue=True)
        self.assertEqual(leasing.at(3), lease.start)
        self.leasing.end(first)
        self.assertEqual(1, self.is_told_once(
            lambda: leasing.pull(self.engine), announce.LEASE_UPDATE,
            lease.id, 'moved_earlier'))

    def test_maintenance(self):
        """It is also told who has the node."""
        lease = self.leasing.started(None, 3)
        made = self.is_told_once(
            lambda: windows.book(self.engine, 1, 2, [self.node], force=True),
            announce.LEASE_UPDATE, lease.id, 'maintenance')
        self.assertEqual([self.node], [each.node_uuid for each in made.bound])

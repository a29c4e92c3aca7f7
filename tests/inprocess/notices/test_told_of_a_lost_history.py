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

"""Others were told of a request whose COMMIT was lost with its history.

The process that sent the COMMIT stood still meanwhile, knows of no answer, and
finds nothing of it in the restored database, so it plans the request again.
"""

import uuid

import sqlalchemy as sa

from ironic_reservations.db import tables
from ironic_reservations.engine import lost_requests
from ironic_reservations.features.enforcement import enforced
from ironic_reservations.features.enforcement import enforcement_commits
from tests import gone_back
from tests import servers
from tests.inprocess.notices import base
from tests.inprocess.timeline import windows
from tests.real import receivers


@servers.also
class TestToldOfALostHistory(base.TestCase):
    """What they were told is never told again of something else."""

    def begin(self):
        self.service = self.useFixture(receivers.Service())
        self.options = {**self.service.options(),
                        'notices__webhook_urls': ['https://x.invalid/']}
        super().begin()

    def setUp(self):
        super().setUp()
        self.node, = self.leasing.hosts()

    def deliver(self):
        enforcement_commits.deliver(self.world.engine, lambda: True)

    def lost(self, request, seen=lambda: None):
        """Return what a request answers whose first COMMIT is lost."""
        gone_back.Dump(self.world.engine.database).restore_before_answer(seen)
        return request()

    def test_lease_is_not_charged_again_by_its_lost_id(self):
        made = self.lost(lambda: self.leasing.create(1, 2), self.deliver)
        self.leasing.end(made)
        self.deliver()
        told = [(each['lease_id'], each['sequence'], each['type'])
                for each in self.service.taken]
        self.assertEqual((1, 'granted'), told[0][1:])
        self.assertNotEqual(told[0][0], made.id)
        self.assertEqual([(made.id, 1, 'granted'), (made.id, 2, 'ended')],
                         told[1:])

    def test_lease_that_was_committed_is_found_by_its_id(self):
        """Its history goes on, and only the answer is lost."""
        self.world.lose_next_write()
        made = self.leasing.create(1, 2)
        self.deliver()
        self.assertEqual([made.id], [each['lease_id']
                                     for each in self.service.taken])
        self.assertEqual([made.id], [each.id for each in self.leasing.all()])

    def test_change_of_a_kept_lease_names_its_history(self):
        """The numbers of its entries are those of the lost ones."""
        kept = self.leasing.create(1, 2)
        with gone_back.undone(self.world.engine.database):
            self.leasing.change(kept, end=3)
            self.deliver()
        lost_requests.may_come(self.world.engine.database, self.world.conf,
                               self.world.clock())
        self.leasing.change(self.leasing.reload(kept), end=4)
        self.deliver()
        first, lost, again, changed = self.service.taken
        self.assertEqual((first['id'], 1), (again['id'], again['sequence']))
        self.assertEqual([2, 2], [lost['sequence'], changed['sequence']])
        self.assertEqual(first['history'], lost['history'])
        self.assertLess(lost['history'], changed['history'])

    def test_proof_of_a_lost_lease_is_not_that_of_another(self):
        lost = []
        made = self.lost(lambda: self.leasing.create(1, 2),
                         lambda: lost.extend(self.proofs(self.leasing.all())))
        self.assertEqual(1, len(lost))
        self.assertFalse(set(lost) & set(self.proofs([made])))

    def proofs(self, leases):
        return [each.id for lease in leases for each in lease.reservations]

    def test_permission_is_asked_for_the_lease_that_is_made(self):
        """The service permits a lease by its id."""
        asked = []
        self.patch(enforced, 'check', lambda engine, before, after:
                   asked.append(after.id))
        made = self.lost(lambda: self.leasing.create(1, 2))
        self.assertEqual(2, len(set(asked)))
        self.assertEqual(made.id, asked[-1])

    def test_reservation_has_another_uuid(self):
        lost = []
        made = self.lost(lambda: self.world.reserve(self.node),
                         lambda: lost.extend(self.reserved()))
        self.assertEqual(1, len(lost))
        self.assertEqual([made.uuid], self.reserved())
        self.assertNotIn(made.uuid, lost)

    def reserved(self):
        return [*self.world.reservations()]

    def test_reservation_keeps_the_uuid_that_its_client_chose(self):
        chosen = str(uuid.uuid4())
        made = self.lost(lambda: self.world.reserve(self.node, uuid=chosen))
        self.assertEqual(chosen, made.uuid)

    def test_maintenance_window_has_another_id(self):
        lost = []
        made = self.lost(lambda: self.book(), lambda: lost.extend(
            self.window_ids()))
        self.assertEqual(1, len(lost))
        self.assertNotIn(made.window.id, lost)

    def book(self):
        return windows.book(self.world.engine, 1, 2, [self.node], force=True)

    def window_ids(self):
        with self.world.engine.database.read() as connection:
            return list(connection.scalars(
                sa.select(tables.maintenance_windows.c.id)))

    def test_notice_of_the_lost_request_is_another_one(self):
        self.leasing.create(None, 3)
        self.leasing.bind()
        before, lost = self.notice_ids(), []
        self.lost(lambda: self.book(), lambda: lost.extend(self.notice_ids()))
        self.assertEqual(1, len(set(lost) - set(before)))
        self.assertEqual(1, len(set(self.notice_ids()) - set(before)))
        self.assertFalse(set(lost) & set(self.notice_ids()) - set(before))

    def notice_ids(self):
        return [row['notice_id'] for row in self.outbox()
                if row['channel'] == 'webhook']

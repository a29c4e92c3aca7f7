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

"""A request for a lease that is sent twice with one key makes one lease."""


import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import tables
from ironic_reservations.engine.leases import find as lease_find
from tests import leasing
from tests.inprocess.engine import timelines


class TestKeys(timelines.TestCase):

    def setUp(self):
        super().setUp()
        self.leasing.hosts(3)

    def _all(self):
        return lease_find.page(self.engine)

    def test_key_of_a_release_without_instances_still_holds(self):
        """A retry that comes after an upgrade is the same request."""
        self.leasing.create(1, 2, key='k', name='a')
        with self.engine.database.read() as connection:
            written = connection.execute(sa.select(
                tables.leases.c.request_digest)).scalar_one()
        self.assertEqual('3e7ca216e6179b537ab38ce6656175ee'
                         'f84bf2187ef213aec9b75d194c452847', written)

    def test_same_request_with_the_same_key_is_served_once(self):
        """A retry gets the lease that was made, whatever it has become."""
        made = self.leasing.create(1, 2, key='k')
        self.leasing.change(made, name='renamed', end=3)
        again = self.leasing.create(1, 2, key='k')
        self.assertEqual((made.id, 'renamed'), (again.id, again.name))
        self.assertEqual(1, len(self._all()))

    def test_retry_is_served_when_its_start_has_passed(self):
        """Even though the request could not be made any more."""
        made = self.leasing.create(1, 2, key='k')
        self.leasing.clock_passes(3)
        self.assertEqual(made.id, self.leasing.create(1, 2, key='k').id)

    def test_other_request_with_the_same_key_is_refused(self):
        """A key stands for one request."""
        self.leasing.create(1, 2, key='k')
        for other in ((1, 3), (None, 2)):
            self.assertRaises(errors.IdempotencyKeyReused,
                              self.leasing.create, *other, key='k')
        self.assertRaises(errors.IdempotencyKeyReused, self.leasing.create,
                          1, 2, leasing.wish(2), key='k')
        self.assertEqual(1, len(self._all()))

    def test_key_of_another_project_is_another_key(self):
        """No project learns of the keys of others."""
        ours = self.leasing.create(1, 2, key='k')
        theirs = self.leasing.create(1, 2, key='k', project_id='theirs')
        nobodys = self.leasing.create(1, 2, key='k', project_id=None)
        self.assertEqual(3, len({ours.id, theirs.id, nobodys.id}))

    def test_refused_request_can_be_tried_again_with_its_key(self):
        """A refusal leaves no key behind."""
        full = self.leasing.create(1, 2, leasing.wish(3))
        self.leasing.refused(1, 2, key='k')
        self.leasing.end(full)
        self.leasing.create(1, 2, key='k')

    def test_two_at_once_with_one_key_get_one_lease(self):
        """The second of two racers gets what the first one made."""
        other = leasing.Leasing(self.leasing.world,
                                self.leasing.world.another_engine())
        made = []
        self.leasing.world.before_next_write(
            lambda: made.append(other.create(1, 2, key='k')))
        again = self.leasing.create(1, 2, key='k')
        self.assertEqual(made[0].id, again.id)
        self.assertEqual(1, len(self._all()))
        self.assert_sound()

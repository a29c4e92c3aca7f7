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


import contextlib

from ironic_reservations import errors
from tests import leasing
from tests import world
from tests.inprocess.reconciler import leases


class TestDeletedAgainAndAgain(leases.TestCase):
    """A lease of one node is deleted while it is taken back."""

    def setUp(self):
        super().setUp()
        self.made = self.started()
        self.ironic.deploy(self.node_of(self.made), world.new_uuid())
        self.leasing.refresh()
        self.work()
        self.other = leasing.Leasing(self.world, self.world.another_engine())
        self.heard.told.clear()

    def delete(self):
        with contextlib.suppress(errors.LeaseNotFound):
            self.other.end(self.made)

    def delete_before_each_write(self):
        self.delete()
        self.engine.database.interruptions.append(
            self.delete_before_each_write)

    def test_second_time_changes_nothing(self):
        self.leasing.end(self.made)
        before = self.lease(self.made)
        self.leasing.end(self.made)
        self.assertEqual(before, self.lease(self.made))
        self.assertEqual({'lease.delete': 1}, self.heard.count())

    def test_node_is_taken_back_nevertheless(self):
        """Otherwise, its owner could keep it from all others for ever."""
        self.delete_before_each_write()
        self.long_after()
        self.assertRaises(errors.LeaseNotFound, self.lease, self.made)

    def rename_before_each_write(self, number=1):
        with contextlib.suppress(errors.LeaseNotFound, errors.LeaseFrozen):
            self.other.change(self.made, name=str(number))
        self.engine.database.interruptions.append(
            lambda: self.rename_before_each_write(number + 1))

    def long_after(self):
        """Have all be worked on for a long time."""
        for _ in range(20):
            self.work()
            self.leasing.refresh()
            self.soon()

    def test_node_is_taken_back_although_it_is_renamed(self):
        self.leasing.end(self.made)
        self.rename_before_each_write()
        self.long_after()
        self.assertRaises(errors.LeaseNotFound, self.lease, self.made)

    def test_node_is_taken_back_at_its_end_although_it_is_renamed(self):
        self.at(4)
        self.rename_before_each_write()
        self.long_after()
        self.assert_status(leases.STATUS.TERMINATED, self.made)
        self.engine.database.interruptions.clear()
        self.leasing.change(self.made, name='over')
        self.assertEqual('over', self.lease(self.made).name)

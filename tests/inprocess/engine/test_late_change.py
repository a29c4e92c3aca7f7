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

"""A late copy of ``PUT /v1/leases/{id}`` does not undo later changes.

A copy of an earlier change, delivered late, would end a lease at the end that
it had then, and take its nodes back.
"""

from ironic_reservations import errors
from tests import cuts
from tests import leasing
from tests import servers
from tests.inprocess.engine import timelines


@servers.also
class TestLateCopy(timelines.TestCase):
    def setUp(self):
        super().setUp()
        self.leasing.hosts(2)
        self.other = self.another()

    def _end(self, made):
        return self.leasing.reload(made).end

    def test_copy_of_an_earlier_change_leaves_the_later_one(self):
        made = self.leasing.create(1, 2)
        self.leasing.change(made, end=3, key='a')
        self.leasing.change(made, end=9, key='b')
        copy = self.leasing.change(made, end=3, key='a')
        self.assertEqual([leasing.at(9)] * 2, [copy.end, self._end(made)])

    def test_change_without_a_key_is_carried_out_again(self):
        made = self.leasing.create(1, 2)
        for end in (3, 9, 3):
            self.leasing.change(made, end=end)
        self.assertEqual(leasing.at(3), self._end(made))

    def test_copy_of_a_request_that_changed_nothing_changes_nothing(self):
        made = self.leasing.create(1, 3)
        self.leasing.change(made, end=3, key='a')
        self.leasing.change(made, end=9, key='b')
        self.leasing.change(made, end=3, key='a')
        self.assertEqual(leasing.at(9), self._end(made))

    def test_other_change_with_the_same_key_is_refused(self):
        made = self.leasing.create(1, 2)
        self.leasing.change(made, end=3, key='a')
        self.assertRaises(errors.IdempotencyKeyReused, self.leasing.change,
                          made, end=4, key='a')
        second = self.leasing.create(1, 2)
        self.assertRaises(errors.IdempotencyKeyReused, self.leasing.change,
                          second, end=3, key='a')

    def test_refused_change_can_be_sent_again_with_its_key(self):
        made = self.leasing.create(1, 2)
        full = self.leasing.create(2, 3, leasing.wish(2))
        self.refuse(made, end=3, key='a')
        self.leasing.end(full)
        self.leasing.change(made, end=3, key='a')
        self.assertEqual(leasing.at(3), self._end(made))

    def test_lost_commit_of_a_change_with_a_key(self):
        made = self.leasing.create(1, 2)
        self.world.lose_next_write()
        self.assertEqual(leasing.at(3),
                         self.leasing.change(made, end=3, key='a').end)

    def test_copy_that_stands_still_anywhere_leaves_the_later_change(self):
        """Another copy is served meanwhile, and the lease extended."""
        def attempt(cut):
            made = self.leasing.create(1, 2)

            def come_first():
                self.other.change(made, end=3, key=cut.key)
                self.other.change(made, end=9)
            with cut.by(come_first):
                self.leasing.change(made, end=3, key=cut.key)
            self.assertEqual(leasing.at(9 if cut.reached else 3),
                             self._end(made))
            self.leasing.end(made)
        cuts.everywhere(attempt, 3, self.engine)

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

"""A copy of ``POST /v1/maintenances`` that arrives late books nothing.

Seen: it was delivered after its window had been deleted, and the nodes were
taken a second time.
"""

import contextlib

from ironic_reservations import errors
from ironic_reservations.features.maintenance import find
from ironic_reservations.model import node_window
from tests import cuts
from tests import servers
from tests.inprocess.engine import timelines
from tests.inprocess.timeline import windows


@servers.also
class TestLateCopy(timelines.TestCase):
    def setUp(self):
        super().setUp()
        self.nodes = self.leasing.hosts(3)

    def _book(self, *nodes, key='k', engine=None, end=2, **more):
        return windows.book(engine or self.engine, 1, end,
                            nodes or self.nodes[:1], key=key, **more).window

    def _all(self):
        return [each.id for each in find.page(self.engine)
                if each.state is not node_window.State.OVER]

    def test_same_request_gets_the_same_window(self):
        made = self._book()
        self.assertEqual(made.id, self._book().id)
        self.assertEqual([made.id], self._all())

    def test_copy_that_comes_after_the_window_was_deleted_books_none(self):
        made = self._book()
        find.end(self.engine, made.id)
        refusal = self.assertRaises(errors.MaintenanceEnded, self._book)
        self.assertIn(made.id, str(refusal))
        self.assertEqual([], self._all())
        self.assertNotEqual(made.id, self._book(key='l').id)

    def test_copy_that_comes_when_the_window_is_over_books_none(self):
        self._book()
        self.leasing.clock_passes(3)
        self.assertRaises(errors.MaintenanceEnded, self._book)

    def test_other_request_with_the_same_key_is_refused(self):
        made = self._book()
        for _ in range(2):
            self.assertRaises(errors.MaintenanceKeyReused, self._book, end=3)
            find.end(self.engine, made.id)

    def test_key_of_another_project_is_another_key(self):
        made = self._book(project_id='ours')
        other = self._book(self.nodes[1], project_id='theirs')
        self.assertNotEqual(made.id, other.id)

    def test_dry_run_keeps_no_key(self):
        self._book(dry_run=True)
        self.assertEqual([], self._all())
        made = self._book()
        find.end(self.engine, made.id)
        self._book(dry_run=True)

    def test_refused_request_can_be_sent_again_with_its_key(self):
        first = self._book(key='l')
        self.assertRaises(errors.MaintenanceRefused, self._book)
        find.end(self.engine, first.id)
        self._book()

    def test_lost_commit_of_a_request_with_a_key(self):
        self.world.lose_next_write()
        made = self._book()
        self.assertEqual([made.id], self._all())
        self.assertEqual(made.id, self._book().id)

    def test_copy_that_stands_still_anywhere_books_nothing(self):
        """Another copy is served, and its window deleted, meanwhile."""
        other = self.world.another_engine()

        def attempt(cut):
            made = []
            with cut.by(lambda: find.end(other, self._book(
                    key=cut.key, engine=other).id)):
                with contextlib.suppress(errors.MaintenanceEnded):
                    made.append(self._book(key=cut.key))
            self.assertIs(cut.reached, not made)
            for mine in made:
                find.end(other, mine.id)
            self.assertEqual([], self._all())
        cuts.everywhere(attempt, 3, self.engine)

    def test_two_at_once_book_one_window(self):
        """The second one gets that of the first."""
        other = self.world.another_engine()
        booked = []
        self.world.before_next_write(lambda: booked.append(
            self._book(engine=other).id))
        self.assertEqual(booked, [self._book().id])
        self.assertEqual(booked, self._all())

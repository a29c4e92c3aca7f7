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

"""Leases with open dates slide out of maintenance windows."""

from unittest import mock

from ironic_reservations import errors
from ironic_reservations.engine import retry
from ironic_reservations.features.maintenance import find
from tests import leasing
from tests import servers
from tests.inprocess.engine import open_dates
from tests.inprocess.timeline import windows

HOUR = open_dates.HOUR


@servers.also
class TestMaintenanceSlides(open_dates.TestCase):

    def book(self, start, end, *nodes, **more):
        """Book nodes for maintenance."""
        return windows.book(self.engine, start, end, nodes, **more)

    def refused(self, *args, **more):
        """Return the nodes for which a window is refused."""
        exc = self.assertRaises(errors.MaintenanceRefused, self.book, *args,
                                **more)
        return [each['node_uuid'] for each in exc.details['reasons']]

    def test_it_slides_where_no_other_node_is_free(self):
        (node,) = self.leasing.hosts(1)
        loose = self.flexible(2, 20, 4)
        made = self.book(3, 5, node)
        self.assertEqual((5, 9), self.hours(loose))
        self.assertEqual([(loose.id, loose.name, 3 * HOUR)], [
            (each.id, each.name, each.shift) for each in made.rescheduled])
        self.assertEqual(([], []), (made.moves, made.cannot_move))
        self.assertEqual([(loose.id, 'slid')], self.told[1:])
        self.assertEqual(leasing.at(4),
                         self.leasing.reload(loose).between.fix_at)

    def test_it_keeps_its_dates_where_another_node_is_free(self):
        self.leasing.hosts(2)
        loose = self.flexible(2, 20, 4)
        (node,) = self.leasing.nodes(loose)
        made = self.book(3, 5, node)
        self.assertEqual((2, 6), self.hours(loose))
        self.assertNotEqual({node}, self.leasing.nodes(loose))
        self.assertEqual((1, 0), (len(made.moves), len(made.rescheduled)))

    def test_a_dry_run_lists_it_and_slides_nobody(self):
        (node,) = self.leasing.hosts(1)
        loose = self.flexible(2, 20, 4)
        before = leasing.tables_as_text(self.world)
        made = self.book(3, 5, node, dry_run=True)
        self.assertEqual([(loose.id, leasing.at(5), leasing.at(9))], [
            (each.id, each.start, each.end) for each in made.rescheduled])
        self.assertEqual([], made.reasons)
        self.assertEqual(before, leasing.tables_as_text(self.world))
        self.assertEqual([(loose.id, None)], self.told)

    def test_one_on_another_node_slides_for_one_with_dates(self):
        """What has to leave moves to the node that the other one has."""
        one, other = self.leasing.hosts(2)
        firm = self.leasing.create(2, 6)
        loose = self.flexible(2, 20, 4)
        (node,) = self.leasing.nodes(firm)
        made = self.book(3, 5, node)
        self.assertEqual(((2, 6), {one, other} - {node}),
                         (self.hours(firm), self.leasing.nodes(firm)))
        self.assertNotEqual((2, 6), self.hours(loose))
        self.assertEqual([loose.id], [each.id for each in made.rescheduled])

    def test_several_slide_together(self):
        nodes = self.leasing.hosts(2)
        loose = [self.flexible(2, 20, 4), self.flexible(2, 20, 4)]
        self.book(1, 5, *nodes)
        self.assertEqual([(5, 9), (5, 9)], [*map(self.hours, loose)])

    def test_nobody_slides_out_of_its_window(self):
        (node,) = self.leasing.hosts(1)
        loose = self.flexible(2, 8, 4)
        self.assertEqual([node], self.refused(3, 5, node))
        self.assertEqual((2, 6), self.hours(loose))
        self.book(3, 4, node)
        self.assertEqual((4, 8), self.hours(loose))

    def test_nobody_slides_who_is_fixed(self):
        (node,) = self.leasing.hosts(1)
        loose = self.flexible(2, 20, 4)
        self.world.clock.now = leasing.at(1)
        self.assertEqual([node], self.refused(3, 5, node))
        self.assertEqual((2, 6), self.hours(loose))

    def test_only_those_are_in_the_way_that_cannot_slide(self):
        """The refusal names one node, and force has the other one slide."""
        gold, silver = self.gold_and_silver()
        firm = self.leasing.create(2, 6, gold)
        loose = self.flexible(2, 20, 4, silver)
        (stuck,), (free,) = map(self.leasing.nodes, (firm, loose))
        self.assertEqual([stuck], self.refused(3, 5, stuck, free))
        self.assertEqual((2, 6), self.hours(loose))
        made = self.book(3, 5, stuck, free, force=True)
        self.assertEqual([stuck], [
            each.row.node_uuid for each in made.cannot_move])
        self.assertEqual((5, 9), self.hours(loose))
        self.assertEqual((2, 6), self.hours(firm))

    def test_not_beyond_the_limits_of_its_project(self):
        gold, silver = self.gold_and_silver()
        self.limit(1)
        self.leasing.create(6, 12, silver, project_id='theirs')
        loose = self.flexible(2, 13, 4, gold, project_id='theirs')
        (node,) = self.leasing.nodes(loose)
        self.assertEqual([node], self.refused(3, 5, node))
        self.assertEqual((2, 6), self.hours(loose))

    def test_a_window_that_is_taken_back_does_not_slide_it_again(self):
        (node,) = self.leasing.hosts(1)
        loose = self.flexible(2, 20, 4)
        made = self.book(3, 5, node)
        find.end(self.engine, made.window.id)
        self.assertEqual((5, 9), self.hours(loose))
        self.leasing.create(3, 5)

    def test_told_although_the_commit_was_not_answered(self):
        (node,) = self.leasing.hosts(1)
        loose = self.flexible(2, 20, 4)
        self.world.lose_next_write()
        with mock.patch.object(retry, '_BREATH', 0):
            self.book(3, 5, node)
        self.assertEqual((5, 9), self.hours(loose))
        self.assertEqual([(loose.id, 'slid')], self.told[1:])

    def test_fixed_while_the_process_stood_still(self):
        """Its owner could not be told in time."""
        (node,) = self.leasing.hosts(1)
        loose = self.flexible(4, 20, 4)
        self.stall(3.5)
        self.assertEqual([node], self.refused(5, 7, node))
        self.assertEqual((4, 8), self.hours(loose))

    def test_another_one_has_it_slide_meanwhile(self):
        """Both are served, one after the other."""
        (node,) = self.leasing.hosts(1)
        loose = self.flexible(2, 20, 4)
        self.world.before_next_write(lambda: self.leasing.create(5, 7))
        self.book(3, 5, node)
        self.assertEqual((7, 11), self.hours(loose))

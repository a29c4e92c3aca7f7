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

"""What leases have of a node: the databases and Python say the same."""

import itertools

from ironic_reservations.db import host_views as db_host_views
from ironic_reservations.db import tables
from ironic_reservations.engine.reservations import find
from tests import leasing
from tests import world

#: (state, start, end) in hours, seen from hour 2.
BOOKINGS = (('planned', 0, 1), ('planned', 0, 2), ('planned', 1, 3),
            ('planned', 2, 3), ('planned', 3, 4), ('planned', 4, 5),
            ('bound', 0, 2), ('bound', 1, 3), ('bound', 1, 1.5),
            ('ending', 0, 1), ('ending', 1, 3))


class TestLeased(world.TestCase):

    def setUp(self):
        super().setUp()
        self.leasing = leasing.Leasing(self.new_world())
        self.world = self.leasing.world
        (self.node,) = self.leasing.hosts()
        self.made = [self.leasing.create(start, start + 1)
                     for start in (10, 20)]
        self.world.clock.now = leasing.at(2)

    def write(self, *rows):
        """Have the node promised to the leases so, whatever the planner says.
        """
        self.world.derived.stop()
        with self.world.engine.database.write() as connection:
            for lease, row in zip(self.made, rows, strict=False):
                connection.execute(
                    tables.reservations.update()
                    .where(tables.reservations.c.lease_reservation_id
                           == lease.reservations[0].id)
                    .values(state=row[0], starts_at=leasing.at(row[1]),
                            expires_at=leasing.at(row[2])))

    def read(self):
        """Return who has the node, and who has it next."""
        now = self.world.clock()
        with self.world.engine.database.read() as connection:
            every, first = (db_host_views.read(
                connection, (self.node,), now, first=first)[self.node]
                for first in (False, True))
        self.assertEqual((every.row, every.present, every.next_claim),
                         (first.row, first.present, first.next_claim))
        return every

    def test_is_among_the_nodes_that_are_held(self):
        for rows in itertools.product(BOOKINGS, repeat=2):
            self.write(*rows)
            view = self.read()
            self.assertEqual(sum(map(self.has, rows)), len(view.present))
            self.assertEqual(
                bool(view.present), self.node in find.reserved_node_uuids(
                    self.world.engine), rows)

    def has(self, row):
        return row[0] != 'planned' or row[1] <= 2 < row[2]

    def test_each_state_means_what_it_says(self):
        mine = self.made[0].reservations[0].id
        self.write(('planned', 0, 1), ('planned', 0, 1))
        self.assertEqual((), self.read().bookings)
        for row, wanted in (
                (('planned', 0, 2), (False, None, None)),
                (('planned', 1, 3), (True, mine, None)),
                (('planned', 2, 3), (True, mine, None)),
                (('planned', 3, 4), (False, None, leasing.at(3))),
                (('bound', 0, 2), (True, None, None)),
                (('bound', 1, 3), (True, mine, None)),
                (('ending', 1, 3), (True, None, None)),
                (('ending', 0, 1), (True, None, None))):
            self.write(row)
            view = self.read()
            self.assertEqual(wanted, (
                bool(view.present),
                view.lease and view.lease.reservation_id, view.next_lease),
                row)

    def test_next_of_several_is_told(self):
        self.write(('planned', 4, 5), ('planned', 3, 4))
        self.assertEqual(leasing.at(3), self.read().next_lease)
        self.write(('bound', 1, 3))
        self.assertEqual((True, leasing.at(3)), (
            self.read().held, self.read().next_lease))

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

from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import tables
from ironic_reservations.engine.reservations import find
from ironic_reservations.model import leases
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
        now = self.world.clock()
        with self.world.engine.database.read() as connection:
            one = leases.of_node(db_bookings.read_of_node(
                connection, self.node, now), now)
            many = db_bookings.read_leased(connection, (self.node,), now)
            free = db_bookings.read_leased(connection, (world.new_uuid(),),
                                           now)
        self.assertEqual({}, free)
        return one, many.get(self.node, leases.UNLEASED)

    def test_many_are_read_as_one_is(self):
        for rows in itertools.product(BOOKINGS, repeat=2):
            self.write(*rows)
            one, many = self.read()
            if one.holder is not None and len(
                    [row for row in rows if self.has(row)]) > 1:
                # Two that have a node at once: whose it is nobody knows.
                self.assertEqual((one.held, one.later),
                                 (many.held, many.later), rows)
                continue
            self.assertEqual(one, many, rows)
            self.assertEqual(
                one.held, self.node in find.reserved_node_uuids(
                    self.world.engine), rows)

    def has(self, row):
        return row[0] != 'planned' or row[1] <= 2 < row[2]

    def test_each_state_means_what_it_says(self):
        mine = self.made[0].reservations[0].id
        live = leases.Leased(True, mine, leasing.at(3),
                             project_id=leasing.PROJECT)
        self.write(('planned', 0, 1), ('planned', 0, 1))
        self.assertEqual((leases.UNLEASED,) * 2, self.read())
        for row, wanted in (
                (('planned', 0, 2), leases.UNLEASED),
                (('planned', 1, 3), live), (('planned', 2, 3), live),
                (('planned', 3, 4), leases.Leased(later=leasing.at(3))),
                (('bound', 0, 2), leases.Leased(True)),
                (('bound', 1, 3), live),
                (('ending', 1, 3), leases.Leased(True)),
                (('ending', 0, 1), leases.Leased(True))):
            self.write(row)
            self.assertEqual((wanted,) * 2, self.read(), row)

    def test_next_of_several_is_told(self):
        self.write(('planned', 4, 5), ('planned', 3, 4))
        self.assertEqual(leasing.at(3), self.read()[0].later)
        self.write(('bound', 1, 3))
        self.assertEqual((True, leasing.at(3)), (
            self.read()[1].held, self.read()[1].later))

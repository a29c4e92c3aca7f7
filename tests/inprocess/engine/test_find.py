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

"""Lists of reservations: filters, orders, pages; the expired are not there."""

import datetime

from ironic_reservations import errors
from ironic_reservations.engine import counts
from ironic_reservations.engine.reservations import find
from ironic_reservations.engine.reservations import renew
from ironic_reservations.model import node_reservation
from tests import servers
from tests import world
from tests.inprocess.engine import timelines


@servers.also
class TestFind(timelines.TestCase):

    def setUp(self):
        super().setUp()
        self.nodes = self.world.enrol(9)
        self.made = []
        for number, node in enumerate(self.nodes):
            # NOTE: pairs of equal times and projects, some of them null, so
            # that pages end between rows that sort alike.
            self.world.clock.now = world.NOON + datetime.timedelta(
                seconds=number // 2)
            self.made.append(self.world.reserve(
                node, expires_at=world.NOON + datetime.timedelta(
                    seconds=600 - number % 3),
                project_id=(None, 'a', 'b', 'b')[number % 4]))
        for held in self.made[::4]:
            renew.renew(self.engine, held.uuid, expires_at=held.expires_at)
        self.world.use(self.made[1])

    def _page(self, **query):
        return find.page(self.engine, find.Query(**query))

    def test_everything_is_listed_in_the_order_of_making(self):
        self.assertEqual([held.uuid for held in self.made],
                         [held.uuid for held in self._page()])

    def test_pages_in_every_order_add_up_to_the_whole(self):
        for key in find.SORT_KEYS:
            for direction in ('asc', 'desc'):
                order = {'sort_key': key, 'sort_dir': direction}
                whole = [held.uuid for held in self._page(**order)]
                self.assertEqual({held.uuid for held in self.made},
                                 set(whole), order)
                for size in (1, 2, 4, 100):
                    read, marker = [], None
                    while page := self._page(**order, limit=size,
                                             marker=marker):
                        self.assertLessEqual(len(page), size)
                        read += [held.uuid for held in page]
                        marker = read[-1]
                    self.assertEqual(whole, read, (order, size))

    def test_every_order_is_the_order_of_its_values(self):
        for key in find.SORT_KEYS:
            values = [getattr(held, key)
                      for held in self._page(sort_key=key)]
            some = [value for value in values if value is not None]
            self.assertEqual(sorted(some), some, key)
            self.assertEqual([None] * (9 - len(some)), values[:9 - len(some)])
            self.assertEqual(
                values[::-1], [getattr(held, key) for held in self._page(
                    sort_key=key, sort_dir='desc')])

    def test_filters_give_the_rows_that_match_all(self):
        second = self.made[1]
        for query in ({'node_uuid': second.node_uuid},
                      {'instance_uuid': second.instance_uuid},
                      {'node_uuid': second.node_uuid,
                       'instance_uuid': second.instance_uuid,
                       'project_id': second.project_id}):
            self.assertEqual([second.uuid], [
                held.uuid for held in self._page(**query)])
        self.assertEqual([], self._page(node_uuid=second.node_uuid,
                                        instance_uuid=world.new_uuid()))
        self.assertEqual({held.uuid for held in self.made
                          if held.project_id == 'b'},
                         {held.uuid for held in self._page(project_id='b')})

    def test_marker_that_is_gone_says_to_begin_again(self):
        refused = self.assertRaises(errors.ReservationNotFound, self._page,
                                    marker=world.new_uuid())
        self.assertIn('Begin again', str(refused))

    def test_marker_of_another_project_is_as_if_it_were_gone(self):
        of_b = next(held for held in self.made if held.project_id == 'b')
        self.assertRaises(errors.ReservationNotFound, self._page,
                          marker=of_b.uuid, project_id='a')

    def test_expired_ones_are_void_in_every_answer(self):
        self.world.clock.now = world.NOON + datetime.timedelta(seconds=600)
        in_use = self.made[1]
        engine = self.engine
        self.assertEqual([in_use.uuid], [held.uuid for held in self._page()])
        self.assertEqual(frozenset({in_use.node_uuid}),
                         find.reserved_node_uuids(engine))
        self.assertEqual({node_reservation.State.IN_USE: 1},
                         counts.live(engine).reservations)
        self.assertRaises(errors.ReservationNotFound, find.get, engine,
                          self.made[0].uuid)
        self.assertEqual(9, len(self.world.reservations()))

    def test_some_expire_before_others(self):
        self.world.clock.now = world.NOON + datetime.timedelta(seconds=599)
        self.assertEqual(
            {held.uuid for held in self.made
             if held.expires_at > self.world.clock.now
             or held is self.made[1]},
            {held.uuid for held in self._page()})

    def test_one_is_read_as_it_was_given(self):
        self.assertEqual(self.made[3], find.get(self.engine,
                                                self.made[3].uuid))

    def test_unknown_one_is_not_found(self):
        self.assertRaises(errors.ReservationNotFound, find.get,
                          self.engine, world.new_uuid())

    def test_count_tells_the_states_apart(self):
        self.assertEqual({node_reservation.State.RESERVED: 8,
                          node_reservation.State.IN_USE: 1},
                         counts.live(self.engine).reservations)

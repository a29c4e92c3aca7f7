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

"""What a plan changes, beside what it was made for."""

import dataclasses

from ironic_reservations.engine import difference
from ironic_reservations.planner import timeline
from tests import leasing
from tests.inprocess.engine import timelines


class TestExchanges(timelines.TestCase):
    """Bookings of one reservation are alike."""

    opened = 4

    def homes(self, rows, *nodes):
        """Return the moves of a plan in which bookings have these nodes."""
        snapshot = self.leasing.snapshot()
        draft = timeline.Draft.of(snapshot.timeline)
        numbers = [snapshot.host_set.uuids.index(node) for node in nodes]
        by_node = {snapshot.host_set.uuids[each.node]: each
                   for row in draft.rows for each in row}
        leaving = [by_node[booking.node_uuid] for booking in rows]
        draft.put([dataclasses.replace(each, node=number) for each, number
                   in zip(leaving, numbers, strict=True)], leaving)
        return {booking.node_uuid: node for booking, node in
                difference.compare(snapshot, draft).homes.items()}

    def test_nodes_of_one_lease_were_exchanged_for_nothing(self):
        lease = self.leasing.create(1, 4, leasing.wish(3))
        a, b, c = (each.node_uuid for each in lease.bookings)
        (d,) = {*self.opened_hosts} - {a, b, c}
        for nodes, moves in (
                ((b, a, c), {}), ((b, c, a), {}), ((b, c, d), {a: d}),
                ((b, d, c), {a: d}), ((d, a, b), {c: d}),
                ((d, b, c), {a: d})):
            self.assertEqual(moves, self.homes(lease.bookings, *nodes))

    def test_nodes_of_two_reservations_were_exchanged_for_nothing(self):
        rows = self.leasing.create(1, 4, *[leasing.wish(1)] * 3).bookings
        other, = self.leasing.create(2, 4).bookings
        a, b, c, d = (each.node_uuid for each in (*rows, other))
        for nodes, moves in (((b, a, c, d), {}), ((b, c, a, d), {}),
                             ((d, b, c, a), {a: d, d: a}),
                             ((b, d, c, a), {a: b, b: d, d: a})):
            self.assertEqual(moves, self.homes([*rows, other], *nodes))

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

"""The exchange of bookings between two nodes."""

import itertools

import hypothesis
from hypothesis import strategies
import testtools

from ironic_reservations.planner import bookings
from ironic_reservations.planner import ejection
from ironic_reservations.planner import exclusive_row
from ironic_reservations.planner import timeline
from tests import examples


def _booking(name, start, end, node, eligible=0b11, movable=True):
    return bookings.Booking(name, start, end, node, eligible, movable)


def _rows(there):
    draft = timeline.Draft.of(timeline.Timeline.of([None] * 2, there))
    return [ejection.row(draft, node, frozenset()) for node in range(2)]


def _names(row):
    return [each.unit.parts[0].id for each in row.pieces()]


@strategies.composite
def _two_nodes(draw):
    """Return bookings of two nodes, some of which cannot be exchanged."""
    there = []
    for node in range(2):
        at = 0
        for number in range(draw(strategies.integers(0, 6))):
            start = at + draw(strategies.integers(0, 2))
            at = start + draw(strategies.integers(1, 4))
            there.append(_booking(
                f'{node}/{number}', start, at, node,
                draw(strategies.sampled_from([0b11, 0b11, 1 << node])),
                draw(strategies.integers(0, 4)) > 0))
    return there


class TestExchange(testtools.TestCase):

    def _exchange(self, there, number=0):
        one, other = rows = _rows(there)
        return one.exchange(one.pieces()[number], other, 1), rows

    def test_bookings_that_overlap_change_places_together(self):
        done, (one, other) = self._exchange([
            _booking('a', 0, 4, 0), _booking('b', 4, 8, 0),
            _booking('c', 8, 9, 0), _booking('d', 2, 6, 1),
            _booking('e', 6, 8, 1), _booking('f', 8, 9, 1)])
        self.assertTrue(done)
        self.assertEqual(['d', 'e', 'c'], _names(one))
        self.assertEqual(['a', 'b', 'f'], _names(other))
        self.assertEqual([0, 0, 0], [each.node for each in one.pieces()])
        self.assertEqual([1, 1, 1], [each.node for each in other.pieces()])

    def test_one_moves_alone_or_nothing_changes(self):
        """It would leave more gaps, or the others may not be on its node."""
        for there, names in (
                ([_booking('a', 0, 4, 0), _booking('b', 4, 8, 1)],
                 ([], ['a', 'b'])),
                ([_booking('a', 0, 4, 0), _booking('b', 4, 8, 0)],
                 (['a', 'b'], [])),
                *(([_booking('a', 0, 4, 0),
                    _booking('b', 4, 8, 0, eligible, movable),
                    _booking('c', 2, 6, 1)], (['a', 'b'], ['c']))
                  for eligible, movable in ((0b01, True), (0b11, False)))):
            done, rows = self._exchange(there)
            self.assertEqual(names, tuple(map(_names, rows)))
            self.assertEqual('a' not in names[0], done)

    def test_nothing_changes_if_too_many_overlap(self):
        there = [_booking(f'{node}/{at}', at, at + 2, node)
                 for node in range(2) for at in range(node, 40, 2)]
        self.assertFalse(self._exchange(there)[0])
        self.assertTrue(self._exchange([
            each for each in there if each.start < 15])[0])

    @examples.settings(300)
    @hypothesis.given(_two_nodes(), strategies.randoms())
    def test_rows_stay_sound(self, there, chance):
        rows = _rows(there)
        gaps = sum(_gaps(row) for row in rows)
        for _ in range(5):
            node = chance.randrange(2)
            if rows[node].pieces():
                rows[node].exchange(chance.choice(rows[node].pieces()),
                                    rows[1 - node], 1 - node)
        self.assertEqual(sorted(each.id for each in there),
                         sorted(_names(rows[0]) + _names(rows[1])))
        self.assertLessEqual(sum(_gaps(row) for row in rows), gaps)
        for node, row in enumerate(rows):
            for one, following in itertools.pairwise(row.pieces()):
                self.assertLessEqual(one.until, following.start)
            for each in row.pieces():
                part = each.unit.parts[0]
                self.assertEqual(node, each.node)
                self.assertTrue(each.node == part.node or (
                    part.movable and part.eligible >> node & 1))
            # The booking is found in its place, as after any other change.
            fresh = exclusive_row.Row(row.pieces())
            for each in row.pieces():
                self.assertEqual([each], list(row.blockers(each)))
                self.assertEqual(fresh.cost(each), row.cost(each))


def _gaps(row):
    """Return the number of gaps in a row, including the first and the last."""
    pieces = row.pieces()
    return 1 + len(pieces) - sum(
        one.until == following.start
        for one, following in itertools.pairwise(pieces))

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

"""Each instant of a node has one holder, whatever is booked on it."""

import dataclasses
import datetime

import hypothesis
from hypothesis import strategies as st
import testtools

from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_reservation
from ironic_reservations.model import requirements
from ironic_reservations.planner import host_states
from ironic_reservations.planner import timeline

NOW = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
HOUR = datetime.timedelta(hours=1)
ANY = requirements.parse('', '')
ROWS = st.lists(st.tuples(st.integers(-4, 8), st.integers(1, 5),
                          st.sampled_from(leases.BookingState)), max_size=5)


class TestDraw(testtools.TestCase):

    @hypothesis.given(ROWS, st.one_of(st.none(), st.integers(1, 6)),
                      st.integers(0, 90))
    def test_nobody_else_gets_a_place_that_somebody_has(self, drawn, held,
                                                        margin):
        rows = [leases.NodeBooking(
            number, f'r{number}', 0, 'node', NOW + start * HOUR,
            NOW + (start + length) * HOUR, state)
            for number, (start, length, state) in enumerate(drawn)]
        reserved = None if held is None else node_reservation.Reservation(
            'proof', 'node', 'instance', NOW - HOUR, None, NOW + held * HOUR)
        here = host_states.HostState(
            leases.Host(1, mirrored_node.Node('node'), NOW),
            tuple((row, ANY) for row in rows), reserved)
        made = host_states.draw(here, 0, NOW, margin * 60 * instants.SECOND,
                             lambda _: 1)
        # Raises if two overlap.
        there = timeline.Timeline.of([None], made)
        windows = [(row.starts_at, row.ends_at) for row in rows]
        if reserved is not None:
            windows.append((reserved.created_at, reserved.expires_at))
        draft = timeline.Draft.of(there)
        for start, end in windows:
            at = start
            while at < end:
                self.assertTrue(draft.between(0, instants.instant(at),
                                              instants.instant(at) + 1),
                                at)
                at += HOUR / 2
        # A booking that has begun, alone, is drawn as in its row.
        begun = [row for row in rows if row.begun and row.ends_at > NOW]
        if len(begun) == 1:
            (part,) = [
                each for each in made
                if host_states.whole(each.id) == host_states.name(begun[0])
            ]
            self.assertEqual((instants.instant(begun[0].starts_at),
                              instants.instant(begun[0].ends_at)),
                             (part.start, part.end))
        # A movable booking is drawn as in its row.
        names = {host_states.name(row): row for row in rows}
        for each in made:
            if each.movable:
                row = names[each.id]
                self.assertEqual((instants.instant(row.starts_at),
                                  instants.instant(row.ends_at)),
                                 (each.start, each.end))

    @hypothesis.given(ROWS, st.lists(
        st.tuples(st.integers(-4, 14), st.integers(0, 2), st.integers(1, 2),
                  st.sampled_from(['', 'bound', 'ending'])),
        min_size=1, max_size=5))
    def test_known_rows_are_drawn_as_if_they_were_not(self, drawn, times):
        """The time, even backwards, the margin, a set or a row may change."""
        rows = [leases.NodeBooking(
            number, f'r{number}', 0, 'node', NOW + start * HOUR,
            NOW + (start + length) * HOUR, state, uuid=f'u{number}')
            for number, (start, length, state) in enumerate(drawn)]
        known = {}
        for hours, margin, suitable, state in times:
            if state and rows:
                rows[0] = dataclasses.replace(
                    rows[0], state=leases.BookingState(state))
            here = host_states.HostState(
                leases.Host(1, mirrored_node.Node('node'), NOW),
                tuple((row, ANY) for row in rows))
            given = (here, 0, NOW + hours * HOUR, margin * instants.SECOND,
                     lambda _, suitable=suitable: suitable)
            self.assertEqual(host_states.draw(*given),
                             host_states.draw(*given, known))

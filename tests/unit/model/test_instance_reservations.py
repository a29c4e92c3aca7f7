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

"""Rows of instances become valid input of the planner in any state."""

import dataclasses
import datetime

import hypothesis
from hypothesis import strategies as st
import testtools

from ironic_reservations.model import flavors
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import instants
from ironic_reservations.model import inventories
from ironic_reservations.model import leases
from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_states
from ironic_reservations.planner import instance_host_states
from ironic_reservations.planner import timeline

NOW = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
HOUR = datetime.timedelta(hours=1)
WANTED = instance_reservations.InstanceReservation(
    'resource', 'reservation', 2, 1024, 10, 4, False)
CAPACITY = {'VCPU': 4}


def _row(start, end, state=leases.BookingState.PLANNED):
    return leases.NodeBooking(7, 'reservation', 3, 'uuid', NOW + start * HOUR,
                              NOW + end * HOUR, state)


@st.composite
def hosts(draw):
    """Hosts with any bookings that may exist."""
    return [bookings.Booking(
        str(number), start, start + length, 0, 1, movable, 0,
        (('VCPU', amount),), f'group {group}', group == 0 or None)
        for number, (start, length, amount, movable, group) in enumerate(draw(
            st.lists(st.tuples(
                st.integers(0, 9), st.integers(1, 4), st.integers(1, 3),
                st.booleans(), st.integers(0, 3)), max_size=6)))]


class TestDisplaced(testtools.TestCase):

    @hypothesis.given(hosts())
    def test_what_is_left_has_room(self, there):
        out = instance_host_states.displaced(CAPACITY, there)
        self.assertLessEqual(out, {each.id for each in there if each.movable})
        timeline.Timeline.of([CAPACITY], [each for each in there
                                  if each.id not in out])

    @hypothesis.given(hosts())
    def test_what_has_room_is_left_as_it_is(self, there):
        try:
            timeline.Timeline.of([CAPACITY], there)
        except ValueError:
            hypothesis.reject()
        self.assertEqual(frozenset(),
                         instance_host_states.displaced(CAPACITY, there))

    @hypothesis.given(hosts(), st.integers(0, 9), st.integers(1, 4),
                      st.integers(1, 4))
    def test_nobody_gets_the_place_of_what_has_no_room(self, there, start,
                                                       length, amount):
        """A drawn booking takes its whole share, so less fits, never more."""
        draft = timeline.Draft.empty([CAPACITY])
        draft.draw(0, there)
        new = bookings.Booking('new', start, start + length, 0, 1,
                               amounts=(('VCPU', amount),), group='new')
        fits = all(amount + sum(dict(each.amounts)['VCPU'] for each in there
                                if each.start <= at < each.end) <= 4
                   for at in range(start, start + length))
        try:
            draft.put([new])
        except ValueError:
            self.assertFalse(fits)
        else:
            self.assertTrue(fits)

    def test_group_that_has_to_be_together_is_displaced_together(self):
        group = [bookings.Booking(
            f'g/{count}', 0, 5, 0, 1, amounts=(('VCPU', 2),), group='g',
            affinity=True) for count in range(3)]
        self.assertEqual({'g/0', 'g/1', 'g/2'},
                         instance_host_states.displaced(CAPACITY, group))


class TestRows(testtools.TestCase):

    def test_instance_is_what_its_row_says(self):
        made = instance_host_states.promise(_row(1, 3), 5, NOW, 9,
                                            0b100001, WANTED)
        self.assertEqual(bookings.Booking(
            'reservation/3', instants.instant(NOW + HOUR),
            instants.instant(NOW + 3 * HOUR), 5, 0b100001, True, 9,
            (('DISK_GB', 10), ('MEMORY_MB', 1024), ('VCPU', 2)),
            'reservation', False), made)

    def test_what_has_begun_does_not_move(self):
        for row in (_row(-1, 3), _row(1, 3, leases.BookingState.BOUND)):
            self.assertFalse(instance_host_states.promise(
                row, 0, NOW, 0, 1, WANTED).movable)

    def test_what_is_late_keeps_its_share(self):
        made = instance_host_states.promise(
            _row(-3, -1, leases.BookingState.ENDING), 0, NOW, 0, 1, WANTED)
        self.assertEqual(host_states.late(NOW), made.end)
        self.assertGreater(made.end, instants.instant(NOW))

    def test_sizes_and_flavors_say_which_hosts_suit(self):
        there = {name: inventories.Inventory(2048)
                 for name in ('VCPU', 'MEMORY_MB', 'DISK_GB')}
        self.assertTrue(WANTED.need.met_by(there, frozenset()))
        larger = dataclasses.replace(WANTED, memory_mb=4096)
        self.assertFalse(larger.need.met_by(there, frozenset()))
        flavored = dataclasses.replace(WANTED, request=flavors.read(
            flavors.Flavor(1, 1, 1, extra_specs={
                'resources:CUSTOM_GOLD': '1', 'trait:CUSTOM_A': 'required'})))
        self.assertEqual(('CUSTOM_GOLD', 1), flavored.need.amounts[0])
        there['CUSTOM_GOLD'] = inventories.Inventory(1)
        self.assertFalse(flavored.need.met_by(there, frozenset()))
        self.assertTrue(flavored.need.met_by(there, frozenset({'CUSTOM_A'})))

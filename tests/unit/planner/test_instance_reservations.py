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

"""Rows of instances become what the planner wants, whatever has happened."""

import dataclasses
import datetime

import hypothesis
from hypothesis import strategies as st
import testtools

from ironic_reservations.planner import bookings
from ironic_reservations.planner import instance_reservations
from ironic_reservations.planner import instance_standing
from ironic_reservations.planner import instants
from ironic_reservations.planner import leases
from ironic_reservations.planner import standing
from ironic_reservations.planner.placement import flavors
from ironic_reservations.planner.placement import inventories
from ironic_reservations.planner.pool import instances
from ironic_reservations.planner.pool import pool

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
    """What may have come to stand on a host; whole bookings are apart."""
    whole, at = [], 0
    for number in range(draw(st.integers(0, 2))):
        at += draw(st.integers(0, 4))
        end = at + draw(st.integers(1, 4))
        margin = draw(st.integers(0, 1))
        whole.append(bookings.Booking(f'whole/{number}', at, end, 0, 1,
                                      draw(st.booleans()), margin))
        at = end + margin
    there = []
    for number, (start, length, amount, movable, group) in enumerate(draw(
            st.lists(st.tuples(
                st.integers(0, 9), st.integers(1, 4), st.integers(1, 3),
                st.booleans(), st.integers(0, 3)), max_size=6))):
        there.append(instances.Instance(
            str(number), start, start + length, 0, 1, (('VCPU', amount),),
            f'group {group}', group == 0 or None, movable))
    return whole, there


class TestSettle(testtools.TestCase):

    @hypothesis.given(hosts())
    def test_what_is_left_can_be_planned_on(self, host):
        whole, there = host
        settled, homeless = instance_standing.settle(CAPACITY, whole,
                                                         there)
        made = pool.Pool.of([CAPACITY], settled)
        self.assertEqual(len(settled), len(list(made.promised())))
        movable = {each.id for each in [*whole, *there] if each.movable}
        self.assertLessEqual(homeless, movable)
        self.assertEqual(movable, homeless | {
            each.id for each in settled if each.movable})
        # Nobody else gets the place of what has begun.
        for each in [*whole, *there]:
            if not each.movable:
                self.assertRaises(ValueError, made.adding, [
                    bookings.Booking('new', each.start, each.end, 0, 1)])

    @hypothesis.given(hosts())
    def test_what_can_be_planned_on_is_left_as_it_is(self, host):
        whole, there = host
        try:
            pool.Pool.of([CAPACITY], [*whole, *there])
        except ValueError:
            hypothesis.reject()
        settled, homeless = instance_standing.settle(CAPACITY, whole,
                                                         there)
        self.assertEqual(([*whole, *there], frozenset()),
                         (settled, homeless))

    def test_group_that_has_to_be_together_is_homeless_together(self):
        group = [instances.Instance(f'g/{count}', 0, 5, 0, 1, (('VCPU', 2),),
                                    'g', True) for count in range(3)]
        settled, homeless = instance_standing.settle(CAPACITY, (), group)
        self.assertEqual(([], {'g/0', 'g/1', 'g/2'}), (settled, homeless))


class TestRows(testtools.TestCase):

    def test_instance_is_what_its_row_says(self):
        made = instance_standing.promise(_row(1, 3), WANTED, 5, NOW, 9,
                                             0b100001)
        self.assertEqual(instances.Instance(
            'reservation/3', instants.instant(NOW + HOUR),
            instants.instant(NOW + 3 * HOUR), 5, 0b100001,
            (('DISK_GB', 10), ('MEMORY_MB', 1024), ('VCPU', 2)),
            'reservation', False, True, 9), made)

    def test_what_has_begun_does_not_move(self):
        for row in (_row(-1, 3), _row(1, 3, leases.BookingState.BOUND)):
            self.assertFalse(instance_standing.promise(
                row, WANTED, 0, NOW, 0, 1).movable)

    def test_what_is_late_keeps_its_share(self):
        made = instance_standing.promise(
            _row(-3, -1, leases.BookingState.ENDING), WANTED, 0, NOW, 0, 1)
        self.assertEqual(standing.late(NOW), made.end)
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

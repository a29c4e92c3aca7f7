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

"""Which requests are granted beside leases whose dates are open.

Exactly those that some assignment serves, with some starts of those leases.
"""

import dataclasses
import datetime
import itertools

import hypothesis
from hypothesis import strategies as st

from ironic_reservations import errors
from ironic_reservations.api import versions
from ironic_reservations.api.types import lease_body
from ironic_reservations.engine.leases import change as lease_change
from ironic_reservations.model import leases
from ironic_reservations.planner import bookings
from tests import leasing
from tests import world
from tests.inprocess.timeline import grounds
from tests.judges import oracle

_CLASSES = ('gold', 'silver')
_START = st.integers(1, 5)
_LENGTH = st.integers(1, 3)
_CLASS = st.sampled_from(('', *_CLASSES))
_FIXED = st.tuples(st.none() | _START, _LENGTH, st.integers(1, 2), _CLASS)
_LOOSE = st.tuples(_START, _LENGTH, st.integers(0, 4), _CLASS)
#: By how much the start, the end and the number of hosts change.
_CHANGES = st.tuples(st.integers(0, 2), st.integers(-1, 3), st.integers(0, 1))


@dataclasses.dataclass(frozen=True)
class _Grid:
    """The instants at which anything starts and ends, counted."""

    first: datetime.datetime
    unit: datetime.timedelta

    def count(self, moment):
        return (moment - self.first) // self.unit

    def at(self, count):
        return self.first + count * self.unit

    def hours(self, count):
        return (self.at(count) - world.NOON) / datetime.timedelta(hours=1)


_HOURS = _Grid(world.NOON, datetime.timedelta(hours=1))
#: Half of them are no whole minutes.
_HALF_MINUTES = _Grid(leasing.at(1), datetime.timedelta(seconds=30))


def _wish(count, name):
    return leasing.wish(count, properties=name and leasing.of_class(name))


class _Ground(grounds.Ground):
    """Hosts of two classes, and leases of which some have open dates."""

    def __init__(self, classes, grid=_HOURS):
        super().__init__(classes)
        self.grid = grid

    def ask(self, start, length, count, name, far=None):
        """Make a lease if it can be had; it slides so far, if at all."""
        first = 0 if start is None else start
        hours, at = self.grid.hours, self.grid.at
        try:
            return self.leasing.create(
                None if start is None else hours(start),
                hours(first + length), _wish(count, name),
                flexible=None if far is None else leases.Flexible(
                    at(first + length + far), length * self.grid.unit, 0))
        except errors.LeaseRefused:
            return None

    def booked(self, lease):
        """Return what a lease has, as the planner would call it."""
        count = self.grid.count
        return [bookings.Booking(
            row.uuid, count(row.starts_at), count(row.ends_at),
            self.nodes.index(row.node_uuid),
            self.eligible(each.resource_properties), not row.begun)
            for each in lease.reservations for row in each.bookings]

    def demand(self, lease, start, end, count):
        return bookings.Demand(
            lease.id, start, end, count, count,
            self.eligible(lease.reservations[0].resource_properties))

    def possible(self, there, demands, without=()):
        """Tell whether demands can be served with some starts of others."""
        hosts, count = (None,) * len(self.nodes), self.grid.count
        loose, firm = [], list(there)
        for lease in self.leasing.all():
            if lease.id in without:
                continue
            if lease.between is None or lease.between.fix_at is None:
                firm.extend(self.booked(lease))
            else:
                loose.append(lease)
        return any(oracle.exists(
            oracle.Case(hosts, tuple(firm), all_of), [
                each.least for each in all_of])
            for starts in itertools.product(*(range(
                count(lease.between.earliest),
                count(lease.between.latest - (lease.end - lease.start)) + 1)
                for lease in loose))
            for all_of in [(*demands, *(self.demand(
                lease, start, start + count(lease.end) - count(lease.start),
                len(lease.bookings))
                for lease, start in zip(loose, starts, strict=True)))])

    def change(self, lease, by_start, by_end, more):
        """Change a lease, and check the answer."""
        lease = self.leasing.reload(lease)
        begun = any(row.begun for row in lease.bookings)
        start = self.grid.count(lease.start) + (0 if begun else by_start)
        end = self.grid.count(lease.end) + by_end
        if end <= max(start, 0):
            return
        least = lease.reservations[0].least + more
        there = self.booked(lease)
        if begun:
            kept = [bookings.Booking(each.id, each.start, end, each.node,
                                     1 << each.node, False)
                    for each in there]
            demands = [self.demand(lease, 0, end, least - len(kept))
                       ] if least > len(kept) else []
        else:
            kept, demands = [], [self.demand(lease, start, end, least)]
        possible = self.possible(kept, demands, {lease.id}) and (
            oracle.sound((None,) * len(self.nodes), [
                *kept, *(each for other in self.leasing.all()
                         if other.id != lease.id
                         for each in self.booked(other)
                         if not each.movable)]))
        before = {each.id: each for each in self.leasing.all()}
        try:
            lease_change.change(
                self.engine, lease.id,
                leases.LeaseChange(
                    start=None
                    if begun or not by_start else self.grid.at(start),
                    end=self.grid.at(end),
                    reservations=(leases.LeaseReservationChange(
                        lease.reservations[0].id, least, least),) if more else
                    ()))
        except errors.LeaseRefused as exc:
            assert not possible, f'refused, and it could be served: {exc}'
            assert all(reason['proved'] for reason in exc.details['reasons'])
            assert before == {each.id: each for each in self.leasing.all()}
        else:
            assert possible, 'it cannot be served, says the oracle'
        self.check_others(before, lease.id)

    def reopen(self, lease, first, length, far, count):
        """Change the window of a lease, and check the answer."""
        lease = self.leasing.reload(lease)
        at, lasting = self.grid.at, length * self.grid.unit
        before = {each.id: each for each in self.leasing.all()}
        possible = any(self.possible((), [self.demand(
            lease, start, start + length, count)], {lease.id})
            for start in range(first, first + far + 1))
        try:
            made = lease_change.change(
                self.engine, lease.id,
                leases.LeaseChange(
                    opened=leases.OpenDates(
                        (at(first), at(first + length + far)), lasting),
                    reservations=() if count == len(lease.bookings) else
                    (leases.LeaseReservationChange(lease.reservations[0].id,
                                                   count, count),)))
        except errors.LeaseRefused as exc:
            assert not possible, f'refused, and it could be served: {exc}'
            assert all(reason['proved'] for reason in exc.details['reasons'])
            assert before == {each.id: each for each in self.leasing.all()}
            for offer in exc.details['offers']:
                lease_change.rehearse(self.engine, lease.id, (
                    lease_body.lease_change(
                        offer['lease'], self.world.clock(), dict,
                        versions.MAXIMUM)))
        else:
            assert possible, 'it cannot be served, says the oracle'
            there = self.leasing.reload(lease)
            assert (made.start, made.end, made.between) == (
                there.start, there.end, there.between)
            assert at(first) <= made.start
            assert made.end <= at(first + length + far)
            assert made.end - made.start == lasting
        self.check_others(before, lease.id)

    def check_others(self, before, changed):
        """Check that all others are where they may be."""
        self.check()
        for lease in self.leasing.all():
            was = before.get(lease.id)
            if was is None or lease.id == changed:
                continue
            assert lease.end - lease.start == was.end - was.start
            assert len(lease.bookings) == len(was.bookings)
            if was.between is None or was.between.fix_at is None:
                assert (lease.start, lease.end) == (was.start, was.end)
            else:
                assert was.between.earliest <= lease.start
                assert lease.end <= was.between.latest
            for row, old in zip(lease.bookings, was.bookings, strict=True):
                assert not old.begun or row == old


class TestAdmission(world.TestCase):

    @grounds.SETTINGS
    @hypothesis.given(
        st.lists(st.sampled_from(_CLASSES), min_size=1, max_size=3),
        st.lists(_FIXED, min_size=1, max_size=3),
        st.lists(_LOOSE, min_size=1, max_size=2),
        st.lists(st.tuples(st.integers(0, 2), _CHANGES), min_size=1,
                 max_size=3))
    def test_changes_are_granted_that_can_be(self, classes, fixed, loose,
                                             changes):
        """Never a false no, never two owners, nobody outside a window."""
        with _Ground(classes) as ground:
            made = [ground.ask(*each) for each in fixed]
            ground.leasing.bind()
            for start, length, far, name in loose:
                ground.ask(start, length, 1, name, far)
            made = [each for each in made if each is not None]
            for number, change in changes if made else ():
                ground.change(made[number % len(made)], *change)

    @grounds.SETTINGS
    @hypothesis.given(
        st.sampled_from((_HOURS, _HALF_MINUTES)),
        st.lists(st.sampled_from(_CLASSES), min_size=1, max_size=3),
        st.lists(_FIXED, max_size=2), st.lists(_LOOSE, min_size=1, max_size=3),
        st.lists(st.tuples(st.integers(0, 2), _START, _LENGTH,
                           st.integers(0, 3), st.integers(1, 2)),
                 min_size=1, max_size=3))
    def test_windows_are_granted_that_can_be(self, grid, classes, fixed,
                                             loose, windows):
        """For leases whose dates are open, and stay so."""
        with _Ground(classes, grid) as ground:
            for each in fixed:
                ground.ask(*each)
            ground.leasing.bind()
            made = [ground.ask(start, length, 1, name, far)
                    for start, length, far, name in loose]
            made = [each for each in made if each is not None]
            for number, *window in windows if made else ():
                ground.reopen(made[number % len(made)], *window)

    @grounds.SETTINGS
    @hypothesis.given(
        st.lists(st.sampled_from(_CLASSES), min_size=1, max_size=3),
        st.lists(_LOOSE, min_size=1, max_size=2),
        st.lists(_FIXED, min_size=1, max_size=3))
    def test_leases_are_granted_that_can_be(self, classes, loose, asked):
        with _Ground(classes) as ground:
            for start, length, far, name in loose:
                ground.ask(start, length, 1, name, far)
            for start, length, count, name in asked:
                first = 0 if start is None else start
                before = {each.id: each for each in ground.leasing.all()}
                possible = ground.possible((), [bookings.Demand(
                    'new', first, first + length, count, count,
                    ground.eligible(name and leasing.of_class(name)))])
                made = ground.ask(start, length, count, name)
                assert possible is (made is not None)
                ground.check_others(before, None)
                ground.leasing.bind()

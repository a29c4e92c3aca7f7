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

"""The first starts at which so many hosts can be had for so long."""

import contextlib
import datetime
import random

from ironic_reservations import errors
from ironic_reservations.engine import availability
from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from tests import leasing
from tests.inprocess.engine import timelines

_MINUTE = datetime.timedelta(minutes=1)
_UNLIMITED = availability.Caller(leasing.PROJECT, limits.NONE)


class TestSlots(timelines.TestCase):

    options = {'leases__cleaning_time': 600}

    def slots(self, start, end, count, hours, most=20, caller=_UNLIMITED,
              **asked):
        return availability.count_free(
            self.engine, leasing.at(start), leasing.at(end), count=count,
            duration=int(hours * 3600), slots=most, caller=caller,
            **asked).slots

    def post(self, start, count, hours, caller=_UNLIMITED,
             make=lease_create.create):
        return make(self.engine, leases.LeaseRequest(
            'slot', start + datetime.timedelta(hours=hours),
            (leases.LeaseReservationRequest(count, count),), start,
            project_id=caller.project_id), caller.allowed)

    def accepted(self, *asked, **more):
        try:
            self.post(*asked, **more, make=lease_create.rehearse)
        except (errors.LeaseRefused, errors.LeaseLimit):
            return False
        return True

    def test_slots_are_what_would_be_accepted(self):
        """Of any fleet: each, and none that is earlier is left out."""
        found = 0
        for seed in range(80):
            chance = random.Random(seed)
            self.begin(leases__cleaning_time=chance.choice((0, 600)))
            self.leasing.hosts(chance.randint(1, 4))
            for _ in range(chance.randint(0, 12)):
                start = chance.choice((0, 0.5, 1, 2.25, 3, 5))
                with contextlib.suppress(errors.LeaseRefused):
                    self.leasing.create(
                        start, start + chance.choice((0.5, 1, 2)),
                        leasing.wish(chance.randint(1, 2)))
            self.world.clock.advance(chance.choice((0, 1.5, 2000)))
            count, hours = chance.randint(1, 3), chance.choice((0.5, 1, 3))
            begin, end, most = 0, chance.choice((4, 9)), chance.randint(1, 20)
            slots = self.slots(begin, end, count, hours, most)
            found += len(slots)
            self.assertEqual(sorted(set(slots)), list(slots))
            self.assertLessEqual(len(slots), most)
            for slot in slots:
                self.assertTrue(self.accepted(slot, count, hours))
                self.assertLessEqual(
                    slot + datetime.timedelta(hours=hours), leasing.at(end))
            self.check_no_earlier(slots, count, hours, end, len(slots) == most)
            if slots:
                self.post(chance.choice(slots), count, hours)
        self.assertGreater(found, 50)

    def check_no_earlier(self, slots, count, hours, end, full):
        now = self.world.clock()
        margin = datetime.timedelta(
            seconds=self.engine.conf.leases.cleaning_time)
        starts = {now.replace(second=0, microsecond=0) + _MINUTE} | {
            row['expires_at'] + margin for row in self.leasing.rows()}
        last = (slots[-1] if full else
                leasing.at(end) - datetime.timedelta(hours=hours))
        for start in starts - set(slots):
            if now < start <= last:
                self.assertFalse(self.accepted(start, count, hours),
                                 (start, slots))

    def test_first_slot_can_be_asked_for_for_a_while(self):
        """A minute, and in whole minutes."""
        self.leasing.hosts()
        self.world.clock.advance(30.5)
        slot, = self.slots(0, 5, 1, 1)
        self.assertEqual(leasing.at(0) + _MINUTE, slot)
        self.world.clock.advance(80)
        self.post(slot, 1, 1)

    def test_window_that_is_too_short_has_none(self):
        """Or too few hosts, or none that can be used."""
        host, = self.leasing.hosts()
        self.assertEqual((), self.slots(1, 2, 1, 1.5))
        self.assertEqual((), self.slots(1, 9, 2, 1))
        self.assertEqual((), self.slots(-9, 0, 1, 1))
        self.leasing.set_reservable(host, False)
        self.assertEqual((), self.slots(1, 9, 1, 1))

    def test_slots_are_of_the_hosts_that_match(self):
        """Of a class, or what else is asked."""
        self.leasing.hosts(resource_class='gold')
        self.leasing.hosts(resource_class='silver')
        self.leasing.create(1, 4, leasing.wish_of('gold'))
        for asked, first in (({'resource_class': 'gold'}, 4),
                             ({'resource_class': 'silver'}, 1),
                             ({'resource_properties':
                               leasing.of_class('gold')}, 4)):
            slots = self.slots(1, 9, 1, 1, **asked)
            self.assertEqual(
                leasing.at(first) + datetime.timedelta(
                    minutes=10 if first == 4 else 0), slots[0])

    def test_slots_are_within_the_limit_of_a_class_that_is_a_number(self):
        """A lease that asks for 4 counts for 4.0, too."""
        self.configure(project_limits=True)
        self.leasing.hosts(3, resource_class='4')
        self.leasing.create(1, 2, leasing.wish_of('4'))
        for name, first in (('4', 2), ('4.0', 2), ('4.1', 1)):
            slots = self.slots(1, 9, 1, 1, caller=availability.Caller(
                leasing.PROJECT, limits.Limits(
                    max_hosts_per_class={name: 1})), resource_class='4')
            self.assertEqual(first, 1 + (slots[0] > leasing.at(1)), name)

    def test_slots_are_within_the_limits_of_the_project(self):
        """What is refused for them is no slot, though there is room."""
        self.configure(project_limits=True)
        self.leasing.hosts(3)
        self.leasing.create(1, 2, leasing.wish(2))
        free = self.slots(1, 9, 1, 1)
        self.assertEqual([leasing.at(1), leasing.at(2) + 10 * _MINUTE],
                         list(free))
        for allowed, slots in (
                # Its limit leaves one from the end of its lease on.
                ({'max_hosts_per_project': 2},
                 (leasing.at(2), *free[1:])),
                ({'max_leases_per_project': 1}, ()),
                ({'max_duration': 1800}, ()),
                ({'max_horizon': 7200}, free[:1]),
                ({'max_host_hours_per_project': 2}, ())):
            caller = availability.Caller(
                leasing.PROJECT, limits.Limits(**allowed))
            self.assertEqual(tuple(slots), self.slots(
                1, 9, 1, 1, caller=caller), allowed)
            for slot in free:
                self.assertEqual(
                    slot in slots,
                    self.accepted(slot, 1, 1, caller), allowed)
            other = availability.Caller('theirs', caller.allowed)
            if 'max_duration' not in allowed and (
                    'max_horizon' not in allowed):
                self.assertEqual(free, self.slots(1, 9, 1, 1, caller=other))

    def test_slots_begin_where_the_project_may_have_more(self):
        """None was found: its own lease is elsewhere, or too far away."""
        self.configure(project_limits=True)
        self.leasing.hosts(3, resource_class='gold')
        self.leasing.hosts(resource_class='silver')
        caller = availability.Caller(
            leasing.PROJECT, limits.Limits(max_hosts_per_project=1))
        self.leasing.create(1, 100, leasing.wish_of('silver'))
        for others in range(2):
            for hour in range(60 * others):
                self.leasing.create(hour + 1, hour + 1.5,
                                    leasing.wish_of('gold'),
                                    project_id='theirs')
            slots = self.slots(1, 200, 1, 1, caller=caller,
                               resource_class='gold')
            self.assertEqual([leasing.at(100)], list(slots))
            self.assertTrue(self.accepted(slots[0], 1, 1, caller))

    def test_slot_behind_more_forbidden_starts_than_are_planned(self):
        """Each of them counted as a try, so that none was left for it."""
        self.configure(project_limits=True)
        self.leasing.hosts(resource_class='gold')
        self.leasing.hosts(2, resource_class='silver')
        for hour in range(40):
            self.leasing.create(hour + 1, hour + 2,
                                leasing.wish_of('silver'))
        caller = availability.Caller(
            leasing.PROJECT, limits.Limits(max_hosts_per_project=1))
        self.assertEqual([leasing.at(41)], list(self.slots(
            1, 200, 1, 1, caller=caller, resource_class='gold')))
        made = lease_create.create(self.engine, leasing.ask(
            1, 2, leasing.wish_of('gold'), flexible=leases.Flexible(
                leasing.at(60), datetime.timedelta(hours=1), 0)),
            caller.allowed)
        self.assertEqual(leasing.at(41), made.start)

    def test_slots_without_a_count_are_refused(self):
        """There is nothing to look for."""
        self.assertRaises(errors.InvalidValue, availability.count_free,
                          self.engine, leasing.at(0), leasing.at(1), slots=1)

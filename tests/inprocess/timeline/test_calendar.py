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

"""The calendar on each database, of a fleet with a bit of everything."""

import random
from unittest import mock

from ironic_reservations import errors
from ironic_reservations.engine.snapshots import cache
from ironic_reservations.features.calendar import document as calendar
from ironic_reservations.features.calendar import values as model
from tests import leasing
from tests import servers
from tests.inprocess.engine import timelines
from tests.inprocess.timeline import calendars

_STATES = ('available', 'available', 'available', 'cleaning', 'active',
           'clean failed')


@servers.also
class TestCalendars(timelines.TestCase):
    kind = 'sqlite'
    options = {'leases__cleaning_time': 1800}

    def setUp(self):
        super().setUp()
        self.patch(cache, '_COMPARED', -1)
        self.calendars = calendars.Calendars(self.world)
        self.processes = [calendars.application(self.engine),
                          calendars.application(self.world.another_engine())]

    def look(self):
        for process in self.processes:
            for viewer in calendars.VIEWERS:
                self.calendars.look(process, viewer)

    def test_fleets_as_their_rows_are(self):
        """Drawn at random: hosts of all kinds, leases of two projects."""
        chance = random.Random(self.kind)
        for number in range(8):
            self.leasing.hosts(
                name=f'host-{number}', provision_state=chance.choice(_STATES),
                resource_class=chance.choice(('gold', 'silver', None)),
                maintenance=chance.random() < 0.1,
                retired=chance.random() < 0.1,
                owner=chance.choice((None, 'ours', 'theirs')))
        made, refused = [], 0
        for number in range(30):
            start = chance.choice((0, 0.1, 0.5, 1, 2, 3.3))
            try:
                made.append(self.leasing.create(
                    start, start + chance.choice((0.25, 1, 2.5)),
                    leasing.wish(chance.choice((1, 1, 2))),
                    name=f'<b>{number}</b>', project_id=chance.choice(
                        ('ours', 'theirs'))))
            except errors.LeaseRefused:
                refused += 1
        self.assertGreater(len(made), 4)
        self.assertGreater(refused, 0)
        self.look()
        self.leasing.change(made[0], name='another name')
        self.look()
        self.leasing.end(made[1])
        self.look()
        for hours in (0.05, 0.3, 1.2):
            self.leasing.clock_passes(hours)
            self.look()
        # Late: nobody has taken the hosts back.
        self.world.clock.advance(3 * 3600)
        self.look()
        self.world.clock.advance(61)
        self.look()
        self.assertGreater(self.calendars.tags(), 20)

    def test_instances_that_share_a_host(self):
        """Those of one lease are one booking, which tells how many."""
        self.leasing.compute_hosts(1)
        for amount in (3, 1):
            self.leasing.create(1, 2, leasing.instances(amount))
        found = calendars.read(
            self.processes[0], '/v1/calendar?from=2026-03-01T12:00:00Z'
            '&to=2026-03-01T18:00:00Z&rows=true', 'operator')
        row, = found['hosts']
        self.assertEqual('compute host', row['kind'])
        self.assertEqual({(3600, 7200, 0, 0), (3600, 7200, 0, 1)}, {
            tuple(each[:4]) for each in row['bookings']})
        self.assertEqual([1, 3], sorted(
            amount for *_, amount in row['bookings']))
        # NOTE: nobody can have all of it then; no time is for cleaning.
        self.assertEqual([[0, 1], [3600, 0], [7200, 1]],
                         found['classes'][0]['steps'])

    def test_time_set_back_behind_what_is_drawn(self):
        """What one process has drawn as late, another has not.

        Their rows are the same, and so is when the next booking is drawn in
        another way; the tag is not.
        """
        self.configure(cleaning_time=0)
        self.leasing.hosts(2)
        for _ in range(2):
            self.leasing.create(0, 1)
        self.leasing.clock_passes(0)
        self.world.clock.now = leasing.at(1)
        self.calendars.look(self.processes[0], 'ours')
        self.world.clock.set_back(0.5)
        self.leasing.create(3, 4)
        seen = [self.calendars.look(process, 'ours')['classes']
                for process in self.processes]
        self.assertNotEqual(*seen)
        # NOTE: by then, both have drawn it as late.
        self.world.clock.now = leasing.at(1)

    def test_reservations_beside_leases(self):
        """They have no lease, and end when nobody comes for them."""
        nodes = self.leasing.hosts(2)
        self.leasing.create(1, 2)
        held = self.world.reserve(*nodes, ttl=600)
        found = self.calendars.look(self.processes[0], 'ours')
        self.assertIn(
            [4500, 5100, 2, -1, 0],
            [each for row in found['hosts'] for each in row['bookings']])
        self.world.use(held)
        self.leasing.refresh()
        self.look()
        self.world.clock.advance(700)
        self.look()

    def test_pages_of_rows(self):
        """Each host is on one of them; classes are on the first."""
        self.leasing.hosts(5, resource_class='gold')
        self.leasing.hosts(2, resource_class='silver')
        self.leasing.create(1, 2, leasing.wish(3))
        process = self.processes[0]
        path = ('/v1/calendar?from=2026-03-01T12:00:00Z&rows=true&limit=2'
                '&resource_class=gold')
        seen = []
        while path:
            found = calendars.read(process, path, 'operator')
            self.assertEqual(not seen, 'classes' in found)
            self.assertLessEqual(len(found['hosts']), 2)
            self.assertEqual({'gold'}, {each['resource_class']
                                        for each in found['hosts']})
            seen.extend(each['id'] for each in found['hosts'])
            path = ''.join(each['href'].partition('api.example')[2]
                           for each in found['links'])
        first = int(seen[0])
        self.assertEqual([*range(first, first + 5)], [*map(int, seen)])

    def test_lease_of_no_project_is_nobodys_own(self):
        """Not even of a viewer who has none either."""
        self.leasing.hosts()
        self.leasing.create(1, 2, project_id=None)
        for viewer, sees in (('operator', True), ('nowhere', False)):
            found = self.calendars.look(self.processes[0], viewer)
            lease, = found['leases']
            self.assertEqual((sees, False),
                             (lease['id'] is not None, lease['own']))

    def test_lease_that_is_forgotten_meanwhile(self):
        """Between the snapshot and the names: all is read again."""
        self.leasing.hosts()
        lease = self.leasing.create(1, 2)

        def forget(found):
            before.stop()
            self.leasing.end(lease)
            return original(found)
        original = calendar._on_nodes
        before = mock.patch.object(calendar, '_on_nodes', forget)
        before.start()
        found = self.calendars.look(self.processes[0], 'ours')
        self.assertEqual([], found['leases'])


    def test_counts_are_of_the_snapshot_that_the_tag_is_of(self):
        """Though another thread comes in between with an older one."""
        self.leasing.hosts(2)
        calendars = calendar.Calendars(self.engine)
        wanted = model.CalendarRequest(leasing.at(0), leasing.at(8))
        viewer = model.Viewer()
        before = calendars.read(wanted, viewer)
        older = calendars._free
        self.leasing.create(1, 2)
        original = calendar._sequence

        def come_in_between(*given):
            calendars._free = older
            return original(*given)
        with mock.patch.object(calendar, '_sequence', come_in_between):
            after = calendars.read(wanted, viewer)
        self.assertNotEqual(before.sequence, after.sequence)
        self.assertEqual([(0, 2)], before.calendar().classes[0].steps)
        self.assertIn((3600, 1), after.calendar().classes[0].steps)

    def test_steps_that_are_kept_are_bounded(self):
        """However many there are of each window."""
        self.leasing.hosts()
        for hour in range(1, 9, 2):
            self.leasing.create(hour, hour + 1)
        calendars = calendar.Calendars(self.engine)

        def look(hours):
            found = calendars.read(model.CalendarRequest(
                leasing.at(0), leasing.at(hours)), model.Viewer())
            return found.calendar().classes[0].steps
        all_of_them = look(10)
        with mock.patch.object(calendar, '_KEPT_STEPS', 2 * len(all_of_them)):
            for hours in range(11, 21):
                self.assertEqual(all_of_them, look(hours))
                self.assertLessEqual(
                    sum(map(len, calendars._free._kept.values())),
                    2 * len(all_of_them))
        with mock.patch.object(calendar, '_KEPT_STEPS', 1):
            self.assertEqual(all_of_them, look(30))
            self.assertEqual({}, calendars._free._kept)

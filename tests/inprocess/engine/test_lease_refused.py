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

"""Leases that are refused: why, and what is offered instead."""

import dataclasses
import datetime
from unittest import mock

from ironic_reservations import errors
from ironic_reservations.engine import hosts
from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.model import leases
from ironic_reservations.planner import offers
from tests import leasing
from tests.inprocess.engine import timelines

#: Half a second, in hours.
_HALF = 0.5 / 3600
GOLD = leasing.of_class('gold')


class TestRefusals(timelines.TestCase):

    def test_refusal_names_what_is_in_the_way(self):
        """The windows of blockers, and whose they are if they are ours."""
        self.leasing.hosts(2)
        own = self.leasing.create(1, 4)
        self.leasing.create(2, 6, project_id='theirs')
        reason, = self.leasing.refused(1, 5, leasing.wish()).details['reasons']
        self.assertEqual(
            ('shortage', 0, 1, True, leasing.at(2).isoformat()),
            (reason['code'], reason['reservation'], reason['hosts_short'],
             reason['proved'], reason['at']))
        self.assertEqual(
            [{'start_date': leasing.at(1).isoformat(),
              'end_date': leasing.at(4).isoformat(), 'own': True,
              'reservation_id': own.reservations[0].id, 'hosts': 1},
             {'start_date': leasing.at(2).isoformat(),
              'end_date': leasing.at(6).isoformat(), 'own': False,
              'hosts': 1}], reason['blockers'])

    def test_figures_agree_where_more_hosts_are_wanted_than_there_are(self):
        """It said that 3 can be used, and 2 of 4 are missing."""
        node, *_ = self.leasing.hosts(3)
        self.world.reserve(node)
        reason, = self.leasing.refused(
            0, 3, leasing.wish(4)).details['reasons']
        self.assertEqual(2, reason['hosts_short'])
        self.assertIn(
            'the lease needs 4 hosts; 3 hosts match. Only 2 of them can be '
            'free at ', reason['detail'])
        self.assertIn('1 of them is held by a reservation without a lease, '
                      'until ', reason['detail'])
        reason, = self.leasing.refused(
            0, 3, leasing.wish(3)).details['reasons']
        self.assertIn('3 hosts match, but only 2 of them can be free',
                      reason['detail'])
        self.assertIn('1 of them is held by a reservation without a lease, '
                      'until ', reason['detail'])
        self.assertNotIn('reservation', self.leasing.refused(
            1, 3, leasing.wish(4)).details['reasons'][0]['detail'])

    def test_blockers_that_were_moved_in_vain_are_told(self):
        """They are in the way, although their rows are on another host."""
        gold = {'resource_class': 'gold'}
        (first,) = self.leasing.hosts(**gold)
        moved = self.leasing.create(1, 5)
        passing = self.leasing.create(5, 10)
        self.leasing.hosts(**gold)
        staying = self.leasing.create(5, 10, leasing.wish(properties=GOLD))
        self.leasing.end(passing)
        self.leasing.hosts(**gold)
        self.leasing.hosts(resource_class='silver')
        self.assertEqual({first}, self.leasing.nodes(moved))
        reason, = self.leasing.refused(
            0, 10, leasing.wish(3, properties=GOLD)).details['reasons']
        self.assertEqual(('shortage', 1),
                         (reason['code'], reason['hosts_short']))
        self.assertEqual(
            [(staying.reservations[0].id, 1)],
            [(each['reservation_id'], each['hosts'])
             for each in reason['blockers']])

    def test_window_is_called_the_nearest_only_where_that_is_proved(self):
        """A search that was cut short may have missed a nearer one."""
        self.leasing.hosts(1)
        self.leasing.create(2, 3)

        def told():
            return {each['kind']: each['detail'].partition(' window')[0]
                    for each in self.leasing.refused(2, 3).details['offers']}
        self.assertEqual({'later': 'The nearest later',
                          'earlier': 'The nearest earlier'}, told())
        search = offers.offers

        def cut_short(*args, **more):
            return tuple(dataclasses.replace(each, nearest=False)
                         for each in search(*args, **more))
        with mock.patch.object(offers, 'offers', cut_short):
            self.assertEqual({'later': 'A possible later',
                              'earlier': 'A possible earlier'}, told())

    def test_windows_that_are_offered_begin_at_whole_seconds(self):
        """Sentences and tables show no fraction of a second, so the window
        that was shown overlapped with the lease before it by that fraction.
        """
        self.leasing.hosts(1)
        self.leasing.create(1, 2 + _HALF)
        self.leasing.create(5 + _HALF, 7 + _HALF)
        found = {each['kind']: each['lease']['start_date'] for each in
                 self.leasing.refused(4.5, 6.5).details['offers']}
        self.assertEqual({
            'earlier': '2026-03-01 15:00', 'shorter': '2026-03-01 16:30',
            'later': leasing.at(7 + 2 * _HALF).isoformat()}, found)

    def test_exact_window_is_offered_where_no_whole_one_fits_as_near(self):
        """A whole one much later was offered, and called the nearest."""
        for first, then, ask, kind in (
                (2 + _HALF, (5 + _HALF, 200 * 24), (3, 6), 'earlier'),
                (3 + _HALF, (6 + _HALF, 50), (2, 5), 'later')):
            self.begin()
            self.leasing.hosts(1)
            self.leasing.create(1, first)
            self.leasing.create(*then)
            offer = self.offer(self.leasing.refused(*ask), kind)
            self.assertEqual(leasing.at(first).isoformat(),
                             offer['lease']['start_date'], kind)

    def test_matching_at_each_instant_is_not_an_assignment(self):
        """What no assignment serves is refused, with a proof."""
        a, b = self.leasing.hosts(2)
        for node, name in ((a, 'a'), (b, 'b')):
            hosts.change(self.engine, self.leasing.host_id(node),
                         {'rack': name})
        self.leasing.create(0, 5, leasing.wish(
            properties='["==", "$rack", "a"]'))
        self.leasing.create(5, 10, leasing.wish(
            properties='["==", "$rack", "b"]'))
        reason, = self.leasing.refused(0, 10).details['reasons']
        self.assertEqual(('no_assignment', True),
                         (reason['code'], reason['proved']))

    def test_each_offer_is_accepted_as_it_is(self):
        """Posted unchanged, a counter-offer becomes a lease."""
        self.leasing.hosts(2, resource_class='gold')
        self.leasing.hosts(2, resource_class='silver')
        self.leasing.create(2, 4, leasing.wish(2, properties=GOLD))
        refusal = self.leasing.refused(1, 3, leasing.wish(2, properties=GOLD))
        self.assertEqual({'later', 'earlier', 'shorter', 'other_class'},
                         {offer['kind']
                          for offer in refusal.details['offers']})
        for offer in refusal.details['offers']:
            made = self.leasing.post(offer)
            self.assert_sound()
            self.leasing.end(made)

    def test_offer_of_a_lease_that_starts_now_starts_now(self):
        """What is offered at once can be had after the minute as well."""
        self.leasing.hosts()
        self.world.clock.advance(59.5)
        self.leasing.create(1, 2)
        offer = self.offer(self.leasing.refused(None, 2), 'shorter')
        self.world.clock.advance(1)
        self.leasing.post(offer)

    def test_fewer_hosts_are_offered_where_there_are_some(self):
        """As many as there are."""
        self.leasing.hosts(3)
        self.leasing.create(1, 2)
        offer = self.offer(self.leasing.refused(1, 2, leasing.wish(3, 4)),
                           'fewer')
        self.assertEqual([(2, 2)], [(each['min'], each['max']) for each
                                    in offer['lease']['reservations']])

    def test_hosts_that_cannot_be_used_are_named_with_the_cause(self):
        """The operator finds out which, and why."""
        closed, broken = self.leasing.hosts(2)
        ids = [self.leasing.host_id(node) for node in (closed, broken)]
        self.leasing.set_reservable(closed, False)
        self.leasing.break_node(broken)
        detail = self.leasing.refused(1, 2).details['reasons'][0]['detail']
        self.assertIn(f'host {ids[0]} is closed by the operator', detail)
        self.assertIn(f'host {ids[1]} is in maintenance', detail)


class TestSense(timelines.TestCase):

    def setUp(self):
        super().setUp()
        self.leasing.hosts(2)

    def test_what_makes_no_sense_is_refused(self):
        """Windows, numbers, types, properties, and a warning outside."""
        wish = leases.LeaseReservationRequest
        for ask in (
                leasing.ask(2, 2), leasing.ask(2, 1), leasing.ask(None, 0),
                leasing.ask(None, -1), leasing.ask(-2, -1),
                leasing.ask(-1, 1), leasing.ask(-0.02, 1),
                *(leasing.ask(1, 2, wish(least, most)) for least, most in (
                    (0, 0), (0, 1), (2, 1), (-1, 1))),
                leases.LeaseRequest('', leasing.at(1), ()),
                leasing.ask(1, 2, wish(1, 1, resource_type='virtual')),
                leasing.ask(1, 2, wish(1, 1), leasing.wish(
                    properties='["~", "$vcpus", "1"]')),
                leasing.ask(1, 2, before_end=leasing.at(0.9)),
                leasing.ask(1, 2, before_end=leasing.at(2.1))):
            # NOTE: a lease that is made tells by its name what was asked.
            with self.unchanged():
                self.assertRaises(errors.InvalidValue, lease_create.create,
                                  self.engine, ask)

    def test_warning_of_a_short_lease_comes_at_its_start(self):
        """Where an hour before the end is before the start."""
        made = self.leasing.create(1, 1.5)
        self.assertEqual(leasing.at(1), made.before_end)

    def test_naive_times_cannot_get_in(self):
        """A time without a zone could be any instant, and is never taken.

        esi-leap: mixes naive and zoned times.
        """
        naive = leasing.at(1).replace(tzinfo=None)
        for wrong in ({'start': naive, 'end': leasing.at(2)},
                      {'start': leasing.at(0), 'end': naive},
                      {'start': None, 'end': naive},
                      {'start': leasing.at(0), 'end': leasing.at(2),
                       'before_end': naive}):
            with self.unchanged():
                self.assertRaises(
                    (TypeError, ValueError), lease_create.create, self.engine,
                    leases.LeaseRequest('', reservations=(leasing.wish(),),
                                        **wrong))

    def test_zones_are_the_same_instants(self):
        """Whatever the zone, the rows are in UTC.

        esi-leap: mixes naive and zoned times.
        """
        zone = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
        made = lease_create.create(self.engine, leases.LeaseRequest(
            '', leasing.at(2).astimezone(zone), (leasing.wish(2),),
            leasing.at(1).astimezone(zone)))
        read = self.leasing.reload(made)
        self.assertEqual((leasing.at(1), leasing.at(2)),
                         (read.start, read.end))
        self.leasing.refused(1.5, 3)
        self.leasing.create(2, 3)

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

import datetime
import itertools
import json
from unittest import mock

import sqlalchemy as sa
from testtools import matchers

from ironic_reservations import errors
from ironic_reservations.db import tables
from ironic_reservations.engine import availability
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.leases import heal
from ironic_reservations.engine.reservations import renew
from ironic_reservations.features.maintenance import create as maintenance
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from ironic_reservations.model import time_text
from ironic_reservations.planner import planning
from tests import leasing
from tests import servers
from tests import world
from tests.inprocess.engine import owned_nodes

OWNER = owned_nodes.OWNER


@servers.also
class TestOwnerNotice(owned_nodes.TestCase):
    """Others have it for as long as the notice leaves them."""

    def test_others_have_it_until_the_notice_is_over(self):
        """With the time that cleaning takes; its owner, for as long as it
        likes.
        """
        for made in (self.leasing.create(1, 3.5), self.owners(4, 1000)):
            self.assertEqual({self.node}, self.leasing.nodes(made))

    def test_not_for_longer_and_the_answer_says_why(self):
        refused = self.leasing.refused(1, 3.75)
        reason, = refused.details['reasons']
        self.assertEqual(('hosts_are_lent', True, 1), (
            reason['code'], reason['proved'], reason['hosts_short']))
        until = leasing.at(3.5).strftime('%Y-%m-%d %H:%M UTC')
        self.assertIn('no host matches for so long. Another project owns 1 '
                      f'more, and lends it until {until} at the latest.',
                      reason['detail'])

    def test_what_is_offered_instead_is_accepted(self):
        offer, = self.leasing.refused(1, 6).details['offers']
        self.assertEqual('shorter', offer['kind'])
        self.assertEqual(leasing.at(3.5), self.leasing.post(offer).end)

    def test_window_that_ends_in_time_is_offered(self):
        offers = self.leasing.refused(2, 4).details['offers']
        self.assertEqual(['earlier', 'shorter'],
                         [each['kind'] for each in offers])
        posted = leasing.posted(offers[0], self.world.clock())
        self.assertEqual((leasing.at(1.5), leasing.at(3.5)),
                         (posted.start, posted.end))

    def test_nobody_else_has_it_where_cleaning_takes_the_notice(self):
        self.begin(leases__owner_notice=1800, leases__cleaning_time=1800)
        self.leasing.hosts(owner=OWNER)
        self.leasing.refused(None, 0.5)
        self.owners(0, 5)

    def test_no_time_is_told_until_which_nothing_is_lent(self):
        """Of a notice that cleaning takes all of, or that came later."""
        other = leasing.Leasing(self.new_world(
            leases__owner_notice=1800, leases__cleaning_time=1800))
        for count, told in ((1, ' Another project owns 1 more.'),
                            (2, ' Other projects own 2 more.')):
            other.hosts(owner=OWNER, resource_class='silver')
            reason, = other.refused(1, 2, leasing.wish(
                count, properties=leasing.of_class('silver'))
                ).details['reasons']
            self.assertEqual('hosts_are_lent', reason['code'])
            self.assertThat(reason['detail'], matchers.EndsWith(told))
        node, = self.leasing.hosts()
        made = self.leasing.started(None, 9, _among(node))
        self.world.ironic.change(node, owner='another')
        self.leasing.break_node(node)
        refused = self.refuse(made, end=10)
        reason, = refused.details['reasons']
        self.assertThat(reason['detail'], matchers.EndsWith(
            'for so long: another project owns it.'))
        self.assertEqual((leasing.at(9).isoformat(), []), (
            reason['at'], refused.details['offers']))

    def test_without_a_notice_owners_are_like_others(self):
        self.begin()
        self.leasing.hosts(owner=OWNER)
        self.leasing.create(1, 1000)

    def test_nodes_of_nobody_are_leased_as_ever(self):
        other, = self.leasing.hosts()
        self.assertEqual({other},
                         self.leasing.nodes(self.leasing.create(1, 1000)))
        reason, = self.leasing.refused(
            1, 1000, leasing.wish(2)).details['reasons']
        self.assertEqual('hosts_are_lent', reason['code'])

    def test_lent_nodes_that_would_not_do_are_no_reason(self):
        """Nor does anybody learn how many there are."""
        self.leasing.hosts(1, resource_class='gold')
        for wish, code in (
                (leasing.wish_of('gld'),
                 'no_host_matches'),
                (leasing.wish_of('gold', 2),
                 'shortage')):
            reason, = self.leasing.refused(1, 9, wish).details['reasons']
            self.assertEqual(code, reason['code'])
            self.assertNotIn('own', reason['detail'])

    def test_who_may_exceed_limits_is_held_to_it(self):
        """It is no limit of who asks, but the right of another."""
        self.leasing.refused(1, 9, project_id=None, allowed=limits.NONE)

    def test_lease_is_extended_as_time_passes(self):
        """Until the owner asks."""
        made = self.leasing.create(1, 3)
        self.leasing.clock_passes(2)
        made = self.leasing.change(made, end=5.5)
        self.leasing.clock_passes(3)
        self.owners(7, 20)
        self.leasing.clock_passes(4)
        self.assertEqual('shortage', self.code(self.refuse(made, end=7)))
        self.assertEqual(leasing.at(6.5),
                         self.leasing.change(made, end=6.5).end)

    def test_lease_is_not_extended_beyond(self):
        """What is offered is as far as the node is lent by now.

        Also where the node cannot be used.
        """
        made = self.leasing.create(1, 3)
        self.leasing.clock_passes(2)
        self.assertEqual(leasing.at(5.5), self._offered(made, 6))
        self.leasing.break_node(self.node)
        self.assertEqual(leasing.at(5.5), self._offered(made, 6))
        made = self.leasing.change(made, end=5.5)
        self.assertIsNone(self._offered(made, 6))

    def test_extension_that_others_are_in_the_way_of_is_not_offered(self):
        """It is offered if it would be accepted."""
        other, = self.leasing.hosts()
        made = self.leasing.started(None, 3, leasing.wish(2))
        self.leasing.create(4, 9, _among(other))
        self.leasing.clock_passes(2)
        self.leasing.break_node(self.node)
        self.assertIsNone(self._offered(made, 6))

    def _offered(self, made, end):
        """Return until when a lease could be extended instead."""
        refused = self.refuse(made, end=end)
        self.assertEqual('hosts_are_lent', self.code(refused))
        return None if not refused.details['offers'] else leasing.posted(
            {'lease': {**_BODY, **refused.details['offers'][0]['lease']}},
            self.world.clock()).end

    def test_lease_of_another_that_finds_no_loan_is_told_as_none(self):
        """Whose lease is to be extended owns the node that is not lent."""
        other, = self.leasing.hosts()
        made = self.leasing.started(None, 3, _among(other), project_id=OWNER)
        later = self.leasing.create(4, 9)
        self.assertEqual({other}, self.leasing.nodes(later))
        self.leasing.break_node(other)
        refused = self.refuse(made, end=5)
        reason, = refused.details['reasons']
        self.assertEqual(('shortage', True, None, []), tuple(
            reason[key] for key in ('code', 'proved', 'at', 'blockers')))
        until = leasing.at(5).strftime('%Y-%m-%d %H:%M')
        self.assertIn(f'which cannot be used at present, until {until}',
                      reason['detail'])
        self.assertIn('there is no other host for that one.', reason['detail'])
        self.assertNotIn('own', reason['detail'])
        for hour in (4, 9):
            # When the other lease is, is nothing that is told.
            self.assertNotIn(leasing.at(hour).strftime('%H:%M'),
                             str(refused.details) + str(refused))

    def test_lease_that_has_not_started_goes_elsewhere_when_it_is_longer(self):
        made = self.leasing.create(1, 3)
        other, = self.leasing.hosts()
        self.assertEqual({other},
                         self.leasing.nodes(self.leasing.change(made, end=9)))

    def test_what_was_promised_before_stays_and_gets_no_longer(self):
        """Where the node got its owner, or the owner its notice, later."""
        other, = self.leasing.hosts()
        made = self.leasing.create(1, 9)
        self.assertEqual({other}, self.leasing.nodes(made))
        self.world.change(other, owner='another')
        heal.heal(self.engine)
        self.leasing.resize(made, 1, 2)
        self.assertEqual({other}, self.leasing.nodes(made))
        self.leasing.refused(1, 9, leasing.wish(properties=owned_nodes.OWNED))
        self.leasing.change(made, end=8)
        self.refuse(made, end=8.5)
        self.assertEqual({other}, self.leasing.nodes(made))
        self.leasing.clock_passes(1)
        self.leasing.resize(made, 1, 1)

    def test_node_that_gets_its_owner_after_the_plan_is_not_promised(self):
        """Whoever has planned may stand still before the commit."""
        node, = self.leasing.hosts()
        with self._owned_in_between(node):
            self.leasing.refused(1, 1000)
        self.assertEqual([], self.leasing.rows())

    def test_nor_to_who_is_moved(self):
        """The lease that would have moved has to stay; so no room is made."""
        node, other = self.leasing.hosts(2)
        made = self._on(node, other)
        with self._owned_in_between(other):
            self.leasing.refused(5, 9, _among(node))
        self.assertEqual({node}, self.leasing.nodes(made))

    def test_nor_is_a_lease_on_it_extended(self):
        node, = self.leasing.hosts()
        made = self.leasing.create(1, 9)
        self.leasing.clock_passes(2)
        with self._owned_in_between(node):
            self.refuse(made, end=1000)
        self.assertEqual(leasing.at(9), self.leasing.reload(made).end)

    def test_first_owner_of_all_is_seen_in_between(self):
        self.begin(leases__owner_notice=3600)
        self.test_node_that_gets_its_owner_after_the_plan_is_not_promised()

    def _owned_in_between(self, node):
        """Have a node get an owner between the first plan and its commit."""
        plan, owners = planning.plan, ['another']

        def planned(*args, **more):
            made = plan(*args, **more)
            if owners:
                self.world.change(node, owner=owners.pop())
            return made
        return mock.patch.object(planning, 'plan', planned)

    def test_others_do_not_move_to_where_they_would_not_be_lent(self):
        """Though it would make room."""
        other, = self.leasing.hosts()
        self.leasing.create(1, 9)
        self.leasing.refused(1, 2, leasing.wish(2))
        named = _among(other)
        refused = self.leasing.refused(1, 2, named)
        self.assertTrue(refused.details['reasons'][0]['proved'])

    def test_nor_to_a_node_that_has_got_an_owner(self):
        others = set(self.leasing.hosts(2))
        made = self.leasing.create(1, 9)
        node, = self.leasing.nodes(made)
        left, = others - {node}
        self.world.change(left, owner='another')
        self.leasing.refused(1, 2, _among(node))
        self.world.change(left, owner=None)
        self.leasing.create(1, 2, _among(node))
        self.assertEqual({left}, self.leasing.nodes(made))

    def test_plan_may_come_back_to_where_a_booking_is(self):
        """Also where the node got another owner later.

        To serve both wishes together, the planner takes the lease off it and
        puts it back, in about half of the orders that come from random ids.
        """
        for _ in range(6):
            self._come_back()

    def _come_back(self):
        one, two, three, four, *taken = self.leasing.hosts(6)
        self.leasing.create(None, 50, _among(*taken[:1]))
        self.leasing.started(None, 50, _among(*taken[1:]))
        lease = self._on(two, one)
        self._on(three, four)
        self.world.change(two, owner='another')
        self.leasing.create(5, 9, _among(two, three), _among(one, *taken),
                            project_id='another')
        self.assertEqual(1, len(self.leasing.nodes(lease) & {one, two}))

    def test_booking_that_may_move_may_stay_where_it_is(self):
        """Also where the node got another owner later."""
        one, two = self.leasing.hosts(2)
        self._on(one, two)
        self.world.change(one, owner='another')
        engine = self.engine
        there, = itertools.chain(*engine.snapshots.snapshot(
            engine.database, engine.clock(), ()).timeline.rows)
        self.assertTrue(there.movable)
        self.assertTrue(there.eligible >> there.node & 1)

    def _on(self, node, other):
        """Make a lease that is on one node, and may be on another."""
        made = self.leasing.create(5, 9, _among(node))
        made = self.leasing.resize(made, properties=_properties(node, other))
        self.assertEqual({node}, self.leasing.nodes(made))
        return made

    def test_they_may_move_there_later(self):
        """As soon as the notice comes to reach beyond them."""
        other, = self.leasing.hosts()
        made = self.leasing.create(5, 6)
        self.assertEqual({other}, self.leasing.nodes(made))
        named = _among(other)
        self.leasing.clock_passes(2.4)
        self.leasing.refused(4, 9, named)
        self.leasing.clock_passes(2.5)
        self.leasing.create(4, 9, named)
        self.assertEqual({self.node}, self.leasing.nodes(made))

    def test_nobody_is_moved_to_a_loan_that_is_too_short(self):
        """By a reservation, since the node is broken, or by maintenance."""
        other, = self.leasing.hosts()
        made = self.leasing.create(1, 9)
        self.assertEqual({other}, self.leasing.nodes(made))
        self.assertRaises(errors.NoNodeAvailable, self.world.reserve, other,
                          ttl=2 * 3600)
        self.leasing.break_node(other)
        self.assertEqual(0, heal.heal(self.engine))
        self.leasing.mend_node(other)
        window = maintenance.create(self.engine, maintenance.WindowRequest(
            'fans', 'fans', leasing.at(10), leasing.at(0.25), (other,),
            force=True))
        self.assertEqual([None], [each.to for each in window.cannot_move])
        self.assertEqual({other}, self.leasing.nodes(made))

    def flexible(self, first, last, hours, project_id=leasing.PROJECT):
        return self.leasing.create(
            first, first + hours, project_id=project_id,
            flexible=leases.Flexible(
                leasing.at(last), datetime.timedelta(hours=hours), 0))

    def test_flexible_lease_ends_in_time(self):
        made = self.flexible(0.5, 50, 2)
        self.assertEqual((leasing.at(0.5), leasing.at(2.5)),
                         (made.start, made.end))
        self.assertRaises(errors.LeaseRefused, self.flexible, 0.5, 50, 2)
        self.assertIsNotNone(self.flexible(0.5, 50, 2, OWNER))

    def test_flexible_lease_that_is_beyond_stays_where_it_is(self):
        """The node got its owner later; it would not be lent it again."""
        other, = self.leasing.hosts()
        made = self.flexible(6, 50, 2)
        self.assertEqual({other}, self.leasing.nodes(made))
        self.world.change(other, owner='another')
        refused = self.leasing.refused(6, 8, _among(other),
                                       project_id='another')
        self.assertFalse(refused.details['reasons'][0]['proved'])
        self.assertEqual({other}, self.leasing.nodes(made))

    def test_who_waits_gets_no_loan_that_is_too_short(self):
        """Until the start that it waits for is near."""
        other, = self.leasing.hosts()
        there = self.leasing.create(1, 9, _among(other))
        waits = self.leasing.create(5, 7, queue=True)
        self.assertEqual(leasing.at(9.5), waits.start)
        leasing.pull(self.engine)
        self.assertEqual(leasing.at(9.5), self.leasing.reload(waits).start)
        self.leasing.clock_passes(3.5)
        leasing.pull(self.engine)
        self.assertEqual(leasing.at(5), self.leasing.reload(waits).start)
        self.assertEqual({self.node}, self.leasing.nodes(waits))
        self.assertEqual({other}, self.leasing.nodes(there))

    def test_availability_is_that_of_who_asks(self):
        def free(project_id, hours=2):
            found = availability.count_free(
                self.engine, leasing.at(0), leasing.at(9), count=1,
                duration=hours * 3600, slots=9, caller=availability.Caller(
                    project_id, limits.NONE))
            return [(_hours(each.end), each.free)
                    for each in found.classes[0].spans], [
                        each and _hours(each)
                        for each in (found.earliest, *found.slots)]
        self.assertEqual([(9, 1)], free(OWNER)[0])
        self.leasing.create(0, 1)
        self.assertEqual([(1.5, 0), (9, 1)], free(OWNER)[0])
        self.assertEqual(([(1.5, 0), (3.5, 1), (9, 0)], [1.5, 1.5]),
                         free('another'))
        # What does not end in time is there for the owner only.
        self.assertEqual([1.5, 1.5], free(OWNER, 5)[1])
        self.assertEqual([None], free('another', 5)[1])


_BODY = {'name': 'a', 'start_date': 'now', 'events': [], 'reservations': [
    {'resource_type': 'physical:host', 'min': 1, 'max': 1,
     'hypervisor_properties': '', 'resource_properties': ''}]}


def _properties(*uuids):
    return json.dumps(['in', '$node_uuid', uuids])


def _among(*uuids):
    return leasing.wish(properties=_properties(*uuids))


def _hours(instant):
    return (instant - world.NOON).total_seconds() / 3600


@servers.also
class TestAskedBack(owned_nodes.TestCase):
    """Who has the node is told that its owner wants it back."""

    options = {**owned_nodes.TestCase.options, 'notices__webhook_urls': [
        'https://hooks.example.com/leases']}

    def setUp(self):
        super().setUp()
        self.told = self.listen()

    def notices(self):
        """Return what was told, and of which leases."""
        with self.engine.database.read() as connection:
            rows = connection.execute(sa.select(tables.outbox).where(
                tables.outbox.c.kind == 'asked_back')).all()
        return [(row.lease_id, json.loads(row.payload)['data'])
                for row in rows]

    def test_when_the_owner_leases_it(self):
        lease = self.leasing.started(None, 3)
        self.assertEqual([], self.notices())
        self.owners(4, 10)
        ((told, data),) = self.notices()
        self.assertEqual(lease.id, told)
        self.assertEqual(
            (1, [self.node], leasing.at(4).isoformat(),
             leasing.at(3.5).isoformat()),
            tuple(data[key] for key in ('nodes', 'node_uuids', 'back_at',
                                        'extend_until')))
        self.assertIn('The project that owns one of its hosts has leased it '
                      f'from {time_text.moment(leasing.at(4))} on',
                      data['reason'])
        self.assertIn('extended on it until '
                      f'{time_text.moment(leasing.at(3.5))} at the latest.',
                      data['reason'])
        self.assertIn((lease.id, 'asked_back'), self.told)
        self.leasing.change(lease, end=3.5)
        self.refuse(lease, end=3.6)

    def test_whose_hosts_may_still_be_exchanged(self):
        """It is not told that it keeps this very host."""
        lease = self.leasing.create(1, 3)
        self.owners(4, 10)
        ((told, data),) = self.notices()
        self.assertEqual(lease.id, told)
        self.assertIn('owns a host that is planned for the lease has leased '
                      f'it from {time_text.moment(leasing.at(4))} on',
                      data['reason'])
        self.assertIn(f'beyond {time_text.moment(leasing.at(3.5))} only if '
                      'there are other hosts for it.', data['reason'])

    def test_when_the_owner_changes_its_lease(self):
        """Told once of each time, and not of a change that is none."""
        lease = self.leasing.started(None, 3)
        made = self.owners(20, 30)
        self.assertEqual(1, len(self.notices()))
        self.leasing.change(made, start=4)
        self.assertEqual({leasing.at(20).isoformat(),
                          leasing.at(4).isoformat()},
                         {data['back_at'] for _, data in self.notices()})
        self.leasing.change(made, end=31)
        self.leasing.change(made, name='other')
        self.assertEqual(2, len(self.notices()))
        self.assertEqual(2, self.told.count((lease.id, 'asked_back')))

    def two_lessees(self):
        """Lease each node, and one of them to the owner afterwards.

        :returns: who has that node, who has the other one; and that node.
        """
        self.leasing.hosts(1, owner=OWNER)
        lessees = [self.leasing.create(None, 3) for _ in range(2)]
        self.leasing.bind()
        made = self.owners(4, 10)
        ((told, data),) = self.notices()
        by_id = {each.id: each for each in lessees}
        first = by_id.pop(told)
        other, = by_id.values()
        self.assertEqual({*data['node_uuids']}, self.leasing.nodes(made))
        return first, other, data['node_uuids'][0]

    def test_when_the_owners_lease_makes_room(self):
        """Whoever has the node that it gets instead is told, too."""
        first, other, node = self.two_lessees()
        maintenance.create(self.engine, maintenance.WindowRequest(
            'firmware', 'New firmware', leasing.at(8), leasing.at(5),
            nodes=(node,)))
        self.assertCountEqual([first.id, other.id],
                              [lease for lease, _ in self.notices()])
        told = dict(self.notices())[other.id]
        self.assertEqual(leasing.at(4).isoformat(), told['back_at'])
        self.assertNotEqual([node], told['node_uuids'])
        self.assertIn((other.id, 'asked_back'), self.told)

    def test_when_the_owners_lease_gets_another_node(self):
        """Since the one that was planned is broken."""
        first, other, node = self.two_lessees()
        self.leasing.break_node(node)
        heal.heal(self.engine)
        self.assertCountEqual([first.id, other.id],
                              [lease for lease, _ in self.notices()])
        self.assertIn((other.id, 'asked_back'), self.told)

    def test_when_another_lease_of_the_owner_needs_the_node(self):
        """Both lessees are told once of each time."""
        first, other, node = self.two_lessees()
        self.leasing.create(5, 9, _among(node), project_id=OWNER)
        self.assertEqual(
            {(first.id, leasing.at(4).isoformat()),
             (first.id, leasing.at(5).isoformat()),
             (other.id, leasing.at(4).isoformat())},
            {(lease, data['back_at']) for lease, data in self.notices()})

    def test_not_for_others(self):
        """Nor to the owner itself, nor by a dry run."""
        self.leasing.hosts(1, owner=OWNER)
        self.owners(None, 3)
        self.leasing.bind()
        self.leasing.started(None, 2)
        self.leasing.create(
            4, 10, leasing.wish(2, properties=owned_nodes.OWNED),
            project_id=OWNER, dry_run=True)
        self.leasing.create(2.5, 3.5)
        self.assertEqual([], self.notices())
        self.owners(4, 10)
        self.owners(4, 10)
        self.assertEqual(1, len(self.notices()))

    def changed_often(self):
        """Have the owner change its lease seven times in a day."""
        self.configure(owner_notice=48 * 3600)
        lease = self.leasing.started(None, 27)
        made = self.owners(40, 42)
        for minute in range(1, 8):
            self.leasing.change(made, start=40 + minute / 60)
        self.assertEqual(5, self.told.count((lease.id, 'asked_back')))
        return lease, made

    def test_few_times_a_day_however_often_the_owner_changes_its_lease(self):
        lease, made = self.changed_often()
        self.assertEqual(5, len(self.notices()))
        self.leasing.end(made)
        made = self.owners(30, 32)
        self.assertEqual(5, len(self.notices()))
        self.leasing.clock_passes(25)
        self.leasing.change(made, start=31)
        self.assertEqual([lease.id] * 6, [told for told, _ in self.notices()])
        self.assertEqual(6, self.told.count((lease.id, 'asked_back')))
        self.assertIn(leasing.at(31).isoformat(), {
            data['back_at'] for _, data in self.notices()})

    def test_notifications_are_as_few_where_nobody_gets_notices(self):
        """An owner could fill the bus."""
        self.engine.conf.set_override('webhook_urls', [], 'notices')
        lease, made = self.changed_often()
        self.leasing.clock_passes(25)
        self.leasing.change(made, start=35)
        self.assertEqual(6, self.told.count((lease.id, 'asked_back')))

    def test_when_a_reservation_takes_the_node_of_the_owner(self):
        """Its lease goes to the other node, and who has that is told."""
        other, node = self.one_left()
        self.world.reserve(node, ttl=5 * 3600)
        self.assert_told_of_the_other_node(other, node)

    def test_when_a_reservation_of_it_is_renewed(self):
        other, node = self.one_left()
        held = self.world.reserve(node, ttl=3600)
        self.assertNotIn((other.id, 'asked_back'), self.told)
        renew.renew(self.engine, held.uuid, ttl=5 * 3600)
        self.assert_told_of_the_other_node(other, node)

    def test_when_a_deploy_takes_it(self):
        other, node = self.one_left()
        admission.admit(self.engine, node)
        self.assert_told_of_the_other_node(other, node)

    def one_left(self):
        """Have the owner's lease planned on a node that is free until then.

        :returns: who has the other node, and the free one.
        """
        first, other, node = self.two_lessees()
        self.leasing.end(first)
        self.leasing.clean_up()
        return other, node

    def assert_told_of_the_other_node(self, lease, node):
        """Have a lessee been told, once, of the node that is not that one."""
        (data,) = [data for told, data in self.notices() if told == lease.id]
        self.assertEqual((1, leasing.at(4).isoformat()),
                         (data['nodes'], data['back_at']))
        self.assertNotEqual([node], data['node_uuids'])
        self.assertEqual(1, self.told.count((lease.id, 'asked_back')))

    def test_not_who_is_moved_to_another_node_by_the_same_plan(self):
        """A quarter of an hour after its end, the node is not clean."""
        lease = self.leasing.create(1, 3)
        self.assertEqual({self.node}, self.leasing.nodes(lease))
        other, = self.leasing.hosts()
        self.owners(3.25, 6)
        self.assertEqual({other}, self.leasing.nodes(lease))
        self.assertEqual([], self.notices())

    def test_not_who_slides_behind_the_owner_by_the_same_plan(self):
        """It has the node after the owner's lease, not before it."""
        lease = self.leasing.create(0.5, 1.5, flexible=leases.Flexible(
            leasing.at(3.5), datetime.timedelta(hours=1), 0))
        self.owners(1.75, 1.9)
        self.assertLess(leasing.at(1.9), self.leasing.reload(lease).start)
        self.assertEqual([], self.notices())

    def test_nor_by_a_change_of_the_lease_of_the_owner(self):
        lease = self.leasing.create(1, 3)
        made = self.owners(4, 6)
        self.assertEqual(1, len(self.notices()))
        other, = self.leasing.hosts()
        self.leasing.change(made, start=3.25)
        self.assertEqual({other}, self.leasing.nodes(lease))
        self.assertEqual(1, len(self.notices()))

    def test_not_without_a_notice(self):
        """Then owners have no precedence."""
        self.configure(owner_notice=0)
        self.leasing.started(None, 3)
        self.owners(4, 10)
        self.assertEqual([], self.notices())

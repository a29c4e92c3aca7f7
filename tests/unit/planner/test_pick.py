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

"""The pick: the order of the list, and a separate reason for each node."""

import dataclasses
import datetime
import itertools

import hypothesis
from hypothesis import strategies as st
import testtools

from ironic_reservations.model import host_view
from ironic_reservations.model import leases
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_reservation
from ironic_reservations.model import reasons
from ironic_reservations.model import visibility
from ironic_reservations.planner import pick
from tests import strategies

NOW = strategies.NOW
LATER = NOW + datetime.timedelta(minutes=5)
TICK = datetime.timedelta(microseconds=1)
ALL = visibility.Visibility(everything=True)
OURS = visibility.Visibility(project_id='ours')

FREE = mirrored_node.Node('node', resource_class='gold',
                          traits=frozenset({'CUSTOM_A'}))
ASK = pick.NodeRequest('instance', ('node',), 'gold', frozenset({'CUSTOM_A'}),
               forbidden=frozenset({'CUSTOM_B'}), powered=True)


def _held(state=node_reservation.State.RESERVED, expires_at=LATER):
    return node_reservation.Reservation('reservation', 'node', 'other', NOW,
                                        None, expires_at, state)


def _booked(starts_at, reservation_id='lease',
            state=leases.BookingState.PLANNED):
    return leases.NodeBooking(0, reservation_id, 0, 'node', starts_at,
                              max(LATER, starts_at + TICK), state)


#: Each reason alone, in the order of precedence.
CAUSES = (
    (reasons.RESOURCE_CLASS_MISMATCH, {'resource_class': 'silver'}),
    (reasons.TRAIT_MISSING, {'traits': frozenset()}),
    (reasons.NOT_RESERVABLE, {'reservable': False}),
    (reasons.RESERVATION_REQUIRED, {'closed': True}),
    (reasons.PART_OF_NODE, {'parent_node': 'whole'}),
    (reasons.RETIRED, {'retired': True}),
    (reasons.MAINTENANCE, {'maintenance': True}),
    (reasons.RESERVED, {'reservation': _held()}),
    (reasons.LEASED, {'bookings': (_booked(NOW),)}),
    (reasons.INSTANCE_BOUND, {'instance_uuid': 'someone'}),
    (reasons.WRONG_STATE, {'provision_state': 'deploying'}),
    (reasons.POWER_UNKNOWN, {'powered': False}),
    (reasons.BUSY, {'busy_until': LATER}),
    (reasons.HELD_ELSEWHERE,
     {'unheld': reasons.Reason('node', reasons.HELD_ELSEWHERE, 'is held')}),
)


def _why_not(ask=ASK, sees=ALL, **changed):
    view = host_view.HostView(
        'node', NOW, changed.pop('reservation', None),
        changed.pop('bookings', ()),
        busy_until=changed.pop('busy_until', None))
    barred = ['node'] if changed.pop('closed', False) else ()
    unheld = {'node': changed.pop('unheld', None)}
    return pick.why_not(ask, 'node', pick.Snapshot(
        {'node': dataclasses.replace(FREE, **changed)}, {'node': view}, NOW,
        None, barred, unheld), sees)


def _snapshot(*nodes):
    return pick.Snapshot({node.uuid: node for node in nodes}, {}, NOW)


class TestReasons(testtools.TestCase):

    def test_free_node_has_no_obstacle(self):
        self.assertIsNone(_why_not())

    def test_each_cause_has_its_own_code(self):
        self.assertEqual([code for code, _ in CAUSES],
                         [_why_not(**changed).code for _, changed in CAUSES])

    def test_every_code_has_a_cause_here(self):
        self.assertEqual(
            {value for name, value in vars(reasons).items()
             if name.isupper() and isinstance(value, str)}
            - {reasons.NODE_NOT_FOUND, reasons.PROMISED,
               reasons.CLOSED_IN_PLACEMENT, reasons.TRAIT_FORBIDDEN,
               reasons.NOT_IN_PLACEMENT},
            {code for code, _ in CAUSES})

    def test_trait_that_is_forbidden(self):
        self.assertIsNone(_why_not(traits=frozenset({'CUSTOM_A'})))
        reason = _why_not(traits=frozenset({'CUSTOM_A', 'CUSTOM_B'}),
                          reservable=False)
        self.assertEqual(reasons.TRAIT_FORBIDDEN, reason.code)
        self.assertIn('CUSTOM_B', reason.text)

    def test_class_in_placement_is_that_of_nova(self):
        ask = pick.NodeRequest('instance', ('node',),
                               class_name='CUSTOM_BM_GOLD')
        for name in ('bm-gold', 'BM Gold', 'bm_gold'):
            self.assertIsNone(_why_not(ask, resource_class=name), name)
        for name in ('gold', 'CUSTOM_BM_GOLD', '', None, 'x' * 300):
            self.assertEqual(reasons.RESOURCE_CLASS_MISMATCH,
                             _why_not(ask, resource_class=name).code, name)

    def test_of_two_causes_the_more_lasting_is_told(self):
        for (first, one), (_, other) in itertools.combinations(CAUSES, 2):
            self.assertEqual(first, _why_not(**one, **other).code)

    def test_all_causes_at_once_tell_the_first(self):
        everything = {}
        for _, changed in CAUSES:
            everything.update(changed)
        self.assertEqual(reasons.RESOURCE_CLASS_MISMATCH,
                         _why_not(**everything).code)

    def test_unknown_and_invisible_node_look_the_same(self):
        unknown = pick.why_not(ASK, 'node', _snapshot(), OURS)
        for _, changed in (('free', {}), *CAUSES):
            self.assertEqual(unknown, _why_not(sees=OURS, owner='theirs',
                                               **changed))
        self.assertEqual(reasons.NODE_NOT_FOUND, unknown.code)

    def test_owner_and_lessee_see_their_node(self):
        self.assertIsNone(_why_not(sees=OURS, owner='ours'))
        self.assertIsNone(_why_not(sees=OURS, owner='theirs', lessee='ours'))

    def test_project_that_is_nobody_sees_no_node_without_owner(self):
        nobody = visibility.Visibility(project_id=None)
        self.assertEqual(reasons.NODE_NOT_FOUND, _why_not(sees=nobody).code)

    def test_reservation_is_void_from_its_instant_on(self):
        self.assertEqual(reasons.RESERVED, _why_not(
            reservation=_held(expires_at=NOW + TICK)).code)
        self.assertIsNone(_why_not(reservation=_held(expires_at=NOW)))

    def test_reservation_in_use_binds_beyond_its_end(self):
        for state in (node_reservation.State.STARTING,
                      node_reservation.State.IN_USE):
            reason = _why_not(reservation=_held(state, NOW))
            self.assertEqual((reasons.RESERVED, None),
                             (reason.code, reason.until))

    def test_reserved_node_tells_until_when(self):
        self.assertEqual(LATER.isoformat(), _why_not(
            reservation=_held()).as_dict()['until'])

    def test_in_flight_request_blocks_until_its_end_only(self):
        self.assertIn('not known yet', _why_not(busy_until=NOW).text)
        self.assertIsNone(_why_not(busy_until=NOW).until)
        self.assertEqual(LATER, _why_not(busy_until=LATER).until)

    def test_node_without_provision_state_is_not_available(self):
        self.assertEqual(reasons.WRONG_STATE,
                         _why_not(provision_state=None).code)

    def test_missing_traits_are_named_in_order(self):
        ask = dataclasses.replace(ASK, traits=frozenset(
            {'CUSTOM_Z', 'CUSTOM_A', 'CUSTOM_B'}))
        self.assertEqual('lacks the traits CUSTOM_B, CUSTOM_Z',
                         _why_not(ask).text)


class TestOrder(testtools.TestCase):

    def test_first_of_the_list_is_taken_in_every_order(self):
        nodes = [mirrored_node.Node(name) for name in 'abcd']
        for order in itertools.permutations('abcd'):
            for stored in itertools.permutations(nodes):
                picked = pick.pick(pick.NodeRequest('instance', order),
                                   _snapshot(*stored), ALL)
                self.assertEqual((order[0], ()),
                                 (picked.node.uuid, picked.skipped))

    def test_first_free_one_is_taken_wherever_it_stands(self):
        nodes = [mirrored_node.Node('free'),
                 mirrored_node.Node('busy', maintenance=True),
                 mirrored_node.Node('dead', retired=True)]
        for order in itertools.permutations(
                ['free', 'busy', 'dead', 'gone']):
            picked = pick.pick(pick.NodeRequest('instance', order),
                               _snapshot(*nodes), ALL)
            self.assertEqual('free', picked.node.uuid)
            self.assertEqual(list(order[:order.index('free')]),
                             [reason.node_uuid for reason in picked.skipped])

    def test_refusal_tells_each_node_in_the_order_of_the_list(self):
        for order in itertools.permutations('abc'):
            refused = pick.pick(pick.NodeRequest('instance', order),
                                _snapshot(), ALL)
            self.assertEqual(list(order), [reason.node_uuid for reason
                                           in refused.reasons])

    def test_without_a_list_the_order_is_the_snapshots(self):
        nodes = [mirrored_node.Node('b'), mirrored_node.Node('a')]
        self.assertEqual('b', pick.pick(pick.NodeRequest('instance'),
                                        _snapshot(*nodes), ALL).node.uuid)

    def test_without_any_node_the_refusal_is_empty(self):
        self.assertEqual(pick.Refused(()), pick.pick(
            pick.NodeRequest('instance'), _snapshot(), ALL))


class TestPromises(testtools.TestCase):

    def _pick(self, until, *later):
        nodes = {str(place): mirrored_node.Node(str(place))
                 for place in range(len(later))}
        return pick.pick(
            pick.NodeRequest('instance', tuple(nodes)), pick.Snapshot(
                nodes, {str(place): host_view.HostView(
                    str(place), NOW, bookings=(_booked(moment),))
                    for place, moment in enumerate(later)
                    if moment is not None}, NOW, until), ALL)

    def test_lease_that_starts_at_the_end_is_no_obstacle(self):
        self.assertEqual('0', self._pick(LATER, LATER).node.uuid)

    def test_lease_that_starts_before_the_end_is_one(self):
        early = LATER - TICK
        refused = self._pick(LATER, early)
        self.assertEqual([(reasons.PROMISED, early)],
                         [(reason.code, reason.since)
                          for reason in refused.reasons])
        self.assertEqual(early.isoformat(),
                         refused.reasons[0].as_dict()['since'])

    def test_without_an_end_any_lease_is_one(self):
        self.assertEqual(['0'], [node.uuid for node in
                                 self._pick(None, LATER).promised])

    def test_picked_node_tells_which_before_it_might_be_had(self):
        picked = self._pick(LATER, NOW + TICK, NOW + TICK, None, NOW + TICK)
        self.assertEqual(('2', ['0', '1']), (
            picked.node.uuid, [node.uuid for node in picked.promised]))

    def test_lease_that_was_shown_is_no_obstacle_on_its_own_node(self):
        ask = pick.NodeRequest('instance', ('node',),
                               lease_reservation_ids=frozenset({'mine'}))
        for holder, code in (('mine', None), ('theirs', reasons.LEASED),
                             (None, reasons.LEASED)):
            reason = _why_not(ask, bookings=(_booked(
                NOW, holder or 'mine', leases.BookingState.PLANNED
                if holder else leases.BookingState.ENDING),))
            self.assertEqual(code, reason and reason.code)

    def test_nobody_is_told_whose_lease_it_is(self):
        reason = _why_not(bookings=(_booked(NOW, 'secret'),))
        self.assertEqual(LATER, reason.until)
        self.assertNotIn('secret', str(reason.as_dict()))


class TestProperties(testtools.TestCase):

    @hypothesis.given(strategies.snapshots(), strategies.sights, st.data())
    def test_pick_is_the_first_without_an_obstacle(self, snapshot, sees,
                                                   data):
        order = tuple(data.draw(st.permutations(
            [*snapshot.nodes, 'no-such-node'])))
        ask = pick.NodeRequest('instance', order,
                       data.draw(st.sampled_from(strategies.CLASSES)),
                       data.draw(strategies.trait_sets))
        obstacles = [
            pick.why_not(ask, uuid, snapshot, sees)
            or pick.promise(snapshot.view(uuid), snapshot.until)
            for uuid in order]
        outcome = pick.pick(ask, snapshot, sees)
        self.assertEqual(
            [reason.node_uuid for reason in (
                outcome.skipped if None in obstacles else outcome.reasons)
             if reason.code == reasons.PROMISED],
            [node.uuid for node in outcome.promised])
        if None in obstacles:
            first = obstacles.index(None)
            self.assertEqual(order[first], outcome.node.uuid)
            self.assertEqual(tuple(obstacles[:first]), outcome.skipped)
        else:
            self.assertEqual(tuple(obstacles), outcome.reasons)

    @hypothesis.given(strategies.snapshots(), strategies.sights)
    def test_picked_node_is_free_and_visible(self, snapshot, sees):
        outcome = pick.pick(
            pick.NodeRequest('instance', tuple(snapshot.nodes)), snapshot,
            sees)
        if not isinstance(outcome, pick.Picked):
            # No node could be picked: each has a reason.
            self.assertEqual(len(snapshot.nodes), len(outcome.reasons))
            return
        node = outcome.node
        held = snapshot.view(node.uuid)
        self.assertTrue(sees.sees(node))
        self.assertEqual(('available', None, False, False, True),
                         (node.provision_state, node.instance_uuid,
                          node.maintenance, node.retired, node.reservable))
        self.assertIsNone(node.parent_node)
        self.assertFalse(held.row and held.row.live(NOW))
        self.assertFalse(held.busy_until and held.busy_until > NOW)
        self.assertFalse(node.uuid in snapshot.barred or any(
            booking.has_node(NOW) for booking in held.bookings))
        for booking in held.bookings:
            if booking.to_come(NOW):
                self.assertIsNotNone(snapshot.until)
                self.assertGreaterEqual(booking.starts_at, snapshot.until)

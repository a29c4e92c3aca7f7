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

"""How long promises last: bounds, renewal, release, the end of time."""

import datetime

from ironic_reservations import errors
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import mirror
from ironic_reservations.engine.reservations import find
from ironic_reservations.engine.reservations import lifetime
from ironic_reservations.engine.reservations import release
from ironic_reservations.engine.reservations import renew
from tests import servers
from tests import world
from tests.inprocess.engine import timelines

TICK = datetime.timedelta(microseconds=1)


def _in(seconds):
    return world.NOON + datetime.timedelta(seconds=seconds)


@servers.also
class TestBounds(world.TestCase):

    def setUp(self):
        super().setUp()
        self.conf = self.new_world(
            reservations__min_ttl=10, reservations__max_ttl=100,
            reservations__default_ttl=50).conf

    def _expiry(self, **asked):
        return lifetime.expiry(self.conf, world.NOON, **asked)

    def test_without_a_wish_the_default(self):
        self.assertEqual(_in(50), self._expiry())

    def test_default_out_of_bounds_is_cut(self):
        for default, given in ((5, 10), (500, 100)):
            self.conf.set_override('default_ttl', default, 'reservations')
            self.assertEqual(_in(given), self._expiry())

    def test_shortest_and_longest_are_given(self):
        for seconds in (10, 11, 100):
            self.assertEqual(_in(seconds), self._expiry(ttl=seconds))
            self.assertEqual(_in(seconds),
                             self._expiry(expires_at=_in(seconds)))

    def test_beyond_the_bounds_is_refused(self):
        for ttl in (-1, 0, 9, 101, 10 ** 30):
            self.assertRaises(errors.InvalidValue, self._expiry, ttl=ttl)
        for end in (_in(-1), _in(0), _in(8), _in(100) + TICK,
                    datetime.datetime.max.replace(tzinfo=datetime.UTC),
                    datetime.datetime.min.replace(tzinfo=datetime.UTC)):
            self.assertRaises(errors.InvalidValue, self._expiry,
                              expires_at=end)

    def test_shortest_time_may_have_been_on_its_way_for_a_second(self):
        self.assertEqual(_in(9), self._expiry(expires_at=_in(9)))

    def test_instant_in_another_zone_is_the_same_instant(self):
        zone = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
        self.assertEqual(_in(60), self._expiry(
            expires_at=_in(60).astimezone(zone)))

    def test_two_wishes_at_once_are_refused(self):
        self.assertRaises(errors.InvalidValue, self._expiry, ttl=50,
                          expires_at=_in(50))


class _Held(timelines.TestCase):
    """A node that is reserved for a minute."""

    def setUp(self):
        super().setUp()
        (self.node,) = self.world.enrol()
        self.held = self.world.reserve(self.node, ttl=60)


@servers.also
class TestRenew(_Held):

    def _renew(self, **asked):
        return renew.renew(self.engine, self.held.uuid, **asked)

    def _row(self):
        return self.world.reservations()[self.held.uuid]

    def test_end_moves_and_the_row_says_when_it_was_moved(self):
        self.world.clock.advance(30)
        renewed = self._renew(ttl=60)
        self.assertEqual((_in(90), _in(30), world.NOON), (
            self._row()['expires_at'], self._row()['updated_at'],
            self._row()['created_at']))
        self.assertEqual(_in(90), renewed.expires_at)

    def test_end_moves_to_an_instant_later_or_earlier(self):
        """Of any zone, and with its microseconds."""
        zone = datetime.timezone(datetime.timedelta(hours=-8))
        for end in (_in(500), _in(20), _in(90).astimezone(zone),
                    _in(90) + 123456 * TICK):
            self.assertEqual(end, self._renew(expires_at=end).expires_at)
            self.assertEqual(end, self._row()['expires_at'])

    def test_renewed_again_and_again_lasts_beyond_the_maximum(self):
        for _ in range(3):
            self._renew(ttl=86400)
            self.world.clock.advance(86399)
        self.assertEqual(self.held.uuid, find.get(
            self.engine, self.held.uuid).uuid)

    def test_expired_one_cannot_be_renewed(self):
        self.world.clock.advance(60)
        self.assertRaises(errors.ReservationNotFound, self._renew, ttl=60)
        self.assertEqual(_in(60), self._row()['expires_at'])

    def test_last_moment_is_early_enough(self):
        self.world.clock.now = _in(60) - TICK
        self.assertEqual(_in(120) - TICK, self._renew(ttl=60).expires_at)

    def test_out_of_bounds_changes_nothing(self):
        self.assertRaises(errors.InvalidValue, self._renew, ttl=5)
        self.assertEqual((_in(60), None), (self._row()['expires_at'],
                                           self._row()['updated_at']))

    def test_unknown_one_is_not_found(self):
        self.assertRaises(errors.ReservationNotFound, renew.renew,
                          self.engine, world.new_uuid(), ttl=60)

    def test_node_that_is_forgotten_between_two_reads(self):
        read_nodes = db_nodes.read_nodes

        def late(*args, **kwargs):
            self.patch(db_nodes, 'read_nodes', read_nodes)
            self.world.ironic.remove(self.node)
            mirror.refresh_node(self.engine, self.node)
            return read_nodes(*args, **kwargs)
        self.patch(db_nodes, 'read_nodes', late)
        self.assertRaises(errors.ReservationNotFound, self._renew, ttl=90)

    def test_renewal_that_commits_first_keeps_the_node(self):
        """A request plans to replace an expired row; it is renewed first."""
        late, self.world.clock.now = self.world.clock.now, _in(60)

        def renewed_in_time():
            self.world.clock.now = late
            self._renew(ttl=600)
            self.world.clock.now = _in(60)
        self.world.before_next_write(renewed_in_time)
        self.assertRaises(errors.NoNodeAvailable, self.world.reserve,
                          self.node)
        self.assertEqual([self.held.uuid], list(self.world.reservations()))


@servers.also
class TestRelease(_Held):

    def _release(self):
        release.release(self.engine, self.held.uuid)

    def test_node_is_free_at_once(self):
        self._release()
        self.assertRaises(errors.ReservationNotFound, self._release)
        self.assertEqual({}, self.world.reservations())
        self.assertEqual(self.node, self.world.reserve(self.node).node_uuid)

    def test_expired_one_is_not_found(self):
        self.world.clock.advance(60)
        self.assertRaises(errors.ReservationNotFound, self._release)

    def test_others_stay(self):
        (other,) = self.world.enrol()
        kept = self.world.reserve(other)
        self._release()
        self.assertEqual([kept.uuid], list(self.world.reservations()))

    def test_one_in_use_can_be_given_back_beyond_its_end(self):
        self.world.use(self.held)
        self.world.clock.advance(3600)
        self._release()
        self.assertEqual({}, self.world.reservations())
        self.assertEqual('active',
                         self.world.ironic.there[self.node].provision_state)

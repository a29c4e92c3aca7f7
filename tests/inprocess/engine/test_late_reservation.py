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

"""A copy of ``POST /v1/reservations`` that arrives late reserves nothing.

Seen: a balancer held a request back and delivered it after the reservation
that another copy had made was released; the node was reserved again, for
nobody, until the ttl ended.
"""

import contextlib
import datetime

from ironic_reservations import errors
from ironic_reservations.engine import earlier
from ironic_reservations.engine import sweep
from ironic_reservations.engine.reservations import release
from ironic_reservations.engine.reservations import reserve
from ironic_reservations.planner import pick
from tests import cuts
from tests import servers
from tests import world
from tests.inprocess.engine import timelines

_INSTANCE = '5d2b2d0e-3f43-4f0e-9d6b-0d5f6b2f6a11'
_UUID = '0f6a7e7c-8b0c-4d2b-9a71-1f0d8d1f8d51'


@servers.also
class TestLateCopy(timelines.TestCase):
    def setUp(self):
        super().setUp()
        self.node, self.second = self.world.enrol(2)

    def _reserve(self, key='k', engine=None, **more):
        asked = pick.NodeRequest(**{'instance_uuid': _INSTANCE, 'ttl': 600,
                            'node_uuids': (self.node,),
                            'project_id': 'ours', **more})
        return reserve.reserve(
            engine or self.engine, asked, world.ALL_NODES,
            key=None if key is None else earlier.of_request(
                'reservation', asked.project_id, key, asked))

    def _by_uuid(self, uuid=_UUID, **more):
        asked = pick.NodeRequest(_INSTANCE, (self.node,), uuid=uuid, ttl=600,
                         project_id='ours', **more)
        return reserve.reserve(
            self.engine, asked, world.ALL_NODES,
            key=earlier.of_uuid('reservation', 'ours', uuid))

    def _ended(self, again, *args, **more):
        before = self.world.reservations()
        refusal = self.assertRaises(errors.ReservationEnded, again, *args,
                                    **more)
        self.assertEqual(before, self.world.reservations())
        return refusal

    def _keys(self):
        return [name for name in self.world.claims()
                if name.startswith('request reservation ')]

    def _hours_pass(self, hours):
        self.world.clock.now += datetime.timedelta(hours=hours)

    def test_same_request_gets_the_same_reservation(self):
        made = self._reserve()
        self.assertEqual(made, self._reserve())
        self.assertEqual(1, len(self._keys()))

    def test_copy_that_comes_after_the_release_reserves_nothing(self):
        made = self._reserve()
        release.release(self.engine, made.uuid)
        refusal = self._ended(self._reserve)
        self.assertIn(made.uuid, str(refusal))
        self.assertIn('new Idempotency-Key', str(refusal))
        self._reserve(key='l')

    def test_copy_that_comes_after_the_end_reserves_nothing(self):
        """Whether the row of the reservation was deleted or not."""
        self._reserve()
        self.world.clock.advance(600)
        self._ended(self._reserve)
        sweep.sweep(self.engine)
        self._ended(self._reserve)

    def test_copy_with_another_instance_is_refused(self):
        made = self._reserve()
        for _ in range(2):
            self.assertRaises(errors.ReservationKeyReused, self._reserve,
                              instance_uuid=world.new_uuid())
            if self.world.reservations():
                release.release(self.engine, made.uuid)

    def test_key_of_another_project_is_another_key(self):
        release.release(self.engine, self._reserve().uuid)
        self._reserve(project_id='theirs')

    def test_copy_of_a_request_that_got_an_earlier_one_reserves_nothing(self):
        """Two requests for one instance got one reservation."""
        made = self._reserve()
        self.assertEqual(made.uuid, self._reserve(key='l').uuid)
        self.assertEqual(made.uuid, self._reserve(key='l').uuid)
        self.assertEqual(2, len(self._keys()))
        release.release(self.engine, made.uuid)
        self._ended(self._reserve, 'k')
        self._ended(self._reserve, 'l')

    def test_instance_is_reserved_again_with_another_key(self):
        """As Nova does, on another node or on the same one."""
        for key, node in (('a', self.node), ('b', self.second),
                          ('c', self.node)):
            made = self._reserve(key=key, node_uuids=(node,))
            self.assertEqual(node, made.node_uuid)
            release.release(self.engine, made.uuid)

    def test_uuid_is_used_again_with_another_key(self):
        for key in ('a', 'b'):
            release.release(self.engine,
                            self._reserve(key=key, uuid=_UUID).uuid)
        self._ended(self._reserve, 'a', uuid=_UUID)
        self._reserve(key='c', uuid=_UUID)
        # NOTE: that is another one than the request has made.
        self._ended(self._reserve, 'a', uuid=_UUID)

    def test_request_without_a_key_is_carried_out_again(self):
        """As before version 1.24, with its uuid."""
        for _ in range(2):
            release.release(self.engine,
                            self._reserve(key=None, uuid=_UUID).uuid)
        self.assertEqual([], self._keys())

    def test_uuid_as_the_key_of_a_request(self):
        made = self._by_uuid()
        self.assertEqual(made, self._by_uuid())
        release.release(self.engine, _UUID)
        self._ended(self._by_uuid)
        self._by_uuid(world.new_uuid())

    def test_refused_request_can_be_sent_again_with_its_key(self):
        full = self._reserve(key=None, instance_uuid=world.new_uuid())
        self.assertRaises(errors.NoNodeAvailable, self._reserve)
        release.release(self.engine, full.uuid)
        self._reserve()

    def test_key_is_kept_for_a_day(self):
        release.release(self.engine, self._reserve().uuid)
        release.release(self.engine, self._reserve(key='l').uuid)
        self._hours_pass(23)
        sweep.sweep(self.engine)
        self._ended(self._reserve)
        self._hours_pass(2)
        # NOTE: which does not wait for the sweep.
        release.release(self.engine, self._reserve().uuid)
        self._ended(self._reserve)
        self.assertEqual(2, len(self._keys()))
        sweep.sweep(self.engine)
        self.assertEqual(1, len(self._keys()))

    def test_process_that_stood_still_for_days_plans_again(self):
        """The key that another one has kept is forgotten by then."""
        started = self.world.clock()
        self.world.before_next_write(lambda: self._hours_pass(25))
        made = self._reserve()
        self.assertEqual(started + datetime.timedelta(hours=25),
                         made.created_at)

    def test_lost_commit_of_a_request_with_a_key(self):
        self.world.lose_next_write()
        made = self._reserve()
        self.assertEqual([made.uuid], list(self.world.reservations()))
        self.assertEqual(made, self._reserve())

    def test_copy_that_stands_still_anywhere_reserves_nothing(self):
        """Another copy is served, and its reservation released, meanwhile."""
        other = self.world.another_engine()

        def attempt(cut):
            made = []
            with cut.by(lambda: release.release(other, self._reserve(
                    key=cut.key, engine=other).uuid)):
                with contextlib.suppress(errors.ReservationEnded):
                    made.append(self._reserve(key=cut.key))
            self.assertIs(cut.reached, not made)
            for mine in made:
                release.release(other, mine.uuid)
            self.assertEqual({}, self.world.reservations())
        cuts.everywhere(attempt, 3, self.engine)

    def test_retry_that_finds_it_and_stands_still_reserves_nothing(self):
        """It is released between any two statements of the retry."""
        other = self.world.another_engine()

        def attempt(cut):
            first = self._reserve(key=cut.key)
            with cut.by(lambda: release.release(other, first.uuid)):
                with contextlib.suppress(errors.ReservationEnded):
                    self.assertEqual(first.uuid,
                                     self._reserve(key=cut.key).uuid)
            if not cut.reached:
                release.release(other, first.uuid)
            self.assertEqual({}, self.world.reservations())
        cuts.everywhere(attempt, 1, self.engine)

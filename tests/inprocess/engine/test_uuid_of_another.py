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

"""Who may do something to a reservation may not do it to the next one.

Clients choose uuids.  One who was allowed to release or to renew his own
reservation may stand still; by the time that he goes on, the uuid may be that
of a reservation of somebody else.
"""

import contextlib
import functools

from ironic_reservations import errors
from ironic_reservations.engine import sweep
from ironic_reservations.engine.reservations import find
from ironic_reservations.engine.reservations import release
from ironic_reservations.engine.reservations import renew
from tests import cuts
from tests import world


class TestUuidOfAnother(world.TestCase):

    def setUp(self):
        super().setUp()
        self.acts = {
            'release': lambda engine, mine: release.release(
                engine, mine.uuid, mine),
            'renew': lambda engine, mine: renew.renew(
                engine, mine.uuid, ttl=60, permitted=mine)}

    def test_reservation_of_another_stays_as_it_is(self):
        for name, act in self.acts.items():
            cuts.everywhere(functools.partial(self._attempt, name, act), 1)

    def _attempt(self, name, act, cut):
        around = self.new_world()
        around.empty()
        node, = around.enrol()
        instance = world.new_uuid()
        mine = around.reserve(node, instance_uuid=instance, project_id='mine')
        theirs = []

        def come_first():
            other = around.another_engine()
            try:
                release.release(other, mine.uuid)
            except errors.ReservationNotFound:
                return
            theirs.append(around.reserve(
                node, uuid=mine.uuid, instance_uuid=instance,
                project_id='theirs', ttl=300))
        with cut.by(come_first, around.engine):
            with contextlib.suppress(errors.ReservationNotFound):
                act(around.engine, mine)
        for held in theirs:
            self.assertEqual(held, find.get(around.engine, held.uuid), name)

    def test_what_was_made_again_is_not_told_to_have_expired(self):
        """The sweep has read what is void; then its uuid is used again."""
        around = self.new_world()
        node, = around.enrol()
        first = around.reserve(node, ttl=10)
        around.clock.advance(10)
        again = []
        around.before_next_write(lambda: again.append(
            around.reserve(node, uuid=first.uuid, ttl=600)))
        sweep.sweep(around.engine)
        self.assertEqual(again, [find.get(around.engine, first.uuid)])

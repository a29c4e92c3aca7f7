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

"""A renewal that stood still after it had read the reservation.

It had read that the reservation lasted until one, and was to have it last
until one: nothing to be looked at.  While it stood still, another renewal
had the reservation end at two minutes past twelve, and a lease was planned
from then on.  The first one went on, and the node was promised twice.
"""

import contextlib
import datetime

from ironic_reservations import errors
from ironic_reservations.engine.reservations import renew
from tests import cuts
from tests import leasing
from tests import servers
from tests import world


@servers.also
class TestRenewStale(world.TestCase):

    def test_renewal_that_stood_still_overlaps_with_no_lease(self):
        cuts.everywhere(self._attempt, 3)

    def _attempt(self, cut):
        around = self.new_world()
        around.empty()
        there = leasing.Leasing(around, around.another_engine())
        node, = there.hosts()
        held = around.reserve(node, expires_at=leasing.at(1))

        def come_first():
            renew.renew(there.engine, held.uuid, expires_at=(
                world.NOON + datetime.timedelta(minutes=2)))
            there.create(0.1, 2)
        with cut.by(come_first, around.engine):
            with contextlib.suppress(errors.ExtensionRefused):
                renew.renew(around.engine, held.uuid, expires_at=leasing.at(1))
        self.assertEqual([], there.overlaps(), cut.key)

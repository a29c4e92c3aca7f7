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


"""Rows of holds, on each database: see test_use_cases."""

import datetime

from ironic_reservations.features.placement.holds import rows as db_holds
from ironic_reservations.features.placement.holds import values
from tests import servers
from tests import world

_LATER = world.NOON + datetime.timedelta(seconds=80)


@servers.also
class TestReleased(world.TestCase):
    """MariaDB takes the columns of an UPDATE one by one, the others not."""

    def setUp(self) -> None:
        super().setUp()
        self.database = self.new_world().engine.database

    def released(self, state: values.HoldState) -> values.Hold:
        """Have a hold released that nothing is promised for, and return it."""
        with self.database.write() as connection:
            before = db_holds.insert(connection, values.Hold(
                0, world.new_uuid(), world.new_uuid(), world.new_uuid(),
                (('CUSTOM_GOLD', 1),), 'a-project', 'a-user', state,
                world.NOON, _LATER, confirmed=True))
            self.assertEqual(1, db_holds.release_forsaken(
                connection, world.NOON, 10))
            after = db_holds.read(connection, before.id)
        assert after is not None
        self.assertIs(values.HoldState.RELEASING, after.state)
        return after

    def test_what_nobody_works_on_is_due_at_once(self) -> None:
        self.assertEqual(world.NOON,
                         self.released(values.HoldState.ACTIVE).deadline)

    def test_what_somebody_works_on_keeps_its_deadline(self) -> None:
        self.assertEqual(_LATER,
                         self.released(values.HoldState.PROMISING).deadline)

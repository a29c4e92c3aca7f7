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

"""A timeline of leases, which has to stay sound."""

from tests import leasing
from tests import world


class TestCase(world.TestCase):
    """With a timeline of leases."""

    def setUp(self):
        super().setUp()
        self.leasing = leasing.Leasing(self.new_world())
        self.engine = self.leasing.engine

    def assert_sound(self):
        """Assert that no host is promised twice, nor anything outdated."""
        self.assertEqual([], self.leasing.overlaps())
        self.assertEqual({}, self.leasing.stale())

    def assert_refused(self, error, lease, **changes):
        """Assert that a change is refused, and changes nothing."""
        before = leasing.tables_as_text(self.leasing.world)
        refusal = self.assertRaises(error, self.leasing.change, lease,
                                    **changes)
        self.assertEqual(before, leasing.tables_as_text(self.leasing.world))
        return refusal

    def windows(self, lease):
        """Return from when until when a lease has its hosts."""
        return {(booking.starts_at, booking.ends_at)
                for booking in self.leasing.reload(lease).bookings}

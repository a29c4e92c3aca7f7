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

"""A lease whose holder acts on its node."""

from ironic_reservations.db import handovers as db_handovers
from ironic_reservations.engine.in_flight import acted
from tests.inprocess.reconciler import leases


class TestCase(leases.TestCase):
    """With a lease from one to four, of one node."""

    def setUp(self) -> None:
        super().setUp()
        self.made = self.started()
        self.node = self.node_of(self.made)

    def handover(self):
        """Return what is written down of the acts."""
        with self.engine.database.read() as connection:
            return db_handovers.read_one(connection, self.node)

    def write(self, *acts, within=0):
        """Write acts down that the guard lets through."""
        return acted.write(self.engine, self.node, acts, within=within)

    def settled(self, written):
        """Have Ironic have done what was asked for."""
        acted.settled(self.engine, written)
        return self.handover()

    def assert_over(self):
        """Assert that the lease has ended, and its node is free."""
        self.assert_status(leases.STATUS.TERMINATED, self.made)

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

"""A request for a lease that is sent twice with one key makes one lease."""


from ironic_reservations.engine import earlier
from ironic_reservations.engine.reservations import reserve
from ironic_reservations.features.keys import rows as db_keys
from ironic_reservations.features.maintenance import (
    create as maintenance_create,
)
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from ironic_reservations.planner import pick
from tests import leasing
from tests import servers
from tests import world
from tests.inprocess.engine import timelines


@servers.also
class TestCopiesAtOnce(timelines.TestCase):
    """another copy is served during the first.

    It is served after this one has looked for the key, and before it reads
    the hosts, of which there are none left then.
    """

    def setUp(self):
        super().setUp()
        self.nodes = self.leasing.hosts(2)
        self.other = self.another()

    def _after_look(self, module, act):
        """Have something happen once, after a key was looked for."""
        real, done = module.read, []

        def read(*known):
            found = real(*known)
            if not done:
                done.append(None)
                done.append(act())
            return found
        self.patch(module, 'read', read)
        return done

    def test_request_for_a_lease_gets_what_its_copy_got(self):
        """It is not refused for want of the hosts that it has itself."""
        made = self._after_look(db_keys, lambda: self.other.create(
            1, 2, leasing.wish(2), key='k'))
        again = self.leasing.create(1, 2, leasing.wish(2), key='k')
        self.assertEqual(made[1].id, again.id)
        self.assertEqual([made[1].id],
                         [each.id for each in self.leasing.all()])

    def test_request_at_its_limit_gets_what_its_copy_got(self):
        """Nor for the limit that it has reached itself."""
        self.configure(project_limits=True)
        self.configure(max_leases_per_project=1)
        made = self._after_look(db_keys, lambda: self.other.create(
            1, 2, key='k'))
        again = self.leasing.create(1, 2, key='k')
        self.assertEqual(made[1].id, again.id)

    def test_change_of_a_lease_answers_as_its_copy_did(self):
        """What the copy has given back is not there any more."""
        lease = self.leasing.create(1, 5, leasing.wish(2))
        change = {'key': 'k', 'reservations': (leases.LeaseReservationChange(
            lease.reservations[0].id, give_back=(self.nodes[0],)),)}
        made = self._after_look(
            db_keys, lambda: self.other.change(lease, **change))
        again = self.leasing.change(lease, **change)
        self.assertEqual(made[1].bookings, again.bookings)
        self.assertEqual(1, len(again.bookings))

    def test_request_for_maintenance_gets_what_its_copy_got(self):
        asked = maintenance_create.WindowRequest(
            'firmware', 'New firmware', leasing.at(2), leasing.at(1),
            (self.nodes[0],))
        key = earlier.of_request('maintenance', None, 'k', asked)
        made = self._after_look(db_keys, lambda: maintenance_create.create(
            self.other.engine, asked, key=key))
        again = maintenance_create.create(self.engine, asked, key=key)
        self.assertEqual(made[1].window.id, again.window.id)

    def _reserve_beside_copy(self, key):
        self.configure(project_limits=True)
        asked = pick.NodeRequest(world.new_uuid(), tuple(self.nodes), ttl=600)
        identity = None if key is None else earlier.of_request(
            'reservation', None, key, asked)

        def reserved(engine):
            return reserve.reserve(
                engine, asked, world.ALL_NODES, key=identity,
                allowed=limits.Limits(max_per_project=1)).uuid
        copies = []
        self.world.before_next_write(
            lambda: copies.append(reserved(self.other.engine)))
        self.assertEqual([reserved(self.engine)], copies)

    def test_request_for_a_reservation_gets_what_its_copy_got(self):
        """It is not refused for the limit that it has reached itself."""
        self._reserve_beside_copy('k')

    def test_request_for_the_same_instance_gets_what_its_copy_got(self):
        """Nor if the instance is all that shows that it is the same."""
        self._reserve_beside_copy(None)

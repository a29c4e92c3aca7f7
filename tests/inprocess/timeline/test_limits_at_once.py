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

"""Many requests of one project at once do not pass its limits together."""

from concurrent import futures

from ironic_reservations import errors
from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.engine.reservations import reserve
from ironic_reservations.features.limits import configured
from ironic_reservations.planner import pick
from tests import leasing
from tests import servers
from tests import world
from tests.inprocess.engine import timelines

_AT_ONCE = 8
_MOST = 3


@servers.also
class TestAtOnce(timelines.TestCase):
    """Each request wants a node of its own."""

    options = {'ironic__confirm': 'mirror', 'leases__project_limits': True,
               'leases__max_hosts_per_project': _MOST,
               'leases__max_hosts_per_class': {'gold': _MOST - 1},
               'reservations__max_per_project': _MOST,
               'reservations__max_per_class': {'gold': _MOST - 1}}

    def setUp(self):
        super().setUp()
        self.engines = [self.world.another_engine() for _ in range(_AT_ONCE)]

    def _served(self, act, refused):
        """Count the requests that were served, of as many at once."""
        def one(number):
            try:
                act(self.engines[number], number)
            except refused:
                return False
            return True
        with futures.ThreadPoolExecutor(_AT_ONCE) as pool:
            return sum(pool.map(one, range(_AT_ONCE)))

    def _lease(self, key, name, **known):
        """Lease each host by what it alone is called."""
        for number in range(_AT_ONCE):
            self.leasing.hosts(1, **known, **{key: f'{name}{number}'})

        def lease(engine, number):
            lease_create.create(engine, leasing.ask(1, 2, leasing.wish(
                properties=f'["==", "${key}", "{name}{number}"]')))
        return self._served(lease, errors.LeaseLimit)

    def test_leases_of_a_class(self):
        self.assertEqual(_MOST - 1, self._lease('name', 'gold-',
                                                resource_class='gold'))

    def test_leases(self):
        self.assertEqual(_MOST, self._lease('resource_class', 'class'))

    def test_reservations_of_a_class(self):
        self._reserve(_MOST - 1, resource_class='gold')

    def test_reservations(self):
        self._reserve(_MOST)

    def _reserve(self, most, **known):
        nodes = self.world.enrol(_AT_ONCE, **known)

        def hold(engine, number):
            reserve.reserve(engine, pick.NodeRequest(
                instance_uuid=world.new_uuid(), node_uuids=(nodes[number],),
                project_id='ours'), world.ALL_NODES, None,
                configured.of(engine.conf, 'reservations'))
        self.assertEqual(most, self._served(hold, errors.ReservationLimit))

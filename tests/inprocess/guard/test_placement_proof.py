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

"""Nova deploys on a leased node without knowing of us.

A real Ironic with the guard in it, and a real Placement in processes of its
own; the tests say what Nova's scheduler and its ironic driver say.
"""

from __future__ import annotations

import datetime
from typing import Any
import uuid

from keystoneauth1 import adapter
from keystoneauth1 import noauth
from keystoneauth1 import session as ksa_session
import testtools

from ironic_reservations import conf as project_conf
from ironic_reservations import engine as engine_module
from ironic_reservations.clouds import placement
from ironic_reservations.engine.placement import lease_provider_calls
from ironic_reservations.engine.placement import lease_provider_sync
from ironic_reservations.guard import middleware
from ironic_reservations.lifecycle.placement import lease_providers as machine
from ironic_reservations.model import flavors
from tests.inprocess.guard import base
from tests.inprocess.guard import with_keystone
from tests.inprocess.placement import in_memory
from tests.inprocess.placement import served


class PlacementProofTestCase(base.GuardTestCase):

    identity = with_keystone.token('the-system')
    placed: served.Served

    @classmethod
    def make(cls, folder: str) -> with_keystone.WithKeystone:
        cls.placed = served.Served('mysql')
        try:
            cls.placed.setUp()
        finally:
            cls.addClassCleanup(cls.placed.cleanUp)
        return with_keystone.WithKeystone(
            folder,
            options={
                'DEFAULT': {'auth_strategy': 'keystone'},
                'keystone_authtoken': {'auth_type': 'none'}},
            reservations={
                'guard': {'proof_by_placement': True},
                'placement': {'enabled': True, 'timeout': 5,
                              'endpoint_override': cls.placed.endpoint},
                'ironic': {'auth_type': 'admin_token',
                           'endpoint': 'http://not.asked.invalid',
                           'token': 'token-of-our-service'}})

    def setUp(self) -> None:
        super().setUp()
        self.client = placement.Placement(adapter.Adapter(
            ksa_session.Session(auth=noauth.NoAuth()),
            endpoint_override=self.placed.endpoint), placement.ADMIN)

    def leased(self) -> machine.Desired:
        """Return what a lease is to have of a node, and has."""
        name = f'class-{uuid.uuid4().hex}'
        node, = self.enroll(resource_class=name)
        in_memory.Nodes(self.client).add(node.uuid,
                                         flavors.class_of_node(name))
        created = self.send('POST', '/v1/os-hosts', {'name': node.uuid})
        self.assertEqual(201, created.status, created)
        now = datetime.datetime.now(datetime.UTC)
        reply = self.lease(name, now)
        self.assertEqual(201, reply.status, reply)
        lease = reply.document['lease']
        self.wait_for(lambda: self.send(
            'GET', f'/v1/leases/{lease["id"]}').document['lease']['status']
            == 'ACTIVE')
        wanted = machine.Desired(lease['reservations'][0]['id'], None,
                                {node.uuid: 1}, True)
        conf = project_conf.load(config_files=[])
        conf.set_override('connection', 'sqlite://', 'database')
        conf.set_override('enabled', True, 'placement')
        conf.set_override('endpoint_override', self.placed.endpoint,
                          'placement')
        self.assertEqual((), lease_provider_sync.bring(
            engine_module.build(conf), wanted).waits)
        return wanted

    def lease(self, name: str, now: datetime.datetime
              ) -> base.Reply:
        """Ask for a lease of a node of a class."""
        return self.send('POST', '/v1/leases', {
            'name': f'lease of {name}', 'start_date': 'now',
            'end_date': f'{now + datetime.timedelta(days=1):%Y-%m-%d %H:%M}',
            'events': [], 'reservations': [{
                'resource_type': 'physical:host', 'min': 1, 'max': 1,
                'hypervisor_properties': '', 'resource_properties':
                    f'["==", "$resource_class", "{name}"]'}]})

    def schedule(self, wanted: machine.Desired) -> str:
        """Claim what the flavor asks for, and return the server."""
        server = str(uuid.uuid4())
        host, = wanted.counts
        answer = self.client.put_allocations(server, in_memory.wanted({
            lease_provider_calls.child_of(host): {wanted.class_name: 1}}))
        self.assertTrue(answer.done, answer)
        return server

    def as_nova(self) -> None:
        """Go on with the token of Nova."""
        self.identity = with_keystone.token('nova')

    def test_server_of_the_lease_is_deployed_without_a_header(self) -> None:
        wanted = self.leased()
        node, = wanted.counts
        server = self.schedule(wanted)
        self.as_nova()
        self.assertEqual('reservation.proof_required',
                         self.bind(node, str(uuid.uuid4())).code)
        self.assertEqual('reservation.proof_required',
                         self.deploy(node).code)
        self.assert_untouched(node)
        bound = self.bind(node, server)
        self.assertEqual(200, bound.status, bound)
        deployed = self.deploy(node)
        self.assertEqual(202, deployed.status, deployed)
        self.wait_for(lambda: self.node(node)['provision_state'] == 'active')

    def test_role_is_what_counts(self) -> None:
        wanted = self.leased()
        node, = wanted.counts
        server = self.schedule(wanted)
        self.assertEqual('reservation.proof_required',
                         self.bind(node, server).code)
        self.assert_untouched(node)

    def test_placement_that_is_stopped_lets_nobody_in(self) -> None:
        """And nothing else is held up by it."""
        wanted = self.leased()
        node, = wanted.counts
        server = self.schedule(wanted)
        free, = self.enroll()
        self.as_nova()
        self.placed.pause()
        self.addCleanup(self.placed.go_on)
        refused = self.bind(node, server)
        self.assertEqual((503, 'guard.proof_unknown'),
                         (refused.status, refused.code))
        self.assert_untouched(node)
        self.assertEqual(200, self.bind(free.uuid, str(
            uuid.uuid4())).status)
        shown = self.bind(node, server, wanted.reservation_id)
        self.assertEqual(200, shown.status, shown)
        self.placed.go_on()
        self.assertEqual(202, self.deploy(node).status)


class ConfigurationTestCase(testtools.TestCase):

    def test_proofs_need_holds(self) -> None:
        conf = project_conf.load(config_files=[])
        conf.set_override('proof_by_placement', True, 'guard')
        raised = self.assertRaises(RuntimeError, middleware.make, _no_app,
                                   conf, 'keystone')
        self.assertIn('[placement]', str(raised))


def _no_app(*_: Any) -> Any:
    raise AssertionError

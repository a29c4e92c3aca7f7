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


"""The Python clients, against a real Ironic."""

import time
from unittest import mock
import uuid

from ironicclient import exc
from openstack import exceptions

from ironic_reservations_client import limits
from ironic_reservations_client import reservation
from ironic_reservations_client import sdk
from tests import clients
from tests import waiting
from tests.inprocess.client import base


class PythonTest(base.ClientTestCase):
    """What the examples do not show."""

    def setUp(self) -> None:
        """Make both kinds of client."""
        super().setUp()
        self.client = clients.ironic(self.ironic.url)
        self.conn = clients.openstacksdk(self.ironic.url)

    def test_the_specifications_own_version(self):
        """The five fields of 1.0, and no others."""
        node, = self.nodes()
        manager = reservation.ReservationManager(self.client, version='1.0')
        made = manager.create(str(uuid.uuid4()), [node.uuid])
        self.assertEqual(
            {'uuid', 'node_uuid', 'instance_uuid', 'created_at',
             'updated_at'}, set(made.to_dict()))
        self.assertEqual(made, manager.get(made.uuid))
        self.assertIn(made, manager.list())
        refused = self.assertRaises(
            exc.Conflict, manager.create, str(uuid.uuid4()), [node.uuid])
        self.assertEqual((), refused.reasons)
        self.assertIn(f'node {node.uuid} is reserved', str(refused))
        self.assertRaises(exc.HttpError, manager.renew, made.uuid, ttl=60)

    def test_a_flavor_of_nova(self):
        """Through both kinds of client; a bad one is refused by its key."""
        wanted = f'Class {uuid.uuid4().hex[:8]}'
        nodes = {node.uuid for node in self.nodes(2, resource_class=wanted)}
        custom = 'CUSTOM_' + wanted.upper().replace(' ', '_')
        flavor = {'name': 'bm', 'vcpus': 8, 'ram': 1024, 'disk': 10,
                  'properties': {
                      f'resources:{custom}': '1', 'resources:VCPU': '0',
                      'resources:MEMORY_MB': '0', 'resources:DISK_GB': '0'}}
        manager = reservation.ReservationManager(self.client)
        made = manager.create(str(uuid.uuid4()), flavor=flavor)
        other = sdk.reserve(self.conn, flavor=flavor)
        self.assertEqual(nodes, {made.node_uuid, other.node_id})
        del flavor['properties']['resources:VCPU']
        refused = self.assertRaises(exc.BadRequest, manager.create,
                                    str(uuid.uuid4()), flavor=flavor)
        self.assertIn('resources:VCPU', str(refused))

    def test_reservation_of_a_node_in_maintenance(self):
        """Is suspended, for both kinds of client, until the node is back."""
        node, = self.nodes()
        manager = reservation.ReservationManager(self.client)
        made = manager.create(str(uuid.uuid4()), [node.uuid])
        self.assertIs(False, made.suspended)
        for maintenance in (True, False):
            self.client.node.set_maintenance(node.uuid, maintenance)
            waiting.until(lambda wanted=maintenance: manager.get(
                made.uuid).suspended is wanted)
            self.assertIs(maintenance,
                          sdk.get(self.conn, made.uuid).is_suspended)
            self.assertEqual('maintenance' if maintenance else None,
                             sdk.get(self.conn, made.uuid).suspended_reason)
            self.assertEqual(made.expires_at,
                             manager.get(made.uuid).expires_at)

    def test_limits(self):
        """Without keystone, those that are set; what is used in any case."""
        def read(told):
            return {each['limit']: (each['allowed'], each['used'])
                    for each in told}
        before = read(limits.LimitsManager(self.client).get().absolute)
        self.assertEqual((None, None), before['max_duration'])
        node, = self.nodes()
        made = reservation.ReservationManager(self.client).create(
            str(uuid.uuid4()), [node.uuid])
        for told in (sdk.limits(self.conn)['absolute'],
                     limits.LimitsManager(
                         self.client, f'{self.ironic.url}/reservation'
                     ).get().absolute):
            self.assertEqual((None, before['max_per_project'][1] + 1),
                             read(told)['max_per_project'])
        sdk.release(self.conn, made.uuid)

    def test_the_path_of_its_own(self):
        """Under /reservation too, pages included."""
        manager = reservation.ReservationManager(
            self.client, endpoint=f'{self.ironic.url}/reservation')
        made = {manager.create(str(uuid.uuid4()), [node.uuid]).uuid
                for node in self.nodes(3)}
        self.assertLessEqual(made, {r.uuid for r in manager.list(limit=0)})
        seen = manager.list(limit=2)
        while page := manager.list(limit=2, marker=seen[-1].uuid):
            seen += page
        self.assertLessEqual(made, {each.uuid for each in seen})

    def test_a_refusal_comes_at_once(self):
        """With both; clients' own retries would take ten seconds."""
        node, = self.nodes()
        manager = reservation.ReservationManager(self.client)
        held = manager.create(str(uuid.uuid4()), [node.uuid])
        # NOTE: nobody pauses before another attempt, whatever the machine
        # takes for the first one.
        with mock.patch.object(time, 'sleep', side_effect=AssertionError):
            refused = (
                self.assertRaises(exc.Conflict, manager.create,
                                  str(uuid.uuid4()), [node.uuid]),
                self.assertRaises(exceptions.ConflictException, sdk.reserve,
                                  self.conn, [node.uuid]))
        for error in refused:
            self.assertEqual('reservation.no_node_available', error.code)
            self.assertEqual([(node.uuid, 'reserved', held.expires_at)],
                             [(r['node_uuid'], r['code'], r['until'])
                              for r in error.reasons])

    def test_a_wrong_proof(self):
        """The guard's code reaches the program, and the node is left."""
        node, other = self.nodes(2)
        manager = reservation.ReservationManager(self.client)
        manager.create(str(uuid.uuid4()), [node.uuid])
        wrong = manager.create(str(uuid.uuid4()), [other.uuid])
        error = self.assertRaises(
            exc.Forbidden, reservation.with_proof(
                self.client, wrong.uuid).set_provision_state,
            node.uuid, 'active')
        self.assertEqual('reservation.proof_invalid', error.code)
        error = self.assertRaises(
            exceptions.ForbiddenException, sdk.deploy, self.conn,
            sdk.Reservation.new(id=wrong.uuid, node_uuid=node.uuid))
        self.assertEqual('reservation.proof_invalid', error.code)
        self.assertEqual('available', self.provision_state(node))

    def test_what_else_a_proof_opens(self):
        """instance_uuid is set as nova sets it."""
        node, = self.nodes()
        instance = str(uuid.uuid4())
        held = reservation.ReservationManager(self.client).create(
            instance, [node.uuid])
        patch = [{'op': 'add', 'path': '/instance_uuid', 'value': instance}]
        self.assertRaises(exc.Forbidden, self.client.node.update, node.uuid,
                          patch)
        reservation.with_proof(self.client, held.uuid).update(
            node.uuid, patch)
        self.assertEqual(instance,
                         self.client.node.get(node.uuid).instance_uuid)

    def test_openstacksdk_follows_pages(self):
        """All of them, two at a time."""
        made = {sdk.reserve(self.conn, [node.uuid]).id
                for node in self.nodes(3)}
        self.assertEqual(2, len(sdk.reservations(self.conn, limit=2)))
        found = [r.id for r in sdk._through(self.conn)._list({'limit': 2})]
        self.assertLessEqual(made, set(found))
        self.assertEqual(len(set(found)), len(found))

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


"""Reservations through openstacksdk."""

from __future__ import annotations

from openstack import exceptions

from ironic_reservations import errors as service_errors
from ironic_reservations_client import sdk
from ironic_reservations_client import versions
from ironic_reservations_client.sdk import errors
from tests.unit.client import base
from tests.unit.client import fake


class SdkTest(base.ClientTestCase):
    """The same calls, in the form of openstacksdk."""

    def setUp(self) -> None:
        """Connect to the service."""
        super().setUp()
        self.conn = self.connection()

    def test_reserve(self):
        """The answer is a resource; the request names all nodes."""
        made = sdk.reserve(self.conn, [self.one, self.two], base.INSTANCE,
                           ttl=60)
        self.assertEqual(self.one, made.node_id)
        self.assertEqual(base.INSTANCE, made.instance_id)
        self.assertEqual('reserved', made.state)
        self.assertEqual([made.id], list(self.service.reservations))
        self.assertEqual(
            {'instance_uuid': base.INSTANCE, 'ttl': 60,
             'node_uuid': [self.one, self.two]},
            self.service.sent('POST')[0]['body'])

    def test_reserve_takes_nodes_as_openstacksdk_gives_them(self):
        """An instance uuid is generated if none is given."""
        node = self.conn.baremetal.get_node(self.two)
        made = sdk.reserve(self.conn, [node])
        self.assertEqual(self.two, made.node_id)
        self.assertEqual(36, len(made.instance_id))

    def test_list_get_renew_release(self):
        """Each call has its effect on the server."""
        self.service.page = 1
        held = [sdk.reserve(self.conn, [self.one], base.INSTANCE),
                sdk.reserve(self.conn, [self.two], base.OTHER_INSTANCE)]
        self.assertEqual(
            {r.id for r in held},
            {r.id for r in sdk.reservations(self.conn)})
        self.assertEqual(
            [held[1].id],
            [r.id for r in sdk.reservations(self.conn, node=self.two)])
        self.assertEqual(self.one, sdk.get(self.conn, held[0]).node_id)
        when = '2031-01-01T00:00:00+00:00'
        renewed = sdk.renew(self.conn, held[0].id, expires_at=when)
        self.assertEqual(when, renewed.expires_at)
        sdk.release(self.conn, held[0])
        self.assertEqual([held[1].id], list(self.service.reservations))
        self.assertRaises(exceptions.NotFoundException, sdk.release,
                          self.conn, held[0])

    def test_the_limit_is_that_of_the_result(self):
        """It was the size of a page, and all reservations were returned."""
        for instance in (base.INSTANCE, base.OTHER_INSTANCE, base.UNKNOWN):
            sdk.reserve(self.conn, [self.service.node(instance)], instance)
        for size in (1000, 1):
            self.service.page = size
            for limit, count in ((1, 1), (2, 2), (0, 3), (None, 3)):
                self.assertEqual(count, len(
                    sdk.reservations(self.conn, limit=limit)))

    def test_every_request_asks_for_our_version(self):
        """Ironic's configured microversion is sent as well."""
        conn = self.connection(baremetal_default_microversion='1.80')
        made = sdk.reserve(conn, [self.one])
        sdk.renew(conn, made, ttl=60)
        sdk.reservations(conn)
        sdk.get(conn, made)
        sdk.release(conn, made)
        self.assertEqual(
            {(versions.header(versions.LATEST), '1.80')},
            {(r['version'], r['ironic_version']) for r in self.service.requests
             if r['path'].startswith('/v1/reservations')})

    def test_an_older_service_is_asked_for_its_newest_version(self):
        """The caller need not do anything."""
        self.service.maximum = '1.1'
        sdk.reserve(self.conn, [self.one])
        self.assertEqual('baremetal-reservation 1.1',
                         self.service.sent('POST')[-1]['version'])

    def test_a_conflict_comes_at_once_with_its_reasons(self):
        """openstacksdk would have repeated it for a quarter of a minute."""
        self.service.answers = [fake.refused(self.one)]
        error = self.assertRaises(exceptions.ConflictException, sdk.reserve,
                                  self.conn, [self.one])
        self.assertEqual(1, len(self.service.sent('POST')))
        self.assertIsInstance(error, errors.Conflict)
        self.assertEqual('reservation.no_node_available', error.code)
        self.assertEqual(self.one, error.reasons[0]['node_uuid'])
        self.assertIn(f'node {self.one}: is in maintenance [maintenance]',
                      str(error))

    def test_limits(self):
        """The limits are those of the own project, or of another one."""
        self.assertEqual('red', sdk.limits(self.conn)['project_id'])
        told = sdk.limits(self.conn, 'blue')
        self.assertEqual('blue', told['project_id'])
        self.assertEqual(3, told['absolute'][0]['used'])

    def test_waiting(self):
        """The call waits until a node is free."""
        self.service.answers = [fake.refused(self.one)] * 2
        made = sdk.reserve(self.conn, [self.one], wait=600)
        self.assertEqual(self.one, made.node_id)
        keys = [each['key'] for each in self.service.sent('POST')]
        self.assertEqual((3, 1), (len(keys), len(set(keys))))
        self.assertEqual(36, len(keys[0]))

    def test_other_errors_keep_their_kind(self):
        """400 and 503 keep their codes."""
        self.service.answers = [service_errors.InvalidValue('Too long.'),
                                service_errors.DatabaseUnavailable('Down.')]
        error = self.assertRaises(exceptions.BadRequestException,
                                  sdk.reserve, self.conn, [self.one])
        self.assertEqual('request.invalid_value', error.code)
        error = self.assertRaises(exceptions.HttpException,
                                  sdk.reserve, self.conn, [self.one])
        self.assertEqual('service.database_unavailable', error.code)

    def test_deploy_shows_the_proof_and_nothing_after_it_does(self):
        """The connection is unchanged afterwards."""
        made = sdk.reserve(self.conn, [self.one])
        node = sdk.deploy(self.conn, made.id, config_drive={'meta_data': {}},
                          wait=True, timeout=600)
        self.assertEqual('active', node.provision_state)
        put, = self.service.sent('PUT')
        self.assertEqual(made.id, put['proof'])
        self.assertEqual({'meta_data': {}}, put['body']['configdrive'])
        self.conn.baremetal.get_node(self.one)
        self.assertIsNone(self.service.requests[-1]['proof'])

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


"""Reservations through python-ironicclient's session."""

from __future__ import annotations

import datetime
import itertools
import types
from typing import Any
from unittest import mock

import fixtures
from ironicclient import exc
from keystoneauth1 import exceptions as ksa_exceptions
from openstack import exceptions

from ironic_reservations import errors as service_errors
from ironic_reservations_client import errors
from ironic_reservations_client import reservation
from ironic_reservations_client import sdk
from ironic_reservations_client import session
from ironic_reservations_client import versions
from ironic_reservations_client import waiting
from tests.unit.client import base
from tests.unit.client import fake

_LATEST = versions.header(versions.LATEST)


class _Managed(base.ClientTestCase):
    """A client.

    :cvar options: of the Ironic client.
    """

    options: dict[str, Any] = {}

    def setUp(self) -> None:
        super().setUp()
        self.manager = reservation.ReservationManager(
            self.ironic(**self.options))


class ManagerTest(_Managed):
    """Each call becomes the right request."""


    def test_create_sends_only_what_was_given(self):
        """A server of version 1.0 would refuse keys that it does not know."""
        self.manager.create(base.INSTANCE, self.one)
        self.assertEqual(
            {'instance_uuid': base.INSTANCE, 'node_uuid': [self.one]},
            self.service.sent('POST')[0]['body'])

    def test_create_sends_everything_that_was_given(self):
        """Times may be datetimes, traits any iterable."""
        when = datetime.datetime(2030, 5, 1, tzinfo=datetime.UTC)
        self.manager.create(
            base.INSTANCE, uuid=base.UNKNOWN, expires_at=when,
            resource_class='gold', traits=('CUSTOM_A',))
        self.assertEqual(
            {'instance_uuid': base.INSTANCE, 'uuid': base.UNKNOWN,
             'expires_at': '2030-05-01T00:00:00+00:00',
             'resource_class': 'gold', 'traits': ['CUSTOM_A']},
            self.service.sent('POST')[0]['body'])

    def test_our_version_goes_beside_ironics(self):
        """Each version is in a header of its own."""
        self.manager.list()
        request = self.service.requests[-1]
        self.assertEqual(_LATEST, request['version'])
        self.assertEqual('1.95', request['ironic_version'])

    def test_get_gives_the_fields_asked_for(self):
        """The answer is one reservation, in part."""
        made = self.manager.create(base.INSTANCE, self.one)
        found = self.manager.get(made.uuid, fields=['uuid', 'state'])
        self.assertEqual({'uuid': made.uuid, 'state': 'reserved'},
                         found.to_dict())

    def test_get_of_an_unknown_one_is_the_not_found_of_ironicclient(self):
        """Code that catches ironicclient's exceptions still works."""
        error = self.assertRaises(exc.NotFound, self.manager.get,
                                  base.UNKNOWN)
        self.assertEqual('reservation.not_found', error.code)

    def test_an_identifier_cannot_lead_to_another_path(self):
        """The identifier is quoted."""
        self.assertRaises(exc.NotFound, self.manager.delete, '../nodes/x?a=b')
        self.assertEqual([], self.service.sent('DELETE', '/v1/nodes'))

    def test_list_takes_filters(self):
        """The filters are those of the API."""
        self.manager.create(base.INSTANCE, self.one)
        made = self.manager.create(base.OTHER_INSTANCE, self.two)
        self.assertEqual([made], self.manager.list(node=self.two))
        self.assertEqual([made],
                         self.manager.list(instance=base.OTHER_INSTANCE))
        self.manager.list(project='a&b', limit=7, marker=made.uuid,
                          sort_key='uuid', sort_dir='desc',
                          fields=['uuid', 'state'])
        self.assertEqual(
            {'project': 'a&b', 'limit': '7', 'marker': made.uuid,
             'sort_key': 'uuid', 'sort_dir': 'desc', 'fields': 'uuid,state'},
            self.service.requests[-1]['query'])

    def test_list_follows_the_pages_for_no_limit(self):
        """0 means all, None one page, as in the rest of ironicclient."""
        self._fill(5)
        self.service.page = 2
        self.assertEqual(5, len(self.manager.list(limit=0)))
        self.assertEqual(3, len(self.manager.list(limit=3)))
        self.assertEqual(2, len(self.manager.list()))

    def _fill(self, count):
        for number in range(count):
            self.manager.create(
                f'5d2b2d0e-3f43-4f0e-9d6b-{number:012}',
                self.service.node(f'more-{number}'))

    def test_renew_takes_either_time(self):
        """The request is a JSON patch of one step."""
        made = self.manager.create(base.INSTANCE, self.one)
        self.manager.renew(made.uuid, ttl=60)
        self.assertEqual([{'op': 'replace', 'path': '/ttl', 'value': 60}],
                         self.service.sent('PATCH')[0]['body'])
        when = '2031-01-01T00:00:00+00:00'
        renewed = self.manager.renew(made.uuid, expires_at=when)
        self.assertEqual(when, renewed.expires_at)
        self.assertRaises(ValueError, self.manager.renew, made.uuid)
        self.assertRaises(ValueError, self.manager.renew, made.uuid, 60, when)
        self.assertEqual(2, len(self.service.sent('PATCH')))

    def test_delete_gives_the_node_back(self):
        """The server has no reservation afterwards."""
        made = self.manager.create(base.INSTANCE, self.one)
        self.assertIsNone(self.manager.delete(made.uuid))
        self.assertEqual({}, self.service.reservations)


class RefusalTest(_Managed):
    """A refusal is raised with its details, and at once."""

    #: It would wait between retries.
    options = {'retry_interval': 3600}


    def test_a_conflict_is_raised_at_once_with_its_reasons(self):
        """ironicclient would have tried six times."""
        self.service.answers = [fake.refused(self.one)]
        error = self.assertRaises(exc.Conflict, self.manager.create,
                                  base.INSTANCE, [self.one])
        self.assertEqual(1, len(self.service.sent('POST')))
        self.assertIsInstance(error, errors.Conflict)
        self.assertEqual('reservation.no_node_available', error.code)
        self.assertEqual('maintenance', error.reasons[0]['code'])
        self.assertEqual(
            'None of the listed nodes can be reserved. '
            '[reservation.no_node_available] (HTTP 409) '
            '(Request-ID: req-fake)\n'
            f'  node {self.one}: is in maintenance [maintenance]',
            str(error))

    def test_causes_that_are_counted_are_told_too(self):
        """A pick by class counts nodes instead of naming each."""
        self.service.answers = [service_errors.NoNodeAvailable(
            'No node with the resource class gold can be reserved: of the '
            'nodes that you may see, 12 reserved.',
            reasons=[{'code': 'reserved', 'nodes': 12}])]
        error = self.assertRaises(exc.Conflict, self.manager.create,
                                  base.INSTANCE, resource_class='gold')
        self.assertRegex(
            str(error), r'^No node with the resource class gold can be '
            r'reserved\. \[.*\n  12 nodes \[reserved\]$')

    def test_contention_is_tried_again(self):
        """Contention is temporary; so is an answer of a proxy."""
        self.manager = reservation.ReservationManager(
            self.ironic(retry_interval=0))
        self.service.answers = [service_errors.Contention('Try again.')] * 2
        self.manager.create(base.INSTANCE, [self.one])
        self.assertEqual(3, len(self.service.sent('POST')))

    def test_retries_have_one_key_and_each_call_its_own(self):
        """A retry is recognized even if the reservation is over by then."""
        self.manager = reservation.ReservationManager(
            self.ironic(retry_interval=0))
        self.service.answers = [service_errors.Contention('Try again.')] * 2
        for _ in range(2):
            self.manager.create(base.INSTANCE, [self.one])
        self.manager.create(base.INSTANCE, [self.one], key='mine')
        keys = [each['key'] for each in self.service.sent('POST')]
        self.assertEqual(5, len(keys))
        self.assertEqual(1, len(set(keys[:3])))
        self.assertEqual([36, 36, 4], [len(key) for key in keys[2:]])
        self.assertNotEqual(keys[2], keys[3])

    def test_retries_end(self):
        """The error is the last answer of the server."""
        self.manager = reservation.ReservationManager(
            self.ironic(retry_interval=0, max_retries=2))
        self.service.answers = [service_errors.Contention('Try again.')] * 9
        error = self.assertRaises(exc.ServiceUnavailable,
                                  self.manager.create, base.INSTANCE)
        self.assertEqual('reservation.contention', error.code)
        self.assertEqual(3, len(self.service.sent('POST')))

    def test_a_service_without_reservations_is_named(self):
        """A bare 404 would give no remedy."""
        self.service.served = False
        error = self.assertRaises(errors.NotServed, self.manager.list)
        self.assertIn(self.service.url, str(error))
        self.assertIn('middleware', str(error))


class WaitTest(_Managed):
    """Waiting for a node continues only while it can help."""


    def test_a_node_that_becomes_free_is_taken(self):
        """The node is taken after two refusals."""
        self.service.answers = [fake.refused(self.one)] * 2
        made = self.manager.create(base.INSTANCE, [self.one], wait=600)
        self.assertEqual(self.one, made.node_uuid)
        keys = [each['key'] for each in self.service.sent('POST')]
        self.assertEqual((3, 1), (len(keys), len(set(keys))))

    def test_the_last_refusal_tells_why_it_was_in_vain(self):
        """The error is more than a time-out."""
        self.manager.create(base.OTHER_INSTANCE, [self.one])
        # Each reading of the clock is a second after the previous one.
        pauses, seconds = [], itertools.count()
        self.useFixture(fixtures.MockPatchObject(
            waiting, 'time', types.SimpleNamespace(
                sleep=pauses.append, monotonic=seconds.__next__)))
        error = self.assertRaises(
            errors.Conflict, self.manager.create, base.INSTANCE,
            [self.one], wait=3)
        self.assertIn(f'node {self.one}', str(error))
        self.assertEqual((4, 2), (len(self.service.sent('POST')),
                                  len(pauses)))

    def test_other_refusals_end_it(self):
        """A uuid in use does not become free by waiting."""
        self.service.answers = [service_errors.UuidInUse('In use.')]
        self.assertRaises(exc.Conflict, self.manager.create, base.INSTANCE,
                          [self.one], wait=600)
        self.assertEqual(1, len(self.service.sent('POST')))


class VersionTest(base.ClientTestCase):
    """The two versions are negotiated separately, each by its own rules."""

    def test_an_older_service_is_asked_for_its_newest_version(self):
        """Later requests name that version at once."""
        self.service.maximum = '1.2'
        manager = reservation.ReservationManager(self.ironic())
        manager.list()
        manager.list()
        self.assertEqual(
            [f'baremetal-reservation {version}'
             for version in (versions.LATEST, '1.2', '1.2')],
            [request['version'] for request in self.service.requests])

    def test_a_service_that_is_too_new_needs_a_newer_client(self):
        """The refusal named versions, and not the remedy."""
        self.service.minimum, self.service.maximum = '1.90', '1.99'
        for call, kind in (
                (reservation.ReservationManager(self.ironic()).list,
                 errors.NotAcceptable),
                (lambda: sdk.reservations(self.connection()),
                 exceptions.HttpException)):
            error = self.assertRaises(kind, call)
            self.assertEqual('request.version_not_acceptable', error.code)
            self.assertIn('All versions of the service are newer than this '
                          'client: update ironic-reservations-client.',
                          str(error))

    def test_a_version_that_is_insisted_on_is_not_lowered(self):
        """The refusal is raised."""
        self.service.maximum = '1.2'
        manager = reservation.ReservationManager(self.ironic(), version='1.3')
        error = self.assertRaises(exc.NotAcceptable, manager.list)
        self.assertEqual('request.version_not_acceptable', error.code)
        self.assertEqual(1, len(self.service.requests))

    def test_ironics_own_version_is_negotiated_as_ever(self):
        """An older Ironic refuses 1.95; the next request names 1.80."""
        self.service.ironic_maximum = '1.80'
        # The commands start in this state.
        client = self.ironic()
        client.http_client.api_version_select_state = 'default'
        manager = reservation.ReservationManager(client)
        manager.list()
        request = self.service.requests[-1]
        self.assertEqual('1.80', request['ironic_version'])
        self.assertEqual(_LATEST, request['version'])

    def test_versions_of_other_services_stay_in_the_header(self):
        """The user's version is kept, and ours is not sent twice."""
        client = self.ironic(additional_headers={
            'openstack-api-version':
                'baremetal 1.80, baremetal-reservation 1.1'})
        reservation.ReservationManager(client).list()
        self.assertEqual(f'baremetal 1.80, {_LATEST}',
                         self.service.requests[-1]['version'])

    def test_the_ironic_client_is_left_as_it_was(self):
        """Its own requests contain no header of ours."""
        client = self.ironic()
        manager = reservation.ReservationManager(client)
        held = manager.create(base.INSTANCE, [self.one])
        manager.deploy(held.uuid)
        client.node.get(self.one)
        self.assertIsNone(self.service.requests[-1]['version'])
        self.assertIsNone(self.service.requests[-1]['proof'])


class DeployTest(_Managed):
    """Only the deploy shows the proof."""

    def setUp(self) -> None:
        """Reserve a node."""
        super().setUp()
        self.held = self.manager.create(base.INSTANCE, [self.one])

    def test_the_proof_is_shown(self):
        """The node becomes active, and the caller waits for it."""
        self.manager.deploy(self.held.uuid, configdrive={'meta_data': {}},
                            deploysteps=[{'step': 'x'}], wait=10)
        shown = [r for r in self.service.requests if r['proof']]
        self.assertEqual(self.service.sent('PUT'), shown)
        self.assertEqual(self.held.uuid, shown[0]['proof'])
        self.assertEqual(
            {'target': 'active', 'configdrive': {'meta_data': {}},
             'deploy_steps': [{'step': 'x'}]}, shown[0]['body'])
        self.assertEqual('active',
                         self.service.nodes[self.one]['provision_state'])

    def test_a_locked_node_is_tried_again(self):
        """Ironic's own 409 is temporary, as for ``baremetal node deploy``."""
        self.service.locked = 2
        self.manager.deploy(self.held.uuid)
        self.assertEqual(3, len(self.service.sent('PUT')))

    def test_a_refused_proof_is_told(self):
        """The error has the code of the guard."""
        nodes = reservation.with_proof(self.ironic(), base.UNKNOWN)
        error = self.assertRaises(
            exc.Forbidden, nodes.set_provision_state, self.one, 'active')
        self.assertEqual('reservation.proof_required', error.code)
        self.assertEqual(1, len(self.service.sent('PUT')))


class EndpointTest(base.ClientTestCase):
    """The API may be at another endpoint than Ironic, and below a path."""

    def test_another_endpoint_is_used(self):
        """Pages are read there, too; the Ironic client keeps its endpoint."""
        elsewhere = fake.FakeService()
        elsewhere.prefix = '/reservation'
        self.useFixture(elsewhere)
        elsewhere.page = 1
        manager = reservation.ReservationManager(
            self.ironic(), endpoint=f'{elsewhere.url}/v1/')
        for instance in (base.INSTANCE, base.OTHER_INSTANCE):
            manager.create(instance, elsewhere.node(instance))
        self.assertEqual(2, len(manager.list(limit=0)))
        self.assertEqual([], self.service.requests)

    def test_a_lost_connection_is_tried_again(self):
        """There are as many retries as in ironicclient."""
        manager = reservation.ReservationManager(
            self.ironic(max_retries=2), endpoint='http://127.0.0.1:1')
        with mock.patch.object(session.time, 'sleep') as sleep:
            self.assertRaises(ksa_exceptions.ConnectFailure, manager.list)
        self.assertEqual(2, sleep.call_count)

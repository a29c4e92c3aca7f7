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

"""The driver and a service that does not answer as it should."""

from __future__ import annotations

from typing import Any

import fixtures
from nova import exception
from nova.virt.ironic_reservations import conf
from nova.virt.ironic_reservations import service
import testtools

from ironic_reservations import errors
from tests import nova_process
from tests.unit.client import fake

DOWN = errors.DatabaseUnavailable(
    'The database of the reservations does not answer. Try again later.')


class FakeIronic(fake.FakeService):
    """An Ironic whose nodes have the fields that Nova reads."""

    def node(self, name: str) -> str:
        """Enroll a node, and return its UUID."""
        ident = super().node(name)
        self.nodes[ident].update(power_state='power on', maintenance=False,
                                 properties={}, traits=[],
                                 resource_class='baremetal')
        return ident


class ServiceTestCase(testtools.TestCase):
    """A driver, a service, and a server on one of two nodes."""

    def setUp(self) -> None:
        """Connect the driver, the service and the server."""
        super().setUp()
        self.ironic = self.useFixture(FakeIronic())
        self.nova = self.useFixture(nova_process.Nova(self.ironic.url))
        self.nova.option('retries', 0, 'ironic_reservations')
        self.nodes = [self.ironic.node('one'), self.ironic.node('two')]
        self.server = nova_process.server(self.nodes[0])
        self.driver = nova_process.driver()

    def refused(self) -> str:
        """Return the reason why preparing the server fails."""
        return str(self.assertRaises(
            exception.ComputeResourcesUnavailable,
            self.driver.prepare_for_spawn, self.server))

    def assert_refused(self, *words: str) -> None:
        """Preparing the server fails with these words; nothing is bound."""
        why = self.refused()
        for each in words:
            self.assertIn(each, why)
        self.assertEqual([], self.ironic.sent('PATCH'))

    def held(self) -> dict[str, Any]:
        """Return the only reservation."""
        only, = self.ironic.reservations.values()
        return only

    def destroy(self) -> None:
        """Delete the server, which has no node."""
        self.useFixture(fixtures.MockPatchObject(
            self.driver, '_validate_instance_and_node',
            side_effect=exception.InstanceNotFound(instance_id='it')))
        self.driver.destroy(self.server._context, self.server, [])


class ProofTest(ServiceTestCase):
    """The proof, and the requests that show it."""

    def test_shown_where_the_node_is_changed_only(self) -> None:
        """Only the request that changes the node shows the proof."""
        self.driver.prepare_for_spawn(self.server)
        self.assertEqual(
            [(f'/v1/nodes/{self.nodes[0]}', self.held()['uuid'])],
            [(each['path'], each['proof'])
             for each in self.ironic.sent('PATCH')])
        self.assertEqual(
            {None}, {each['proof'] for each in self.ironic.requests
                     if each['method'] != 'PATCH'})
        self.driver.ironic_connection.put(
            f'/nodes/{self.nodes[0]}/states/provision', json={})
        self.assertIsNone(self.ironic.requests[-1]['proof'])

    def test_time_to_live_of_the_options(self) -> None:
        """The option sets the time to live; by default the service does."""
        self.driver.prepare_for_spawn(self.server)
        self.nova.option('ttl', 77, 'ironic_reservations')
        self.driver.prepare_for_spawn(self.server)
        self.assertEqual([None, 77], [
            each['body'].get('ttl') for each in self.ironic.sent('POST')])

    def test_flavor_of_a_lease_needs_no_word_of_the_service(self) -> None:
        """Binding a node takes as many requests as without the driver."""
        self.server = nova_process.server(self.nodes[0], **{
            'resources__CUSTOM_RESERVATION_4D17A1B2_0000_4000_8000_'
            'FEDCBA987654': '1'})
        self.driver.prepare_for_spawn(self.server)
        self.assertEqual([], self.ironic.sent('POST'))
        self.assertEqual(['4d17a1b2-0000-4000-8000-fedcba987654'], [
            each['proof'] for each in self.ironic.sent('PATCH')])

    def test_flavor_that_asks_for_none_of_a_lease_s(self) -> None:
        """The flavor is an ordinary one."""
        self.server = nova_process.server(self.nodes[0], **{
            'resources__CUSTOM_RESERVATION_4D17A1B2_0000_4000_8000_'
            'FEDCBA987654': '0', 'resources__CUSTOM_GOLD': '1'})
        self.driver.prepare_for_spawn(self.server)
        self.assertEqual(1, len(self.ironic.sent('POST')))

    def test_server_without_a_node(self) -> None:
        """The error is Nova's own."""
        self.server.node = None
        refused = self.assertRaises(
            exception.NovaException, self.driver.prepare_for_spawn,
            self.server)
        self.assertIn('not supplied', str(refused))


class RefusedTest(ServiceTestCase):
    """Nova tries the next node, and reports a remedy."""

    def test_why_the_node_cannot_be_had(self) -> None:
        """The reason is in the words of the service, with the code."""
        self.ironic.answers = [fake.refused(self.nodes[0])]
        # Nova shows users little more than this number of characters.
        self.assert_refused(
            f'resources: node {self.nodes[0]} is in maintenance',
            '[reservation.no_node_available]')

    def test_unavailable_for_a_moment(self) -> None:
        """The request is repeated without an error."""
        self.nova.option('retries', 1, 'ironic_reservations')
        self.ironic.answers = [DOWN]
        self.driver.prepare_for_spawn(self.server)
        self.assertEqual(2, len(self.ironic.sent('POST')))

    def test_unavailable(self) -> None:
        """The error is in the words of the service."""
        self.ironic.answers = [DOWN]
        self.assert_refused('[service.database_unavailable]')

    def test_conflict_is_not_asked_again(self) -> None:
        """A retry would not change the conflict."""
        self.nova.option('retries', 3, 'ironic_reservations')
        self.ironic.answers = [fake.refused(self.nodes[0])] * 2
        self.refused()
        self.assertEqual(1, len(self.ironic.sent('POST')))

    def test_ironic_without_reservations(self) -> None:
        """The error names the option for the operator."""
        self.ironic.served = False
        self.assert_refused('[api] middleware', 'ironic.IronicDriver')

    def test_user_without_the_role(self) -> None:
        """The error names the rule of the service."""
        self.ironic.answers = [errors.Forbidden(
            'The policy baremetal:reservation:create does not let you.')]
        self.assert_refused('[identity.forbidden]')

    def test_nobody_there(self) -> None:
        """The connection fails after it has worked before."""
        connection = self.driver.ironic_connection
        self.useFixture(fixtures.MockPatchObject(
            connection, 'endpoint_override', 'http://127.0.0.1:1'))
        self.assert_refused('do not answer', 'try again')

    def test_answer_that_nobody_can_read(self) -> None:
        """A proxy gives the answer."""
        there = self.driver._service
        self.useFixture(fixtures.MockPatchObject(
            self.ironic, '_answer', return_value=(502, 'Bad Gateway')))
        answer = self.assertRaises(service.Unanswered, there.of_instance,
                                   self.server.uuid)
        self.assertIn('502', str(answer))


class OwnTest(ServiceTestCase):
    """Only reservations of the driver itself are released."""

    def setUp(self) -> None:
        """Add a known user."""
        super().setUp()
        self.driver.prepare_for_spawn(self.server)
        self.useFixture(fixtures.MockPatchObject(
            self.driver.ironic_connection, 'get_user_id',
            return_value='nova'))

    def test_own_is_released(self) -> None:
        """The deletion of the server releases it."""
        self.held()['user_id'] = 'nova'
        self.destroy()
        self.assertEqual({}, self.ironic.reservations)

    def test_another_s_is_kept(self) -> None:
        """This holds even if it is for this server."""
        self.held()['user_id'] = 'somebody'
        self.destroy()
        self.assertEqual(1, len(self.ironic.reservations))

    def test_another_s_for_this_server_is_shown(self) -> None:
        """It was promised to this server."""
        theirs = self.held()['uuid']
        self.ironic.answers = [errors.InstanceReserved(
            'Another project holds a reservation for the instance.')]
        self.driver.prepare_for_spawn(self.server)
        self.assertEqual(theirs, self.ironic.sent('PATCH')[-1]['proof'])

    def test_another_s_on_another_node_is_refused(self) -> None:
        """The server belongs on the promised node."""
        self.held()['node_uuid'] = self.nodes[1]
        self.ironic.answers = [errors.InstanceReserved(
            'Another project holds a reservation for the instance.')]
        self.assertIn('[reservation.instance_reserved]', self.refused())

    def test_service_that_is_down_keeps_no_server(self) -> None:
        """The server is deleted; the reservation ends by itself."""
        self.ironic.answers = [DOWN]
        self.destroy()
        self.assertEqual(1, len(self.ironic.reservations))

    def test_reservation_that_has_ended_by_itself(self) -> None:
        """Another process has deleted it first."""
        self.held()['user_id'] = 'nova'
        self.ironic.reservations['gone'] = {**self.held(), 'uuid': 'gone'}
        listed = self.ironic._listed

        def and_gone(query: dict[str, str]) -> dict[str, Any]:
            page = listed(query)
            self.ironic.reservations.pop('gone', None)
            return page
        self.useFixture(fixtures.MockPatchObject(
            self.ironic, '_listed', and_gone))
        self.destroy()
        self.assertEqual({}, self.ironic.reservations)

    def test_rebuild_while_the_service_is_down(self) -> None:
        """Otherwise the guard would refuse the rebuild later."""
        self.ironic.answers = [DOWN]
        self.server.task_state = 'rebuilding'
        refused = self.assertRaises(
            exception.InstanceDeployFailure, self.driver.rebuild,
            self.server._context, self.server)
        self.assertIn('[service.database_unavailable]', str(refused))


class ReadmeTest(testtools.TestCase):
    """The README for operators."""

    def test_each_option_is_in_the_readme(self) -> None:
        """Each option is there with its default."""
        rows = (nova_process.PLUGIN / 'README.rst').read_text().split('* - ')
        told = {row.partition('\n')[0].strip('` '):
                row.split('- ')[1].partition('\n')[0].strip()
                for row in rows if row.startswith('``')}
        for option in conf.ironic_reservations_opts:
            default = ("the service's own (``[reservations] default_ttl``)"
                       if option.default is None else str(option.default))
            self.assertEqual(default, told[option.name])

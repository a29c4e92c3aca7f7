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

"""The API without one of the services that it needs."""

import logging
import re
from typing import Any
from unittest import mock

import fixtures
from oslo_middleware.healthcheck import pluginbase
import pecan
import testtools

from ironic_reservations import errors
from ironic_reservations.api.middleware import health
from ironic_reservations.db import nodes
from ironic_reservations.engine.reservations import find
from ironic_reservations.model import mirrored_node
from tests import gone_back
from tests.inprocess.api import world

PATH = '/v1/reservations'
UUID = '11111111-0000-0000-0000-000000000001'
_OTHERS = b'ironic_reservations_other_histories_total '
REQUESTS: tuple[tuple[str, str, Any], ...] = (
    ('GET', PATH, None),
    ('GET', f'{PATH}/{UUID}', None),
    ('DELETE', f'{PATH}/{UUID}', None),
    ('PATCH', f'{PATH}/{UUID}',
     [{'op': 'replace', 'path': '/ttl', 'value': 60}]),
    ('POST', PATH, {'instance_uuid': UUID, 'node_uuid': [UUID]}),
)


class TestDatabaseDown(testtools.TestCase):
    """The database does not answer."""

    def setUp(self) -> None:
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.world = self.useFixture(world.OpenWorld())
        self.world.engine.database.close()
        broken = world.configuration(
            self.useFixture(fixtures.TempDir()).path,
            database__connection='sqlite:////nowhere/at/all.sqlite')
        self.world.engine.database.__init__(broken)  # type: ignore[misc]

    def test_every_request_is_a_503(self) -> None:
        """The answer has the code, and no address of the database."""
        for method, path, document in REQUESTS:
            answer = world.request(self.world, method, path, document)
            self.assertEqual((503, 'service.database_unavailable'),
                             (answer.status, answer.code), (method, path))
            self.assertNotIn(b'nowhere', answer.body)
            self.assertNotIn(b'sqlite', answer.body)

    def test_health_says_so(self) -> None:
        """The load balancer then stops sending requests to this process."""
        answer = world.request(self.world, 'GET', '/healthcheck')
        self.assertEqual(503, answer.status)
        self.assertEqual(b'database unavailable', answer.body)

    def test_metrics_are_still_there(self) -> None:
        """Only the number of reservations is missing."""
        answer = world.request(self.world, 'GET', '/metrics')
        self.assertEqual(200, answer.status)
        self.assertIn(b'ironic_reservations_requests_total', answer.body)
        self.assertNotIn(b'ironic_reservations_live{', answer.body)
        self.assertNotIn(b'ironic_reservations_leases{', answer.body)


class TestOtherHistory(testtools.TestCase):
    """The database has returned to an earlier state."""

    def test_metrics_and_health_say_so(self) -> None:
        """The process still serves."""
        served = self.useFixture(world.OpenWorld())
        database, cache = served.engine.database, served.engine.snapshots
        with database.write() as opened:
            nodes.insert_node(opened, mirrored_node.Node(UUID), served.clock())
        with gone_back.undone(database):
            with database.write() as opened:
                nodes.mark_stale(opened, UUID, served.clock())
            cache.snapshot(database, served.clock())
            self.assertIn(_OTHERS + b'0.0', self._counted(served))
            checked = health.Database(served.engine)
            self.assertNotIn('another history', checked.healthcheck(0).details)
        cache.snapshot(database, served.clock())
        self.assertIn(_OTHERS + b'1.0', self._counted(served))
        result = checked.healthcheck(0)
        self.assertTrue(result.available)
        self.assertIn('another history', result.details)

    def _counted(self, served: world.OpenWorld) -> bytes:
        return world.request(served, 'GET', '/metrics').body


class TestIronicDown(testtools.TestCase):
    """Ironic does not answer."""

    def test_nothing_is_promised(self) -> None:
        """A node that cannot be confirmed is not reserved."""
        served = self.useFixture(world.OpenWorld())
        with mock.patch.object(
                served.ironic, 'node',
                side_effect=errors.IronicUnavailable('Ironic is away.')):
            answer = world.request(served, *REQUESTS[-1])
        self.assertEqual((503, 'service.ironic_unavailable'),
                         (answer.status, answer.code))
        self.assertEqual({'reservations': []},
                         world.request(served, 'GET', PATH).json)


class TestBug(testtools.TestCase):
    """An unexpected error."""

    def test_the_log_tells_and_the_answer_does_not(self) -> None:
        """The request id connects the answer with the log."""
        log = self.useFixture(fixtures.FakeLogger(level=logging.ERROR))
        served = self.useFixture(world.OpenWorld())
        with mock.patch.object(find, 'page',
                               side_effect=KeyError('password')):
            answer = world.request(served, 'GET', PATH)
        self.assertEqual((500, 'service.unexpected'),
                         (answer.status, answer.code))
        self.assertNotIn(b'password', answer.body)
        self.assertNotIn(b'Traceback', answer.body)
        self.assertIn(answer.json['errors'][0]['request_id'], log.output)
        self.assertIn("KeyError: 'password'", log.output)


class TestRequestLog(testtools.TestCase):
    """The log lines about a request."""

    def setUp(self) -> None:
        super().setUp()
        self.served = self.useFixture(world.OpenWorld())

    def _logged(self, path: str) -> tuple[str, world.Answer]:
        with fixtures.FakeLogger(level=logging.INFO) as log:
            answer = world.request(self.served, 'GET', path)
            return log.output, answer

    def test_refusal_is_logged_by_its_id_and_code_without_the_proof(
            self) -> None:
        """A uuid is a proof, and the log has more readers than the API."""
        log, answer = self._logged(f'{PATH}/{UUID}')
        told = answer.json['errors'][0]['request_id']
        self.assertIn(
            f'[{told}] GET {PATH}/{UUID[:8]}... - 404 reservation.not_found',
            log)
        self.assertNotIn(UUID, log)

    def test_no_spelling_of_a_path_has_the_proof_logged(self) -> None:
        """Some such paths are answered, and others are refused."""
        plain = UUID.replace('-', '')
        for path in (f'{PATH}/urn:uuid:{UUID}', f'{PATH}/%7B{UUID}%7D',
                     f'{PATH}/{plain}', f'{PATH}/{plain[:7]}-{plain[7:]}',
                     f'{PATH}//{UUID}', f'{PATH}/ {UUID}', f'{PATH}{UUID}',
                     f'{PATH}%252F{UUID}', f'{PATH.upper()}/{UUID.upper()}',
                     f'{PATH}/x/{UUID}', f'/{"a" * 150}{PATH}/{UUID}'):
            log, _ = self._logged(path)
            self.assertIn('GET /', log)
            for told in log.splitlines():
                digits = re.sub('[^0-9a-f]', '', told.lower().rpartition(
                    'reservations')[2].partition(' - ')[0])
                self.assertLess(len(digits), 12, told)

    def test_polls_of_the_health_are_logged_only_if_they_fail(self) -> None:
        """A balancer wrote thousands of lines an hour."""
        for path in ('/healthcheck', '/metrics'):
            log, answer = self._logged(path)
            self.assertEqual((200, ''), (answer.status, log))
        with mock.patch.object(health.Database, 'healthcheck',
                               return_value=pluginbase.HealthcheckResult(
                                   False, 'silent')):
            log, _ = self._logged('/healthcheck')
        self.assertIn('GET /healthcheck - 503', log)

    def test_line_of_the_log_stays_one_line(self) -> None:
        """No path breaks the line."""
        log, _ = self._logged('/v1/a\nb')
        self.assertIn('GET /v1/a\\nb - 404', log)


class TestSurroundings(testtools.TestCase):
    """The mount point of the application, and other applications."""

    def setUp(self) -> None:
        super().setUp()
        self.useFixture(fixtures.FakeLogger())

    def _location(self, environ: dict[str, Any], **options: Any) -> str:
        served = self.useFixture(world.OpenWorld(**options))
        node = served.ironic.add()
        made = world.request(
            served, 'POST', PATH,
            {'instance_uuid': UUID, 'node_uuid': [node.uuid]},
            environ=environ)
        self.assertEqual(201, made.status)
        found = made.headers['Location']
        root, _, uuid = found.partition(f'{PATH}/')
        self.assertEqual(made.json['reservation']['uuid'], uuid)
        self.assertEqual(found, made.json['reservation']['links'][0]['href'])
        return root

    def test_below_a_prefix(self) -> None:
        """The prefix is the one inside Ironic."""
        self.assertEqual('http://api.example/reservation', self._location(
            {'SCRIPT_NAME': '/reservation'}))

    def test_public_endpoint_below_a_prefix(self) -> None:
        """The prefix is there once, with or without it in the option."""
        for public in ('https://cloud.example/baremetal',
                       'https://cloud.example/baremetal/reservation/'):
            self.assertEqual(
                'https://cloud.example/baremetal/reservation',
                self._location({'SCRIPT_NAME': '/reservation'},
                               api__public_endpoint=public))

    def test_public_endpoint_below_the_prefix_of_a_server(self) -> None:
        """The option contains that prefix already."""
        self.assertEqual('https://cloud.example/baremetal', self._location(
            {'SCRIPT_NAME': '/baremetal'},
            api__public_endpoint='https://cloud.example/baremetal'))

    def test_forwarded_headers_of_anybody(self) -> None:
        """They are ignored."""
        self.assertEqual('http://api.example', self._location({
            'HTTP_X_FORWARDED_HOST': 'mallory.example',
            'HTTP_X_FORWARDED_PROTO': 'https'}))

    def test_forwarded_headers_of_a_proxy(self) -> None:
        """They are trusted if the operator has configured a proxy."""
        self.assertEqual('https://cloud.example/bm', self._location(
            {'HTTP_X_FORWARDED_HOST': 'cloud.example',
             'HTTP_X_FORWARDED_PROTO': 'https',
             'HTTP_X_FORWARDED_PREFIX': '/bm'},
            oslo_middleware__enable_proxy_headers_parsing=True))

    def test_metrics_can_be_switched_off(self) -> None:
        """The path is then not found."""
        served = self.useFixture(world.OpenWorld(api__metrics=False))
        self.assertEqual(404, world.request(served, 'GET', '/metrics').status)

    def test_another_application_of_pecan(self) -> None:
        """Our application does not disturb requests of another one."""
        class Other:
            @pecan.expose(content_type='text/plain')
            def index(self) -> str:
                # Our application may be made while Ironic already serves.
                fixture.make_app()
                return 'undisturbed'

        fixture = self.useFixture(world.OpenWorld())
        answer = world.request(pecan.make_app(Other()), 'GET', '/')
        self.assertEqual((200, b'undisturbed'), (answer.status, answer.body))

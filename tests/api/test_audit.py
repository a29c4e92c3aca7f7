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

"""Who reserved, changed, ended and was refused is written down."""

from __future__ import annotations

import json
import logging
from typing import Any
import uuid

import fixtures
import testtools

from ironic_reservations.engine import audit
from ironic_reservations.engine import sweep
from tests.api import world

_MEMBER = {'x_roles': 'member,reader', 'x_project_id': 'red',
           'x_user_id': 'ada', 'x_user_name': 'Ada'}


class TestAudit(testtools.TestCase):
    """An application whose audit is read from the log."""

    def setUp(self) -> None:
        super().setUp()
        self.logged = self.useFixture(fixtures.FakeLogger(
            'ironic_reservations.audit', level=logging.INFO,
            format='%(message)s'))

    def _serve(self, **options: Any) -> world.World:
        served = self.useFixture(world.World(**options))
        self.node = served.ironic.add(owner='red').uuid
        return served

    def _events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in
                self.logged.output.splitlines()]

    def _reserve(self, served: world.World,
                 **who: str) -> world.Answer:
        return world.request(served, 'POST', '/v1/reservations', {
            'instance_uuid': str(uuid.uuid4()), 'node_uuid': [self.node],
            'ttl': 60}, **(who or _MEMBER))

    def test_life_of_a_reservation(self) -> None:
        """Each step names who took it; the proof is nowhere."""
        served = self._serve()
        proof = self._reserve(served).json['reservation']['uuid']
        self.assertEqual(409, self._reserve(served).status)
        path = f'/v1/reservations/{proof}'
        world.request(served, 'PATCH', path, [
            {'op': 'replace', 'path': '/ttl', 'value': 90}], **_MEMBER)
        world.request(served, 'GET', path, **_MEMBER)
        self.assertEqual(404, world.request(
            served, 'DELETE', path, x_roles='admin,member,reader',
            x_project_id='blue', x_user_id='mallory').status)
        world.request(served, 'DELETE', path, **_MEMBER)
        self.assertEqual(
            [('create', 'success', 'ada', '201'),
             ('create', 'failure', 'ada', '409'),
             ('update', 'success', 'ada', '200'),
             ('delete', 'failure', 'mallory', '404'),
             ('delete', 'success', 'ada', '204')],
            [(each['action'], each['outcome'], each['initiator']['id'],
              each['reason']['reasonCode']) for each in self._events()])
        self.assertEqual(
            'reservation.no_node_available',
            self._events()[1]['reason']['policyType'])
        named = {each['target']['id'] for each in self._events()}
        self.assertEqual({audit.digest(proof), 'unknown'}, named)
        for secret in (proof, proof[:8], proof.replace('-', '')):
            self.assertNotIn(secret, self.logged.output)
        first = self._events()[0]
        self.assertEqual(
            ('http://schemas.dmtf.org/cloud/audit/1.0/event', 'activity',
             'api', 'red', '127.0.0.1'),
            (first['typeURI'], first['eventType'], first['observer']['name'],
             first['initiator']['project_id'],
             first['initiator']['host']['address']))

    def test_what_ends_by_itself(self) -> None:
        """The service is told to have ended it, and why."""
        served = self._serve()
        proof = self._reserve(served).json['reservation']['uuid']
        served.clock.ahead += served.clock.ahead.resolution * 61_000_000
        sweep.sweep(served.engine)
        last = self._events()[-1]
        self.assertEqual(
            ('delete', 'success', 'service', 'ironic-reservations',
             audit.digest(proof), 'expired'),
            (last['action'], last['outcome'], last['observer']['name'],
             last['initiator']['id'], last['target']['id'],
             last['reason']['reasonCode']))

    def test_nobody_fills_the_log_without_credentials(self) -> None:
        """401 is not recorded."""
        served = self._serve()
        self.assertEqual(401, self._reserve(served, x_user_id='x').status)
        self.assertEqual([], self._events())

    def test_switched_off(self) -> None:
        """Nothing is written."""
        served = self._serve(audit__log=False)
        self.assertEqual(201, self._reserve(served).status)
        self.assertEqual([], self._events())

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


"""Requests for which the planner has to search, while others do, too."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import fixtures
import testtools

from ironic_reservations.engine import hard_requests
from tests.inprocess.api import world

_RED = {'x_roles': 'member,reader', 'x_project_id': 'red'}
_BLUE = {'x_roles': 'member,reader', 'x_project_id': 'blue'}
_OPERATOR = {'x_roles': 'admin,member,reader',
             'openstack_system_scope': 'all'}


class _Planned(fixtures.Fixture):
    """Hard requests of others that are being planned."""

    def __init__(self, served: world.World) -> None:
        super().__init__()
        self._served = served
        self._begun = contextlib.ExitStack()

    def _setUp(self) -> None:
        self.addCleanup(self.end)

    def begin(self, project: str | None) -> None:
        """Plan one more."""
        with contextlib.ExitStack() as begun:
            begun.enter_context(
                self._served.engine.hard_requests.bounded(
                    self._served.conf, project))
            request = hard_requests.limits().request
            assert request is not None
            request.check(True)
            self._begun.push(begun.pop_all().__exit__)

    def end(self) -> None:
        """Answer all of them."""
        self._begun.close()


class TestHardRequests(testtools.TestCase):
    """Two nodes, each with a lease that can be nowhere else.

    At each instant one of them is free, so that only a search shows that no
    node is free for all the time.
    """

    def setUp(self) -> None:
        super().setUp()
        self.served = self.useFixture(world.World(
            api__max_hard_requests=3, api__max_hard_requests_per_project=2))
        for name in ('first', 'second'):
            self.served.ironic.add(name=name, resource_class=name)
        self.served.ironic.nodes()
        for name in ('first', 'second'):
            self._send('POST', '/v1/os-hosts', 201, {'name': name}, _OPERATOR)
        self._lease(10, 12, 201, resource_class='first')
        self._lease(12, 14, 201, resource_class='second')
        self._planned = self.useFixture(_Planned(self.served))

    def _send(self, method: str, path: str, status: int,
              document: Any = None, who: dict[str, str] = _RED,
              **more: Any) -> Any:
        answer = world.request(self.served, method, path, document,
                               **who, **more)
        self.assertEqual(status, answer.status, answer.body)
        return answer

    def _lease(self, begin: int, end: int, status: int,
               who: dict[str, str] = _RED, resource_class: str = '',
               **more: Any) -> Any:
        return self._send('POST', '/v1/leases', status, {
            'name': f'{resource_class} {begin} {end}',
            'start_date': f'2050-01-01 {begin}:00',
            'end_date': f'2050-01-01 {end}:00', 'reservations': [{
                'resource_type': 'physical:host', 'min': 1, 'max': 1,
                'resource_properties': json.dumps(
                    ['==', '$resource_class', resource_class])
                if resource_class else ''}]}, who, **more)

    def _hard(self, status: int, who: dict[str, str] = _RED,
              **more: Any) -> Any:
        return self._lease(10, 14, status, who, **more)

    def test_project_has_too_many(self) -> None:
        for _ in range(2):
            self._hard(409)
            self._planned.begin('red')
        refused = self._hard(429)
        self.assertEqual('request.too_many_hard', refused.json['code'])
        self.assertEqual('2', refused.headers['Retry-After'])
        self._hard(409, _BLUE)

    def test_process_has_too_many(self) -> None:
        for project in ('green', 'red', None):
            self._hard(409, _BLUE)
            self._planned.begin(project)
        for who in (_BLUE, _OPERATOR):
            refused = self._hard(503, who)
            self.assertEqual('service.planner_busy', refused.json['code'])
            self.assertEqual('2', refused.headers['Retry-After'])

    def test_easy_requests_are_served_meanwhile(self) -> None:
        for _ in range(2):
            self._planned.begin('red')
        self._send('GET', '/healthcheck', 200)
        self._send('GET', '/v1/leases', 200)
        self._lease(14, 16, 201)
        found = self._send(
            'GET', '/v1/availability?start_date=2050-01-01 10:00&'
            'end_date=2050-01-01 12:00&resource_class=first&count=1&'
            'duration=3600', 200)
        self.assertEqual('2050-01-01T12:00:00.000000',
                         found.json['availability']['earliest'])

    def test_refused_request_is_served_when_others_have_ended(self) -> None:
        """With the same key: nothing was done the first time."""
        for _ in range(2):
            self._planned.begin('red')
        self._hard(429, idempotency_key='key')
        self._planned.end()
        self._hard(409, idempotency_key='key')

    def test_those_that_were_answered_are_not_counted(self) -> None:
        for _ in range(5):
            self._hard(409)

    def test_one_thread_is_left_for_others(self) -> None:
        self.served.conf.set_override('threads', 3, 'api')
        for project in ('green', 'yellow'):
            self._planned.begin(project)
        self._hard(503)

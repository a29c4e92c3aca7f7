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


"""Requests that need a long search, several at once."""

import contextlib
from typing import Any

import fixtures

from ironic_reservations.engine import hard_requests
from tests.inprocess.api import asking
from tests.inprocess.api import world


class _Planned(fixtures.Fixture):
    """Hard requests of other callers that are being planned."""

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
        """End all of them."""
        self._begun.close()


class TestHardRequests(asking.AskingCase):
    """Two nodes, each with a lease that can move nowhere.

    At each instant one of them is free, so only a search shows that no node is
    free for the whole time.
    """

    options = {'api__max_hard_requests': 3,
               'api__max_hard_requests_per_project': 2}
    nodes = {name: {'resource_class': name} for name in ('first', 'second')}

    def setUp(self) -> None:
        super().setUp()
        for start, end, name in (('01 10', '01 12', 'first'),
                                 ('01 12', '01 14', 'second')):
            self.book(start, end, 1, f'["==", "$resource_class", "{name}"]')
        self._planned = self.useFixture(_Planned(self.served))

    def _hard(self, status: int, who: dict[str, str] = asking.MEMBER,
              **more: Any) -> Any:
        return self.send('POST', '/v1/leases', status,
                         asking.lease('01 10', '01 14'), who, **more)

    def test_project_has_too_many(self) -> None:
        for _ in range(2):
            self._hard(409)
            self._planned.begin('red')
        refused = self._hard(429)
        self.assertEqual('request.too_many_hard', refused.json['code'])
        self.assertEqual('2', refused.headers['Retry-After'])
        self._hard(409, asking.OTHER)

    def test_process_has_too_many(self) -> None:
        for project in ('green', 'red', None):
            self._hard(409, asking.OTHER)
            self._planned.begin(project)
        for who in (asking.OTHER, asking.OPERATOR):
            refused = self._hard(503, who)
            self.assertEqual('service.planner_busy', refused.json['code'])
            self.assertEqual('2', refused.headers['Retry-After'])

    def test_easy_requests_are_served_meanwhile(self) -> None:
        for _ in range(2):
            self._planned.begin('red')
        self.send('GET', '/healthcheck')
        self.send('GET', '/v1/leases')
        self.book('01 14', '01 16')
        found = self.ask(
            'GET', '/v1/availability?start_date=2050-01-01 10:00&'
            'end_date=2050-01-01 12:00&resource_class=first&count=1&'
            'duration=3600')
        self.assertEqual('2050-01-01T12:00:00+00:00',
                         found['availability']['earliest'])

    def test_refused_request_is_served_when_others_have_ended(self) -> None:
        """The key is free, since the refused request did nothing."""
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

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

"""The log lines of a request name its own user."""

from concurrent import futures
import logging
from typing import Any

from oslo_context import context as oslo_context
import testtools

from tests.inprocess.api import world

PATH = '/v1/reservations'


class _Contexts(logging.Handler):
    """Keeps the context of each line."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str | None, str | None, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the context."""
        context = oslo_context.get_current()
        self.seen.append((context.user_id if context else None,
                          context.request_id if context else None,
                          record.getMessage()))


class LogContextTest(testtools.TestCase):
    """One thread that serves several users in turn."""

    def setUp(self) -> None:
        """Listen to the log."""
        super().setUp()
        self.served = self.useFixture(world.World())
        logger = logging.getLogger('ironic_reservations')
        self.lines = _Contexts()
        self.addCleanup(logger.setLevel, logger.level)
        self.addCleanup(logger.removeHandler, self.lines)
        logger.setLevel(logging.INFO)
        logger.addHandler(self.lines)

    def _ask(self, **headers: str) -> tuple[world.Answer, Any]:
        self.lines.seen.clear()
        answer = world.request(self.served, 'GET', PATH, **headers)
        line, = (each for each in self.lines.seen
                 if f'GET {PATH} - ' in each[2])
        return answer, line

    def test_each_line_names_the_user_of_its_request(self) -> None:
        """A request without a user, and one before any other, have none."""
        for user in ('ann', 'bob', None, 'ann'):
            headers = {} if user is None else {
                'x_user_id': user, 'x_roles': 'reader', 'x_project_id': 'red'}
            answer, (told, request_id, text) = self._ask(**headers)
            self.assertEqual(200 if user else 401, answer.status)
            self.assertEqual(user, told)
            self.assertIn(str(request_id), text)

    def test_nothing_of_a_request_stays_in_its_thread(self) -> None:
        """The context from before the request is restored, if there was one.
        """
        with futures.ThreadPoolExecutor(1) as thread:
            _, (_, request_id, _) = thread.submit(
                self._ask, x_user_id='ann', x_roles='reader',
                x_project_id='red').result()
            left = thread.submit(oslo_context.get_current).result()
        self.assertIsNone(left.user_id)
        self.assertNotEqual(request_id, left.request_id)
        own = oslo_context.RequestContext(user_id='carol')
        self._ask(x_user_id='ann', x_roles='reader', x_project_id='red')
        self.assertIs(own, oslo_context.get_current())

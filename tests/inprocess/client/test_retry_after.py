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

"""An answer that tells when to try again breaks no client.

python-ironicclient gives ``Retry-After`` to exceptions that do not take it, so
that each command ended with "HttpError.__init__() got an unexpected keyword
argument 'retry_after'", and what it tries again was never tried again.
"""

from collections.abc import Callable
from collections.abc import Iterable
from typing import Any
import uuid

from ironicclient import exc
import testtools

from ironic_reservations import errors
from ironic_reservations.api import dialects
from ironic_reservations.api import wsgi
from ironic_reservations.api.middleware import errors as api_errors
from ironic_reservations.guard import refusals
from tests import clients
from tests import listening

_Answers = Callable[[errors.ReservationError, wsgi.Environ], wsgi.Answer]
_NODE = str(uuid.uuid4())
_AGENTS = {'python-ironicclient': False, 'python-ironicclient/6.3': False,
           'openstackclient keystoneauth1/5 python-ironicclient': False,
           'Mozilla/5.0': True, '': True}


def _guards(error: errors.ReservationError,
            environ: wsgi.Environ) -> wsgi.Answer:
    return refusals.refuse(error, environ)[1]


def _ours(error: errors.ReservationError,
          environ: wsgi.Environ) -> wsgi.Answer:
    return api_errors.answer(error, environ, dialects.of('/v1/reservations'),
                             None)


class RetryAfterTest(testtools.TestCase):
    """A server that refuses once, as the guard and our API do."""

    def setUp(self) -> None:
        super().setUp()
        self.left: list[tuple[errors.ReservationError, _Answers]] = []
        server = self.useFixture(listening.Listening(self._serve))
        self.client = clients.ironic(server.url, max_retries=1,
                                     retry_interval=0)

    def _serve(self, environ: wsgi.Environ,
               start_response: Any) -> Iterable[bytes]:
        if self.left:
            error, answer_to = self.left.pop()
            return answer_to(error, environ).send(start_response)
        return wsgi.Answer(202, [], b'').send(start_response)

    def _deploy(self) -> None:
        self.client.node.set_provision_state(_NODE, 'active')

    def test_ironicclient_tries_again_what_may_pass(self) -> None:
        for answer_to in (_guards, _ours):
            for error in (errors.Contention('Try again.'),
                          errors.DatabaseUnavailable('It is down.'),
                          errors.PlannerBusy('It plans.')):
                self.left = [(error, answer_to)]
                self._deploy()
                self.assertEqual([], self.left)

    def test_ironicclient_tells_why_it_is_refused(self) -> None:
        for answer_to in (_guards, _ours):
            self.left = [(errors.TooManyAttempts('Wait a moment.', 7),
                          answer_to)]
            refused = self.assertRaises(exc.HttpError, self._deploy)
            self.assertEqual(429, refused.http_status)
            self.assertIn('Wait a moment.', str(refused))

    def test_no_refusal_with_a_time_breaks_a_command(self) -> None:
        """Each kind of refusal is an error of its status, with its words."""
        kinds = [kind for kind in vars(errors).values()
                 if isinstance(kind, type)
                 and issubclass(kind, errors.ReservationError)
                 and (kind.retry_after is not None
                      or issubclass(kind, errors.TooManyAttempts))]
        self.assertLessEqual({errors.Contention, errors.DatabaseUnavailable,
                              errors.TooManyFailures}, {*kinds})
        for kind in kinds:
            error = (kind('Wait a moment.', 7)
                     if issubclass(kind, errors.TooManyAttempts)
                     else kind('Wait a moment.'))
            for answer_to in (_guards, _ours):
                self.left = [(error, answer_to)] * 2
                refused = self.assertRaises(exc.HttpError, self._deploy)
                self.assertEqual(kind.status, refused.http_status, kind)
                self.assertIn('Wait a moment.', str(refused))

    def test_others_are_told_when_to_try_again(self) -> None:
        error = errors.TooManyAttempts('Wait a moment.', 7)
        for answer_to in (_guards, _ours):
            self.assertEqual(_AGENTS, {
                agent: ('Retry-After', '7') in answer_to(error, {
                    'REQUEST_METHOD': 'PUT', 'PATH_INFO': '/v1/nodes',
                    'HTTP_USER_AGENT': agent}).headers for agent in _AGENTS})
            self.assertIn(('Retry-After', '7'), answer_to(error, {
                'REQUEST_METHOD': 'PUT', 'PATH_INFO': '/v1/nodes'}).headers)

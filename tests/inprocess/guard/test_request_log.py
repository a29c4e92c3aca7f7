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

"""Ironic's log contains no requests that no client sent."""

from tests.inprocess.guard import base

_PATHS = ('/v1/reservations', '/v1/leases', '/v1/os-hosts')


class RequestLogTestCase(base.WithUsers):
    """Each request of ours asks Ironic about the identity of the caller."""

    def _lines(self, status: int) -> list[str]:
        return [line for line in self.ironic.log_tail(400).splitlines()
                if f' - {status}' in line and '/v1/' in line]

    def test_a_good_request_logs_no_404(self) -> None:
        """The request has one line; a request without credentials, too."""
        for path in _PATHS:
            reply = self.send('GET', path)
            self.assertEqual(200, reply.status)
            line, = (each for each in self._lines(200)
                     if f'GET {path} - 200' in each)
            self.assertIn(' alice ', line)
        self.assertEqual([], self._lines(404))
        self.assertEqual(404, self.send('GET', '/v1/nodes/none').status)
        self.assertEqual(1, len(self._lines(404)))
        self.identity = {}
        self.assertEqual(401, self.send('GET', _PATHS[0]).status)
        self.assertEqual(1, len(self._lines(401)))

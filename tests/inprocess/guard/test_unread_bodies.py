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

"""Bodies of unknown senders are not read, and read bodies have a limit.

The guard read and parsed up to 64 MiB of any sender, even where Ironic reads 1
MiB; deeply nested JSON ended the process.
"""

import json
import socket
import uuid

import requests

from tests.inprocess.guard import base

_BASIC = base.WithUsers.identity
_MIB = 1024 * 1024


class BodiesTestCase(base.WithUsers):

    def _paths(self, node):
        return (('PUT', f'/v1/nodes/{node.uuid}/states/provision'),
                ('PUT', f'/v1/nodes/{node.name}/states/provision'),
                ('PATCH', f'/v1/nodes/{node.uuid}'),
                ('PATCH', f'/v1/nodes/{node.uuid}/ports'),
                ('POST', '/v1/allocations'), ('POST', '/v1/reservations'),
                ('POST', '/v1/leases'),
                ('PUT', f'/v1/leases/{uuid.uuid4()}'),
                ('POST', '/reservation/v1/os-hosts'))

    def test_deep_json_ends_nothing_and_needs_a_sender(self):
        """980 brackets caused a segmentation fault, before any authentication.
        """
        node, = self.enroll()
        before = self.ironic.pid
        for raw in (b'[' * 980 + b']' * 980, b'{"a":' * 980 + b'1'
                    + b'}' * 980, b'[' * 980, b'not json'):
            for method, path in self._paths(node):
                self.identity = {}
                self.assertEqual(401, self.send(method, path, raw=raw).status,
                                 (method, path, raw[:9]))
                self.identity = _BASIC
                self.assertIn(self.send(method, path, raw=raw).status,
                              (400, 404), (method, path, raw[:9]))
        self.assertEqual((before, 200), (
            self.ironic.pid, self.send('GET', '/v1/nodes').status))

    def test_big_bodies_are_read_where_ironic_reads_them(self):
        """60 MB of PATCH took 30 s of CPU and 2 GiB of memory."""
        node, = self.enroll()
        url = f'{self.ironic.url}/v1/nodes/{node.uuid}'
        big = b'[' + b'1,' * (30 * _MIB) + b'1]'
        headers = {'Content-Type': 'application/json',
                   'X-OpenStack-Ironic-API-Version': '1.109'}
        for method, path in (('PATCH', url),
                             ('PUT', f'{url}/states/provision')):
            answer = requests.request(method, path, data=big,
                                      headers=headers, timeout=60)
            self.assertEqual(401, answer.status_code, path)
        small = json.dumps([base.add('/extra/a', 'a' * _MIB)])
        reply = self.send('PATCH', f'/v1/nodes/{node.uuid}',
                          raw=small.encode())
        self.assert_says(413, 'request.too_large', reply)
        # NOTE: Ironic accepts a large configuration drive.
        reply = self.send('PUT', f'/v1/nodes/{node.uuid}/states/provision', {
            'target': 'active', 'configdrive': 'a' * (2 * _MIB)})
        self.assertEqual(202, reply.status, reply.document)
        reply = self.send('PUT', f'/v1/nodes/{node.uuid}/states/provision',
                          raw=b'[' + b'1,' * _MIB + b'1]')
        self.assert_says(400, 'request.malformed', reply)

    def test_chunks_that_are_left_are_no_request(self):
        """After 411 and 401 the rest of the body was read as the next request.
        """
        node, = self.enroll()
        for method, path in self._paths(node):
            for credentials, status in ((_BASIC, b'411'), ({}, b'401')):
                if path == f'/v1/nodes/{node.uuid}/ports':
                    continue
                answers = self._all_answers(method, path, credentials)
                self.assertEqual(1, answers.count(b'HTTP/1.1 '),
                                 (method, path, answers))
                self.assertIn(answers.split()[1], (status, b'404'),
                              (method, path))

    def _all_answers(self, method, path, credentials):
        """Send chunks that contain a request; return all answers."""
        inner = (b'GET /v1/nodes?left=1 HTTP/1.1\r\nHost: x\r\n'
                 b'Connection: close\r\n\r\n')
        lines = [f'{method} {path} HTTP/1.1', 'Host: x',
                 'Content-Type: application/json',
                 'Transfer-Encoding: chunked',
                 *(f'{name}: {value}' for name, value
                   in credentials.items())]
        # The server skips one line that looks like a request.
        raw = '\r\n'.join(lines).encode() + b'\r\n\r\n' + inner
        with socket.create_connection(
                ('127.0.0.1', self.ironic.port), timeout=30) as connection:
            connection.sendall(raw)
            received = b''
            try:
                while more := connection.recv(65536):
                    received += more
            except ConnectionResetError:
                pass
        return received

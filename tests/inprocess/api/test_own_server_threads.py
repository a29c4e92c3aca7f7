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

"""Idle connections do not block other clients."""

import socket
import threading
import urllib.request

import testtools

from ironic_reservations.cmd import api_server

_THREADS = 2
_WITHIN = 60


def _answer(environ, start_response):
    start_response('200 OK', [('Content-Length', '2')])
    return [b'ok']


class TestServer(testtools.TestCase):

    def setUp(self) -> None:
        """Serve with short time-outs."""
        super().setUp()
        self.server = api_server.Server(
            ('127.0.0.1', 0), _answer, numthreads=_THREADS, timeout=600)
        self.server.prepare()
        thread = threading.Thread(target=self.server.serve)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.server.stop)

    def _connect(self) -> socket.socket:
        there = socket.create_connection(self.server.bind_addr,
                                         timeout=_WITHIN)
        self.addCleanup(there.close)
        return there

    def test_idle_connections_hold_no_thread(self) -> None:
        for _ in range(_THREADS * 3):
            self._connect()
        url = f'http://127.0.0.1:{self.server.bind_addr[1]}/'
        for _ in range(3):
            with urllib.request.urlopen(url, timeout=_WITHIN) as answer:
                self.assertEqual(b'ok', answer.read())

    def test_connection_is_kept_for_the_next_request(self) -> None:
        there = self._connect()
        for _ in range(3):
            there.sendall(b'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
            told = b''
            while not told.endswith(b'ok'):
                told += there.recv(1000)
            self.assertIn(b'200 OK', told)

    def test_request_with_two_lengths_is_refused(self) -> None:
        """A proxy that takes the other one would see another request."""
        there = self._connect()
        there.sendall(b'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n'
                      b'Content-Length: 0\r\n\r\nab')
        with there.makefile('rb') as stream:
            self.assertIn(b' 400 ', stream.readline())

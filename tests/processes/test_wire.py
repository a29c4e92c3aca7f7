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


"""What both proxies do to what passes through them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent import futures
import contextlib
import queue
import random
import socket
import threading
import unittest

from tests import waiting
from tests.processes import balancer
from tests.processes import database_proxy
from tests.processes import wire

_COMMIT = b'Q\x00\x00\x00\x0bCOMMIT\x00'
#: What takes so long hangs, also on a machine that has other things to do.
_SOON = 60.0
_REQUEST = (b'DELETE /v1/leases/l HTTP/1.1\r\nHost: x\r\n'
            b'Content-Length: 2\r\n\r\n{}')


class _Server:
    """Answers each connection, and keeps what it was sent.

    :param often: how often it answers before it hangs up.
    """

    def __init__(self, answer: bytes, often: int = 1) -> None:
        self.got: queue.Queue[bytes] = queue.Queue()
        self._answer = answer
        self._often = often
        self._socket = socket.create_server(('127.0.0.1', 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                with connection, contextlib.suppress(ConnectionError):
                    for _ in range(self._often):
                        self.got.put(connection.recv(65536))
                        connection.sendall(self._answer)

    def close(self) -> None:
        self._socket.close()


class _TestCase(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.net = wire.Wire()
        self.addCleanup(self.net.close)
        self.server = _Server(b'HTTP/1.1 204 No Content\r\n\r\n')
        self.addCleanup(self.server.close)

    def _send(self, port: int, data: bytes) -> socket.socket:
        connection = socket.create_connection(('127.0.0.1', port), _SOON)
        self.addCleanup(connection.close)
        connection.sendall(data)
        return connection

    def _assert_cut(self, connection: socket.socket) -> None:
        """Check that no byte of an answer comes."""
        with contextlib.suppress(ConnectionResetError):
            self.assertEqual(b'', connection.recv(99))

    def _once(self, happened: Callable[[], bool], look: Callable[[], bool]
              ) -> futures.Future[bool]:
        """Look at something once something has happened, and not later.

        NOTE: on the loop itself, where nothing comes in between: this thread
        may go on when it is over.
        """
        async def watch() -> bool:
            while not happened():
                await asyncio.sleep(0)
            return look()
        return asyncio.run_coroutine_threadsafe(watch(), self.net.loop)


class BalancerTestCase(_TestCase):
    """In front of the APIs."""

    def setUp(self) -> None:
        super().setUp()
        self.late: queue.Queue[str] = queue.Queue()
        # NOTE: bound, not listening, so that nobody else can take the port.
        nobody = self.enterContext(socket.socket())
        nobody.bind(('127.0.0.1', 0))
        self.balancer = balancer.Balancer(
            self.net, (nobody.getsockname(), ('127.0.0.1', self.server.port)),
            random.Random(1), lambda what: self.late.put(what.line))

    def test_request_goes_to_one_that_is_there(self) -> None:
        """And its answer comes back."""
        connection = self._send(self.balancer.port, _REQUEST)
        self.assertIn(b'204', connection.recv(65536))
        self.assertTrue(self.server.got.get(timeout=_SOON).endswith(
            b'\r\n\r\n{}'))

    def test_request_goes_to_one_that_answers(self) -> None:
        """One that is known to be silent comes last."""
        silent = _Server(b'HTTP/1.1 500 Silent')
        self.addCleanup(silent.close)
        between = balancer.Balancer(
            self.net, (('127.0.0.1', silent.port),
                       ('127.0.0.1', self.server.port)),
            random.Random(1), lambda what: None,
            silent=lambda target: target[1] == silent.port)
        for _ in range(5):
            self.assertIn(b'204', self._send(between.port,
                                             _REQUEST).recv(65536))

    def test_held_request_outlives_its_client(self) -> None:
        """It is delivered once nobody waits for it any more."""
        self.balancer.arm(balancer.HOLD, 0.2)
        connection = self._send(self.balancer.port, _REQUEST)
        self.assertIn('DELETE', self.late.get(timeout=_SOON))
        connection.close()
        self.assertTrue(self.server.got.get(timeout=_SOON).startswith(
            b'DELETE /v1/leases/l'))

    def test_held_request_is_known_to_be_held(self) -> None:
        """A storm is over once it has been delivered."""
        self.assertFalse(self.balancer.holds)
        self.balancer.arm(balancer.HOLD, 0.2)
        held = self._once(lambda: not self.late.empty(),
                          lambda: self.balancer.holds)
        connection = self._send(self.balancer.port, _REQUEST)
        self.assertTrue(held.result(_SOON))
        self.assertIn(b'204', connection.recv(65536))
        self.assertFalse(self.balancer.holds)

    def _check(self, how: str, answered: bool, delivered: int,
               seconds: float = 0.0) -> None:
        self.balancer.arm(how, seconds)
        connection = self._send(self.balancer.port, _REQUEST)
        answer = b''
        with contextlib.suppress(ConnectionResetError):
            answer = connection.recv(65536)
        self.assertIs(answered, b'204' in answer)
        for _ in range(delivered):
            self.assertTrue(self.server.got.get(timeout=_SOON).startswith(
                b'DELETE /v1/leases/l'))
        self.assertTrue(self.server.got.empty())
        self.assertIn('DELETE', self.late.get(timeout=_SOON))
        waiting.until(lambda: not (self.balancer.busy()
                                   or self.balancer.holds))

    def test_whether_it_is_answered_and_how_often_delivered(self) -> None:
        """A late answer comes whole; of two the second one comes back."""
        self._check(balancer.CUT, False, 0)
        self._check(balancer.DROP, False, 1)
        self._check(balancer.SLOW, True, 1, 0.2)
        self._check(balancer.REPEAT, True, 2)

    def test_request_is_known_by_its_mark(self) -> None:
        """Whoever judges has to know which one was delivered twice."""
        told: queue.Queue[balancer.Happened] = queue.Queue()
        between = balancer.Balancer(
            self.net, (('127.0.0.1', self.server.port),), random.Random(1),
            told.put)
        between.arm(balancer.REPEAT)
        self._send(between.port, _REQUEST.replace(
            b'Host: x', b'X-OpenStack-Request-ID: req-7')).recv(65536)
        self.assertEqual((balancer.REPEAT, 'req-7'), (
            (happened := told.get(timeout=_SOON)).how, happened.id))

    def test_reads_are_not_held_where_writes_are_meant(self) -> None:
        """The hold waits for the next write."""
        self.balancer.arm(balancer.HOLD, 0.01)
        self._send(self.balancer.port, b'GET / HTTP/1.1\r\n\r\n').recv(99)
        self.assertTrue(self.late.empty())
        self.assertEqual(1, self.balancer.release())


class DatabaseProxyTestCase(_TestCase):
    """In front of the database."""

    def setUp(self) -> None:
        super().setUp()
        self._proxy_to(self.server)
        self.happened: queue.Queue[str] = queue.Queue()

    def _proxy_to(self, server: _Server) -> None:
        self.addCleanup(server.close)
        self.proxy = database_proxy.DatabaseProxy(
            self.net, lambda: [('127.0.0.1', server.port)])

    def _arm(self, how: str, aim: str = '') -> None:
        self.proxy.arm(how, lambda: self.happened.put(how), aim=aim)

    def test_lost_answer_to_a_commit(self) -> None:
        """It is carried out; no byte of the answer arrives."""
        self._arm(database_proxy.SWALLOW)
        connection = self._send(self.proxy.port, _COMMIT)
        self.assertEqual(_COMMIT, self.server.got.get(timeout=_SOON))
        self._assert_cut(connection)
        self.assertEqual('swallow', self.happened.get(timeout=_SOON))

    def test_other_statements_pass(self) -> None:
        """What is armed waits for its own."""
        self._arm(database_proxy.SWALLOW)
        connection = self._send(self.proxy.port, b'Q\x00\x00\x00\x0dSELECT 1')
        self.assertTrue(connection.recv(99))
        self.assertEqual(1, self.proxy.disarm())

    def test_something_happens_before_the_answer_arrives(self) -> None:
        """As a process that is stopped right after its COMMIT."""
        self._arm(database_proxy.AFTER)
        connection = self._send(self.proxy.port, _COMMIT)
        self.assertTrue(connection.recv(99))
        self.assertEqual('after', self.happened.get_nowait())

    def test_held_write(self) -> None:
        """It arrives later, whole."""
        self._arm(database_proxy.HOLD)
        sent = b'Q\x00\x00\x00\x20UPDATE nodes SET x = 1\x00'
        self._send(self.proxy.port, sent)
        self.assertEqual(sent, self.server.got.get(timeout=_SOON))
        self.assertEqual('hold', self.happened.get_nowait())

    def test_cut_before_the_commit(self) -> None:
        """Nothing of it arrives."""
        self._arm(database_proxy.CUT)
        connection = self._send(self.proxy.port, _COMMIT)
        self._assert_cut(connection)
        self.assertEqual('cut-before-commit',
                         self.happened.get(timeout=_SOON))
        # NOTE: the server takes one connection after the other.
        self._send(self.server.port, b'the next')
        said = iter(lambda: self.server.got.get(timeout=_SOON), b'the next')
        self.assertEqual(set(), {*said} - {b''})

    def test_cut_in_a_transaction(self) -> None:
        """What has been said arrives; its answer does not."""
        self._arm(database_proxy.CUT_WRITE)
        sent = b'Q\x00\x00\x00\x20UPDATE nodes SET x = 1\x00'
        connection = self._send(self.proxy.port, sent)
        self.assertEqual('cut-in-transaction',
                         self.happened.get(timeout=_SOON))
        self._assert_cut(connection)

    def test_slow_answer_to_a_commit(self) -> None:
        """It comes."""
        self.proxy.arm(database_proxy.SLOW, lambda: self.happened.put(
            'slow'), 0.1)
        connection = self._send(self.proxy.port, _COMMIT)
        self.assertTrue(connection.recv(99))
        self.assertEqual('slow', self.happened.get_nowait())

    def test_server_that_falls_silent(self) -> None:
        """The COMMIT is carried out; nothing comes, until it is cut."""
        self.proxy.arm(database_proxy.MUTE, lambda: self.happened.put(
            'mute'), 0.2)
        busy = self._once(lambda: not self.happened.empty(),
                          lambda: self.proxy.busy)
        connection = self._send(self.proxy.port, _COMMIT)
        self.assertEqual(_COMMIT, self.server.got.get(timeout=_SOON))
        self.assertTrue(busy.result(_SOON))
        self._assert_cut(connection)
        self.assertEqual('mute', self.happened.get_nowait())

    def test_busy_until_the_end_of_the_transaction(self) -> None:
        """What has written holds locks, whoever waits for whom."""
        self._proxy_to(_Server(b'done', often=4))
        connection = self._send(self.proxy.port, b'')
        busy = []
        for sent in (b'Q\x00\x00\x00\x0dSELECT 1\x00',
                     b'Q\x00\x00\x00\x0dUPDATE x\x00', _COMMIT):
            connection.sendall(sent)
            self.assertEqual(b'done', connection.recv(99))
            # NOTE: the proxy looks once it has passed the answer on.
            self.net.run(asyncio.sleep(0))
            busy.append(self.proxy.busy)
        self.assertEqual([False, True, False], busy)

    def test_another_transaction_than_the_one_meant(self) -> None:
        """Its COMMIT passes; the next one, of what is meant, does not."""
        self._proxy_to(_Server(b'done', often=4))
        self._arm(database_proxy.AFTER, 'INSERT INTO in_flight_requests')
        connection = self._send(self.proxy.port, b'')
        happened = []
        for table in ('nodes', 'in_flight_requests'):
            for sent in (b'Q\x00\x00\x00\x20INSERT INTO %s\x00'
                         % table.encode(), _COMMIT):
                connection.sendall(sent)
                self.assertEqual(b'done', connection.recv(99))
                happened.append(self.happened.qsize())
        self.assertEqual([0, 0, 0, 1], happened)

    def test_refused(self) -> None:
        """As a database that restarts."""
        self.proxy.refuse(True)
        connection = self._send(self.proxy.port, _COMMIT)
        self._assert_cut(connection)
        self.assertTrue(self.server.got.empty())

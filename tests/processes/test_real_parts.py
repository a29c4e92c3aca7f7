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


"""The real parts that the other tests stand on."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent import futures
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import Any
from unittest import mock
import urllib.parse

import fixtures
from oslo_utils import uuidutils
import sqlalchemy as sa
import testtools

from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.model import mirrored_node
from tests.real import databases
from tests.real import ironic
from tests.real import receivers

_RUNNER = """
import sys
from tools import all_in_one
with all_in_one.AllInOne(sys.argv[1], middleware=False) as service:
    print(service.port, flush=True)
    sys.stdin.read()
"""
#: What takes so long hangs, also on a machine that has other things to do.
_WAIT = 240
_LATEST = {'X-OpenStack-Ironic-API-Version': 'latest'}


class _Plain:
    """A transport to an Ironic without authentication."""

    def __init__(self, real: ironic.RealIronic) -> None:
        self._real = real

    def send(self, method: str, path: str, headers: Mapping[str, str],
             body: Any = None) -> tuple[int, Any]:
        """Send a request."""
        answer = self._real.session.request(
            method, f'{self._real.url}{path}', headers=dict(headers),
            json=body)
        return answer.status_code, answer.json()


class RealIronicTestCase(testtools.TestCase):

    def test_nodes_are_available_and_survive_a_kill(self) -> None:
        """What was enrolled before SIGKILL is there after it."""
        real = self.useFixture(ironic.RealIronic(middleware=False))
        nodes = real.enroll(2, resource_class='gold',
                            traits=['CUSTOM_FAST'])
        url = real.url

        real.service.kill()
        real.service.start()

        self.assertEqual(url, real.url)
        found = real.session.get(
            f'{url}/v1/nodes?provision_state=available&resource_class=gold'
            '&fields=uuid,traits', headers=_LATEST).json()['nodes']
        self.assertEqual(
            {(node.uuid, 'CUSTOM_FAST') for node in nodes},
            {(node['uuid'], *node['traits']) for node in found})

    def test_a_crowd_waits_for_an_ironic_that_is_busy(self) -> None:
        """The kernel resets no connection, however many come at once."""
        real = self.useFixture(ironic.RealIronic(middleware=False))
        address = urllib.parse.urlsplit(real.url)
        ports = [{'address': f'00:00:00:00:00:{number:02x}',
                  'node_uuid': uuidutils.generate_uuid()}
                 for number in range(64)]

        sent = threading.Semaphore(0)

        def ask(port: dict[str, str]) -> int:
            with contextlib.closing(http.client.HTTPConnection(
                    str(address.hostname), address.port,
                    timeout=_WAIT)) as connection:
                # NOTE: the body is a segment of its own, at which a
                # connection that had no place in the queue is reset.
                connection.request('POST', '/v1/ports', json.dumps(port), {
                    **_LATEST, 'Content-Type': 'application/json'})
                sent.release()
                return connection.getresponse().status

        service = real.service.process
        assert service is not None
        with futures.ThreadPoolExecutor(len(ports)) as crowd:
            service.process.send_signal(signal.SIGSTOP)
            try:
                asked = [crowd.submit(ask, port) for port in ports]
                for _ in ports:
                    self.assertTrue(sent.acquire(timeout=_WAIT))
            finally:
                service.process.send_signal(signal.SIGCONT)
            self.assertEqual({400}, {each.result() for each in asked})

    def test_node_made_anew_under_its_uuid_is_told_from_the_one_before(
            self) -> None:
        """What the mirror reads most often shows it on a real Ironic."""
        real = self.useFixture(ironic.RealIronic(middleware=False))
        client = ironic_client.Ironic(_Plain(real))
        nodes = f'{real.url}/v1/nodes'
        node, = real.enroll(resource_class='gold')

        def seen() -> mirrored_node.Node:
            (page,) = client.lately_changed()
            (found,) = page
            return found
        before = seen()
        self.assertFalse(seen().replaces(before))
        # NOTE: Ironic keeps whole seconds.
        enrolled_by = time.time() + 1
        real.session.put(f'{nodes}/{node.uuid}/maintenance',
                         headers=_LATEST).raise_for_status()
        real.session.delete(f'{nodes}/{node.uuid}',
                            headers=_LATEST).raise_for_status()
        while time.time() < enrolled_by:
            time.sleep(0.05)
        real.session.post(nodes, headers=_LATEST, json={
            'uuid': node.uuid, 'driver': 'fake-hardware'}).raise_for_status()
        self.assertTrue(seen().replaces(before))
        self.assertEqual([node.uuid], [each.uuid for each in client.nodes()])

    def test_only_its_users_come_in_under_http_basic(self) -> None:
        """The options reach Ironic, and the session is the first user's."""
        real = self.useFixture(ironic.RealIronic(
            middleware=False, users={'alice': 'a', 'bob': 'b'}))
        nodes = f'{real.url}/v1/nodes'

        self.assertEqual(200, real.session.get(nodes).status_code)
        real.session.auth = ('bob', 'b')
        self.assertEqual(200, real.session.get(nodes).status_code)
        real.session.auth = ('bob', 'a')
        self.assertEqual(401, real.session.get(nodes).status_code)

    def test_ironic_ends_with_whoever_started_it(self) -> None:
        """A runner that is killed leaves no process behind."""
        folder = self.useFixture(fixtures.TempDir()).path
        runner = subprocess.Popen(
            [sys.executable, '-c', _RUNNER, folder], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        self.addCleanup(runner.communicate)
        self.addCleanup(runner.kill)
        assert runner.stdout is not None
        address = ('127.0.0.1', int(runner.stdout.readline()))
        socket.create_connection(address).close()

        runner.kill()

        deadline = time.monotonic() + 120
        with testtools.ExpectedException(ConnectionRefusedError):
            while time.monotonic() < deadline:
                socket.create_connection(address).close()


class DatabaseTestCase(testtools.TestCase):

    def test_each_is_empty_usable_and_gone_afterwards(self) -> None:
        """A scratch database exists while its fixture does."""
        for kind in databases.KINDS:
            with self.subTest(kind=kind):
                with databases.Database(kind) as database:
                    engine = sa.create_engine(database.url)
                    self.addCleanup(engine.dispose)
                    with engine.begin() as connection:
                        self.assertEqual(
                            [], sa.inspect(connection).get_table_names())
                        connection.execute(
                            sa.text('CREATE TABLE things (id INTEGER)'))
                    url = database.url
                gone = sa.create_engine(url)
                self.addCleanup(gone.dispose)
                self.assertRaises(sa.exc.OperationalError, gone.connect)

    def test_missing_server_skips_for_a_person_and_fails_in_ci(self) -> None:
        """CI never goes green on what it did not test."""
        nobody = {'IRONIC_RESERVATIONS_TEST_MYSQL':
                  'mysql+pymysql://root@127.0.0.1:1'}
        with mock.patch.dict(os.environ, nobody):
            for variable in ('CI', 'IRONIC_RESERVATIONS_REQUIRE_DATABASES'):
                self.useFixture(fixtures.EnvironmentVariable(variable))
            self.assertRaises(testtools.TestCase.skipException,
                              self.useFixture, databases.Database('mysql'))
            for name, value in (
                    ('CI', 'true'),
                    ('IRONIC_RESERVATIONS_REQUIRE_DATABASES', '1')):
                with fixtures.EnvironmentVariable(name, value):
                    self.assertRaises(databases.Missing, self.useFixture,
                                      databases.Database('mysql'))


class ReceiverTestCase(testtools.TestCase):

    def test_message_whose_sender_was_killed_in_the_middle_is_none(
            self) -> None:
        receiver = self.useFixture(receivers.Receiver())
        where = urllib.parse.urlsplit(receiver.url)
        with socket.create_connection((where.hostname, where.port)) as sender:
            sender.sendall(f'POST {where.path} HTTP/1.1\r\nHost: here\r\n'
                           'webhook-id: 1\r\nwebhook-timestamp: 1\r\n'
                           'webhook-signature: v1,x\r\n'
                           'Content-Length: 600\r\n\r\n{"type"'.encode())
            sender.shutdown(socket.SHUT_WR)
            self.assertEqual(b'', sender.recv(1))
        self.assertEqual(([], [], []), (receiver.taken, receiver.ids,
                                        receiver.wrong))

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

"""A host loses its power in the middle of a transaction.

Seen: whoever wanted the same node waited for minutes, twenty such clients
took all threads of the API with them, and nobody took the passes over.
"""

from concurrent import futures
import contextlib
import itertools
import pathlib

import fixtures
import requests
import sqlalchemy as sa

from ironic_reservations import build
from ironic_reservations import errors
from ironic_reservations.api.middleware import health
from ironic_reservations.db import claims as db_claims
from ironic_reservations.db import connection
from ironic_reservations.db import row_queue
from ironic_reservations.db import tables
from ironic_reservations.reconciler import claim
from tests import waiting
from tests import world
from tests.inprocess.db import base
from tests.real import api_server
from tests.real import proxy
from tools import all_in_one

CLIENTS = 20
#: How long a dead host's transaction lasts, which is shorter than the other
#: worlds of the tests give those who are only slow.
IDLE = 2
#: How long a lock is waited for where it is there until the test lets it go,
#: and how long whatever hangs is waited for, in seconds.
LONG = 300


class _DeadHost:
    """To be run on each database."""

    def setUp(self):
        super().setUp()
        self.world = self.useFixture(world.World(
            self.url, ironic__confirm='mirror'))
        (self.node,) = self.world.enrol()

    def dead_host(self):
        """Return the connection of a host, and what ends that host."""
        way = self.useFixture(proxy.Proxy(self.url))
        database = connection.Database(world.configured(
            way.url, database__idle_in_transaction_timeout=IDLE))
        opened = database.engine.connect()
        self.addCleanup(opened.detach)
        return opened, way.fall_silent

    def lock(self, opened):
        opened.execute(sa.update(tables.nodes).where(
            tables.nodes.c.uuid == self.node).values(generation=7))

    def test_node_that_a_dead_host_has_locked(self):
        """It is had by somebody else in one request: nobody else unlocks it.
        """
        opened, loses_its_power = self.dead_host()
        self.lock(opened)
        loses_its_power()
        made = self.world.reserve(self.node)
        self.assertEqual([made.uuid], list(self.world.reservations()))

    def test_who_reads_for_long_is_left_alone(self):
        """Only what has written ends so soon; what reads has locked nothing.
        """
        reader = connection.Database(world.configured(
            self.url, database__idle_in_transaction_timeout=1))
        self.addCleanup(reader.close)
        count = sa.select(sa.func.count()).select_from(tables.nodes)
        with reader.snapshot() as reading:
            self.assertEqual(1, reading.scalar(count))
            opened, loses_its_power = self.dead_host()
            self.lock(opened)
            loses_its_power()
            self.world.reserve(self.node)
            self.world.enrol()
            self.assertEqual(1, reading.scalar(count))

    def test_passes_that_a_dead_host_has_claimed(self):
        """They are taken over when the claim ends, without its lock."""
        dead = claim.Claim(self.world.another_engine(), 'work', 5, 'dead')
        living = claim.Claim(self.world.engine, 'work', 5, 'living')
        self.assertTrue(dead.holds())
        self.assertFalse(living.holds())
        opened, loses_its_power = self.dead_host()
        self.world.clock.advance(4)
        until = self.world.clock()
        self.assertTrue(db_claims.take(opened, 'work', 'dead', until, until))
        loses_its_power()
        self.world.clock.advance(1)

        def takes_over():
            with contextlib.suppress(connection.Conflict):
                return living.holds()
        waiting.until(takes_over)

    def test_health_while_the_database_says_nothing(self):
        """It is told meanwhile, and goes on when there is another way."""
        # NOTE: the check gives a connection up that much later than the server
        # would have answered; only then it looks for another way.
        self.useFixture(fixtures.MonkeyPatch(
            'ironic_reservations.db.sessions.MORE', 1))
        way = self.useFixture(proxy.Proxy(self.url))
        engine = build.engine(world.configured(way.url))
        self.addCleanup(engine.database.close)
        self.addCleanup(engine.clock.close)
        checked = health.Database(engine)

        def healthy():
            return checked.healthcheck(0)
        waiting.until(lambda: healthy().available)
        way.fall_silent()
        waiting.until(lambda: not healthy().available)
        self.assertIn('has last answered', healthy().details)
        way.let_through()
        waiting.until(lambda: healthy().available)
        self.assertIn("This host's clock is", healthy().details)

    def test_many_who_want_a_node_that_is_locked(self):
        """They leave threads for others while some wait for the lock."""
        port = self.served()
        (another,) = self.world.enrol()
        locked = sa.create_engine(self.url)
        self.addCleanup(locked.dispose)
        with futures.ThreadPoolExecutor(CLIENTS) as pool:
            with requests.Session() as session, locked.begin() as opened:
                self.lock(opened)
                asked = [pool.submit(self.post, port, self.node)
                         for _ in range(CLIENTS)]
                refused = itertools.islice(
                    futures.as_completed(asked, LONG),
                    CLIENTS - row_queue.MOST)
                self.assertEqual({(503, 'reservation.contention', '1')},
                                 {each.result() for each in refused})
                waiting.until(lambda: session.get(
                    f'http://127.0.0.1:{port}/healthcheck',
                    timeout=LONG).status_code == 200)
                self.assertEqual(201, self.post(port, another)[0])
                queued = [each for each in asked if not each.done()]
                self.assertEqual(row_queue.MOST, len(queued))
            self.assertEqual([201, 409, 409, 409], sorted(
                each.result()[0] for each in queued))

    def served(self):
        folder = self.useFixture(fixtures.TempDir()).path
        config = pathlib.Path(folder, 'api.conf')
        all_in_one.write_options(config, {
            'DEFAULT': {'auth_strategy': 'noauth', 'state_path': folder},
            'database': {'connection': self.url, 'lock_timeout': LONG,
                         'statement_timeout': 3 * LONG},
            'ironic': {'confirm': 'mirror',
                       'endpoint_override': 'http://127.0.0.1:9'},
            'api': {'host': '127.0.0.1', 'reuse_port': True}})
        return self.enterContext(api_server.ApiServer(config)).port

    def post(self, port, node):
        # NOTE: where the machine is busy the time cannot be had at once, which
        # changes nothing, and is another test's.
        while (told := self.post_once(port, node))[1] == (
                errors.DatabaseUnavailable.code):
            pass
        return told

    def post_once(self, port, node):
        answer = requests.post(
            f'http://127.0.0.1:{port}/v1/reservations', timeout=LONG, headers={
                'OpenStack-API-Version': 'baremetal-reservation 1.4'},
            json={'instance_uuid': world.new_uuid(), 'node_uuid': [node]})
        code = (answer.json()['errors'][0]['code']
                if answer.status_code >= 400 else None)
        return (answer.status_code, code, answer.headers.get('Retry-After'))


class TestMariaDB(_DeadHost, base.DatabaseTestCase):
    """On MariaDB."""

    kind = 'mysql'


class TestPostgreSQL(_DeadHost, base.DatabaseTestCase):
    """On PostgreSQL."""

    kind = 'postgresql'

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

"""Processes whose wall clocks are apart judge the same promises.

Seen: with two API hosts 30 s apart a promise of 20 s lasted 0 s, and two
leases used one node at one instant.
"""

import datetime
import pathlib
import re
import time

import fixtures
import requests
import sqlalchemy as sa

from ironic_reservations.db import clock as db_clock
from tests import forked_child
from tests import leasing
from tests import world
from tests.inprocess.db import base
from tools import all_in_one

#: How far ahead the clocks of hosts are, in seconds.
APART = (600, -600, 30, -30)
OFF = (600, -600)
TTL = 8
_WITHIN = 180
_SERVES = re.compile('serves (http://[^ ]+)\n')
# NOTE: the clock is set off when all has been imported.
_HOST = '''
from ironic_reservations.cmd import api
from tests.processes import wall_clock
wall_clock.shift(float(sys.argv[1]))
sys.exit(api.main(sys.argv[2:]))
'''
_NOW = {'mysql': 'SELECT UTC_TIMESTAMP(6)',
        'postgresql': "SELECT clock_timestamp() AT TIME ZONE 'UTC'"}


class Host:
    """An API process on a host with a clock of its own."""

    def __init__(self, process):
        self.process = process
        self.session = requests.Session()
        self.session.headers['OpenStack-API-Version'] = (
            'baremetal-reservation 1.4')

    def serves(self):
        found = _SERVES.search(self.process.log_file.read_text())
        self.url = found and found[1]
        return bool(found)

    def health(self):
        answer = self.session.get(f'{self.url}/healthcheck', timeout=60)
        return answer.status_code, answer.content

    def __call__(self, method, path, document=None):
        """Return the status and the code or the document of an answer."""
        answer = self.session.request(method, self.url + path, json=document,
                                      timeout=60)
        shown = answer.json() if answer.content else None
        if answer.status_code >= 400 and 'errors' in (shown or {}):
            return answer.status_code, shown['errors'][0]['code']
        return answer.status_code, shown


class _Clocks:
    """To be run on each database."""

    def setUp(self):
        super().setUp()
        self.world = self.useFixture(world.World(self.url))
        self.leasing = leasing.Leasing(self.world)
        self.database = sa.create_engine(self.url, poolclass=sa.NullPool)
        self.folder = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path)

    def hosts(self, clocks, max_clock_skew=None):
        """Start a host for each of some clocks."""
        config = self.folder / 'api.conf'
        all_in_one.write_options(config, {
            'DEFAULT': {'auth_strategy': 'noauth',
                        'state_path': str(self.folder)},
            'database': {'connection': self.url, **(
                {} if max_clock_skew is None
                else {'max_clock_skew': max_clock_skew})},
            'ironic': {'confirm': 'mirror',
                       'endpoint_override': 'http://127.0.0.1:9'},
            'reservations': {'min_ttl': 1},
            'api': {'host': '127.0.0.1'}})
        hosts = {}
        for ahead in clocks:
            started = forked_child.ForkedChild(
                f'host {ahead}', _HOST,
                [str(ahead), '--port', '0', '--config-file', str(config)],
                pathlib.Path.cwd(), self.folder / f'{ahead}.log')
            self.addCleanup(started.kill)
            hosts[ahead] = Host(started)
        for host in hosts.values():
            host.process.wait_until(host.serves, _WITHIN)
        return hosts

    def now(self):
        with self.database.connect() as opened:
            return opened.exec_driver_sql(_NOW[self.kind]).scalar_one()

    def test_hosts_apart_judge_alike(self):
        """By reservations, by leases, and by one beside the other."""
        hosts = self.hosts(APART, max_clock_skew=0)
        self.promises_last_as_long_for_all(hosts)
        for mine, another in ((600, -30), (-30, 600), (-600, 30),
                              (30, -600)):
            self.nobody_else_gets_it(hosts[mine], hosts[another])

    def test_hosts_that_are_off_judge_nothing(self):
        """And they say so wherever they are asked."""
        (node,) = self.world.enrol()
        for ahead, host in self.hosts(OFF).items():
            for method, path, document in (
                    ('POST', '/v1/reservations', {
                        'instance_uuid': world.new_uuid(),
                        'node_uuid': [node]}),
                    ('GET', '/v1/reservations', None),
                    ('POST', '/v1/leases', self.lease())):
                status, told = host(method, path, document)
                self.assertEqual(503, status, path)
                if path != '/v1/leases':
                    self.assertEqual('service.clock_skewed', told)
            # NOTE: until it tells of the clock, it tells that the database has
            # not answered in time.
            host.process.wait_until(
                lambda host=host: host.health() == (503, b'clock skewed'),
                _WITHIN)
            metrics = host.session.get(f'{host.url}/metrics').text
            shown = re.search(
                r'^ironic_reservations_clock_skew_seconds (\S+)$', metrics,
                re.MULTILINE)
            self.assertAlmostEqual(ahead, float(shown[1]), delta=5)
        self.assertEqual({}, self.world.reservations())

    def promises_last_as_long_for_all(self, hosts):
        left = {}
        for mine, node in zip(hosts, self.world.enrol(len(hosts)),
                              strict=True):
            status, made = hosts[mine]('POST', '/v1/reservations', {
                'instance_uuid': world.new_uuid(), 'node_uuid': [node],
                'ttl': TTL})
            self.assertEqual(201, status, made)
            made = made['reservation']
            end = datetime.datetime.fromisoformat(
                made['expires_at']).replace(tzinfo=None)
            for ahead in hosts:
                left[mine, ahead] = made['uuid'], end
        while left:
            for (mine, ahead), (proof, end) in list(left.items()):
                before = self.now()
                status, _ = hosts[ahead]('GET', f'/v1/reservations/{proof}')
                after = self.now()
                if status == 404:
                    del left[mine, ahead]
                    self.assertGreater(after, end - _SLIGHTLY, (mine, ahead))
                else:
                    self.assertEqual(200, status)
                    self.assertLess(before, end + _LATE, (mine, ahead))
            time.sleep(0.05)

    def nobody_else_gets_it(self, mine, another):
        (node,) = self.leasing.hosts(1)
        ask = {'node_uuid': [node], 'ttl': 600}
        status, made = mine('POST', '/v1/reservations', {
            'instance_uuid': world.new_uuid(), **ask})
        self.assertEqual(201, status, made)
        self.assertEqual(
            (409, 'reservation.no_node_available'),
            another('POST', '/v1/reservations', {
                'instance_uuid': world.new_uuid(), **ask}))
        path = f'/v1/reservations/{made["reservation"]["uuid"]}'
        self.assertEqual(204, another('DELETE', path)[0])
        status, lease = mine('POST', '/v1/leases', self.lease())
        self.assertEqual(201, status, lease)
        self.assertEqual(409, another('POST', '/v1/leases',
                                      self.lease())[0])
        self.assertEqual(409, another('POST', '/v1/reservations', {
            'instance_uuid': world.new_uuid(), **ask})[0])

    def lease(self):
        end = self.now() + datetime.timedelta(hours=1)
        return {'name': world.new_uuid(), 'start_date': 'now',
                'end_date': end.strftime('%Y-%m-%d %H:%M'), 'events': [],
                'reservations': [{
                    'resource_type': 'physical:host', 'min': 1, 'max': 1,
                    'hypervisor_properties': '', 'resource_properties': ''}]}


_SLIGHTLY = datetime.timedelta(seconds=0.5)
#: A clock is behind the database's by the way of the answer at most.
_LATE = _SLIGHTLY + datetime.timedelta(seconds=db_clock._SLOWEST)


class TestMariaDB(_Clocks, base.DatabaseTestCase):
    """On MariaDB."""

    kind = 'mysql'


class TestPostgreSQL(_Clocks, base.DatabaseTestCase):
    """On PostgreSQL."""

    kind = 'postgresql'

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

"""The calendar for programs and in a terminal, from a service with pages."""

import datetime
import json
import pathlib
import signal
import subprocess
import sys
from typing import Any

import fixtures
import requests
import testtools

from ironic_reservations.api import identity
from ironic_reservations_client import calendar
from ironic_reservations_client import errors
from ironic_reservations_client import lease
from ironic_reservations_client import lease_payload
from ironic_reservations_client.sdk import leases as sdk_leases
from tests import clients
from tests.inprocess.api import world
from tests.inprocess.client import loaded
from tests.inprocess.client import served

_COMMAND = ('--os-baremetal-api-version', '1.95', 'reservation', 'calendar',
            '--from', '2050-01-01 10:00', '--until', '2050-01-01 20:00')
_START = '2050-01-01T10:00:00+00:00'
_END = '2050-01-01T20:00:00+00:00'


class CalendarTest(testtools.TestCase):
    """Five hosts, of which a page has two."""

    def setUp(self) -> None:
        """Serve it."""
        super().setUp()
        self.world = self.useFixture(world.World(
            identity.administrator, 'noauth', api__max_limit=2))
        for number in range(5):
            self.world.ironic.add(
                name=f'n{number}',
                resource_class='gold' if number < 3 else 'silver')
        self.server = self.useFixture(served.Served(self.world))
        self.home = self.useFixture(fixtures.TempDir()).path
        self.useFixture(clients.Cache())
        for kind in ('gold', 'silver'):
            requests.post(f'{self.server.url}/v1/os-hosts', timeout=60, json={
                'resource_class': kind}).raise_for_status()
        self.ironic = clients.ironic(self.server.url)
        self.calendars = calendar.CalendarManager(self.ironic)

    def book(self, name: str) -> lease.Lease:
        """Make a lease of two hosts from noon to two."""
        return lease.LeaseManager(self.ironic).create(
            name, datetime.datetime(2050, 1, 1, 14),
            [lease_payload.hosts(2, resource_class='gold')],
            datetime.datetime(2050, 1, 1, 12))

    def look(self, **asked: Any) -> calendar.Calendar | None:
        """Ask for the window of the tests."""
        return self.calendars.get(_START, _END, **asked)

    def test_all_pages_are_one(self) -> None:
        """For both libraries; each host is there once, a lease is one."""
        made = self.book('ours')
        found = self.look(rows=True)
        assert found is not None
        self.assertEqual([f'n{number}' for number in range(5)],
                         sorted(each['name'] for each in found.hosts))
        self.assertEqual([made.id], [each['id'] for each in found.leases])
        self.assertEqual(
            2, sum(each['bookings'] == [[7200, 14400, 0, 0, 0]]
                   for each in found.hosts))
        self.assertEqual({'gold': 3, 'silver': 2}, {
            each['resource_class']: each['hosts'] for each in found.classes})
        conn = clients.openstacksdk(self.server.url)
        again = sdk_leases.calendar(conn, _START, _END, rows=True)
        self.assertEqual(found.hosts, again['hosts'])
        silver = sdk_leases.calendar(conn, _START, _END, ['silver'])
        self.assertEqual(['silver'], [each['resource_class']
                                      for each in silver['classes']])

    def test_what_has_not_changed_is_not_sent_again(self) -> None:
        """Until something has."""
        found = self.look()
        assert found is not None and found.tag is not None
        self.assertIsNone(self.look(tag=found.tag))
        self.book('new')
        newer = self.look(tag=found.tag)
        assert newer is not None
        self.assertNotEqual(found.tag, newer.tag)

    def test_a_window_that_cannot_be(self) -> None:
        """The service says why not."""
        self.assertRaises(errors.BadRequest, self.calendars.get, _END,
                          _START)

    @property
    def environment(self) -> dict[str, str]:
        """What the command finds there."""
        return loaded.environment(
            self.home, OS_AUTH_TYPE='none', OS_ENDPOINT=self.server.url,
            PYTHONUNBUFFERED='1')

    def run_it(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the command until it ends."""
        return loaded.commands().run(
            ['baremetal', *_COMMAND, *words], self.environment, 240)

    def started(self, *words: str) -> subprocess.Popen[str]:
        """Start the command, as a process of its own."""
        process = subprocess.Popen(
            [str(pathlib.Path(sys.executable).parent / 'baremetal'),
             *_COMMAND, *words], env=self.environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # NOTE: a shell that starts the tests in the background has them
            # ignore it, and so all that they start.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def test_the_command(self) -> None:
        """A picture, or what a program reads."""
        self.book('ours')
        drawn = self.run_it('--hosts')
        self.assertEqual('', drawn.stderr)
        for words in ('Hosts from 2050-01-01 10:00:00 UTC until',
                      'gold  3 hosts, at least 1 free', 'silver  2 hosts',
                      'n0 ', '▒ planned'):
            self.assertIn(words, drawn.stdout)
        self.assertEqual(
            [[[0, 3], [7200, 1], [14400, 3]], [[0, 2]]],
            [each['steps'] for each in json.loads(
                self.run_it('-f', 'json').stdout)['classes']])
        for words, hint in ((('--watch', '-f', 'json'), '--watch draws'),
                            (('--watch', '0'), 'not a number of seconds')):
            refused = self.run_it(*words)
            # A refusal is JSON on stdout where JSON is asked for.
            said = refused.stdout if 'json' in words else refused.stderr
            self.assertIn(hint, said)
            self.assertNotIn('Hosts from', refused.stdout)
            self.assertNotEqual(0, refused.returncode)

    def test_watching(self) -> None:
        """What changes is drawn again, until somebody has seen enough."""
        process = self.started('--watch', '1')
        assert process.stdout is not None
        self.wait_for(process, 'silver  2 hosts, at least 2 free')
        made = self.book('new')
        self.wait_for(process, 'gold  3 hosts, at least 1 free')
        lease.LeaseManager(self.ironic).delete(made.id)
        self.wait_for(process, 'gold  3 hosts, at least 3 free')
        process.send_signal(signal.SIGINT)
        _out, told = process.communicate(timeout=240)
        self.assertEqual((0, ''), (process.returncode, told))

    def wait_for(self, process: subprocess.Popen[str], words: str) -> None:
        """Read what is drawn until it has some words."""
        assert process.stdout is not None
        for line in process.stdout:
            if words in line:
                return
        self.fail(f'{words!r} is never drawn')

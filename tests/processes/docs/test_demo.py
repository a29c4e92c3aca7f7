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


"""The demonstration as a program uses it."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys

import fixtures
import requests
import testtools

from ironic_reservations.features.placement.holds import consumers
from tests import waiting
from tests import world
from tools import calendar_leases
from tools import demo as demonstration
from tools import placement

ROOT = pathlib.Path(__file__).parents[3]
#: What takes so long hangs, also on a machine that has other things to do.
ENDS_WITHIN = 240
#: The demonstration without what it tells, which has its own timing.
UNTOLD = """
import sys
from tools import demo
from tools import lease_story
demo.tell_main_job = lease_story.tell = lambda *given: None
sys.exit(demo.main(['--keep']))
"""


class JsonTest(testtools.TestCase):
    """``tools/demo.sh --json``."""

    def test_serves_with_holds_and_leaves_nothing_behind(self):
        """A node that is reserved is held; SIGTERM ends all of it."""
        folder = self.useFixture(fixtures.TempDir()).path
        demo = subprocess.Popen(
            [sys.executable, '-W', 'ignore', '-m', 'tools.demo', '--json'],
            cwd=ROOT, stdout=subprocess.PIPE, text=True, env={
                **os.environ, 'TMPDIR': folder})
        self.addCleanup(demo.wait)
        self.addCleanup(demo.kill)
        self.addCleanup(demo.stdout.close)
        there = json.loads(demo.stdout.readline())
        node = there['nodes'][0]['uuid']
        with placement.session() as asking:
            self.assertEqual([], placement.holders(
                asking, there['placement_url'], node))
            made = asking.post(
                f'{there["baremetal_url"]}/v1/reservations', json={
                    'instance_uuid': world.new_uuid(), 'node_uuid': [node]})
            self.assertEqual(201, made.status_code, made.text)
            held, = placement.holders(asking, there['placement_url'], node)
            self.assertTrue(consumers.is_ours(held))
            asking.delete(made.headers['Location']).raise_for_status()
            self.assertEqual([], placement.holders(
                asking, there['placement_url'], node))

        demo.send_signal(signal.SIGTERM)

        self.assertEqual(0, demo.wait(ENDS_WITHIN))
        self.assertEqual([], [*pathlib.Path(folder).iterdir()])
        for url in (there['baremetal_url'], there['placement_url']):
            self.assertRaises(requests.ConnectionError, requests.get, url)


class KeepTest(testtools.TestCase):
    """``tools/demo.sh --keep``."""

    def test_shows_a_calendar_with_leases_until_it_is_interrupted(self):
        """The page is where it says; nothing goes on after Ctrl-C."""
        folder = self.useFixture(fixtures.TempDir()).path
        demo = subprocess.Popen(
            [sys.executable, '-W', 'ignore', '-c', UNTOLD], cwd=ROOT,
            stdout=subprocess.PIPE, text=True, env={
                **os.environ, 'PYTHONPATH': str(ROOT), 'TMPDIR': folder})
        self.addCleanup(demo.wait)
        self.addCleanup(demo.kill)
        self.addCleanup(demo.stdout.close)
        page = next(line.strip() for line in demo.stdout
                    if line.endswith(f'{calendar_leases.PAGE}\n'))
        self.assertEqual(200, requests.get(page).status_code)
        url = page.removesuffix(calendar_leases.PAGE)
        shown = requests.get(f'{url}/v1/calendar?rows=true', headers={
            'OpenStack-API-Version': 'baremetal-reservation latest'})
        self.assertEqual(200, shown.status_code, shown.text)
        calendar = shown.json()['calendar']
        booked = collections.Counter(
            calendar['leases'][lease]['name'] for host in calendar['hosts']
            for _, _, _, lease, _ in host['bookings'])
        self.assertEqual({each.name: each.hosts
                          for each in demonstration.to_look_at()}, booked)
        # Placement, Ironic's master and its worker.
        self.assertLessEqual(3, len(_at_work_in(folder)))

        demo.send_signal(signal.SIGINT)

        self.assertEqual(0, demo.wait(ENDS_WITHIN))
        self.assertEqual([], [*pathlib.Path(folder).iterdir()])
        self.assertRaises(requests.ConnectionError, requests.get, page)
        waiting.until(lambda: not _at_work_in(folder),
                      lambda: _at_work_in(folder))


def _at_work_in(folder):
    """Return the processes that work in a folder, or did until it went."""
    found = []
    for process in pathlib.Path('/proc').glob('[0-9]*'):
        # NOTE: others' are not ours to look at, and any may end meanwhile.
        with contextlib.suppress(OSError):
            if os.readlink(process / 'cwd').startswith(f'{folder}/'):
                found.append(process.name)
    return found

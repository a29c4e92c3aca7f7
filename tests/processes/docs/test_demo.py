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

import json
import os
import pathlib
import signal
import subprocess
import sys

import fixtures
import requests
import testtools

from ironic_reservations.engine.placement import consumers
from tests import world
from tools import placement

ROOT = pathlib.Path(__file__).parents[3]
#: What takes so long hangs, also on a machine that has other things to do.
ENDS_WITHIN = 240


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

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

"""The services of a cloud for tests: what does not start is gone."""

from __future__ import annotations

import pathlib
import tempfile
from unittest import mock

import testtools

from tools import child
from tools.stack import ground as stack_ground


class TestGround(testtools.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.ground = stack_ground.Ground(pathlib.Path(self.enterContext(
            tempfile.TemporaryDirectory())))
        self.addCleanup(self.ground.end)

    def test_service_that_does_not_answer_is_ended(self) -> None:
        """It kept its port, and all waits for other services failed."""
        self.enterContext(mock.patch.object(stack_ground, 'START_TIMEOUT', 0))
        self.ground.spawn('late', 'threading.Event().wait()')
        process = self.ground.children['late'].process
        self.assertRaises(child.NotStarted, self.ground.wait_for, 'late')
        self.assertEqual({}, self.ground.children)
        self.assertIsNotNone(process.poll())

    def test_service_that_ended_is_forgotten(self) -> None:
        self.ground.spawn('bad', 'sys.exit(3)')
        refused = self.assertRaises(child.NotStarted, self.ground.wait_for,
                                    'bad')
        self.assertIn('bad ended with 3', str(refused))
        self.assertEqual({}, self.ground.children)

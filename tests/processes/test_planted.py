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

"""The tests of the gate notice whatever is broken on purpose."""

from __future__ import annotations

import subprocess
import sys

import testtools
from testtools import content

from tests.processes import mutations


class PlantedTestCase(testtools.TestCase):
    """One mutation after the other, each in a process of its own."""

    def test_each_is_noticed(self) -> None:
        ended = subprocess.run(
            [sys.executable, '-m', 'tests.processes.planted'],
            stdout=subprocess.PIPE, text=True, check=False)
        self.addDetail('planted', content.text_content(ended.stdout))
        names = mutations.names()
        self.assertIn(f'{len(names)} of {len(names)} noticed', ended.stdout)
        self.assertEqual(0, ended.returncode, ended.stdout)

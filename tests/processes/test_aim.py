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

"""The storm that is made of everything finds each planted fault."""

from __future__ import annotations

import os
import subprocess
import sys

import testscenarios
import testtools
from testtools import content

from tests.processes import mutations
from tests.processes import storm

if os.environ.get(storm.SECONDS_VARIABLE):
    class AimTestCase(testscenarios.WithScenarios, testtools.TestCase):
        """Within five minutes each; in the long run, as hours are needed."""

        mutation: str
        scenarios = [(name, {'mutation': name}) for name in mutations.names()]

        def test_full_mix_finds_it(self) -> None:
            ended = subprocess.run(
                [sys.executable, '-m', 'tests.processes.mutants', '--full',
                 '--seed', os.environ.get(storm.SEED_VARIABLE, '1'),
                 self.mutation], stdout=subprocess.PIPE, text=True,
                check=False)
            self.addDetail('storm', content.text_content(ended.stdout))
            self.assertEqual(0, ended.returncode, ended.stdout)

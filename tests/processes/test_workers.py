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

"""Workers of stestr that share the classes of tests out, one of which dies."""

import os
import pathlib
import subprocess
import sys

import fixtures
import testtools

_ROOT = pathlib.Path(__file__).parents[2]
#: Each class says which worker runs it.
# NOTE: none is over before both workers have begun with one: one that starts
# late on a busy machine would find nothing left to do.
_MODULE = """
import os, pathlib, time, unittest

class _Case:

    @classmethod
    def setUpClass(cls):
        ran = pathlib.Path('ran')
        (ran / f'{cls.__name__}-{os.getpid()}').touch()
        while len({path.name.split('-')[1] for path in ran.iterdir()}) < 2:
            time.sleep(0.01)

    def test_one(self):
        pass

    def test_two(self):
        pass

for number in range(8):
    name = f'Test{number}'
    globals()[name] = type(name, (_Case, unittest.TestCase), {
        '__module__': __name__})
del name, number
"""


class WorkersTestCase(testtools.TestCase):
    """Workers of a real stestr."""

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for name in ('ran', 'tests'):
            (self.folder / name).mkdir()
        (self.folder / 'tests' / '__init__.py').touch()
        (self.folder / '.stestr.conf').write_text(
            (_ROOT / '.stestr.conf').read_text())

    def run_them(self, code):
        (self.folder / 'tests' / 'test_some.py').write_text(code)
        return subprocess.run(
            [sys.executable, '-m', 'tools.run_tests', '--concurrency', '2'],
            cwd=self.folder, env={**os.environ, 'PYTHONPATH': str(_ROOT)},
            capture_output=True, text=True)

    def test_both_have_work_until_the_end(self):
        done = self.run_them(_MODULE)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertIn('Passed: 16', done.stdout)
        ran = [path.name.split('-') for path in
               (self.folder / 'ran').iterdir()]
        self.assertEqual([f'Test{number}' for number in range(8)],
                         sorted(name for name, _pid in ran))
        self.assertEqual(2, len({pid for _name, pid in ran}))

    def test_worker_that_dies_is_a_failure_and_the_other_goes_on(self):
        done = self.run_them(_MODULE.replace(
            'pass',
            'os._exit(3) if type(self).__name__ == "Test2" else None'))
        self.assertNotEqual(0, done.returncode, done.stdout)
        ran = {path.name.split('-')[0] for path in
               (self.folder / 'ran').iterdir()}
        self.assertEqual({f'Test{number}' for number in range(8)}, ran)

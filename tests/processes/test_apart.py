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


"""The recorder and the checker share no code with what they judge."""

from __future__ import annotations

import ast
from collections.abc import Iterator
import os
import pathlib
import subprocess
import sys
import unittest

from tests.processes import mix as mixes
from tests.processes import mutations
from tests.processes import statements

_HERE = pathlib.Path(__file__).parent
_JUDGES = (*sorted((_HERE / 'checker').glob('*.py')),
           _HERE / 'journal.py', _HERE / 'recorder.py', _HERE / 'exchange.py',
           _HERE / 'people.py', _HERE / 'trouble.py',
           _HERE.parent / 'real' / 'remembering.py')


def _imported(path: pathlib.Path) -> Iterator[str]:
    for each in ast.walk(ast.parse(path.read_text())):
        if isinstance(each, ast.Import):
            yield from (name.name for name in each.names)
        elif isinstance(each, ast.ImportFrom):
            yield from (f'{each.module}.{name.name}' for name in each.names)


class ApartTestCase(unittest.TestCase):
    """Read from what they import."""

    def test_judges_import_nothing_of_the_product(self) -> None:
        """Nor anything of the tests that does."""
        apart = {path.stem for path in _JUDGES}
        for path in _JUDGES:
            for name in _imported(path):
                self.assertFalse(name.startswith('ironic_reservations'),
                                 (path, name))
                if name.startswith('tests.'):
                    self.assertIn(name.rpartition('.')[2], apart,
                                  (path, name))

    def test_each_mutation_says_what_it_breaks(self) -> None:
        """And can be applied: see also the run over all of them."""
        self.assertGreaterEqual(len(mutations.names()), 10)
        for name, mutation in mutations.every().items():
            self.assertTrue(mutation.apply.__doc__, name)

    def test_each_mutation_breaks_what_is_there(self) -> None:
        """What it changes still has that name, and its storm can be made."""
        code = ('from tests.processes import mutations\n'
                'for name in mutations.names():\n'
                '    mutations.apply(name)\n')
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-c', code],
            cwd=_HERE.parents[1], text=True, capture_output=True,
            check=False, env={**os.environ, statements.VARIABLE: 'none',
                              'PYTHONPATH': str(_HERE.parents[1])})
        self.assertEqual((0, ''), (done.returncode, done.stderr))

    def test_faults_and_lives_of_mixes_are_known(self) -> None:
        """A name that nobody knows would be a fault that never is."""
        for name, mutation in mutations.every().items():
            mix = mutation.best.mix
            self.assertLessEqual(set(mix.faults), set(mixes.FAULTS), name)
            self.assertLessEqual(set(mix.lives), set(mixes.LIVES), name)
            self.assertLessEqual(set(mix.acts), set(mixes.ACTS), name)

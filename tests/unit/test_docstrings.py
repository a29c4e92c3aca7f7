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

"""What a replacement in many files leaves behind."""

from __future__ import annotations

import ast
from collections.abc import Iterator
import pathlib
import re

import testtools

ROOT = pathlib.Path(__file__).parents[2]
#: Two to four words, and the same again.
_TWICE = re.compile(r'\b(\w+(?: \w+){1,3}) \1\b')
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


def _docstrings() -> Iterator[tuple[str, str]]:
    for room in ('ironic_reservations', 'plugins'):
        for file in (ROOT / room).rglob('*.py'):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, _DOCUMENTED) and node.body:
                    yield (f'{file.relative_to(ROOT)}:{node.body[0].lineno}',
                           ' '.join((ast.get_docstring(node) or '').split()))


class TestDocstrings(testtools.TestCase):

    def test_no_phrase_stands_twice(self) -> None:
        """Thirty had, for instance "the ids" three times before "of"."""
        self.assertEqual([], [
            (where, twice.group()) for where, text in _docstrings()
            if (twice := _TWICE.search(text))])

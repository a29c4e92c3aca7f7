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

"""Each listed flaw of a peer has a test, and each such test is listed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
import importlib
import pathlib
import re

import testtools

_ROOT = pathlib.Path(__file__).parents[2]
_PAGE = _ROOT / 'doc' / 'source' / 'contributor' / 'peers.rst'
_PEER = re.compile(r'\b(Blazar|esi-leap): ')
_ROW = re.compile(r'   \* - (.+?)\n     - (\S+)\n     - (.+?)\n(?=   \*|\Z)',
                  re.DOTALL)


def _listed() -> list[tuple[str, str, list[str]]]:
    """Return the rows of the table: the flaw, the peer, the tests."""
    return [(flaw, peer, re.findall(r'``([\w.]+)``', tests)) for
            flaw, peer, tests in _ROW.findall(_PAGE.read_text())][1:]


def _said() -> Iterator[tuple[str, str]]:
    """Return the tests whose docstrings name a peer, with the peer."""
    for path in _ROOT.joinpath('tests').rglob('test_*.py'):
        text = path.read_text()
        # Only these modules are parsed, since parsing takes seconds.
        for found in ast.walk(ast.parse(text if _PEER.search(text) else '')):
            if (isinstance(found, ast.FunctionDef)
                    and found.name.startswith('test_')):
                for peer in _PEER.findall(ast.get_docstring(found) or ''):
                    yield peer, found.name


class TestPeers(testtools.TestCase):

    def test_each_flaw_that_is_listed_has_its_tests(self):
        """They can be imported, and their docstrings name the peer."""
        rows = _listed()
        self.assertEqual({'Blazar', 'esi-leap'},
                         {peer for _, peer, _ in rows})
        for flaw, peer, tests in rows:
            self.assertNotEqual([], tests, flaw)
            for test in tests:
                with self.subTest(flaw=flaw, test=test):
                    module, case, name = test.rsplit('.', 2)
                    method = getattr(getattr(
                        importlib.import_module(module), case), name)
                    self.assertIn(peer, _PEER.findall(method.__doc__ or ''))

    def test_each_test_that_names_a_peer_is_listed(self):
        """A reader of the table finds them all."""
        self.assertEqual({(peer, test.rpartition('.')[2]) for _, peer, tests
                          in _listed() for test in tests}, set(_said()))

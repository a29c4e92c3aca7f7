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

"""Tests in a process with Nova, seen as tests of this one.

NOTE: Nova registers its options with the same global object as Ironic, and
is not to be imported beside it. So these tests are in modules that nobody
collects, and a class here has a test for each of theirs.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from collections.abc import Mapping
import json
import os
import pathlib
import subprocess
import sys
import traceback
from typing import Any
import unittest

import testtools

_ROOT = pathlib.Path(__file__).parents[1]


class ChildTestCase(testtools.TestCase):
    """Runs all tests of a module in one process, and tells of each.

    :cvar module: the name of the module.
    """

    module: str
    _told: dict[str, str | None]

    @classmethod
    def setUpClass(cls) -> None:
        """Run them."""
        super().setUpClass()
        with subprocess.Popen(
                [sys.executable, '-W', 'ignore', '-m', __name__, cls.module],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, cwd=_ROOT,
                env={**os.environ, **cls.environment()}) as process:
            try:
                out, err = process.communicate(timeout=300)
            finally:
                process.kill()
        try:
            cls._told = json.loads(out.splitlines()[-1])
        except (IndexError, ValueError):
            raise AssertionError(
                f'{cls.module} ended with {process.returncode}:\n'
                f'{out}\n{err}') from None

    @classmethod
    def environment(cls) -> Mapping[str, str]:
        """Return what the process finds in its environment."""
        return {}

    def check(self, name: str) -> None:
        """Tell what has become of a test."""
        self.assertIn(name, self._told, '\n'.join(
            filter(None, self._told.values())))
        if self._told[name] is not None:
            self.fail(self._told[name])


def mirrors(module: str) -> Callable[[type[ChildTestCase]],
                                     type[ChildTestCase]]:
    """Give a class a test for each one of a module."""
    def mirror(cls: type[ChildTestCase]) -> type[ChildTestCase]:
        cls.module = module
        for name, story in _tests_of(module):
            def test(self: ChildTestCase, name: str = name) -> None:
                self.check(name)
            test.__doc__ = story
            test.__name__ = name
            setattr(cls, name, test)
        return cls
    return mirror


def _tests_of(module: str) -> list[tuple[str, str | None]]:
    """Find the tests of a module without importing it."""
    path = _ROOT / f'{module.replace(".", "/")}.py'
    return [(each.name, ast.get_docstring(each))
            for each in ast.walk(ast.parse(path.read_text()))
            if isinstance(each, ast.FunctionDef)
            and each.name.startswith('test_')]


class _Told(unittest.TestResult):

    def __init__(self) -> None:
        super().__init__()
        self.told: dict[str, str | None] = {}

    def addSuccess(self, test: unittest.TestCase, details: Any = None
                   ) -> None:
        self.told[_name(test)] = None

    def addError(self, test: Any, err: Any = None, details: Any = None
                 ) -> None:
        self.told[_name(test)] = ('\n'.join(
            each.as_text() for each in details.values()) if details
            else ''.join(traceback.format_exception(*err)))

    addFailure = addError


def _name(test: unittest.TestCase) -> str:
    return test.id().rpartition('.')[2]


def main(module: str) -> None:
    """Run the tests of a module; the last line tells of each."""
    # NOTE: with it the modules of the plugin are found.
    from tests import nova_process  # noqa: F401
    result = _Told()
    unittest.defaultTestLoader.loadTestsFromName(module).run(result)
    print()
    print(json.dumps(result.told))


if __name__ == '__main__':
    main(sys.argv[1])

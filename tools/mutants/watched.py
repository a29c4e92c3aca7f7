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

"""Tests, run until one fails, or all of them to see which lines each runs."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import importlib
import itertools
import json
import os
import pathlib
import re
import resource
import sys
import time
import unittest

import coverage
import hypothesis

#: In bytes, for a mutant that never stops to take more.
_MEMORY = 4 << 30


class _Result(unittest.TestResult):
    """What each test took, and the lines that it ran.

    :param watch: of the lines.
    """

    def __init__(self, watch: coverage.Coverage | None) -> None:
        super().__init__()
        self.failfast = watch is None
        self.watch = watch
        self.seconds: dict[str, float] = {}

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self.seconds[test.id()] = -time.monotonic()
        if self.watch is not None:
            self.watch.switch_context(test.id())

    def stopTest(self, test: unittest.TestCase) -> None:
        self.seconds[test.id()] += time.monotonic()
        if self.watch is not None:
            self.watch.switch_context('')
        super().stopTest(test)


def _each(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from _each(test)
        else:
            yield test


def first_failure(names: Sequence[str]) -> bool:
    """Run tests until one fails; return whether one did."""
    _limit()
    # NOTE: one class after another, since an import takes long, too.
    for _, of_class in itertools.groupby(
            names, key=lambda name: name.rpartition('.')[0]):
        result = _Result(None)
        _loaded(list(of_class)).run(result)
        if not result.wasSuccessful():
            return True
    return False


def trace(names: Sequence[str], without: str, written: pathlib.Path) -> None:
    """Run tests, and write the lines that each that passes has run.

    :param without: a pattern of tests to leave out.
    """
    _limit()
    watch = coverage.Coverage(source=['ironic_reservations'], data_file=None)
    watch.start()
    result = _Result(watch)
    unittest.TestSuite(test for test in _each(_loaded(names))
                       if not re.search(without, test.id())).run(result)
    watch.stop()
    failed = {test.id() for test, _ in result.failures + result.errors}
    print('Failed without any mutant:', sorted(failed), file=sys.stderr)
    data = watch.get_data()
    written.write_text(json.dumps({
        'seconds': result.seconds,
        'lines': {os.path.relpath(path): {
            line: sorted({*tests} - {'', *failed})
            for line, tests in data.contexts_by_lineno(path).items()}
            for path in data.measured_files()}}))


def _limit() -> None:
    # NOTE: the tests choose another profile when they are imported first.
    importlib.import_module('tests')
    # NOTE: the same examples each time, and none that is made smaller.
    hypothesis.settings.register_profile(
        'mutants', deadline=None, derandomize=True, database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate))
    hypothesis.settings.load_profile('mutants')
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


def _loaded(names: Sequence[str]) -> unittest.TestSuite:
    loader = unittest.TestLoader()
    return unittest.TestSuite(
        loader.discover(name.replace('.', '/'), top_level_dir='.')
        if os.path.isdir(name.replace('.', '/'))
        else loader.loadTestsFromName(name) for name in names)

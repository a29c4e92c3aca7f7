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

"""A worker of stestr, which takes the longest class that nobody has begun."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import importlib
import os
import pathlib
import re
import sys
import unittest

from stestr.subunit_runner import program
import subunit
from subunit import test_results
import testtools

from tools import durations

#: Names the folder that the workers of a run share.
FOLDER_VARIABLE = 'IRONIC_RESERVATIONS_TEST_WORKERS'
#: The file in it that has the CPU time of each class.
SPENT = 'spent'
_LIST = '--load-list'
#: Of a list in the folder, and of a class that a worker has begun with.
_LISTED, _TAKEN = '.listed', '.taken'


class Shared:
    """The classes of all workers, each of which one worker takes.

    :param folder: of all workers of this run.
    :param times: how long a class takes, in seconds, as far as is known.
    """

    def __init__(self, folder: pathlib.Path,
                 times: Mapping[str, float]) -> None:
        self._folder = folder
        self._times = times

    def add(self, name: str, tests: Sequence[str]) -> None:
        """Write the tests of a worker where all others find them.

        :param name: of the worker; none before it had the same.
        :raises LookupError: a test is in no module of tests.  To learn of it
            when its turn comes would be late.
        """
        lost = [test for test in tests if not durations.GROUP.match(test)]
        if lost:
            raise LookupError(
                f'In no module of tests: {", ".join(lost)}. A class that '
                'Hypothesis makes needs a subclass in its module.')
        partial = self._folder / f'{name}.partial'
        partial.write_text('\n'.join(tests))
        partial.rename(partial.with_suffix(_LISTED))

    def take(self) -> Iterator[tuple[str, frozenset[str]]]:
        """Return each class that no other worker has, the longest first.

        A class is taken when it is returned.
        """
        while (found := self._next()) is not None:
            yield found

    def spent(self, group: str, seconds: float) -> None:
        """Write how much CPU time a class has taken, with its children."""
        with (self._folder / SPENT).open('a') as file:
            file.write(f'{seconds:.2f} {group}\n')

    def _next(self) -> tuple[str, frozenset[str]] | None:
        for _seconds, name, group, tests in sorted(
                self._left(), key=lambda each: (-each[0], each[1:3])):
            try:
                # NOTE: of any number of workers one makes the file.
                (self._folder / f'{name}.{group}{_TAKEN}').touch(
                    exist_ok=False)
            except FileExistsError:
                continue
            return group, tests
        return None

    def _left(self) -> Iterator[tuple[float, str, str, frozenset[str]]]:
        taken = {path.name for path in self._folder.glob(f'*{_TAKEN}')}
        for path in self._folder.glob(f'*{_LISTED}'):
            groups: dict[str, list[str]] = {}
            for test in path.read_text().splitlines():
                groups.setdefault(durations.class_of(test), []).append(test)
            for group, tests in groups.items():
                if f'{path.stem}.{group}{_TAKEN}' not in taken:
                    yield (self._times.get(group, 0), path.stem, group,
                           frozenset(tests))


def load(group: str, tests: frozenset[str]) -> unittest.TestSuite:
    """Return a class with those of its tests.

    :raises LookupError: its module does not have one of them.
    """
    module = re.match(durations.MODULE, group)[0]
    suite = program.filter_by_ids(
        unittest.defaultTestLoader.loadTestsFromModule(
            importlib.import_module(module)), tests)
    missing = tests.difference(
        test.id() for test in program.iterate_tests(suite))
    if missing:
        raise LookupError(f'There is no test {", ".join(sorted(missing))}.')
    return suite


def work(shared: Shared) -> None:
    """Run tests until none is left, and write what becomes of them."""
    result = test_results.AutoTimingTestResultDecorator(
        testtools.ExtendedToStreamDecorator(
            subunit.StreamResultToBytes(sys.stdout)))
    result.startTestRun()
    try:
        for group, tests in shared.take():
            before = os.times()
            load(group, tests)(result)
            shared.spent(group, sum(os.times()[:4]) - sum(before[:4]))
    finally:
        result.stopTestRun()


def main(arguments: Sequence[str]) -> None:
    """Do the work that stestr gives to one of its runners.

    :param arguments: of the runner; a file has the list of its tests.
    """
    path = pathlib.Path(arguments[arguments.index(_LIST) + 1])
    shared = Shared(pathlib.Path(os.environ[FOLDER_VARIABLE]),
                    durations.known())
    shared.add(path.name, path.read_text().splitlines())
    work(shared)

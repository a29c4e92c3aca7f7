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

"""Run tests: the gate, the long run, or those that are named.

``python -m tools.run_tests`` without arguments runs the gate, with ``--all``
the long run or some pieces of it, with ``--without-servers`` the tests of the
gate that need neither MariaDB nor PostgreSQL, and with the arguments of
``stestr run`` those tests of all that these select. The workers are forked
from this process, which imports all tests once, and share the classes of tests
out as they go.
"""

from __future__ import annotations

import argparse
import collections
from collections.abc import Sequence
from concurrent import futures
import contextlib
import dataclasses
import gc
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import types
import unittest

import testtools

from tools import durations
from tools import long_run
from tools import own_server
from tools import summary
from tools import tiers
from tools import twins
from tools import worker
from tools import worker_forks

_TESTS = './tests'
#: What the tests of the gate send to databases.
_STATEMENTS = pathlib.Path('.stestr', 'statements')
_LIST = 'tests'


@dataclasses.dataclass(frozen=True)
class Selected:
    """Which tests are run.

    :ivar tests: their ids.
    :ivar left: how many the long run has beside them; none if they were
        named.
    """

    tests: Sequence[str]
    left: int = 0


def main(arguments: Sequence[str]) -> int:
    """Return 0 if some tests ran and none failed."""
    parser = argparse.ArgumentParser(
        prog='python -m tools.run_tests', add_help=False)
    parser.add_argument('--all', nargs='?', const='', metavar='PIECES')
    parser.add_argument('--test-path')
    parser.add_argument('--concurrency')
    parser.add_argument('--without-servers', action='store_true')
    parser.add_argument('--serial', action='store_true')
    parser.add_argument('--results', type=pathlib.Path)
    chosen, others = parser.parse_known_args(list(arguments))
    if chosen.all is not None:
        return long_run.main(list(filter(None, chosen.all.split(','))))
    # NOTE: ends as by any exception, with all that was started.
    signal.signal(signal.SIGTERM, _end)
    named = bool(others or chosen.test_path or chosen.without_servers)
    if not named:
        shutil.rmtree(_STATEMENTS, ignore_errors=True)
        # NOTE: tests read it when they are imported.
        os.environ[twins.VARIABLE] = str(_STATEMENTS.absolute())
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(tempfile.mkdtemp(prefix='tests-'))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        selected = select(chosen.test_path or _place(others), named)
        if chosen.without_servers:
            selected = Selected(list(filter(tiers.without_servers,
                                            selected.tests)))
        (folder / _LIST).write_text('\n'.join(selected.tests) + '\n')
        environment = {**os.environ, worker.FOLDER_VARIABLE: str(folder)}
        wanted = [each for each in others if not each.startswith('-')]
        if any(tiers.needs_server(test) and (not wanted or any(
                re.search(each, test) for each in wanted))
                for test in selected.tests):
            environment.update(_servers(stack))
        before = _last()
        forks = worker_forks.WorkerForks(folder)
        runner = subprocess.Popen(
            [_stestr(), 'run', '--load-list', str(folder / _LIST),
             '--concurrency',
             '1' if chosen.serial else chosen.concurrency or str(_workers()),
             *others],
            # NOTE: what stestr runs instead of a Python; it adds the runner
            # and its arguments.
            env={**environment, 'PYTHON':
                 f'{sys.executable} -I -S {worker_forks.CLIENT}'})
        os.environ.update(environment)
        if 'tests.forks' in sys.modules:
            sys.modules['tests.forks'].share()
        # NOTE: a worker never writes to what it has not made.
        gc.freeze()
        task = forks.serve(runner)
        if task is not None:
            stack.pop_all()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            worker.main(task)
            return 0
        spent = _spent(folder / worker.SPENT)
    print(spent)
    return _report(runner.returncode, before, selected, chosen.results)


def select(place: str, named: bool) -> Selected:
    """Import all tests of a place, and return those to run.

    :param place: a folder.
    :param named: whether stestr selects among them, and not the gate.
    :raises SystemExit: :data:`tools.durations.FILE` has a class that is not
        there.
    """
    found = list(testtools.testsuite.iterate_tests(
        unittest.defaultTestLoader.discover(place, top_level_dir='.')))
    for test in found:
        if isinstance(test, unittest.loader._FailedTest):
            test.debug()
    ids = [test.id() for test in found]
    if named:
        return Selected(ids)
    gone = durations.known().keys() - set(map(durations.class_of, ids))
    if gone:
        sys.exit(f'{durations.FILE} has {", ".join(sorted(gone))}, which no '
                 'test is of any more: write it again with python -m '
                 'tools.durations after a run, or take the lines out.')
    gate = tiers.Gate.of_this_tree()
    chosen = [test for test in ids if gate.has(test)]
    return Selected(chosen, len(ids) - len(chosen))


def _end(number: int, frame: types.FrameType | None) -> None:
    sys.exit(128 + number)


def _place(selectors: Sequence[str]) -> str:
    """Return the folder of tests that are selected by one full name."""
    if len(selectors) == 1 and selectors[0].startswith('tests.'):
        folder = pathlib.Path(selectors[0].replace('.', '/'))
        while not folder.is_dir():
            folder = folder.parent
        return f'./{folder}'
    return _TESTS


def _servers(stack: contextlib.ExitStack) -> dict[str, str]:
    """Start the servers that the environment does not name, side by side."""
    urls = {}
    with futures.ThreadPoolExecutor() as at_once:
        started = {variable: at_once.submit(
            stack.enter_context, own_server.OwnServer(kind, forgetful=True))
            for kind, variable in own_server.NAMED_BY.items()
            if variable not in os.environ}
    for variable, server in started.items():
        # NOTE: each test that needs it says so.
        with contextlib.suppress(own_server.NotInstalled):
            urls[variable] = server.result().url
    return urls


def _workers() -> int:
    cores = os.cpu_count() or 1
    return cores + 1 if cores < 8 else 8


def _spent(file: pathlib.Path) -> str:
    """Return the CPU time of the tests by their folders, as a text."""
    folders: collections.Counter[str] = collections.Counter()
    for line in file.read_text().splitlines() if file.exists() else ():
        seconds, name = line.split()
        folders['.'.join(name.split('.')[1:3])] += float(seconds)
    # NOTE: of servers and of processes that others fork nothing is known
    # before they have ended.
    return f'CPU seconds, without servers: {sum(folders.values()):.0f}: ' + (
        ', '.join(f'{name} {seconds:.0f}'
                  for name, seconds in folders.most_common()
                  if seconds >= 1))


def _last() -> str:
    """Return the number of the newest results of stestr."""
    number = pathlib.Path('.stestr', 'next-stream')
    return number.read_text() if number.exists() else ''


def _report(status: int, before: str, selected: Selected,
            results: pathlib.Path | None) -> int:
    """Print which tests failed, what was left out, and the counts."""
    stream, broken = b'', int(_last() == before)
    if broken:
        print('No results: no test matches, or stestr ended with '
              f'{status}.', file=sys.stderr)
    else:
        stream = subprocess.run([_stestr(), 'last', '--subunit'],
                                stdout=subprocess.PIPE, check=False).stdout
    if results is not None:
        results.write_bytes(stream)
    if selected.left and not broken:
        # NOTE: each database has to be sent what the others are.
        broken += twins.main(['check', str(_STATEMENTS)])
        print(f'{selected.left} more tests are in the long run: '
              './tools/test.sh --all (see doc/source/contributor/tests.rst).')
    return summary.report([stream], broken) or int(bool(status))


def _stestr() -> str:
    return str(pathlib.Path(sys.executable).with_name('stestr'))


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))

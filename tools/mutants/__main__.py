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

"""Count the mutants of the planner and of the commit that tests kill.

``draw FOLDER`` draws a sample of mutants of HEAD; ``run FOLDER TESTS...`` runs
on each that is alive the tests that run its line, the cheapest first, until
one fails. So further tests can be run on those that are still alive.
"""

from __future__ import annotations

import argparse
import ast
import collections
from collections.abc import Callable
from collections.abc import Sequence
import contextlib
import functools
import itertools
import json
import math
import multiprocessing
import os
import pathlib
import signal
import sys

from tools.mutants import sample
from tools.mutants import watched


def run(folder: pathlib.Path, tests: Sequence[str], without: str,
        within: float) -> None:
    """Run tests on each mutant that is alive, and print what became of it."""
    mutants = json.loads((folder / 'mutants.json').read_text())
    tree, trace = folder / 'tree', folder / 'trace.json'
    _child(tree, functools.partial(watched.trace, tests, without, trace),
           None)
    seen = json.loads(trace.read_text())
    seconds = seen['seconds']
    for number, mutant in enumerate(mutants):
        path = tree / mutant['path']
        before = path.read_text()
        chosen = _chosen(before, mutant['line'],
                         seen['lines'].get(mutant['path'], {}))
        classes: collections.Counter[str] = collections.Counter()
        for test in chosen:
            classes[test.rpartition('.')[0]] += seconds[test]
        chosen.sort(key=lambda test: (classes[test.rpartition('.')[0]], test))
        took = list(itertools.accumulate(map(seconds.get, chosen)))
        chosen = [test for test, so_far in zip(chosen, took, strict=True)
                  if so_far <= within]
        if mutant['fate'] != 'alive' or not chosen:
            continue
        path.write_text(mutant['after'])
        try:
            mutant['fate'] = _child(
                tree, functools.partial(watched.first_failure, chosen),
                20 + 4 * took[-1])
        finally:
            path.write_text(before)
        (folder / 'mutants.json').write_text(json.dumps(mutants))
        print(number, mutant['fate'], f'{mutant["path"]}:{mutant["line"]}',
              *mutant['diff'], sep='\n    ', flush=True)
    print(collections.Counter(mutant['fate'] for mutant in mutants))


def _chosen(source: str, line: int, seen: dict[str, list]) -> list[str]:
    """Return the tests that run the statement with a line.

    What only an import runs is of all tests that run its module.
    """
    first = last = line
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and (
                node.lineno <= line <= (node.end_lineno or 0)):
            body = getattr(node, 'body', None)
            first = node.lineno
            last = (body[0].lineno - 1 if body else node.end_lineno) or 0
    of_line = {test for number in range(first, last + 1)
               for test in seen.get(str(number), ())}
    return list(of_line or {test for tests in seen.values()
                            for test in tests})


def _child(tree: pathlib.Path, what: Callable[[], bool | None],
           seconds: float | None) -> str:
    """Run something in a process group of its own; return a mutant's fate."""
    def begin() -> None:
        os.setpgid(0, 0)
        os.chdir(tree)
        sys.path.insert(0, str(tree))
        # NOTE: a mutant's code is of its own process alone.
        sys.dont_write_bytecode = True
        os.environ |= {'PYTHONPATH': str(tree), 'PYTHONDONTWRITEBYTECODE': '1'}
        failed = what()
        # NOTE: a mutant may have left threads that never end.
        os._exit(1 if failed else 0)
    child = multiprocessing.get_context('fork').Process(target=begin)
    child.start()
    child.join(seconds)
    fate = {None: 'timeout', 0: 'alive'}.get(child.exitcode, 'killed')
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid or 0, signal.SIGKILL)
    child.join()
    return fate


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest='command', required=True)
    command = commands.add_parser('draw')
    command.add_argument('folder', type=pathlib.Path)
    command.add_argument('--size', type=int, default=300)
    command.add_argument('--seed', type=int, default=11)
    command = commands.add_parser('run')
    command.add_argument('folder', type=pathlib.Path)
    command.add_argument('tests', nargs='+')
    command.add_argument('--without', default='^$',
                         help='a pattern of tests to leave out')
    command.add_argument('--within', type=float, default=math.inf,
                         help='seconds for a mutant, of the cheapest tests')
    given = parser.parse_args()
    given.folder = given.folder.absolute()
    if given.command == 'run':
        run(given.folder, given.tests, given.without, given.within)
    else:
        drawn = sample.draw(pathlib.Path(__file__).parents[2],
                            given.folder / 'tree', given.size, given.seed)
        (given.folder / 'mutants.json').write_text(json.dumps(drawn))

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

"""The long run: all tests on all databases, with examples that are new.

``./tools/test.sh --all``, or ``--all=storms,cloud`` for some of its pieces.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import io
import os
import pathlib
import secrets
import shlex
import subprocess
import sys
import tempfile
import time

from tools import interpreters
from tools import summary

#: What examples are drawn with, and storms begin with.
SEED = 'IRONIC_RESERVATIONS_TEST_SEED'
_TOX = '.venv/bin/tox'
_STORM_SECONDS = {'IRONIC_RESERVATIONS_STORM_SECONDS': '120'}


@dataclasses.dataclass(frozen=True)
class Piece:
    """A piece of the long run.

    :ivar covers: for people.
    :ivar arguments: of :mod:`tools.run_tests`.
    :ivar environment: beside that of this process.
    :ivar tox: the environment of tox that it runs in.
    :ivar python: the version of Python that it needs, if that is another one;
        without it, the piece is left out.
    """

    covers: str
    arguments: Sequence[str]
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    tox: str = 'py3'
    python: str | None = None


def _folder(name: str) -> tuple[str, ...]:
    return ('--test-path', f'./tests/{name}')


_APART = ('ansible', 'browser', 'docs', 'test_aim', 'test_clusters',
          'test_storm')
PIECES = {
    'unit': Piece('the planner, the model and the clients, all examples',
                  _folder('unit')),
    'databases': Piece('one process on SQLite, MariaDB and PostgreSQL',
                       _folder('inprocess')),
    'processes': Piece(
        'several processes, killed and stopped; the checker; the proof',
        (*_folder('processes'), '--exclude-regex',
         rf'^tests\.processes\.({"|".join(_APART)})\.')),
    'browser': Piece('the calendar page', _folder('processes/browser')),
    'docs': Piece('each command of the documentation',
                  _folder('processes/docs')),
    'ansible': Piece('the Ansible collection', _folder('processes/ansible')),
    'storms': Piece('two minutes of faults over each database',
                    (*_folder('processes'), '--serial', 'test_storm'),
                    _STORM_SECONDS),
    'clusters': Piece('500 faults over each kind of cluster',
                      (*_folder('processes'), '--serial', 'test_clusters'),
                      _STORM_SECONDS),
    'aim': Piece('storms of all actors find each planted fault, in hours',
                 (*_folder('processes'), '--serial', 'test_aim'),
                 _STORM_SECONDS),
    'cloud': Piece('Keystone, Glance, Placement, Ironic and Nova',
                   (*_folder('stack'), '--serial'),
                   {'IRONIC_RESERVATIONS_STACK': '1'}, 'stack'),
    'oldest': Piece('exactly the oldest dependencies that are allowed, with '
                    'Ironic 35', ('--without-servers',), tox='oldest'),
    'py312': Piece('Python 3.12', _folder('unit'), tox='py312',
                   python='3.12'),
    'py313': Piece('Python 3.13', _folder('unit'), tox='py313',
                   python='3.13'),
}


def main(names: Sequence[str]) -> int:
    """Run pieces, and print a report.

    :param names: of pieces; all by default.
    :returns: 0 if nothing failed.
    """
    unknown = sorted(set(names).difference(PIECES))
    if unknown:
        print(f'There is no piece {", ".join(unknown)} of the long run, but '
              f'{", ".join(PIECES)}.', file=sys.stderr)
        return 2
    seed = os.environ.get(SEED) or str(secrets.randbelow(10 ** 9))
    print(f'The seed of this run is {seed}.', flush=True)
    lines, failures, streams = [], [], []
    for name in names or PIECES:
        if _is_missing(PIECES[name].python):
            lines.append(f'{name:10} left out: there is no Python '
                         f'{PIECES[name].python}')
            continue
        began = time.monotonic()
        stream = _run(PIECES[name], seed)
        minutes = (time.monotonic() - began) / 60
        failed: list[str] = []
        totals = summary.count(io.BytesIO(stream), int(not stream),
                               failed.append)
        lines.append(f'{name:10} {totals["passed"]:6} passed '
                     f'{totals["failed"]:4} failed {totals["skipped"]:4} '
                     f'skipped {minutes:6.1f} min  {PIECES[name].covers}')
        failures.extend(
            f'{text}\n    again: {_again(PIECES[name], seed, text)}'
            for text in failed)
        streams.append((stream, int(not stream)))
    print('\n'.join(('', f'The long run with seed {seed}:', *lines,
                     *failures)))
    return summary.report([stream for stream, _ in streams],
                          sum(broken for _, broken in streams),
                          tell=lambda failure: None)


def _is_missing(python: str | None) -> bool:
    return python is not None and interpreters.find(python) is None


def _run(piece: Piece, seed: str) -> bytes:
    """Return the results of a piece, or nothing if it broke down."""
    if piece.tox != 'py3' and subprocess.run(
            [_TOX, 'run', '-q', '-e', piece.tox, '--notest'], check=False,
            env=interpreters.environment(piece.python)).returncode:
        return b''
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder, 'results')
        subprocess.run(
            [f'.tox/{piece.tox}/bin/python', '-m', 'tools.run_tests',
             *piece.arguments, '--results', str(results)], check=False,
            env={**os.environ, **piece.environment, SEED: seed})
        return results.read_bytes() if results.exists() else b''


def _again(piece: Piece, seed: str, failure: str) -> str:
    """Return the command that repeats a failure.

    :param failure: whose first line names the test.
    """
    test = failure.splitlines()[0].split()[-1]
    given = {**piece.environment, SEED: seed}
    python = ('./tools/test.sh' if piece.tox == 'py3' else
              f'.tox/{piece.tox}/bin/python -m tools.run_tests')
    return ' '.join((
        *(f'{name}={value}' for name, value in given.items()), python,
        *piece.arguments[:2], shlex.quote(test)))

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

"""``python -m benchmarks proof``: run the sections, and write the page.

It exits with 1 if a promise was broken, and with 2 if a section is not
complete.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import importlib.util
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile
import time

from benchmarks import beside_blazar
from benchmarks.proof import headlines
from benchmarks.proof import logs
from benchmarks.proof import machine
from benchmarks.proof import page
from benchmarks.proof import promises
from benchmarks.proof import readme
from benchmarks.proof import rows
from benchmarks.proof import sections

RAW, PAGE = 'proof.json', 'proof.rst'
_JUDGE = pathlib.Path(__file__).parents[1] / 'requirements.txt'
#: The time in which a section that is stopped removes its databases.
_STOP_WITHIN = 60
#: A package whose source archive ships a log of the Parallel Workloads
#: Archive, and the log in it.
_WITH_LOG, _LOG = 'evalys==4.0.7', 'UniLu-Gaia-2014-2.swf'
_OF_LOG = 'cpus-per-node=12,min-cpus=24'


def main(arguments: Sequence[str]) -> int:
    """Run what the command line names; return the exit code."""
    given = _parser().parse_args(arguments)
    if given.section is not None:
        return _measure(given)
    if given.raw is not None:
        run = rows.run_of_json(json.loads(given.raw.read_text()))
        given.output.mkdir(parents=True, exist_ok=True)
        (given.output / PAGE).write_text(page.write(run))
        if given.readme is not None:
            given.readme.write_text(readme.filled(
                given.readme.read_text(), headlines.headlines(run)))
        return _judged(run)
    run = _run(given, [each for each in sections.SECTIONS
                       if not given.only or each.name in given.only])
    print(f'The page is {given.output / PAGE}, the raw data is '
          f'{given.output / RAW}.')
    return _judged(run)


def _judged(run: rows.Run) -> int:
    broken, unfinished = promises.broken(run), promises.unfinished(run)
    for text in (*broken, *unfinished):
        print(text, file=sys.stderr)
    return 1 if broken else 2 if unfinished else 0


def _run(given: argparse.Namespace,
         chosen: Sequence[sections.Section]) -> rows.Run:
    # NOTE: so that what was started is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    given.output.mkdir(parents=True, exist_ok=True)
    names = {each.name for each in chosen}
    with contextlib.ExitStack() as stack:
        notes: dict[str, list[str]] = {name: [] for name in names}
        blazar = None
        if any(each.peer for each in chosen):
            try:
                blazar = stack.enter_context(
                    beside_blazar.python(given.blazar_python))
            except (OSError, subprocess.CalledProcessError) as exc:
                for each in chosen:
                    if each.peer:
                        notes[each.name].append(
                            f'Blazar could not be installed: {exc}.')
        chosen_logs = list(given.log)
        if 'replay' in names:
            folder = pathlib.Path(stack.enter_context(
                tempfile.TemporaryDirectory()))
            notes['replay'] += _logs(chosen_logs, folder)
        environment = dict(os.environ)
        if 'packings' in names:
            notes['packings'] += _judge(stack, environment)
        run = rows.Run(
            {**machine.figures(given.server, blazar),
             'OR-tools': _ortools(environment)},
            shlex.join(['python', '-m', 'benchmarks', 'proof',
                        *_shown(given)]), ())
        for each in chosen:
            load = os.getloadavg()[0]
            print(f'{each.name}...', file=sys.stderr, flush=True)
            done = _section(each, [
                '--server', given.server,
                *(['--quick'] if given.quick else []),
                *(['--blazar-python', str(blazar)] if blazar else []),
                *(part for log in chosen_logs for part in ('--log', log))],
                environment, given.patience)
            run = dataclasses.replace(run, sections=(
                *run.sections, dataclasses.replace(
                    done, load=load, notes=tuple(notes[each.name]))))
            # NOTE: after each section, so that a run that is stopped has left
            # something.
            _write(run, given.output)
    return run


def _write(run: rows.Run, folder: pathlib.Path) -> None:
    raw = as_json(run)
    (folder / RAW).write_text(raw)
    # Numbers are rounded once, so that JSON gives the same page later.
    (folder / PAGE).write_text(page.write(rows.run_of_json(json.loads(raw))))


def as_json(run: rows.Run) -> str:
    """Return a run as JSON, with a line for each row."""
    document = rows.run_to_json(run)
    told = [json.dumps({**each, 'rows': []}, indent=1).replace(
        '"rows": []', '"rows": [\n' + ',\n'.join(
            json.dumps(row, separators=(',', ':'))
            for row in each['rows']) + ']')
        for each in document['sections']]
    head = json.dumps({**document, 'sections': []}, indent=1)
    return head.replace('"sections": []', '"sections": [' + ',\n'.join(
        told) + ']') + '\n'


def _shown(given: argparse.Namespace) -> Iterator[str]:
    """Yield the options that matter to a reader."""
    if given.quick:
        yield '--quick'
    for name in given.only or ():
        yield from ('--only', name)
    for log in given.log:
        file, *parts = log.split(',')
        yield from ('--log', ','.join((pathlib.Path(file).name, *parts)))


def _section(section: sections.Section, options: Sequence[str],
             environment: Mapping[str, str],
             patience: float) -> rows.Section:
    """Measure a section in a process of its own, within its limit.

    :param patience: by what the limit is multiplied.
    """
    began, limit = time.monotonic(), section.limit * patience
    with tempfile.TemporaryDirectory() as folder:
        measured = pathlib.Path(folder, 'rows')
        measured.touch()
        process = subprocess.Popen(
            [sys.executable, '-W', 'ignore', '-m', 'benchmarks', 'proof',
             '--section', section.name, '--rows', str(measured), *options],
            env=environment, stdout=subprocess.DEVNULL,
            start_new_session=True)
        failure = ''
        try:
            code = process.wait(limit)
            if code:
                failure = f'The section has ended with the exit code {code}.'
        except subprocess.TimeoutExpired:
            failure = (f'The section has not ended within {limit:.0f} '
                       'seconds.')
        finally:
            _stop(process)
        found = tuple(rows.of_json(json.loads(line))
                      for line in measured.read_text().splitlines())
    return rows.Section(section.name, found, time.monotonic() - began,
                        failure=failure)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a section, and what it has left running."""
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_STOP_WITHIN)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _measure(given: argparse.Namespace) -> int:
    """Measure one section, and write its rows as they come."""
    # NOTE: so that databases are dropped, and processes are ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    options = sections.Options(
        given.server, given.blazar_python,
        tuple(map(logs.Log.of, given.log)), given.quick)
    with given.rows.open('a') as written:
        for row in sections.BY_NAME[given.section].measure(options):
            print(json.dumps(rows.to_json(row)), file=written, flush=True)
    return 0


def _logs(chosen: list[str], folder: pathlib.Path) -> list[str]:
    """Add the log of a package where no log is given; return what to tell."""
    if chosen:
        return []
    name = _WITH_LOG.partition('==')[0]
    try:
        subprocess.run(
            [sys.executable, '-m', 'pip', 'download', '--quiet', '--no-deps',
             '--no-binary', ':all:', '--dest', folder, _WITH_LOG],
            check=True, stdout=subprocess.DEVNULL)
        (archive,) = folder.glob('*.tar.gz')
        subprocess.run(['tar', '--extract', '--file', archive, '--directory',
                        folder, '--strip-components', '2', '--wildcards',
                        f'*/{_LOG}'], check=True)
    except (OSError, ValueError, subprocess.CalledProcessError) as exc:
        return [f'No log was given (``--log``), and {name}, whose source '
                f'archive ships one, could not be downloaded: {exc}.']
    chosen.append(f'{folder / _LOG},{_OF_LOG}')
    return [f'No log was given (``--log``): this one is in the source '
            f'archive of {name}. The Parallel Workloads Archive has more.']


def _judge(stack: contextlib.ExitStack,
           environment: dict[str, str]) -> list[str]:
    """Install CP-SAT where it is not installed; return what to tell."""
    if importlib.util.find_spec('ortools') is not None:
        return []
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    print('Installing OR-tools into a folder of its own...', file=sys.stderr,
          flush=True)
    try:
        subprocess.run([sys.executable, '-m', 'pip', 'install', '--quiet',
                        '--target', folder, '--requirement', _JUDGE],
                       check=True)
    except (OSError, subprocess.CalledProcessError) as exc:
        return [f'OR-tools could not be installed, so that nothing was '
                f'judged: {exc}.']
    environment['PYTHONPATH'] = os.pathsep.join(
        part for part in (environment.get('PYTHONPATH'), folder) if part)
    return []


def _ortools(environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, '-c', 'import importlib.metadata as m; '
         'print(m.version("ortools"))'], env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return done.stdout.strip() or 'not used'


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser('python -m benchmarks proof',
                                     description=__doc__)
    parser.add_argument('--output', type=pathlib.Path,
                        default=pathlib.Path('proof'), metavar='FOLDER',
                        help='where the page and the raw data are written '
                             '(%(default)s)')
    parser.add_argument('--log', action='append', default=[],
                        metavar='FILE[,min-cpus=N][,cpus-per-node=N]'
                                '[,limit=N]',
                        help='a log in the Standard Workload Format to '
                             'replay; may be given several times')
    parser.add_argument('--only', action='append',
                        choices=[each.name for each in sections.SECTIONS],
                        help='measure this section only; may be given '
                             'several times')
    parser.add_argument('--quick', action='store_true',
                        help='with sizes too small to mean anything')
    parser.add_argument('--patience', type=float, default=1.0,
                        metavar='FACTOR',
                        help='multiply the time limit of each section, for '
                             'a slow machine')
    parser.add_argument('--server', default='mysql+pymysql://root@127.0.0.1',
                        help='SQLAlchemy URL of a database server where '
                             'databases can be made (%(default)s)')
    parser.add_argument('--blazar-python', type=pathlib.Path,
                        help='the Python of an environment that has Blazar; '
                             'by default one is made')
    parser.add_argument('--raw', type=pathlib.Path, metavar='FILE',
                        help='measure nothing: write the page of this raw '
                             'data again')
    parser.add_argument('--readme', type=pathlib.Path, metavar='FILE',
                        help='with --raw: put the figures of this raw data '
                             'into the links of a README')
    parser.add_argument('--section', help=argparse.SUPPRESS)
    parser.add_argument('--rows', type=pathlib.Path, help=argparse.SUPPRESS)
    return parser

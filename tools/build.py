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

"""Build what a release publishes, and try it from these files alone.

``tox -e build`` installs what this needs, and runs it with the folder
``dist``; the contributor's page on releases says what it checks
(doc/source/contributor/release.rst).
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
from collections.abc import Set
import configparser
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile

ROOT = pathlib.Path(__file__).parents[1]
#: The folder of each distribution, and that of its package.
PACKAGES = {
    '.': 'ironic_reservations',
    'plugins/client': 'ironic_reservations_client',
    'plugins/ironic-cli': 'ironic_reservations_cli',
    'plugins/nova': 'nova',
}
COLLECTION = 'plugins/ansible'
#: Whose dependencies are installed: Nova comes before its driver.
_INSTALLED = ('.', 'plugins/client', 'plugins/ironic-cli')
_LEFT_BEHIND = shutil.ignore_patterns(
    '.git', '.tox', '.venv', '.*_cache', '.hypothesis', '.stestr',
    '__pycache__', '*.pyc', '*.egg-info', 'build', 'dist')
_VENDORED = 'ironic_reservations/features/calendar/static/vendor/SHA256SUMS'
_UPLOT = re.compile(r'^(\w{64}) +(uplot)-([\d.]+)\.min\.js$', re.MULTILINE)


class Broken(Exception):
    """A distribution is not as it should be."""


def setup_of(folder: str) -> configparser.ConfigParser:
    """Return the description of a distribution: its setup.cfg."""
    found = configparser.ConfigParser()
    found.read(ROOT / folder / 'setup.cfg')
    return found


def copied(folder: str, target: pathlib.Path) -> pathlib.Path:
    """Return a copy of a distribution, without what builds have left there."""
    return pathlib.Path(shutil.copytree(
        ROOT / folder, target, ignore=_LEFT_BEHIND))


def missing(folder: str, there: Set[str]) -> set[str]:
    """Return the files of a package that are not there."""
    package = ROOT / folder / PACKAGES[folder]
    return {path.relative_to(package.parent).as_posix()
            for path in package.rglob('*') if path.is_file()
            and '__pycache__' not in path.parts} - there


def build(folder: str, copy: pathlib.Path, out: pathlib.Path) -> None:
    """Write the source archive of a distribution, and its wheel from that.

    :raises Broken: the build failed or warned, or the wheel lacks a file.
    """
    told = _run(sys.executable, '-m', 'build', '--no-isolation', '--outdir',
                out, copy)
    warnings = [line for line in told.splitlines()
                if 'warning' in line.lower()]
    if warnings:
        raise Broken(f'The build of {folder} warns:\n' + '\n'.join(warnings))
    name = setup_of(folder)['metadata']['name'].replace('-', '_')
    wheel, = out.glob(f'{name}-*.whl')
    with zipfile.ZipFile(wheel) as archive:
        lost = missing(folder, set(archive.namelist()))
    if lost:
        raise Broken(f'{wheel.name} lacks {sorted(lost)}.')


def install(folder: str, out: pathlib.Path, target: pathlib.Path) -> None:
    """Install a distribution where nothing is, and run its commands.

    What is ours comes from the files that were built, and from nowhere else.
    Each command shows its help; that of the server makes a database.

    :raises Broken: it cannot be installed, or a command fails.
    """
    setup = setup_of(folder)
    name = setup['metadata']['name']
    venv.create(target, clear=True)
    pip = (sys.executable, '-m', 'pip', '--python', target / 'bin/python',
           '--disable-pip-version-check')
    ours = {name, 'ironic-reservations-client'} if (
        folder == 'plugins/ironic-cli') else {name}
    _run(*pip, 'install', '--no-index', '--no-deps', '--find-links', out,
         *sorted(ours))
    _run(*pip, 'install', name)
    _run(*pip, 'check')
    for command in _commands(setup):
        _run(target / 'bin' / command[0], *command[1:], '--help')
    if folder == '.':
        _run(target / 'bin' / 'ironic-reservations-dbsync', 'create_schema',
             IRONIC_RESERVATIONS_DATABASE__CONNECTION=(
                 f'sqlite:///{target}/reservations.sqlite'))


def _commands(
        setup: configparser.ConfigParser) -> Iterator[tuple[str, ...]]:
    points = setup['options.entry_points']
    for line in points.get('console_scripts', '').split('\n'):
        if line:
            yield (line.partition('=')[0].strip(),)
    if 'openstack.baremetal.v1' in points:
        yield 'baremetal', 'reservation', 'lease', 'create'


def write_bill(folder: str, target: pathlib.Path,
               bill: pathlib.Path) -> None:
    """Write which libraries an installed distribution is made of."""
    _run(sys.executable, '-m', 'cyclonedx_py', 'environment',
         '--output-reproducible', '--of', 'JSON', '-o', bill,
         target / 'bin/python')
    if folder == '.':
        document = json.loads(bill.read_text())
        document['components'].append(_vendored())
        bill.write_text(f'{json.dumps(document, indent=2)}\n')


def _vendored() -> dict[str, object]:
    """Return the one library whose copy is in the wheel."""
    found = _UPLOT.search((ROOT / _VENDORED).read_text())
    if found is None:
        raise Broken(f'{_VENDORED} names no uPlot.')
    digest, name, version = found.groups()
    purl = f'pkg:npm/{name}@{version}'
    return {'type': 'library', 'bom-ref': purl, 'name': name, 'purl': purl,
            'version': version, 'licenses': [{'license': {'id': 'MIT'}}],
            'hashes': [{'alg': 'SHA-256', 'content': digest}]}


def _run(*words: str | os.PathLike[str], **environment: str) -> str:
    """Run a command, and return all that it prints.

    :param environment: more variables.
    :raises Broken: it failed.
    """
    done = subprocess.run(
        words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False,
        env={**{name: value for name, value in os.environ.items()
                if name not in ('PYTHONPATH', 'PYTHONDONTWRITEBYTECODE')},
             **environment})
    if done.returncode:
        raise Broken(f'{" ".join(map(str, words))} ended with '
                     f'{done.returncode}:\n{done.stdout}')
    return done.stdout


def release(out: pathlib.Path, folder: pathlib.Path) -> None:
    """Build, check and try everything.

    :param folder: for what is not kept.
    :raises Broken: something is not as it should be.
    """
    for number, each in enumerate(PACKAGES):
        _say(f'Building {each} ...')
        build(each, copied(each, folder / f'source-{number}'), out)
    _run(sys.executable, '-m', 'twine', 'check', '--strict',
         *sorted(out.iterdir()))
    _say(f'Building {COLLECTION} ...')
    _run(pathlib.Path(sys.executable).with_name('ansible-galaxy'),
         'collection', 'build', '--output-path', out / 'collection',
         copied(COLLECTION, folder / 'collection'))
    for each in _INSTALLED:
        metadata = setup_of(each)['metadata']
        _say(f'Installing {metadata["name"]} ...')
        install(each, out, folder / 'venv')
        write_bill(each, folder / 'venv', out / (
            f'{metadata["name"]}-{metadata["version"]}.cdx.json'))
    (out / 'SHA256SUMS').write_text(''.join(
        f'{hashlib.sha256(path.read_bytes()).hexdigest()}  '
        f'{path.relative_to(out)}\n'
        for path in sorted(out.rglob('*')) if path.is_file()))


def _say(text: str) -> None:
    print(text, flush=True)


def main(arguments: Sequence[str]) -> int:
    """Write the release into a new folder, and return the exit status."""
    out = ROOT.joinpath(*arguments)
    if out.exists():
        print(f'build: {out} exists already. Remove it, or name another '
              'folder.', file=sys.stderr)
        return 1
    out.mkdir(parents=True)
    try:
        with tempfile.TemporaryDirectory() as folder:
            release(out, pathlib.Path(folder))
    except Broken as broken:
        print(f'build: {broken}', file=sys.stderr)
        return 1
    _say(f'{out} has the release.')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))

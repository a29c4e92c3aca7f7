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

"""The figures of the machine, and of the software on it."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import pathlib
import platform
import re
import subprocess

import sqlalchemy as sa

_TREE = pathlib.Path(__file__).parents[2]


def figures(server: str, blazar: pathlib.Path | None) -> dict[str, str]:
    """Return names and values, in the order of the page.

    :param server: URL of the database server.
    :param blazar: the Python of an environment that has Blazar.
    """
    return {
        'Date': f'{datetime.datetime.now(datetime.UTC):%Y-%m-%d}',
        'Processors': f'{os.cpu_count()}, {_model()}',
        'Memory': f'{_memory():.0f} GiB',
        'System': f'{platform.system()} {platform.machine()}',
        'Python': platform.python_version(),
        'Database': _database(server),
        'Ironic': _version('ironic'),
        'Blazar': _of(blazar, 'blazar'),
        'ironic-reservations': _revision(),
    }


def _model() -> str:
    cpus = pathlib.Path('/proc/cpuinfo')
    found = re.search(r'^model name\s*: (.+)$',
                      cpus.read_text() if cpus.exists() else '', re.MULTILINE)
    return ' '.join(found[1].split()) if found else platform.machine()


def _memory() -> float:
    """Return the memory of the machine in GiB."""
    return os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30


def _database(server: str) -> str:
    engine = sa.create_engine(server, poolclass=sa.NullPool)
    with engine.connect() as connection:
        version = str(connection.exec_driver_sql(
            'SELECT VERSION()').scalar())
    return version if 'PostgreSQL' in version else f'MariaDB {version}'


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return 'not installed'


def _of(python: pathlib.Path | None, name: str) -> str:
    """Return the version of a package in another environment."""
    if python is None:
        return 'not measured'
    return subprocess.run(
        [python, '-c', 'import importlib.metadata, sys; '
         'print(importlib.metadata.version(sys.argv[1]))', name],
        stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def _revision() -> str:
    def git(*arguments: str) -> str:
        return subprocess.run(
            ['git', '-C', _TREE, *arguments], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, check=True).stdout.strip()

    version = _version('ironic-reservations')
    try:
        changed = git('status', '--porcelain', '--untracked-files=no')
        return f'{version}, revision {git("rev-parse", "--short", "HEAD")}' + (
            ', with changes' if changed else '')
    except (OSError, subprocess.CalledProcessError):
        return version

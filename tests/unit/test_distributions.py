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

"""The server and its clients are two packages, and neither needs the other.

A workstation has no SQLAlchemy, and a server no openstacksdk. A package is
whole, and built without git.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import metadata
import pathlib
import re
import subprocess
import sys

import fixtures
import testtools
import yaml

from tests.real import distribution
from tools import build

_ROOT = pathlib.Path(__file__).parents[2]
_SERVER = 'ironic_reservations'
_CLIENT = 'ironic_reservations_client'
_CLIENTS = _ROOT / 'plugins' / 'client'
_OF_SERVERS = ('alembic', 'ironic', 'oslo_db', 'oslo_messaging', 'pecan',
               'sqlalchemy', 'wsme')
_ENDS_WITHIN = 120
#: A program that imports every module of a package where others are absent.
_IMPORTS = """\
import importlib, pkgutil, sys
package, *absent = sys.argv[1:]
sys.modules.update(dict.fromkeys(absent))
there = importlib.import_module(package)
found = [each.name for each in pkgutil.walk_packages(
    there.__path__, f'{package}.') if '.migrations.' not in each.name]
for name in found:
    importlib.import_module(name)
print(len(found))
"""


def _required(file: pathlib.Path) -> set[str]:
    """Return the normalized names in a file of requirements."""
    return {_normalized(line) for line in file.read_text().splitlines()
            if line and not line.startswith('#')}


def _normalized(requirement: str) -> str:
    name = re.match(r'[\w.-]+', requirement)
    assert name is not None
    return re.sub('[-_.]+', '-', name[0]).lower()


def _imported(folder: pathlib.Path) -> Iterator[str]:
    """Yield the top-level packages that the modules of a folder import."""
    for path in folder.rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text())):
            names = ([each.name for each in node.names]
                     if isinstance(node, ast.Import)
                     else [node.module] if isinstance(node, ast.ImportFrom)
                     and node.module and not node.level else [])
            yield from (name.partition('.')[0] for name in names)


class DistributionsTest(testtools.TestCase):

    def imports_without(self, package: str, *absent: str) -> int:
        """Import all of a package in a new process; return how many modules.

        :param absent: top-level packages whose import fails there.
        """
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-c', _IMPORTS, package,
             *absent], cwd=_CLIENTS, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=_ENDS_WITHIN, check=False)
        self.assertEqual(0, done.returncode, done.stderr)
        return int(done.stdout)

    def test_client_is_imported_where_no_server_is(self):
        self.assertGreater(self.imports_without(
            _CLIENT, _SERVER, *_OF_SERVERS), 30)

    def test_server_is_imported_where_no_client_is(self):
        self.assertGreater(self.imports_without(
            _SERVER, _CLIENT, 'cliff', 'ironicclient', 'openstack',
            'osc_lib'), 300)

    def test_client_requires_nothing_of_a_server(self):
        required = _required(_CLIENTS / 'requirements.txt')
        self.assertEqual(set(), required & {
            'ironic-reservations', *map(_normalized, _OF_SERVERS)})

    def test_server_does_not_require_the_client(self):
        required = _required(_ROOT / 'requirements.txt')
        self.assertEqual(set(), required & {
            'ironic-reservations-client', 'openstacksdk', 'osc-lib',
            'python-ironicclient'})

    def test_client_requires_exactly_what_it_imports(self):
        """A library that another one brings today may be gone tomorrow."""
        of = metadata.packages_distributions()
        there = {_normalized(of[name][0]) for name in set(_imported(
            _CLIENTS / _CLIENT)) - {*sys.stdlib_module_names, _CLIENT}}
        self.assertEqual(_required(_CLIENTS / 'requirements.txt'), there)


class BuildTest(testtools.TestCase):

    def test_all_have_one_version(self):
        collection = yaml.safe_load(
            (_ROOT / build.COLLECTION / 'galaxy.yml').read_text())
        self.assertEqual({collection['version']}, {
            build.setup_of(folder)['metadata']['version']
            for folder in build.PACKAGES})

    def test_archive_without_git_is_installed_whole(self):
        """Neither a tag nor a variable says the version."""
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        archive = build.copied('.', folder / 'archive')
        self.assertFalse((archive / '.git').exists())

        distribution.install(archive, folder / 'site')

        found, = metadata.distributions(
            name='ironic-reservations', path=[str(folder / 'site')])
        self.assertEqual(
            build.setup_of('.')['metadata']['version'], found.version)
        self.assertEqual(set(), build.missing(
            '.', {str(path) for path in found.files or ()}))

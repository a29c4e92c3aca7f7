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

"""The core imports no feature, and no feature another one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
import pathlib

import testtools

from ironic_reservations.features import folders

_PROJECT = 'ironic_reservations'
_ROOT = pathlib.Path(__file__).parents[2] / _PROJECT
#: The rooms that must not import features; the composing modules may.
_CORE = {'api', 'build.py', 'clouds', 'conf', 'db', 'engine', 'features',
         'guard', 'lifecycle', 'model', 'objects', 'planner', 'policies',
         'reconciler'}
#: The list of all features, and the modules that import what is in it.
_LISTS = ('features.folders', 'features.in_order', 'features.options',
          'features.policies')


def _feature(module: str) -> str | None:
    """Return the feature that a module, or a name in it, belongs to.

    :param module: its dotted name below the package.
    """
    if module.startswith('features.') and not module.startswith(_LISTS):
        return module.split('.')[1]
    return None


def broken(path: pathlib.Path, source: str) -> Iterator[str]:
    """Yield the imports of a module that break a wall.

    :param path: the path of the module, below the package.
    """
    module = '.'.join(path.with_suffix('').parts).removesuffix('.__init__')
    if module in _LISTS:
        return
    own = _feature(module)
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        for alias in node.names:
            name = f'{node.module}.{alias.name}'
            wanted = _feature(name.removeprefix(f'{_PROJECT}.'))
            if path.parts[0] in _CORE and wanted not in (None, own):
                yield f'{path} -> {wanted}: {name}'


class TestCase(testtools.TestCase):

    def test_no_wall_is_broken(self) -> None:
        """The whole package is read."""
        self.assertEqual([], sorted(
            each for path in _ROOT.rglob('*.py')
            for each in broken(path.relative_to(_ROOT), path.read_text())))

    def test_each_folder_is_listed(self) -> None:
        """A folder that is missing in the list is never imported."""
        self.assertEqual(
            sorted(path.parent.name for path
                   in _ROOT.glob('features/*/feature.py')),
            sorted(folders.FOLDERS), 'FOLDERS in features/folders.py')

    def test_an_import_of_a_feature_by_the_core_is_found(self) -> None:
        """An import of a name of its module counts as well."""
        source = ('from ironic_reservations.features.usage import rows\n'
                  'from ironic_reservations.features.usage.rows import read\n'
                  'from ironic_reservations.engine import retry\n')
        self.assertEqual(
            ['engine/x.py -> usage: ironic_reservations.features.usage.rows',
             'engine/x.py -> usage: '
             'ironic_reservations.features.usage.rows.read'],
            list(broken(pathlib.Path('engine/x.py'), source)))

    def test_an_import_of_a_feature_by_another_is_found(self) -> None:
        """Its own modules do not count."""
        source = ('from ironic_reservations.features.usage import rows\n'
                  'from ironic_reservations.features.limits import rows\n')
        self.assertEqual(
            ['features/usage/x.py -> limits: '
             'ironic_reservations.features.limits.rows'],
            list(broken(pathlib.Path('features/usage/x.py'), source)))

    def test_the_list_of_all_features_may_import_them(self) -> None:
        """The composing modules import only that list."""
        for path, source in (
                ('build.py',
                 'from ironic_reservations.features import in_order'),
                ('features/in_order.py',
                 'from ironic_reservations.features.usage import feature')):
            self.assertEqual([], list(broken(pathlib.Path(path), source)))

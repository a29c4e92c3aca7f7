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

"""Imports only lead downwards, so that each room can be understood alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
import functools
import graphlib
import pathlib

import testtools

PROJECT = 'ironic_reservations'
ROOT = pathlib.Path(__file__).parents[2] / PROJECT

#: The project's rooms that each room may import; a room may always import
#: itself.
_LEAVES = {'errors', 'clock', 'log_repeats'}
_DATA = {'model', 'lifecycle', 'planner', 'conf', *_LEAVES}
_ENGINE = {'engine', 'db', 'clouds', 'objects', *_DATA}
_SERVES = {'reconciler', 'policies', 'faults', *_ENGINE}
ALLOWED: dict[str, set[str]] = {
    'errors': set(),
    'clock': set(),
    'log_repeats': {'clock'},
    'faults': {'errors'},
    'model': set(),
    'lifecycle': {'model'},
    'planner': {'model'},
    'conf': set(),
    'objects': {'model'},
    'db': _DATA,
    'clouds': _DATA,
    'policies': {'conf', 'errors'},
    'engine': _ENGINE,
    'reconciler': _ENGINE,
    'api': _SERVES,
    'features': {'api', *_SERVES},
    'build': {'clouds', 'clock', 'engine', 'features'},
    'guard': {'api', 'build', *_SERVES},
    'wsgi': {'api', 'build', 'clouds', 'conf'},
    'cmd': {'api', 'build', 'conf', 'errors', 'clouds', 'db', 'engine',
            'model', 'reconciler'},
    '__init__': set(),
}

#: The planner and the model may import these besides themselves.
PURE = {'__future__', 'bisect', 'collections', 'dataclasses', 'datetime',
        'decimal', 'enum', 'functools', 'heapq', 'itertools', 'json', 'math',
        'operator', 're', 'typing'}

#: The rooms that leave transactions to the engine, and the parts of the
#: database that they may import: its errors, its clock, and its creation.
NO_TRANSACTIONS = ('api', 'guard', 'reconciler')
_OF_DATABASE = {'clock', 'connection', 'migrate'}
#: The modules of features that leave transactions to others.
_SERVED = ('*/*controller.py', '*/types.py', 'calendar/page/*.py')
_PLACEMENT = 'features.placement'
#: Calls that open a connection of a database.
_OPENS = {'engine', 'read', 'snapshot', 'write'}
#: The libraries for calls to other services, which only the clients in clouds
#: import.
_SPEAKS = {'http', 'httplib', 'keystoneauth1', 'openstack', 'requests',
           'socket', 'urllib'}
#: The clients of features.
_CLIENTS = ('enforcement/client.py', 'notices/mail.py',
            'notices/mail_addresses.py', 'notices/webhook.py')
#: The modules of features that are as pure as the planner and the model.
_PURE = (
    'calendar/values.py', 'history/values.py',
    'no_show/decisions.py', 'notices/mail_times.py', 'open_dates/make_way.py',
    'open_dates/planning.py', 'placement/*/values.py',
    'placement/audit/compare_*.py', 'placement/audit/differences.py',
    'placement/class_heal/verdicts.py',
    'placement/lease_providers/machine.py', 'usage/sums.py',
    'usage/values.py')


@functools.cache
def _tree(path: pathlib.Path) -> ast.Module:
    """Read a module once for all tests here."""
    return ast.parse(path.read_text())


@functools.cache
def _nodes(path: pathlib.Path) -> list[ast.AST]:
    return list(ast.walk(_tree(path)))


def imports() -> Iterator[tuple[str, int, str, str]]:
    """Yield (file, line, room, room that it imports) of the whole project."""
    for path in sorted(ROOT.rglob('*.py')):
        inside = path.relative_to(ROOT)
        room = inside.parts[0].removesuffix('.py')
        for node in _nodes(path):
            for name in _imported(node):
                parts = name.split('.')
                if parts[0] == PROJECT and len(parts) > 1:
                    yield str(inside), node.lineno, room, parts[1]


def _paths(*patterns: str) -> list[pathlib.Path]:
    """Return modules of features."""
    return [path for pattern in patterns
            for path in (ROOT / 'features').glob(pattern)]


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        module = '.' * node.level + (node.module or '')
        return [f'{module}.{alias.name}' for alias in node.names]
    return []


def _opened(tree: ast.Module) -> Iterator[str]:
    """Yield the lines where a module may open a transaction by itself."""
    for node in ast.walk(tree):
        for name in _imported(node):
            parts = name.split('.')
            if parts[0] == 'sqlalchemy' or (
                    parts[:2] == [PROJECT, 'db'] and len(parts) > 2
                    and parts[2] not in _OF_DATABASE):
                yield f'{node.lineno}: imports {name}'
        # engine.database.read()
        if isinstance(node, ast.Attribute) and node.attr in _OPENS and (
                _is_database(node.value)):
            yield f'{node.lineno}: opens a connection'
        # getattr(engine.database, 'read')
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and (
                node.func.id == 'getattr' and _is_database(node.args[0])):
            yield f'{node.lineno}: opens a connection'
        # database = engine.database
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and (
                _is_database(node.value)):
            yield f'{node.lineno}: keeps the database'


def _is_database(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == 'database'


class ImportsTest(testtools.TestCase):
    """The layers of the contributor's guide."""

    def test_imports_run_downwards(self):
        """No room imports one above it or beside it."""
        wrong = [f'{path}:{line}: {room} imports {imported}'
                 for path, line, room, imported in imports()
                 # test_walls has the list of imports of features.
                 if imported not in (room, 'features', *ALLOWED[room])]
        self.assertEqual([], wrong)

    def test_leases_and_placement_stand_beside_each_other(self):
        """The timeline works without mirrors, and so does each mirror."""
        # The steps of a lease give their context to Placement.
        leases, cycle = 'engine.leases', 'engine.lease_cycle'
        context = f'{PROJECT}.{cycle}.context'
        sides = {leases: (_PLACEMENT, cycle), cycle: (_PLACEMENT,),
                 _PLACEMENT: (leases, cycle)}
        wrong = [f'{side}: {path.name}: {name}'
                 for side, others in sides.items() for other in others
                 for path in sorted(ROOT.joinpath(
                     *side.split('.')).rglob('*.py'))
                 for node in _nodes(path)
                 for name in _imported(node)
                 if f'{name}.'.startswith(f'{PROJECT}.{other}.')
                 and name != context]
        self.assertEqual([], wrong)

    def test_rooms_of_the_engine_import_one_way(self):
        """Of two rooms of the engine, at most one imports the other."""
        engine = ROOT / 'engine'
        known = {room.name: {name.split('.')[2]
                             for path in room.rglob('*.py')
                             for node in _nodes(path)
                             for name in _imported(node)
                             if name.startswith(f'{PROJECT}.engine.')}
                 for room in engine.iterdir()
                 if (room / '__init__.py').exists()}
        graph = {room: {each for each in others if each in known} - {room}
                 for room, others in known.items()}
        self.assertEqual(known.keys(), set(
            graphlib.TopologicalSorter(graph).static_order()))

    def test_transactions_are_the_engines(self):
        """The API, the guard and the loops open no transaction."""
        wrong = [f'{path.relative_to(ROOT)}:{found}'
                 for path in sorted(
                     [path for room in NO_TRANSACTIONS
                      for path in (ROOT / room).rglob('*.py')]
                     + _paths(*_SERVED))
                 for found in _opened(_tree(path))]
        self.assertEqual([], wrong)

    def test_transaction_of_whichever_spelling_is_found(self):
        """The search covers each spelling."""
        for source in (
                'import sqlalchemy', 'import sqlalchemy.orm as orm',
                'from sqlalchemy import orm',
                'from ironic_reservations.db import leases',
                'with self._engine.database.read() as connection: pass',
                'engine.database.engine.connect()',
                'getattr(engine.database, "write")()',
                'where = engine.database',
                'where: object = self.engine.database',
                'if where := engine.database: pass'):
            self.assertEqual(1, len(list(_opened(ast.parse(source)))), source)

    def test_the_engine_speaks_to_others_through_clients(self):
        """All requests to other services are made in clouds."""
        wrong = [f'{path.relative_to(ROOT)}: {name}'
                 for room in ('engine', 'features')
                 for path in sorted((ROOT / room).rglob('*.py'))
                 if path not in _paths(*_CLIENTS, *_SERVED)
                 for node in _nodes(path)
                 for name in _imported(node)
                 if name.partition('.')[0] in _SPEAKS]
        self.assertEqual([], wrong)

    def test_the_planner_knows_values_alone(self):
        """The planner imports only the standard library and the model."""
        self.assertEqual([], self._impure('planner', 'planner', 'model'))

    def test_state_machines_know_values_alone(self):
        """State machines import only the standard library and the model."""
        self.assertEqual([], self._impure('lifecycle', 'lifecycle', 'model'))

    def test_decisions_of_features_know_values_alone(self):
        """Decisions import the standard library, the model and the planner."""
        wrong = [f'{path.relative_to(ROOT)}: {name}'
                 for path in _paths(*_PURE)
                 for node in _nodes(path)
                 for name in _imported(node)
                 if name.partition('.')[0] not in PURE
                 and not name.startswith(tuple(
                     f'{PROJECT}.{room}' for room in (
                         'model', 'planner',
                         f'features.{path.relative_to(ROOT).parts[1]}')))]
        self.assertEqual([], wrong)

    def test_the_model_knows_nobody(self):
        """The model imports the standard library and itself."""
        self.assertEqual([], self._impure('model', 'model'))

    @staticmethod
    def _impure(room, *known):
        return [f'{path.name}: {name}'
                for path in sorted((ROOT / room).rglob('*.py'))
                for node in _nodes(path)
                for name in _imported(node)
                if name.partition('.')[0] not in PURE
                and not name.startswith(tuple(
                    f'{PROJECT}.{each}' for each in known))]

    def test_imports_name_the_whole_path(self):
        """Relative imports would evade the tests above."""
        relative = [str(path.relative_to(ROOT)) for path in
                    ROOT.rglob('*.py')
                    for node in _nodes(path)
                    if isinstance(node, ast.ImportFrom) and node.level]
        self.assertEqual([], relative)

    def test_each_room_is_known(self):
        """A new room must be added to the table first."""
        rooms = {path.name.removesuffix('.py') for path in ROOT.iterdir()
                 if path.suffix == '.py' or (path / '__init__.py').exists()}
        self.assertEqual(set(), rooms - set(ALLOWED))

    def test_no_test_module_is_a_library(self):
        """Code that several tests share is in a module of its own."""
        tests = ROOT.parent / 'tests'
        # Only some modules are parsed, since parsing takes seconds.
        wrong = [f'{path.relative_to(tests)}: {name}'
                 for path in sorted(tests.rglob('*.py'))
                 if 'test_' in path.read_text().replace('def test_', '')
                 for node in ast.walk(ast.parse(path.read_text()))
                 for name in _imported(node)
                 if name.startswith('tests.')
                 and any(part.startswith('test_')
                         for part in name.split('.')[1:])]
        self.assertEqual([], wrong)

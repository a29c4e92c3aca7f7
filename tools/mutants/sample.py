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

"""A random sample of mutants of the planner and of the commit."""

from __future__ import annotations

import ast
from collections.abc import Iterator
import compileall
import difflib
import pathlib
import py_compile
import random
import re
import subprocess

from cosmic_ray import ast as nodes
from cosmic_ray import mutating
from cosmic_ray import plugins

_MUTATED = (
    'planner/*.py', 'engine/snapshots/*.py', 'engine/difference.py',
    'engine/retry.py', 'engine/seen.py',
    'engine/leases/change_commit.py', 'db/bookings.py', 'db/changes.py',
    'db/candidates.py', 'db/node_sums.py', 'db/nodes.py',
    *(f'model/{name}.py' for name in (
        'host_inventories', 'host_view', 'instance_reservations', 'instants',
        'inventories', 'maintenance', 'mirrored_node', 'node_condition',
        'node_reservation', 'requirements', 'visibility')))
#: Mutants that are never another program ("is None" as "== None"), and one
#: that cosmic-ray cannot make where an exception is named with its module.
_LEFT_OUT = re.compile('Operator_Is_Eq|Operator_IsNot_NotEq|ExceptionReplacer')


def draw(root: pathlib.Path, tree: pathlib.Path, size: int,
         seed: int) -> list[dict]:
    """Return a random sample of mutants, at most one of each place.

    :param root: the repository.
    :param tree: where a copy of its HEAD is put.
    """
    tree.mkdir(parents=True)
    subprocess.run(f'git archive HEAD | tar -x -C {tree}', cwd=root,
                   shell=True, check=True)
    # NOTE: these know their source by its hash: a mutant is never missed.
    compileall.compile_dir(
        tree, quiet=2,
        invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
    operators = {name: plugins.get_operator(name)()
                 for name in sorted(plugins.operator_names())
                 if not (plugins.get_operator(name).arguments()
                         or _LEFT_OUT.search(name))}
    places: dict[tuple, list] = {}
    for pattern in _MUTATED:
        for path in sorted(tree.glob(f'ironic_reservations/{pattern}')):
            source = path.read_text()
            hints = list(_annotations(ast.parse(source)))
            parsed = list(nodes.ast_nodes(nodes.get_ast(source)))
            for name, operator in operators.items():
                for occurrence, place in enumerate(
                        place for node in parsed
                        for place in operator.mutation_positions(node)):
                    if not any(begin <= place[0] < end
                               for begin, end in hints):
                        places.setdefault((str(path), place), []).append(
                            (name, occurrence))
    dice = random.Random(seed)
    sample = []
    for path, place in sorted(dice.sample(sorted(places), size)):
        name, occurrence = dice.choice(places[path, place])
        before = pathlib.Path(path).read_text()
        after = mutating.mutate_code(before, operators[name], occurrence)
        sample.append({
            'path': str(pathlib.Path(path).relative_to(tree)),
            'line': place[0][0], 'after': after, 'fate': 'alive',
            'diff': [line for line in difflib.unified_diff(
                before.splitlines(), after.splitlines(), n=0, lineterm='')
                if line[0] in '-+' and line[:3] not in ('---', '+++')]})
    return sample


def _annotations(tree: ast.AST) -> Iterator[tuple]:
    """Yield where each annotation begins and ends: none of them is run."""
    for node in ast.walk(tree):
        for hint in (getattr(node, 'annotation', None),
                     getattr(node, 'returns', None)):
            if hint is not None:
                yield ((hint.lineno, hint.col_offset),
                       (hint.end_lineno, hint.end_col_offset))

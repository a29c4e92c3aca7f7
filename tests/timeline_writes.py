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

"""Watching every statement that writes the timeline.

A statement is wrong if it does not say which rows it means by what was read
of them, or if it writes the bookings of a node in a transaction that has not
raised the generation of the node, from the one that was read, before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import functools
import pathlib
import sys
from typing import Any
import weakref

import fixtures
import sqlalchemy as sa
from sqlalchemy.sql import elements
from sqlalchemy.sql import visitors

from ironic_reservations.db import tables

PACKAGE = pathlib.Path(tables.__file__).parent.parent
_DB = str(PACKAGE / 'db') + '/'
_FEATURES = str(PACKAGE / 'features') + '/'
_TESTS = str(pathlib.Path(__file__).parent) + '/'
#: The store writes for others, which say what, by these names.
_STORE = _DB + 'store.py'
_BY_STORE = frozenset({
    'insert', 'insert_one', 'inserting', 'update', 'try_update', 'updating',
    'delete', 'try_delete', 'delete_all'})

#: What a statement has to name, besides what identifies the row, by table.
NAMED: Mapping[str, frozenset[str]] = {
    'reservations': frozenset({'uuid', 'node_uuid', 'state'}),
    'in_flight_requests': frozenset({'token', 'node_uuid'}),
    'hosts': frozenset({'id', 'node_uuid'}),
    'nodes': frozenset({'uuid', 'generation'}),
    'leases': frozenset({'id', 'generation'}),
    # NOTE: their lease's generation stands for them.
    'lease_reservations': frozenset({'lease_id'}),
    'lease_events': frozenset({'lease_id'}),
    # NOTE: what is promised, besides the generation of the lease.
    'instance_reservations': frozenset({
        'id', 'reservation_id', 'vcpus', 'memory_mb', 'disk_gb', 'amount'}),
    'maintenance_windows': frozenset({'id', 'updated_at'}),
    'usable_bookings': frozenset({'booking_uuid', 'since'}),
    'holds': frozenset({'id', 'generation'}),
    'claims': frozenset({'name', 'owner'})}
#: The tables whose rows belong to nodes, and those that belong to leases.
_OF_NODES = ('reservations', 'in_flight_requests', 'hosts')
_OF_LEASES = ('lease_reservations', 'lease_events')

_CLAIM = frozenset({'id', 'claimed_by'})
_NOBODY = frozenset({'id', 'claimed_until'})
_FLAGGED = frozenset({'id'})

#: Who may name something else, and why that is enough.
OTHERWISE: Mapping[str, frozenset[str]] = {
    # What is void gives nobody anything of a node; the condition says that
    # it still is.
    'reservations.delete_void': frozenset(
        {'uuid', 'node_uuid', 'id', 'state', 'expires_at'}),
    # The node of the allocation with this token carries the instance by now.
    'in_flight_requests.delete_settled': frozenset({'token'}),
    # A request has a token that is never used again.  That its node is kept
    # for it says that it has a row, whatever else the row says; and that it
    # has one no more makes nothing of what was decided before impossible.
    'in_flight_requests.take_ticket': frozenset(
        {'token', 'node_uuid', 'act', 'state', 'expires_at'}),
    'in_flight_requests.void_ticket': frozenset({'token', 'state'}),
    'in_flight_requests.void_tickets': frozenset({'lease_id', 'state'}),
    'in_flight_requests.void_acts': frozenset({'node_uuid', 'act', 'state'}),
    'in_flight_requests.mark': frozenset({'token', 'node_uuid', 'state'}),
    'in_flight_requests.delete': frozenset({'token', 'node_uuid'}),
    'in_flight_requests.delete_as_read': frozenset(
        {'id', 'token', 'node_uuid', 'expires_at', 'seen'}),
    'in_flight_requests.write_seen': frozenset(
        {'id', 'token', 'node_uuid', 'expires_at', 'seen'}),
    # All nodes are meant, and the condition of the row of histories says that
    # nobody has done it before.
    'histories.begin': frozenset({'inventories'}),
    'in_flight_requests.insert_unknown': frozenset(
        {'token', 'uuid', 'inventories'}),
    'in_flight_requests.prolong_unknown': frozenset({'token'}),
    # What Ironic says, the newest of it: no decision, and no booking.
    'nodes.update_facts': frozenset({'uuid', 'observed_at'}),
    'nodes.mark_stale': frozenset({'uuid', 'observed_at'}),
    # The condition says that all of the window is over still.
    'maintenance.rows.delete_many': frozenset({'id', 'ends_at', 'updated_at'}),
    # The node itself goes, in the generation that was read.
    'node_windows.delete_of_node': frozenset({'node_uuid', 'state'}),
    # Whoever the node is held for loses it, whatever has become of the hold:
    # it gets the next generation, and who is about to write it starts anew.
    'holds.rows._release': frozenset({'state'}),
    # Who does what one does for all; nobody's, or those who queue up.
    'claims.take': frozenset({'name', 'owner', 'expires_at'}),
    # What is over is nobody's; the condition says that it still is.
    'claims.delete_over': frozenset({'name', 'expires_at'}),
    # Nothing is read of the row: it is written to wait for the others.
    'claims._lock_projects': frozenset({'name'}),
    # Who works on a lease: by a token that is never used again.
    'claimed_rows.take': _NOBODY,
    'lease_work.keep': _CLAIM,
    'lease_work.extend': _CLAIM,
    'lease_work.give_back': _CLAIM,
    'claimed_rows.drop': _CLAIM,
    # When a lease is looked at: earlier does no harm.
    'lease_work.make_due': frozenset({'id', 'due_at'}),
    # Flags: they rest on bookings that the statement names, or that the
    # transaction has moved, and on nothing of the lease; and the generation
    # of the lease is raised so that it is read again.
    'lease_flags._outdate': _FLAGGED,
    'lease_flags.flag_replaced': _FLAGGED,
    'lease_flags.degrade': _FLAGGED
}
#: Who writes rows of nodes whose generations need not be raised; see above.
UNRAISED = frozenset({
    'reservations.delete_void',
    'in_flight_requests.delete_settled',
    # The booking that a ticket is for has its node already.
    'in_flight_requests.insert_ticket',
    # Those of all nodes have been.
    'in_flight_requests.insert_unknown',
    'in_flight_requests.prolong_unknown',
    'in_flight_requests.take_ticket',
    'in_flight_requests.void_ticket',
    'in_flight_requests.void_tickets',
    'in_flight_requests.void_acts',
    'in_flight_requests.mark',
    'in_flight_requests.delete',
    'in_flight_requests.write_seen'
})


@dataclasses.dataclass
class _Raised:
    """What a transaction has raised the generations of, so far."""

    nodes: set[str] = dataclasses.field(default_factory=set)
    leases: set[str] = dataclasses.field(default_factory=set)


class Watch(fixtures.Fixture):
    """Watches the statements of all engines, and fails at the end.

    Statements of tests, and of what tests call in ``db`` by themselves, are
    none of its business.

    :ivar seen: the functions in ``db`` that have written the timeline.
    :ivar wrong: what was wrong, in words.
    """

    _on = False

    def __init__(self, everybody: bool = False) -> None:
        """Watch.

        :param everybody: tests, too.
        """
        super().__init__()
        self._everybody = everybody
        self._raised: weakref.WeakKeyDictionary[
            sa.Connection, _Raised] = weakref.WeakKeyDictionary()
        self.seen: set[str] = set()
        self.wrong: list[str] = []

    def _setUp(self) -> None:
        if not self._everybody:
            if Watch._on:
                # NOTE: one is enough for all.
                return
            Watch._on = True
            self.addCleanup(setattr, Watch, '_on', False)
        sa.event.listen(sa.Engine, 'before_execute', self._look)
        self.addCleanup(sa.event.remove, sa.Engine, 'before_execute',
                        self._look)
        self.addCleanup(self._judge)

    def _judge(self) -> None:
        if self.wrong and not self._everybody:
            raise AssertionError('\n'.join(self.wrong))

    def _look(self, connection: sa.Connection, statement: Any,
              multiparams: Any, params: Any, options: Any) -> None:
        if not isinstance(statement, sa.Insert | sa.Update | sa.Delete) or (
                statement.table.name not in NAMED):
            return
        writer = _writer(self._everybody)
        given = [*multiparams, params] if params else list(multiparams)
        # NOTE: what a test raises is raised, too.
        found = list(_why_wrong(writer or '', statement, given,
                                self._raised.setdefault(connection,
                                                        _Raised())))
        if writer is not None:
            self.seen.add(writer)
            self.wrong.extend(f'{writer}: {why}' for why in found)


@functools.cache
def has_statements(where: str) -> bool:
    """Return whether a module of the product has statements for tables."""
    return where.startswith(_DB) or where.startswith(_FEATURES) and (
        'import tables\n' in pathlib.Path(where).read_text())


def name_of(path: pathlib.Path) -> str:
    """Return the name of a module, with that of its feature if it has one."""
    return (f'{path.parent.name}.{path.stem}'
            if str(path).startswith(_FEATURES) else path.stem)


def _writer(everybody: bool) -> str | None:
    """Tell which function in ``db`` writes, for the product."""
    frame = sys._getframe(2)
    found: str | None = None
    while frame is not None:
        where = frame.f_code.co_filename
        if found is None and where.startswith(_TESTS):
            break
        if where == _STORE:
            pass
        elif has_statements(where):
            found = found or f'{name_of(pathlib.Path(where))}.' + (
                frame.f_code.co_name)
        elif found is not None:
            product = where.startswith(f'{PACKAGE}/')
            return found if product or everybody else None
        frame = frame.f_back
    return 'a test' if everybody else None


def _why_wrong(writer: str, statement: Any, given: list[Any],
               raised: _Raised) -> Iterator[str]:
    table, name = statement.table, statement.table.name
    if isinstance(statement, sa.Insert) and statement.select is not None:
        rows = list(_flat(given))
        if name == 'nodes' and rows and all('uuid' in row for row in rows):
            raised.nodes.update(row['uuid'] for row in rows)
        elif name in _OF_NODES and rows and all(
                'node_uuid' in row for row in rows):
            yield from _unraised(raised.nodes, (row['node_uuid']
                                                for row in rows))
        elif writer not in UNRAISED:
            yield 'writes rows of nodes that it does not name'
        return
    if isinstance(statement, sa.Insert):
        rows = list(_rows(statement, given))
        if name in ('nodes', 'leases'):
            (raised.nodes if name == 'nodes' else raised.leases).update(
                row['uuid' if name == 'nodes' else 'id'] for row in rows)
        elif name in _OF_NODES:
            yield from _unraised(raised.nodes, (row['node_uuid']
                                                for row in rows))
        elif name in _OF_LEASES:
            yield from _unraised(raised.leases, (row['lease_id']
                                                 for row in rows))
        return
    named = _named(statement.whereclause, table)
    missing = OTHERWISE.get(writer, NAMED[name]) - named.keys()
    if missing:
        yield (f'{statement} does not name what was read of '
               f'{", ".join(sorted(missing))}')
        return
    values = {key: list(_values(found, given))
              for key, found in named.items()}
    if name in ('nodes', 'leases') and 'generation' in named:
        (raised.nodes if name == 'nodes' else raised.leases).update(
            values['uuid' if name == 'nodes' else 'id'])
    if name in _OF_NODES and writer not in UNRAISED:
        yield from _unraised(raised.nodes, values.get('node_uuid', ()))
        yield from _unraised(raised.nodes, _homes(statement))
    if name in _OF_LEASES and writer not in OTHERWISE:
        yield from _unraised(raised.leases, values['lease_id'])


def _unraised(raised: set[str], touched: Iterable[str]) -> Iterator[str]:
    left = set(touched) - raised
    if left:
        yield ('writes what belongs to ' + ', '.join(sorted(left))
               + ', whose generation this transaction has not raised')


def _rows(statement: Any, given: list[Any]) -> Iterator[Mapping[str, Any]]:
    fixed = {_name(column): value.value for column, value in (
        statement._values or {}).items()}
    for row in _flat(given) or [{}]:
        yield {**fixed, **row}


def _name(column: sa.Column[Any] | str) -> str:
    return column if isinstance(column, str) else column.name


def _flat(given: Iterable[Any]) -> list[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = []
    for each in given:
        rows.extend(each if isinstance(each, list) else [each])
    return rows


def _named(clause: Any, table: sa.Table) -> dict[str, list[Any]]:
    """Return what the columns of a table are compared with, by their names."""
    found: dict[str, list[Any]] = {}
    if clause is None:
        return found
    for each in _parts(clause):
        if not isinstance(each, elements.BinaryExpression):
            continue
        left = (each.left.clauses if isinstance(each.left, elements.Tuple)
                else [each.left])
        for place, column in enumerate(left):
            if isinstance(column, sa.Column) and column.table is table:
                found.setdefault(column.name, []).append(
                    (each.right, place if len(left) > 1 else None))
    return found


def _parts(clause: Any) -> Iterator[Any]:
    """Yield the parts of a condition, without those of what it selects."""
    yield clause
    if isinstance(clause, sa.Select) or isinstance(
            clause, elements.BinaryExpression):
        return
    for child in clause.get_children():
        yield from _parts(child)


def _values(compared: Iterable[tuple[Any, int | None]],
            given: list[Any]) -> Iterator[Any]:
    for right, place in compared:
        for bound in visitors.iterate(right):
            if not isinstance(bound, elements.BindParameter):
                continue
            values = [row[bound.key] for row in _flat(given)
                      if bound.key in row] or [bound.effective_value]
            for value in values:
                for one in (value if bound.expanding else [value]):
                    yield one if place is None else one[place]


def _homes(statement: Any) -> Iterator[str]:
    """Yield the nodes that rows are moved to."""
    for column, value in (getattr(statement, '_values', None) or {}).items():
        if _name(column) == 'node_uuid':
            for _, home in getattr(value, 'whens', ()):
                yield home.value


def written_in(source: str, stem: str) -> dict[str, set[str]]:
    """Find the statements that write the timeline in a source file.

    :returns: the tables, by the function, as ``file.function``.
    """
    found: dict[str, set[str]] = {}
    module = ast.parse(source)
    stored = dict(_stored(module))

    def look(node: ast.AST, where: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                look(child, f'{stem}.{child.name}')
                continue
            table = _table(child)
            if isinstance(child, ast.Attribute) and child.attr in _BY_STORE:
                table = table or stored.get(ast.unparse(child.value))
            if table is not None:
                found.setdefault(where, set()).add(table)
            look(child, where)
    look(module, f'{stem}.')
    return found


def _stored(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield what a module calls rows of the store, and their tables."""
    for each in module.body:
        if isinstance(each, ast.Assign) and isinstance(
                each.value, ast.Call) and (
                ast.unparse(each.value.func) == 'store.Rows'):
            name = getattr(tables, each.value.args[1].attr).name
            if name in NAMED:
                yield ast.unparse(each.targets[0]), name


def _table(node: ast.AST) -> str | None:
    """Tell which table a call begins to write, if it does."""
    if not isinstance(node, ast.Call) or not isinstance(
            node.func, ast.Attribute):
        return None
    if node.func.attr not in ('update', 'delete', 'insert'):
        return None
    for part in (node.func.value, *node.args[:1]):
        # sa.update(tables.leases), or tables.leases.update()
        if isinstance(part, ast.Attribute) and (
                isinstance(part.value, ast.Name)
                and part.value.id == 'tables'):
            name = getattr(tables, part.attr).name
            if name in NAMED:
                return name
    if (isinstance(node.func.value, ast.Name) and node.func.value.id == 'sa'
            and node.args and isinstance(node.args[0], ast.Name)):
        # NOTE: sa.update(table): whatever it is called with.
        return node.args[0].id
    return None

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

"""Which statements of the product each test sends to which database.

A statement is known by what it says in no dialect at all, so that it is the
same one on each database, with however many values.  ``tools.twins`` reads
what is written here.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import functools
import json
import os
import pathlib
import re
import sys
import threading
import time
from typing import Any
import unittest

import sqlalchemy as sa
from sqlalchemy.engine import default
import testtools

from tools import twins

_PRODUCT = 'ironic_reservations.'
#: Their tests run on each database at all times.
_MIGRATIONS = f'{_PRODUCT}db.migrat'
#: What is between a statement and who sends it.
_BETWEEN = ('sqlalchemy.', 'contextlib')
#: By another name than its URL may have.
_CALLED = {'mariadb': 'mysql'}

_IN_NO_DIALECT = default.StrCompileDialect()
_VALUE = re.compile(r'(?<![:\w]):\w+|__\[POSTCOMPILE_\w+\]')
#: As many times as there are values, or rows of them.
_AGAIN = tuple((re.compile(again), once) for again, once in (
    (r'\?(?:, \?)+', '?'),
    (r'\(\?\)(?:, \(\?\))+', '(?)')))


@functools.cache
def record() -> None:
    """Write what each test of this process sends, if a folder is named."""
    folder = os.environ.get(twins.VARIABLE)
    if not folder:
        return
    seen = Seen(pathlib.Path(folder))
    sa.event.listen(sa.Engine, 'before_cursor_execute', seen.look)
    # NOTE: of those that run the requests of stories, and of all others.
    for case in (unittest.TestCase, testtools.TestCase):
        setattr(case, 'run', seen.watched(case.run))  # noqa: B010


class Seen:
    """What a test has sent so far.

    :param folder: where to write it.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self._known: dict[tuple[str, str], twins.Statement] = {}
        self._written: set[twins.Statement] = set()
        # NOTE: what a class sends to begin with is its first test's.
        self._sent: set[tuple[str, str]] = set()
        self._threads: set[int] = set()

    def look(self, connection: sa.Connection, cursor: Any, statement: str,
             parameters: Any, context: Any, many: bool) -> None:
        """Note a statement that goes to a database."""
        self._threads.add(threading.get_ident())
        compiled = context.compiled
        name = connection.dialect.name
        key = (_CALLED.get(name, name),
               statement if compiled is None else compiled.string)
        if key in self._sent or context.isddl:
            return
        sender = _sender()
        if sender is not None:
            if key not in self._known:
                self._known[key] = _statement(compiled, statement, sender)
            self._sent.add(key)

    def watched(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Return the like of ``run`` that writes what was sent meanwhile."""
        @functools.wraps(run)
        def watching(case: unittest.TestCase, result: Any = None) -> Any:
            cpu, wall = time.process_time(), time.monotonic()
            try:
                return run(case, result)
            finally:
                self._write(case.id(), time.process_time() - cpu,
                            time.monotonic() - wall)
        return watching

    def _write(self, test: str, cpu: float, wall: float) -> None:
        # NOTE: a thread that a test has left may send something still.
        keys, self._sent = self._sent, set()
        threads, self._threads = self._threads, set()
        sent: dict[str, set[twins.Statement]] = {}
        for key in keys:
            sent.setdefault(key[0], set()).add(self._known[key])
        new = set().union(*sent.values()) - self._written
        self._written |= new
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / f'{os.getpid()}.jsonl').open('a') as lines:
            lines.write(json.dumps({
                'test': test, 'cpu': round(cpu, 3), 'wall': round(wall, 3),
                'threads': len(threads),
                'sent': {kind: sorted({each.key for each in statements})
                         for kind, statements in sent.items()},
                'new': {each.key: dataclasses.asdict(each) for each in new}})
                + '\n')


def _sender() -> str | None:
    """Return the function of the product that sends a statement, if one does.

    Migrations do not count.
    """
    # NOTE: the next one is here, too.
    frame = sys._getframe(2)
    while frame is not None:
        module = frame.f_globals.get('__name__', '')
        if module.startswith(_PRODUCT) and not module.startswith(_MIGRATIONS):
            return f'{module}.{frame.f_code.co_qualname}'
        if not module.startswith(_BETWEEN):
            return None
        frame = frame.f_back
    return None


def _statement(compiled: Any, text: str, sender: str) -> twins.Statement:
    own = compiled is None
    if compiled is not None:
        own = type(compiled.statement).__module__.startswith(
            'sqlalchemy.dialects.')
        text = compiled.statement.compile(
            dialect=_IN_NO_DIALECT, column_keys=compiled.column_keys).string
    return twins.Statement(without_values(text), sender, own)


def without_values(text: str) -> str:
    """Return what a statement says, whatever values it is sent with."""
    text = _VALUE.sub('?', ' '.join(text.split()))
    for again, once in _AGAIN:
        text = again.sub(once, text)
    return text

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

"""Which tests the gate runs on MariaDB and PostgreSQL.

``python -m tools.twins check FOLDER`` fails if a statement ran on SQLite and,
on one of the servers, in no test.  ``python -m tools.twins keep FOLDER``
writes the list of tests that are enough.  The folder has what
``tests/statements_seen.py`` wrote of a run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import hashlib
import json
import pathlib
import re
import sys
import textwrap

LIST = pathlib.Path(__file__).parents[1] / 'tests' / 'twins.txt'
#: Names the folder that tests write what they send to.
VARIABLE = 'IRONIC_RESERVATIONS_TEST_STATEMENTS'
SERVERS = {'mysql': 'MariaDB', 'postgresql': 'PostgreSQL'}
#: What runs on each database in the gate, whatever the list says.
# NOTE: not schema.test_year, which fills tables for most of a minute.
ALWAYS = tuple(f'tests.inprocess.{name}.' for name in (
    'db.test_expand', 'db.test_migrations', 'schema.test_killed',
    'schema.test_never_again', 'schema.test_steps'))
#: What an id has behind it that stestr does not list.
_SCENARIO = re.compile(r'\(.*', re.DOTALL)
#: Between the parts of a statement, and what is counted through it.
_JOINTS = re.compile(
    r' (?:AND|OR|CASE|WHEN|THEN|ELSE|END|WHERE|SET|UNION ALL|UNION)\b'
    r'| (?=(?:ORDER BY|GROUP BY|LIMIT)\b)|, (?=\w+=)|\)+ AS anon_')
_NUMBER = re.compile(r'_+\d+\b')
#: Where tests may be about locks and races.
_LOCKS = re.compile(r'tests\.inprocess\.(?:db|engine|timeline)\.')
#: The classes that tests.servers makes.
_MADE = re.compile(r'On(?:Mysql|Postgresql)\.')
#: Dearer ones search for examples, and hold no lock; in seconds of CPU time.
_DEAR = 1
#: They wait for time limits of servers, some for many seconds.
_BY_THE_CLOCK = tuple(f'tests.inprocess.db.{name}.' for name in (
    'test_clocks', 'test_dead_host', 'test_silent_server'))
_LONG = 3
#: What a test costs that costs nothing, so that few are taken.
_ANY = 0.02
_SHORT = 300

_HEAD = """\
# The tests that the gate runs on MariaDB and PostgreSQL, or the beginnings of
# their ids: together they send each statement that any test sends there.  Made
# of a run of all tests, and made again when a statement is new, by
#     python -m tools.twins keep FOLDER
# tests/statements_seen.py and tools/twins.py say how.
"""


@dataclasses.dataclass(frozen=True, eq=False)
class Ran:
    """A test as it ran.

    :ivar cost: in seconds of CPU time.
    :ivar wall: how long it took.
    :ivar threads: how many sent something.
    :ivar sent: the parts of its statements, by the kind of database.
    """

    test: str
    cost: float
    wall: float
    threads: int
    sent: Mapping[str, frozenset[str]]


@dataclasses.dataclass(frozen=True)
class Statement:
    """A statement of the product.

    :ivar text: what it says in no dialect, without values.
    :ivar sender: a function that sends it.
    :ivar own: whether it is written for one kind of database.
    """

    text: str
    sender: str
    own: bool

    @property
    def key(self) -> str:
        """What stands for it where tests are listed."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]


class Records:
    """What the tests of a run have sent.

    :param folder: where they wrote it.
    :ivar ran: the tests.
    :ivar statements: by what stands for each.
    :ivar whole: by each part a statement that has it.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self.statements: dict[str, Statement] = {}
        self.whole: dict[str, Statement] = {}
        runs: dict[str, list[Ran]] = {}
        for path in sorted(folder.glob('*.jsonl')):
            known: dict[str, frozenset[str]] = {}
            for line in path.read_text().splitlines():
                read = json.loads(line)
                for key, fields in read['new'].items():
                    statement = Statement(**fields)
                    self.statements[key] = statement
                    known[key] = parts(statement)
                    for part in known[key]:
                        self.whole.setdefault(part, statement)
                runs.setdefault(read['test'], []).append(Ran(
                    _SCENARIO.sub('', read['test']), read['cpu'],
                    read['wall'], read['threads'],
                    {kind: frozenset().union(*map(known.get, keys))
                     for kind, keys in read['sent'].items()}))
        tests: dict[str, list[Ran]] = {}
        for each in runs.values():
            # NOTE: the first of a process is dearer; and what a test sends
            # now and then, as chance has it, is not to be relied on.
            tests.setdefault(each[0].test, []).append(_together(
                each, min, frozenset.intersection))
        self.ran = [_together(tests[test], sum, frozenset.union)
                    for test in sorted(tests)]

    def sent(self, kind: str) -> frozenset[str]:
        """Return the parts of what ran on a kind of database."""
        return frozenset().union(*(one.sent.get(kind, ())
                                   for one in self.ran))


def parts(statement: Statement) -> frozenset[str]:
    """Return what a statement consists of: what it reads, each condition.

    Which conditions there are depends on what is asked for, in hundreds of
    combinations; what a database does not understand is one of them.
    """
    if statement.own:
        return frozenset({statement.text})
    return frozenset(part.strip('() ') for part in _JOINTS.split(
        _NUMBER.sub('_', statement.text))) - {''}


def _together(runs: Sequence[Ran],
              of_all: Callable[[Iterable[float]], float],
              sent: Callable[..., frozenset[str]]) -> Ran:
    """Return one of a test's runs, or of its scenarios, for all of them."""
    return Ran(runs[0].test, of_all(one.cost for one in runs),
               of_all(one.wall for one in runs),
               max(one.threads for one in runs),
               {kind: sent(*(one.sent.get(kind, frozenset())
                             for one in runs))
                for kind in set().union(*(one.sent for one in runs))})


def missing(records: Records) -> Iterator[str]:
    """Tell what ran on SQLite and not on a server, in words."""
    for kind, name in SERVERS.items():
        there = records.sent(kind)
        if not there:
            yield f'No test has sent a statement to {name}.'
            continue
        lost: dict[Statement, list[str]] = {}
        for part in sorted(records.sent('sqlite') - there):
            lost.setdefault(records.whole[part], []).append(part)
        for statement, parts_of_it in lost.items():
            if statement.own:
                # NOTE: written for SQLite.
                continue
            test = min((one for one in records.ran if not one.sent.get(
                'sqlite', frozenset()).isdisjoint(parts_of_it)),
                       key=lambda one: (one.cost, one.test)).test
            yield '\n'.join((
                f'No test sends this to {name}:',
                *map(_indented, parts_of_it),
                '  It is in what the following function sends, to SQLite in '
                'the test below:', _indented(statement.text),
                f'    {statement.sender}', f'    {test}'))


def _indented(text: str) -> str:
    return textwrap.indent(textwrap.fill(textwrap.shorten(
        text, _SHORT), 74), '    ')


def gone(records: Records, lines: Iterable[str]) -> Iterator[str]:
    """Tell which lines of the list mean no test that ran, in words."""
    for line in lines:
        if not any(selects(line, one.test) for one in records.ran):
            yield f'{line} is in the list, but no such test ran.'


def kept(records: Records, before: Sequence[str] = ()) -> list[str]:
    """Return tests that send each statement that is sent to the servers.

    :param before: the list so far.  It stays as far as its tests did not run,
        and changes no more than it has to.
    """
    found = [line for line in before if not any(
        selects(line, one.test) for one in records.ran)]
    found += _locks(records)
    for kind in SERVERS:
        left = set(records.sent(kind))
        candidates = []
        for one in records.ran:
            if one.test.startswith(ALWAYS) or one.test in found:
                left -= one.sent.get(kind, frozenset())
            elif kind in one.sent:
                candidates.append(one)
        found += _cover(left, candidates, kind, before)
    return sorted(found)


def selects(line: str, test: str) -> bool:
    """Return whether a line of the list means a test, or all of its class."""
    return f'{test}.'.startswith(f'{line}.')


def _locks(records: Records) -> Iterator[str]:
    """Yield tests of locks and races, whatever they send.

    In db, engine and timeline those are the tests in which several threads
    send something, and the classes that are written for a server, and not
    made from one for SQLite; but none that waits, or is dear.
    """
    for one in records.ran:
        if (_LOCKS.match(one.test) and not one.test.startswith(ALWAYS)
                and not one.sent.keys().isdisjoint(SERVERS)
                and (one.threads > 1 or not _MADE.search(one.test))
                and one.cost < _DEAR
                and not (one.test.startswith(_BY_THE_CLOCK)
                         and one.wall > _LONG)):
            yield one.test


def _cover(left: set[str], candidates: Iterable[Ran], kind: str,
           before: Sequence[str]) -> list[str]:
    """Return the tests that send what is left for the least time."""
    costs = {one: (one.cost + _ANY) / (2 if one.test in before else 1)
             for one in candidates}
    found: list[Ran] = []
    while left:
        best = max(costs, key=lambda one: (
            len(left & one.sent[kind]) / costs[one], one.test))
        found.append(best)
        left -= best.sent[kind]
    # NOTE: of what came first, later ones may have sent everything.
    for one in sorted(found, key=lambda one: -costs[one]):
        others = [other for other in found if other is not one]
        if one.sent[kind] <= frozenset().union(
                *(other.sent[kind] for other in others)):
            found = others
    return [one.test for one in found]


def read() -> list[str]:
    """Return the lines of the list."""
    return [line for line in LIST.read_text().splitlines()
            if line and not line.startswith('#')]


_MEND = """
A test that sends it there is missing in {list}.  If the class
of the one above has no twins yet, let it have them (@servers.also).  Then:
    {variable}={folder} python -m tools.run_tests \\
        --test-path ./tests/inprocess '<the twins of the test>'
    python -m tools.twins keep {folder}
"""


def main(arguments: Sequence[str]) -> int:
    """Check what has run, or write what is enough: ``check|keep FOLDER``."""
    parser = argparse.ArgumentParser(
        prog='python -m tools.twins', description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('do', choices=('check', 'keep'))
    parser.add_argument('folder', type=pathlib.Path)
    asked = parser.parse_args(arguments)
    records = Records(asked.folder)
    wrong = list(missing(records))
    if asked.do == 'keep':
        LIST.write_text(''.join((_HEAD, *(
            f'{line}\n' for line in kept(records, read())))))
    else:
        wrong += gone(records, read())
    if wrong:
        print('\n'.join(wrong), _MEND.format(
            list=LIST.relative_to(LIST.parents[1]), folder=asked.folder,
            variable=VARIABLE), sep='\n')
    return bool(wrong)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))

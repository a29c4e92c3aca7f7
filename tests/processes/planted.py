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

"""Whether the tests of the gate notice what is broken on purpose.

``python -m tests.processes.planted`` breaks the product in each of the ways
of ``tests/processes/mutations``, one after the other, and runs the tests that
have to notice it.  Unbroken, they have to pass.
"""

from __future__ import annotations

import argparse
import atexit
from collections.abc import Collection
import dataclasses
import json
import os
import signal
import sys
import unittest

from tests import world
from tests.processes import mutations
from tests.processes import statements

PASSED, FAILED = 'passed', 'failed'
#: How long, in seconds, the tests of one may take.
_LONGEST = 300


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of some tests.

    :ivar of: by the test, ``passed``, ``failed`` where it found something
        other than it should be, or what went wrong instead.
    :ivar seconds: of the processor.
    """

    of: dict[str, str]
    seconds: float

    def other_than(self, wanted: str) -> str:
        """Tell of the tests that came to something else."""
        return ', '.join(f'{name} {what}' for name, what in self.of.items()
                         if what != wanted)


def run(tests: Collection[str], mutation: str | None = None) -> Outcome:
    """Run tests in a process of their own.

    :param mutation: what is broken in it; ``None``: nothing.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        signal.alarm(_LONGEST)
        if mutation is not None:
            mutations.apply(mutation)
        with open(writing, 'w') as told:
            json.dump({name: _outcome(name) for name in tests}, told)
        # NOTE: databases are dropped; to clear away all modules takes long.
        atexit._run_exitfuncs()
        os._exit(0)
    os.close(writing)
    with open(reading) as heard:
        text = heard.read()
    _, _, used = os.wait4(child, 0)
    return Outcome(json.loads(text) if text else dict.fromkeys(
        tests, 'did not end'), used.ru_utime + used.ru_stime)


def _outcome(name: str) -> str:
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromName(name).run(result)
    for _, text in result.errors:
        return text.strip().rpartition('\n')[2]
    if result.failures:
        return FAILED
    return PASSED if result.testsRun and not result.skipped else 'did not run'


def main(argv: list[str] | None = None) -> int:
    """Return 1 where something that was broken was not noticed."""
    parser = argparse.ArgumentParser(
        prog='python -m tests.processes.planted', description=__doc__)
    parser.add_argument('mutation', nargs='*', default=mutations.names(),
                        help='by default all of them')
    chosen = parser.parse_args(argv).mutation
    # NOTE: of any database: these tests have no other one.
    os.environ[statements.VARIABLE] = ''
    kept = {name: mutations.every()[name].kept_by for name in chosen}
    tests = sorted({test for names in kept.values() for test in names})
    # NOTE: what all need is read, and made, once.
    unittest.defaultTestLoader.loadTestsFromNames(tests)
    world.empty_sqlite()
    whole = run(tests)
    print(f'unbroken: {whole.other_than(PASSED) or "all pass"}, '
          f'{whole.seconds:.1f} CPU s', flush=True)
    missed = 0
    for name, names in kept.items():
        broken = run(names, name)
        other = broken.other_than(FAILED) if names else 'no test is named'
        missed += bool(other)
        print(f'{name}: '
              + (f'NOT NOTICED: {other}' if other
                 else f'noticed by {", ".join(names)}')
              + f', {broken.seconds:.1f} CPU s', flush=True)
    print(f'{len(kept) - missed} of {len(kept)} noticed')
    return 1 if missed or whole.other_than(PASSED) else 0


if __name__ == '__main__':
    sys.exit(main())
